"""A learned model of a game at the board and in the arena: it sees observation, turn and legal moves."""

from pathlib import Path

import numpy as np
import pytest

from zelkova import games
from zelkova.agents.learned.load import HiddenRules, load_learned
from zelkova.cli.main import main
from zelkova.config import load_config
from zelkova.play.thinking import LearnedThinker
from zelkova.train import Run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "hidden"
    folder.mkdir()
    made = Run(load_config("muzero-tictactoe", ["size=tiny"]), folder)
    made.begin()
    made.wheel.close()
    return folder


def leave(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in arguments])
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    return int(left.value.code or 0), said.out, said.err


@pytest.mark.parametrize("place", ["", "checkpoints/00000000.safetensors"])
def test_it_plays_every_side_to_the_end(run: Path, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = leave(capsys, "play", run / place, "--seat", "none", "--simulations", "8")
    assert code == 0
    assert out.startswith("tic_tac_toe: ")
    assert out.count("player 1 plays") + out.count("player 2 plays") >= 5
    assert "the game is over" in out.splitlines()[-1]


def test_it_sits_at_a_game_named_by_name_and_at_no_other(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = leave(capsys, "play", "tic_tac_toe", "--agent", run, "--seat", "2", "--simulations", "4")
    assert code == 0
    assert "player 1 plays" in out
    code, out, err = leave(capsys, "play", "hex", "--agent", run, "--seat", "2")
    assert code == 2
    assert "plays tic_tac_toe, not hex" in err


def test_it_has_an_opinion_of_legal_moves_and_the_same_one_each_time(run: Path) -> None:
    game = games.load("tic_tac_toe")
    parts = load_learned(run, num_simulations=16, device="cpu")
    assert parts.agent.network.sizes.is_turned  # its planes begin with the mover, and so do its values
    thinker = LearnedThinker(HiddenRules(game, parts.agent), "hidden")
    position, rng = game.position(), np.random.default_rng(0)
    for move in ("b2", "a1", "c3"):
        position.play(position.text_to_action(move))
    thought = thinker.think(position, rng)
    assert thought == thinker.think(position, rng)
    legal = set(position.legal_actions().tolist())
    assert thought.action in legal
    assert {candidate.action for candidate in thought.candidates} <= legal
    assert sum(candidate.visits for candidate in thought.candidates) == 16
    assert len(thought.shares) == 2


def test_it_meets_reference_opponents_in_the_arena(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = leave(capsys, "arena", run, "uct:4", "--games", "4", "--simulations", "4")
    assert code == 0
    assert "tic_tac_toe, 4 simulations" in out
