import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from zelkova import games
from zelkova.agents.load import describe
from zelkova.cli.main import main
from zelkova.games import Game
from zelkova.networks.build import build_network
from zelkova.networks.config import NetworkConfig
from zelkova.networks.weights import save_weights
from zelkova.play.thinking import LateThinker, RandomThinker, Thinker, UctThinker, follow
from zelkova.search.config import SearchConfig


def save_run(folder: Path, game: Game) -> Path:
    """Write a run's folder with one checkpoint of an untrained network."""
    torch.manual_seed(1)
    config = NetworkConfig()
    module = build_network(config, game.observation_shape, game.num_actions, game.num_players, game.has_draws)
    tensors = {f"network.{name}": tensor for name, tensor in module.state_dict().items()}
    (folder / "checkpoints").mkdir(parents=True)
    words = describe(game, config, SearchConfig(), "network.")
    save_weights(folder / "checkpoints" / "00000001.safetensors", tensors, words)
    (folder / "config.toml").write_text(f'[game]\nname = "{game.source}"\n')
    return folder


def leave(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["play", *arguments])
    said = capsys.readouterr()
    return int(left.value.code or 0), said.out, said.err


@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four_3p"])
def test_a_run_watched_plays_itself_to_the_end(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = save_run(tmp_path / "run", games.load(name))
    code, out, _ = leave([str(run), "--seat", "none", "--simulations", "8"], capsys)
    assert code == 0
    players = games.load(name).num_players
    assert f"expects {', '.join(f'player {seat + 1}' for seat in range(1))}" in out
    assert out.count("player 1 plays") + out.count("player 2 plays") >= 4
    assert f"player {players} plays" in out
    assert "the game is over" in out.splitlines()[-1]


def test_lines_come_from_the_searchs_own_tree(tmp_path: Path) -> None:
    from zelkova.agents.load import load_planner
    from zelkova.play.thinking import AgentThinker, planner_options

    game = games.load("tic_tac_toe")
    planner = load_planner(save_run(tmp_path, game), planner_options(64, 1), num_simulations=64)
    thinker = AgentThinker(planner, "run")
    position, rng = game.position(), np.random.default_rng(1)
    thought = thinker.think(position, rng)
    assert thought == thinker.think(position, rng)
    assert sum(share for share in thought.shares if share is not None) == pytest.approx(1.0, abs=1e-5)
    best = thought.candidates[0]
    assert best.then
    moves = follow(thinker, position, best, 4, rng)
    assert len(moves) == 4
    assert position.actions_played == []
    assert moves[: 1 + len(best.then)] == [
        position.action_to_text(action) for action in (best.action, *best.then[:3])
    ]


def test_a_checkpoint_is_named_by_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = save_run(tmp_path / "run", games.load("tic_tac_toe"))
    file = str(run / "checkpoints" / "00000001.safetensors")
    code, out, _ = leave([file, "--seat", "none", "--simulations", "2"], capsys)
    assert code == 0
    assert out.startswith(f"tic_tac_toe: {file} plays every side")


def test_a_run_of_another_game_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = save_run(tmp_path / "run", games.load("tic_tac_toe"))
    code, _, err = leave(["connect_four", "--agent", str(run), "--seat", "none"], capsys)
    assert code == 2
    assert "plays tic_tac_toe, not connect_four" in " ".join(err.split())


def test_a_run_without_a_checkpoint_is_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in ("", '[game]\nname = "tic_tac_toe"\n', "[game]\n", "game = 3\n"):
        (tmp_path / "config.toml").write_text(text)
        code, _, err = leave([str(tmp_path), "--seat", "none"], capsys)
        assert code == 2
        assert err.startswith("error: ")
        assert len(err.splitlines()) == 1


def test_the_game_of_a_run_is_settled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = save_run(tmp_path / "run", games.load("tic_tac_toe"))
    code, _, err = leave([str(run), "--set", "game.height=3"], capsys)
    assert code == 2
    assert "the game of a run is settled" in err


def test_a_late_thinker_is_made_once_and_when_needed() -> None:
    made: list[int] = []

    def make() -> Thinker:
        made.append(1)
        return RandomThinker()

    late = LateThinker("late", make)
    assert made == []
    position = games.load("tic_tac_toe").position()
    for _ in range(3):
        late.think(position, np.random.default_rng(1))
    assert made == [1]


def test_a_line_ends_with_its_game() -> None:
    game = games.load("tic_tac_toe")
    position = game.position()
    for move in ("a1", "a2", "b1", "b2", "c3", "c2"):
        position.play(move)
    assert position.is_terminal
    position.undo()
    thinker, rng = UctThinker(game, 200), np.random.default_rng(1)
    best = thinker.think(position, rng).candidates[0]
    assert follow(thinker, position, best, 9, rng) == ["c2"]
    assert best.shares == (0.0, 1.0)


def test_the_example_draws_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = save_run(tmp_path / "run", games.load("tic_tac_toe"))
    picture = tmp_path / "picture.svg"
    monkeypatch.setattr("sys.argv", ["draw_search.py", str(run), str(picture), "b2", "a1"])
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "draw_search.py"), run_name="__main__")
    text = picture.read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert text.count("<rect") > 10
    assert ">256 · " in text or ">257 · " in text


@pytest.mark.parametrize("policy", ["gumbel", "trpo"])
def test_the_move_that_is_played_leads_the_candidates(policy: Any) -> None:
    from tests.agents.counting import FakeNetwork, positions

    from zelkova.agents.planner import Planner
    from zelkova.play.thinking import AgentThinker, planner_options

    game = games.load("connect_four")
    rng = np.random.default_rng(4)
    others = 0
    for position in positions(game, 12):
        config = SearchConfig(policy=policy, num_simulations=12)
        thinker = AgentThinker(Planner(game, FakeNetwork(game), config, planner_options(12, 1)), "fake")
        thought = thinker.think(position, rng)
        assert thought.candidates[0].action == thought.action
        visits = [candidate.visits for candidate in thought.candidates]
        assert visits[1:] == sorted(visits[1:], reverse=True)
        assert len({candidate.action for candidate in thought.candidates}) == len(visits)
        others += visits[0] < max(visits) or thought.candidates[0].shares[position.to_play] != max(
            one.shares[position.to_play] or 0.0 for one in thought.candidates if one.visits == visits[0]
        )
    assert others > 0, "no search played another move than visits and shares put first"
