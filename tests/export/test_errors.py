"""What can't be exported is refused in words that name the function, the line and the next step."""

import re
from pathlib import Path

import pytest
from numba.core.codegen import CPUCodeLibrary

from zelkova import games
from zelkova.errors import GameError, MissingExtraError
from zelkova.export import wasm
from zelkova.export.game import export_game
from zelkova.games.game import Game

GAME = """
import numba
import numpy as np

STATE = np.dtype([("to_play", np.int8), ("plies", np.int8), ("heat", np.float64)], align=True)
NUM_PLAYERS = 2
NUM_ACTIONS = 2
OBSERVATION_SHAPE = (1, 1, 1)
RETURN_RANGE = (-1.0, 1.0)
VIEW = "mover"

@numba.njit
def count(state):
    {count}

def init(state, seed):
    state["plies"] = 0

def legal_actions(state, out):
    out[0] = 0
    return 1 if state["plies"] < 3 else 0

def step(state, action):
    {step}

def is_terminal(state):
    return state["plies"] == 3

def returns(state, out):
    out[0] = 1.0
    out[1] = -1.0

def observe(state, planes):
    planes[0, 0, 0] = state["plies"]
"""

COUNT_LINE, STEP_LINE = 14, 24
PLAIN_COUNT, PLAIN_STEP = "return state['plies'] + 1", "state['plies'] = count(state)"

BROKEN = {
    "array in a rule": (
        PLAIN_COUNT,
        "state['plies'] += np.zeros(3).size",
        "step() (.*) allocates",
        STEP_LINE,
    ),
    "list in a rule": (PLAIN_COUNT, "state['plies'] += len([action])", "step() (.*) allocates", STEP_LINE),
    "array in a helper": ("return np.ones(3).size", PLAIN_STEP, "count() (.*) allocates", COUNT_LINE),
    "raise in a rule": (PLAIN_COUNT, "raise ValueError('no')", "step() (.*) raises", STEP_LINE),
    "assert in a helper": (
        "assert state['plies'] < 3; return 1",
        PLAIN_STEP,
        "count() (.*) raises",
        COUNT_LINE,
    ),
    "mathematics in a rule": (
        PLAIN_COUNT,
        "state['heat'] = np.exp(state['heat'])",
        "step() (.*) needs `exp`",
        None,
    ),
    "mathematics in a helper": ("return np.log(state['heat'])", PLAIN_STEP, "count() (.*) needs `log`", None),
    "object in a rule": (
        PLAIN_COUNT,
        "state['plies'] += open('x')",
        "step() (.*) can't be exported",
        STEP_LINE,
    ),
}


def write_game(folder: Path, count: str, step: str) -> Game:
    path = folder / "mygame.py"
    path.write_text(GAME.format(count=count, step=step))
    return games.load(str(path))


@pytest.mark.parametrize("case", BROKEN)
def test_refusal_names_function_and_line(case: str, linker: list[str], tmp_path: Path) -> None:
    count, step, words, line = BROKEN[case]
    game = write_game(tmp_path, count, step)
    with pytest.raises(GameError) as refused:
        export_game(game, tmp_path / "game.wasm")
    message = str(refused.value)
    pattern = re.escape(words).replace(re.escape("(.*)"), r"\(.*\)")
    assert re.search(pattern, message), message
    assert "mygame.py" in message
    assert line is None or f"line {line}" in message, message
    assert "allowed:" in message
    assert not (tmp_path / "game.wasm").exists()


def test_a_game_of_ones_own_is_exported(linker: list[str], tmp_path: Path) -> None:
    export_game(write_game(tmp_path, PLAIN_COUNT, PLAIN_STEP), tmp_path / "game.wasm")
    assert (tmp_path / "game.wasm").read_bytes()[:4] == b"\0asm"


def test_no_linker_names_the_install_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="apt-get install lld"):
        wasm.find_linker()


def test_exporting_leaves_native_code_as_it_was(linker: list[str], tmp_path: Path) -> None:
    game = games.load("tic_tac_toe")
    before = dict(game.functions)
    export_game(game, tmp_path / "game.wasm")
    assert game.functions == before
    assert CPUCodeLibrary.add_ir_module.__name__ == "add_ir_module"
    assert CPUCodeLibrary.add_ir_module.__qualname__ == "CPUCodeLibrary.add_ir_module"
    assert 4 not in game.position().play(4).legal_actions()
