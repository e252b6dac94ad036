"""A user's file may hold anything: each wrong constant, and a file that leaves, is one clear message."""

from pathlib import Path

import pytest
from tests.games.test_bad_games import SOUND

from zelkova import games
from zelkova.errors import GameError

OPTIONS = """
import dataclasses
@dataclasses.dataclass(frozen=True)
class Options:
    size: int = 3
    def __post_init__(self):
        {check}
def make(options):
    {make}
"""


def refused(folder: Path, text: str) -> str:
    path = folder / "mine.py"
    path.write_text(text)
    with pytest.raises(GameError) as caught:
        games.load(str(path))
    assert str(path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("STATE", 'np.dtype([("x", object), ("to_play", np.int8)])'),
        ("STATE", 'np.dtype([("x", "U5"), ("to_play", np.int8)])'),
        ("STATE", 'np.dtype([("x", np.int8, (2_000_000_000,)), ("to_play", np.int8)])'),
        ("NUM_PLAYERS", "300"),
        ("NUM_PLAYERS", "True"),
        ("NUM_ACTIONS", '"x"'),
        ("OBSERVATION_SHAPE", "5"),
        ("OBSERVATION_SHAPE", '"abc"'),
        ("OBSERVATION_SHAPE", "(1, 10**9, 10**9)"),
        ("RETURN_RANGE", "None"),
        ("RETURN_RANGE", '(1, "x")'),
        ("RETURN_RANGE", '(-float("inf"), float("inf"))'),
        ("VIEW", "[]"),
        ("HAS_DRAWS", "np.zeros(3)"),
        ("MAX_PLIES", '"x"'),
        ("MAX_PLIES", "-1"),
        ("MAX_LEGAL_ACTIONS", "None"),
        ("MAX_LEGAL_ACTIONS", "-3"),
        ("SETTINGS", "3"),
        ("SETTINGS", '{"heap": "abc"}'),
        ("SYMMETRIES", "3"),
        ("SYMMETRIES", "[]"),
    ],
)
def test_a_wrong_constant_is_named(name: str, value: str, tmp_path: Path) -> None:
    assert name in refused(tmp_path, f"{SOUND}\n{name} = {value}\n")


@pytest.mark.parametrize("left", ["import sys; sys.exit()", "raise SystemExit(3)", "raise GeneratorExit"])
def test_a_file_that_would_leave_the_program_is_refused(left: str, tmp_path: Path) -> None:
    assert "mend the file" in refused(tmp_path, f"{left}\n{SOUND}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("class Options: pass", "Options is"),
        ("Options = 5", "Options is"),
        (OPTIONS.format(check="pass", make="return None"), "make(options)"),
        (OPTIONS.format(check="pass", make="1 / 0"), "make(options)"),
        (OPTIONS.format(check='raise RuntimeError("no")', make="return {}"), "Options raises"),
        (OPTIONS.format(check="pass", make="return {}").replace("int = 3", "int"), "no default"),
        (OPTIONS.format(check="pass", make="return {}").replace("int = 3", "int = 'x'"), "default 'x'"),
        (OPTIONS.format(check="pass", make="return {}").replace("def make", "def fake"), "make(options)"),
    ],
)
def test_wrong_options_are_named(text: str, said: str, tmp_path: Path) -> None:
    assert said in refused(tmp_path, f"{SOUND}\n{text}\n")
