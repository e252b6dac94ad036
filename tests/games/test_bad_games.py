"""The contract check names the function, the line and the broken promise, and survives what it finds."""

import time
from pathlib import Path

import pytest

from zelkova import games
from zelkova.errors import GameError
from zelkova.games.check import Report, check_game

SOUND = """import numba
import numpy as np

STATE = np.dtype([("heap", np.int32), ("taken", np.int8, (4,)), ("to_play", np.int8)], align=True)
NUM_PLAYERS = 2
NUM_ACTIONS = 3
OBSERVATION_SHAPE = (2, 1, 4)
RETURN_RANGE = (-1.0, 1.0)
VIEW = "mover"
HAS_DRAWS = False
SEEN = np.zeros(1, np.int64)


@numba.njit
def grow(number):
    return number + 1


def init(state, seed):
    state["heap"] = 12
    state["taken"][:] = 0
    state["to_play"] = 0


def legal_actions(state, out):
    count = min(state["heap"], 3)
    for action in range(count):
        out[action] = action
    return count


def step(state, action):
    state["heap"] -= grow(action)
    state["taken"][action] += 1
    state["to_play"] = 1 - state["to_play"]


def is_terminal(state):
    return state["heap"] == 0


def returns(state, out):
    out[state["to_play"]] = -1.0
    out[1 - state["to_play"]] = 1.0


def observe(state, planes):
    for cell in range(4):
        planes[0, 0, cell] = (state["heap"] >> cell) & 1
        planes[1, 0, cell] = state["taken"][cell]
"""

TAKE = '    state["taken"][action] += 1\n'
IDENTITY = "(np.arange(4), np.arange(3))"
TEXT = (
    "def action_to_text(game, state, action):\n    return {0}\n\n\n"
    "def text_to_action(game, state, text):\n    return {1}\n"
)

BROKEN: dict[str, tuple[str, str, str, str]] = {
    # what: (old text, new text, the function and the text of the line that is named, the promise)
    "allocates": (
        TAKE,
        "    new = np.zeros(3)\n" + TAKE + '    state["heap"] += int(new[0])\n',
        "step: new =",
        "allocates",
    ),
    "allocates in a helper": (
        "return number + 1",
        "return np.ones(number + 1).size",
        "step: return np.ones",
        "allocates",
    ),
    "a list": (
        TAKE,
        '    state["heap"] += [0, 0, 0][action]\n' + TAKE,
        'step: state["heap"] += [',
        "allocates",
    ),
    "slices that overlap": (
        TAKE,
        '    state["taken"][1:] = state["taken"][:-1]\n',
        'step: state["taken"][1:]',
        "allocates",
    ),
    "asserts": (TAKE, "    assert action < 3\n" + TAKE, "step: assert", "raises or asserts"),
    "index out of range": (
        TAKE,
        '    state["taken"][action + 2] += 1\n',
        'step: state["taken"][action + 2]',
        "out of range",
    ),
    "index in a helper": (
        "return number + 1",
        "return (1, 2)[number]",
        "step: return (1, 2)",
        "out of range",
    ),
    "illegal action": (
        "out[action] = action",
        "out[action] = action + 1",
        "legal_actions: def",
        "action 3; allowed: 0 to 2",
    ),
    "not ascending": (
        "out[action] = action",
        "out[action] = count - 1 - action",
        "legal_actions: def",
        "ascending",
    ),
    "left unwritten": ("out[action] = action", "out[0] = action", "legal_actions: def", ""),
    "more than declared": (
        "VIEW =",
        "MAX_LEGAL_ACTIONS = 2\nVIEW =",
        "legal_actions: out[action]",
        "out of range",
    ),
    "never ends": (
        'state["heap"] -= grow(action)',
        'state["heap"] += 0',
        "is_terminal: def",
        "100000 random plies",
    ),
    "ends too late": ("VIEW =", "MAX_PLIES = 3\nVIEW =", "is_terminal: def", "after 3 random plies"),
    "loops for ever": (
        TAKE,
        "    while action >= 0:\n        action += 0\n" + TAKE,
        "step: ",
        "does not end",
    ),
    "stuck": (
        'return state["heap"] == 0',
        'return state["heap"] < 0',
        "legal_actions: def",
        "game is not over",
    ),
    "moves at the end": (
        'return state["heap"] == 0',
        'return state["heap"] < 3',
        "legal_actions: def",
        "at an ending",
    ),
    "unequal returns": ("= -1.0", "= 0.5", "returns: def", "sum to 0"),
    "returns out of range": ("= -1.0", "= -2.0", "returns: def", "RETURN_RANGE is -1 to 1"),
    "a draw": (
        '    out[state["to_play"]] = -1.0\n    out[1 - state["to_play"]] = 1.0',
        "    out[:] = 0.0",
        "returns: def",
        "HAS_DRAWS",
    ),
    "not finite": ('(state["heap"] >> cell) & 1', "np.log(-1.0)", "observe: def", "not finite"),
    "asks and changes": (
        "    for cell in range(4):\n",
        '    state["taken"][3] += 1\n    for cell in range(4):\n',
        "observe: def",
        "changes",
    ),
    "to_play": ('= 1 - state["to_play"]', '= 2 - state["to_play"]', "step: def", "allowed: 0 to 1"),
    "init reads": ('    state["taken"][:] = 0\n', "", "init: def", "what the record held before"),
    "remembers": ("return number + 1", "SEEN[0] += 1\n    return number + 1 + SEEN[0] % 2", "step: ", ""),
    "key": (
        "def observe",
        'def position_hash(state):\n    return np.uint64(state["heap"])\n\n\ndef observe',
        "position_hash: def",
        "two positions",
    ),
    "worth out of range": (
        "def observe",
        "def evaluate(state, out):\n    out[0], out[1] = 2.0, -2.0\n\n\ndef observe",
        "evaluate: def",
        "RETURN_RANGE is -1 to 1",
    ),
    "worth without balance": (
        "def observe",
        "def evaluate(state, out):\n    out[0], out[1] = 0.5, 0.5\n\n\ndef observe",
        "evaluate: def",
        "values sum to 0",
    ),
    "places with a gap": (
        "def observe",
        "def places(state, out):\n    out[0], out[1] = 1.0, 3.0\n\n\ndef observe",
        "places: def",
        "gives 1 3; allowed: 1 and the number of players who stand before",
    ),
    "nobody left": (
        "def observe",
        "def eliminated(state, out):\n    out[:] = 1.0\n\n\ndef observe",
        "eliminated: def",
        "somebody who is not out",
    ),
    "back in the game": (
        "def observe",
        'def eliminated(state, out):\n    out[0] = state["to_play"]\n    out[1] = 0.0\n\n\ndef observe',
        "eliminated: def",
        "takes a player back",
    ),
    "less than nothing": (
        "def observe",
        "def material(state, out):\n    out[0], out[1] = 5.0, -1.0\n\n\ndef observe",
        "material: def",
        "gives 5 -1; allowed: finite numbers of 0 or more",
    ),
    "worth changes": (
        "def observe",
        'def evaluate(state, out):\n    out[:] = 0.0\n    state["taken"][3] += 1\n\n\ndef observe',
        "evaluate: def",
        "changes",
    ),
    "no permutation": (
        "VIEW =",
        f"SYMMETRIES = [{IDENTITY}, (np.zeros(4), np.arange(3))]\nVIEW =",
        "SYMMETRIES",
        "permutation",
    ),
    "no identity": (
        "VIEW =",
        "SYMMETRIES = [(np.arange(4), np.arange(3)[::-1])]\nVIEW =",
        "SYMMETRIES",
        "identity",
    ),
    "no symmetry": (
        "VIEW =",
        f"SYMMETRIES = [{IDENTITY}, (np.arange(4), np.arange(3)[::-1])]\nVIEW =",
        "SYMMETRIES",
        "commute",
    ),
    "same text": ("def observe", TEXT.format("'a'", "0") + "\n\ndef observe", "action_to_text: def", "`a`"),
    "not read back": (
        "def observe",
        TEXT.format("str(action)", "0") + "\n\ndef observe",
        "text_to_action: def",
        "reads `1` as 0",
    ),
    "no refusal": (
        "def observe",
        TEXT.format("str(action)", "int(text)") + "\n\ndef observe",
        "text_to_action: return",
        "NotationError",
    ),
    "no reason": (
        "def observe",
        "from zelkova.errors import NotationError\n\n\n"
        + TEXT.format("str(action)", "int(text) if text.isdecimal() else refuse(text)")
        + "\n\ndef refuse(text):\n    raise NotationError(f'`{text}` is no number')\n"
        + "\n\ndef explain_illegal(game, state, action):\n    return 3\n\n\ndef observe",
        "explain_illegal: def",
        "gives 3 for action",
    ),
    "not ASCII": (
        "def observe",
        'def draw_text(game, state, *, colour, unicode):\n    return "é"\n\n\ndef observe',
        "draw_text: def",
        "ASCII",
    ),
    "no picture": (
        "def observe",
        'def draw_svg(game, state):\n    return "<p/>"\n\n\ndef observe',
        "draw_svg: def",
        "<svg>",
    ),
    "a type error": ("grow(action)", 'action + "a"', 'step: state["heap"] -= action', "can't be compiled"),
    "an unknown field": (
        'state["heap"] -= grow',
        'state["heep"] -= grow',
        'step: state["heep"]',
        "'heep' was not found",
    ),
    "an unknown name": ("grow(action)", "grow(actoin)", 'step: state["heap"]', "'actoin' is not defined"),
    "a plain helper": ("@numba.njit\n", "", 'step: state["heap"] -= grow', "can't be compiled"),
    "no answer": ('return state["heap"] == 0', "return None", "is_terminal: def", "gives None"),
}


def check(folder: Path, source: str) -> Report:
    path = folder / "mygame.py"
    path.write_text(source)
    return check_game(games.load(str(path)), limit_s=1.0)


def test_the_sound_game_passes(tmp_path: Path) -> None:
    report = check(tmp_path, SOUND)
    assert report.ok, str(report)
    assert "keeps the contract" in str(report)


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_promise_is_named_with_function_and_line(tmp_path: Path, what: str) -> None:
    old, new, place, promise = BROKEN[what]
    source = SOUND.replace(old, new, 1)
    assert source != SOUND
    start = time.monotonic()
    report = check(tmp_path, source)
    assert time.monotonic() - start < 60
    assert not report.ok
    finding = report.findings[0]
    function, _, text = place.partition(": ")
    assert finding.function == function, str(report)
    assert promise in finding.promise, str(report)
    assert finding.file == str(tmp_path / "mygame.py")
    line = source.splitlines()[finding.line - 1].strip()
    assert line.startswith(f"def {function}" if text == "def" else text), (line, str(report))
    assert f"mygame.py, line {finding.line}: {function}" in str(report)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("def is_terminal", "def has_ended", r"function is_terminal\(state\) is missing"),
        (
            "def step(state, action)",
            "def step(state)",
            r"line 32: step\(state\) given; allowed: step\(state, action\)",
        ),
        ("NUM_ACTIONS = 3\n", "", "constant NUM_ACTIONS is missing"),
        ("NUM_ACTIONS = 3\n", "NUM_ACTIONS = 0\n", "NUM_ACTIONS is 0"),
        ('"mover"', '"seat"', "allowed: 'mover' or 'absolute'"),
        ("(2, 1, 4)", "(2, 4)", "OBSERVATION_SHAPE is"),
        ("(-1.0, 1.0)", "(1.0, -1.0)", "RETURN_RANGE is"),
        ('("to_play", np.int8)', '("mover", np.int8)', "with a field to_play"),
        ("VIEW =", "SYMMETRIES = 3\nVIEW =", "SYMMETRIES is no list"),
    ],
)
def test_a_wrong_form_is_refused_when_the_game_is_loaded(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "mygame.py"
    path.write_text(SOUND.replace(old, new, 1))
    with pytest.raises(GameError, match=message):
        games.load(str(path))


def test_a_field_that_compiled_code_cannot_hold_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mygame.py"
    path.write_text(SOUND.replace('("heap", np.int32)', '("heap", object)'))
    with pytest.raises(GameError, match="STATE"):
        check_game(games.load(str(path)))
