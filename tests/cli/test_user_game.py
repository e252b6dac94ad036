"""A user's file is held to the contract before any command runs its compiled code, and once is enough."""

from pathlib import Path

import pytest
from tests.training import begin

import zelkova
from zelkova import games
from zelkova.cli import user_game
from zelkova.cli.main import main
from zelkova.errors import GameError

NIM = Path(__file__).parents[2] / "examples" / "nim.py"
OUT_OF_RANGE = """
WILD = np.zeros(4, np.int8)


def step(state, action):
    WILD[action * 1_000_000_007] = 1
"""


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A game whose step writes far outside an array, as compiled code would do without a word."""
    file = tmp_path / "nim.py"
    file.write_text(NIM.read_text(encoding="utf-8") + OUT_OF_RANGE, encoding="utf-8")
    return file


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in arguments])
    said = capsys.readouterr()
    assert left.value.code == 2
    assert said.out == ""
    return said.err


def test_no_command_runs_a_broken_file_compiled(
    broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sound = broken.read_text(encoding="utf-8").replace(OUT_OF_RANGE, "")
    text = broken.read_text(encoding="utf-8")
    broken.write_text(sound, encoding="utf-8")
    begin(tmp_path / "run", source=str(broken)).wheel.close()
    broken.write_text(text, encoding="utf-8")  # edited after it was trained on
    run = tmp_path / "run"
    for arguments in (
        ("play", broken), ("play", run), ("play", NIM, "--agent", run, "--seat", "2"),
        ("arena", "random", "uct:1", "--game", broken), ("arena", run, "random"),
        ("train", broken, "--out", tmp_path / "new"), ("train", "--resume", run),
    ):  # fmt: skip
        if arguments[1] == NIM:
            with pytest.raises(SystemExit) as left:
                main([str(word) for word in arguments])
            assert left.value.code == 2
            said = capsys.readouterr().err
        else:
            said = refused(capsys, *arguments)
        assert "step()" in said, arguments
        assert "line" in said


def test_a_pass_is_remembered_until_the_file_or_its_options_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[str] = []

    class Fine:
        ok = True

    def check(game: games.Game, **settings: int) -> Fine:
        checks.append(game.source)
        return Fine()

    monkeypatch.setattr("zelkova.games.check.check_game", check)
    monkeypatch.setattr(zelkova, "COMPILED", tmp_path)
    file = tmp_path / "nim.py"
    text = NIM.read_text(encoding="utf-8")
    for written, seen in ((text, 1), (text, 1), (text + "\n# edited\n", 2), (text, 2)):
        file.write_text(written, encoding="utf-8")
        user_game.refuse_broken(games.load(str(file)))
        assert len(checks) == seen
    user_game.refuse_broken(games.load("tic_tac_toe"))
    assert len(checks) == 2
    for place in (tmp_path / "is not there", None):  # nowhere to remember: it is checked, and that is all
        monkeypatch.setattr(zelkova, "COMPILED", place)
        for _ in range(2):
            user_game.refuse_broken(games.load(str(file)))
    assert len(checks) == 6


def test_a_failure_is_not_remembered(broken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zelkova, "COMPILED", tmp_path)
    for _ in range(2):
        with pytest.raises(GameError, match=r"step\(\)"):
            user_game.refuse_broken(games.load(str(broken)))
    assert not list(tmp_path.glob("checked-*"))
