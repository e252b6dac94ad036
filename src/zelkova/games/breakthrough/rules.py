"""Breakthrough: a piece steps one row forward, straight or diagonally, and captures diagonally only.

     0  1  2 ..  7    player 1, moves down
     8  9 10 .. 15    an action is 3 * cell + side: the cell that a piece leaves,
     :                and 0, 1, 2 for one column to the left, straight on, one to the right
    56 57 58 .. 63    player 0, moves up and first

Who reaches the last row or captures every piece wins. Somebody can always move: nothing of one's
own is ahead of the foremost piece, and what else is diagonally ahead can be captured.
"""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Options:
    """The board; each player begins with two full rows."""

    height: int = 8  # rows, 5..16
    width: int = 8  # columns, 2..16

    def __post_init__(self):
        for name, low in (("height", 5), ("width", 2)):
            if not low <= getattr(self, name) <= 16:
                raise ValueError(f"option `{name}` is {getattr(self, name)}; allowed: {low} to 16")


def make(options):
    """Give the constants and the record for the options."""
    height, width = options.height, options.width
    cells = np.arange(height * width, dtype=np.int32).reshape(height, width)
    maps = [np.ascontiguousarray(turned).ravel() for turned in (cells, cells[:, ::-1])]
    sides = [np.array(order, np.int32) for order in ((0, 1, 2), (2, 1, 0))]
    return {
        "STATE": np.dtype(
            [
                ("board", np.int8, (height, width)),
                ("pieces", np.int16, (2,)),
                ("to_play", np.int8),
                ("winner", np.int8),
            ],
            align=True,
        ),
        "NUM_PLAYERS": 2,
        "NUM_ACTIONS": 3 * height * width,
        "OBSERVATION_SHAPE": (3, height, width),
        "RETURN_RANGE": (-1.0, 1.0),
        "VIEW": "mover",
        "HAS_DRAWS": False,
        "MAX_LEGAL_ACTIONS": 6 * width,
        "SYMMETRIES": [
            (cell_map, (3 * cell_map[:, None] + side).ravel().astype(np.int32))
            for cell_map, side in zip(maps, sides, strict=True)
        ],
    }


def init(state, seed):
    """Write the first position; cells hold 0 or the player's number plus 1; winner likewise."""
    board = state["board"]
    height, width = board.shape
    board[:] = 0
    board[:2] = 2
    board[height - 2 :] = 1
    state["pieces"][:] = 2 * width
    state["to_play"] = 0
    state["winner"] = 0


def legal_actions(state, out):
    """Write the steps onto empty cells, and diagonally onto the other's pieces."""
    count = 0
    if state["winner"] == 0:
        board = state["board"]
        height, width = board.shape
        mark = state["to_play"] + 1
        forward = 2 * state["to_play"] - 1
        for row in range(height):
            for column in range(width):
                if board[row, column] != mark:
                    continue
                for side in range(3):
                    beside = column + side - 1
                    if 0 <= beside < width:
                        there = board[row + forward, beside]
                        if there == 0 or (side != 1 and there != mark):
                            out[count] = 3 * (row * width + column) + side
                            count += 1
    return count


def step(state, action):
    """Move a piece and see whether it has won."""
    board = state["board"]
    height, width = board.shape
    mover = state["to_play"]
    cell, side = action // 3, action % 3
    row, column = cell // width, cell % width
    ahead, beside = row + 2 * mover - 1, column + side - 1
    if board[ahead, beside] != 0:
        state["pieces"][1 - mover] -= 1
    board[row, column] = 0
    board[ahead, beside] = mover + 1
    if ahead == 0 or ahead == height - 1 or state["pieces"][1 - mover] == 0:
        state["winner"] = mover + 1
    state["to_play"] = 1 - mover


def is_terminal(state):
    """Say whether somebody has broken through or captured everything."""
    return state["winner"] != 0


def returns(state, out):
    """Write 1 for the winner and -1 for the loser."""
    out[0] = 1.0 if state["winner"] == 1 else -1.0
    out[1] = -out[0]


def observe(state, planes):
    """Write the mover's pieces, the other's, and ones where player 1 (downwards) moves."""
    board = state["board"]
    height, width = board.shape
    mine = state["to_play"] + 1
    for row in range(height):
        for column in range(width):
            if board[row, column] != 0:
                planes[0 if board[row, column] == mine else 1, row, column] = 1.0
            planes[2, row, column] = state["to_play"]
