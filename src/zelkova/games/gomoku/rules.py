"""Gomoku: two players fill a board in turn; a line of `run` of one's own wins.

     0  1  2 .. 14
    15 16 17 .. 29     an action is the number of the cell that is filled
     :

A longer line wins too, unless `exact` is set. A full board is a draw.
"""

import dataclasses

import numba
import numpy as np


@dataclasses.dataclass(frozen=True)
class Options:
    """The board and the line that wins."""

    height: int = 15  # rows, 3..25
    width: int = 15  # columns, 3..25
    run: int = 5  # stones in a winning line, 3..25
    exact: bool = False  # a longer line does not win

    def __post_init__(self):
        for name in ("height", "width", "run"):
            if not 3 <= getattr(self, name) <= 25:
                raise ValueError(f"option `{name}` is {getattr(self, name)}; allowed: 3 to 25")


def make(options):
    """Give the constants and the record for the options."""
    height, width = options.height, options.width
    cells = np.arange(height * width, dtype=np.int32).reshape(height, width)
    turns = [np.rot90(cells, k) for k in range(0, 4, 1 if height == width else 2)]
    maps = [
        np.ascontiguousarray(turned).ravel() for turned in turns + [np.fliplr(turned) for turned in turns]
    ]
    return {
        "STATE": np.dtype(
            [
                ("board", np.int8, (height, width)),
                ("to_play", np.int8),
                ("winner", np.int8),
                ("run", np.int8),
                ("exact", np.bool_),
                ("plies", np.int16),
            ],
            align=True,
        ),
        "NUM_PLAYERS": 2,
        "NUM_ACTIONS": height * width,
        "OBSERVATION_SHAPE": (2, height, width),
        "RETURN_RANGE": (-1.0, 1.0),
        "VIEW": "mover",
        "SETTINGS": {"run": options.run, "exact": options.exact},
        "SYMMETRIES": [(cell_map, cell_map) for cell_map in maps],
    }


@numba.njit(error_model="numpy")
def count_from(board, row, column, down, across, mark):
    """Count the stones of one's own that follow a cell in one direction."""
    height, width = board.shape
    count = 0
    row += down
    column += across
    while 0 <= row < height and 0 <= column < width and board[row, column] == mark:
        count += 1
        row += down
        column += across
    return count


def init(state, seed):
    """Write the empty board; cells hold 0 or the player's number plus 1; winner likewise."""
    state["board"][:] = 0
    state["to_play"] = 0
    state["winner"] = 0
    state["plies"] = 0


def legal_actions(state, out):
    """Write the empty cells."""
    count = 0
    if state["winner"] == 0:
        board = state["board"]
        height, width = board.shape
        for row in range(height):
            for column in range(width):
                if board[row, column] == 0:
                    out[count] = row * width + column
                    count += 1
    return count


def step(state, action):
    """Place a stone and look for a line through it."""
    board = state["board"]
    row, column = action // board.shape[1], action % board.shape[1]
    mark = state["to_play"] + 1
    board[row, column] = mark
    for direction in range(4):
        down = (0, 1, 1, 1)[direction]
        across = (1, 0, 1, -1)[direction]
        line = 1 + count_from(board, row, column, down, across, mark)
        line += count_from(board, row, column, -down, -across, mark)
        if line == state["run"] or (line > state["run"] and not state["exact"]):
            state["winner"] = mark
    state["plies"] += 1
    state["to_play"] = 1 - state["to_play"]


def is_terminal(state):
    """Say whether a line or the full board has ended the game."""
    height, width = state["board"].shape
    return state["winner"] != 0 or state["plies"] == height * width


def returns(state, out):
    """Write 1 for the winner and -1 for the loser, or zeros."""
    out[0] = 0.0
    out[1] = 0.0
    if state["winner"] != 0:
        out[state["winner"] - 1] = 1.0
        out[2 - state["winner"]] = -1.0


def observe(state, planes):
    """Write the mover's stones, then the other's."""
    board = state["board"]
    height, width = board.shape
    mine = state["to_play"] + 1
    for row in range(height):
        for column in range(width):
            if board[row, column] != 0:
                planes[0 if board[row, column] == mine else 1, row, column] = 1.0
