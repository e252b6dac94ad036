"""The networks that come with the package: made of a run, small, told by name, used where nobody is named."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from tests.house.source import ROOT
from tests.training import begin

from zelkova import games
from zelkova.agents import packaged
from zelkova.agents.load import find_checkpoint, load_agent
from zelkova.agents.packaged import MOST_BYTES, ORIGIN, find_packaged, packaged_games
from zelkova.cli.main import main
from zelkova.errors import ConfigError
from zelkova.networks.weights import load_weights

GAME = "tic_tac_toe"


@pytest.mark.parametrize("game", packaged_games())
def test_what_comes_with_the_package_is_small_and_plays(game: str) -> None:
    file = find_packaged(game)
    assert file.stat().st_size < MOST_BYTES
    tensors, words = load_weights(file)
    assert all(name.startswith(words["acting"]) for name in tensors), "only what plays"
    assert words[ORIGIN]
    agent = load_agent(f"packaged:{game}", num_simulations=2, device="cpu")
    assert (agent.game.source, agent.game.options) == (game, games.load(game).options)
    assert agent.act(agent.game.position().state).action.shape == (1,)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    wheel = begin(tmp_path_factory.mktemp("packaged") / "run", rounds=2)
    wheel.wheel.close()
    return wheel.folder


def package(*arguments: str | Path) -> tuple[int, str]:
    script = ROOT / "experiments" / "package_network.py"
    done = subprocess.run(
        [sys.executable, str(script), *map(str, arguments)], capture_output=True, text=True, timeout=200
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def folder(run: Path) -> Path:
    """Give a folder of networks with one of tic-tac-toe, made of a run as the docs say."""
    place = run.parent / "folder"
    code, said = package(run, "--folder", place, "--about", "as strong as two rounds make it")
    assert code == 0, said
    return place


@pytest.fixture
def comes_with_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged, "FOLDER", folder)


def say(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, lines: str, *arguments: str
) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    said = capsys.readouterr()
    return int(left.value.code or 0), said.out, said.err


def test_a_packaged_network_plays_as_its_run_does(run: Path, folder: Path, comes_with_one: None) -> None:
    assert packaged_games() == [GAME]
    assert [path.name for path in folder.iterdir()] == ["tic_tac_toe.safetensors"]
    tensors, words = load_weights(folder / "tic_tac_toe.safetensors")
    assert {name.split(".")[0] for name in tensors} == {words["acting"].rstrip(".")}
    assert set(words) == {"game", "game_options", "network", "search", "acting", ORIGIN}
    assert "by alphazero-tic-tac-toe: 2 rounds, " in words[ORIGIN]
    assert words[ORIGIN].endswith("; as strong as two rounds make it")
    one, other = (load_agent(name, num_simulations=20, device="cpu") for name in (run, f"packaged:{GAME}"))
    state = one.game.position().play("b2").state
    mine, its = one.act(state), other.act(state)
    assert mine.visit_counts.tolist() == its.visit_counts.tolist()
    assert mine.value.tolist() == its.value.tolist()


def test_play_uses_it_where_nobody_is_named(
    comes_with_one: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = say(capsys, monkeypatch, "b2\n", "play", GAME, "--simulations", "8")
    assert code == 0
    assert "you are player 1 of 2 against packaged:tic_tac_toe" in out
    assert "player 2 plays " in out
    assert "packaged:tic_tac_toe: trained with zelkova " in err
    _, out, _ = say(capsys, monkeypatch, "", "play", GAME, "--agent", "uct:10")
    assert "against uct:10" in out
    _, out, _ = say(capsys, monkeypatch, "", "play", "connect_four")
    assert "against uct:1000" in out  # no network of its own
    code, out, _ = say(capsys, monkeypatch, "", "play", f"packaged:{GAME}", "--seat", "none")
    assert (code, out.splitlines()[0]) == (0, "tic_tac_toe: packaged:tic_tac_toe plays every side")


def test_other_options_of_the_game_are_not_what_it_was_trained_on(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packaged, "FOLDER", tmp_path)
    (tmp_path / "connect_four.safetensors").write_bytes(b"")  # not opened
    _, out, _ = say(capsys, monkeypatch, "", "play", "connect_four", "--set", "game.height=4")
    assert "against uct:1000" in out
    _, out, _ = say(capsys, monkeypatch, "", "play", "connect_four")
    assert "against packaged:connect_four" in out


def test_it_is_a_player_of_the_arena(
    comes_with_one: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("arena", f"packaged:{GAME}", "random", "--games", "4", "--simulations", "4")
    code, out, err = say(capsys, monkeypatch, "", *words)
    assert code == 0, err
    assert "packaged:tic_tac_toe against random: 4 games" in out


def test_a_network_that_is_not_there_names_those_that_are(
    comes_with_one: None, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in ("packaged:tictactoe", "packaged:../x", "packaged:"):
        with pytest.raises(ConfigError, match=r"no network for .* comes with the package; .*tic_tac_toe"):
            find_checkpoint(text)
    code, out, err = say(capsys, monkeypatch, "", "play", GAME, "--agent", "packaged:hex")
    assert (code, out) == (2, "")
    assert "no network for `hex` comes with the package" in err
    monkeypatch.setattr(packaged, "FOLDER", tmp_path / "none")
    with pytest.raises(ConfigError, match="there is none for any game; or name a run"):
        find_packaged(f"packaged:{GAME}")


def test_only_a_game_of_the_package_as_it_stands_is_packaged(tmp_path: Path) -> None:
    other = begin(
        tmp_path / "run", "game.name=connect_four", "game.height=4", source="connect_four", rounds=0
    )
    other.wheel.close()
    code, said = package(other.folder, "--folder", tmp_path)
    assert code == 1
    assert "allowed: a game of ours as it stands" in said
    code, said = package(tmp_path / "nowhere", "--folder", tmp_path)
    assert (code, said.count("error: "), said.count("Traceback")) == (1, 1, 0)
    assert not list(tmp_path.glob("*.safetensors"))
