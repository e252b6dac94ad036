"""Tic-tac-toe: two players fill a board of 3 x 3 in turn; three of one's own in a line win.

    0 1 2
    3 4 5     an action is the number of the cell that is filled
    6 7 8

A full board without a line is a draw.
"""

import numpy as np

STATE = np.dtype(
    [("board", np.int8, (3, 3)), ("to_play", np.int8), ("winner", np.int8), ("plies", np.int8)], align=True
)
NUM_PLAYERS = 2
NUM_ACTIONS = 9
OBSERVATION_SHAPE = (2, 3, 3)
RETURN_RANGE = (-1.0, 1.0)
VIEW = "mover"

_CELLS = np.arange(9, dtype=np.int32).reshape(3, 3)
_TURNS = [np.rot90(_CELLS, turns) for turns in range(4)]
SYMMETRIES = [
    (np.ascontiguousarray(cells).ravel(), np.ascontiguousarray(cells).ravel())
    for cells in _TURNS + [np.fliplr(turned) for turned in _TURNS]
]


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
        for cell in range(9):
            if board[cell // 3, cell % 3] == 0:
                out[count] = cell
                count += 1
    return count


def step(state, action):
    """Fill a cell and look for a line through it."""
    board = state["board"]
    row, column = action // 3, action % 3
    mark = state["to_play"] + 1
    board[row, column] = mark
    in_row = in_column = down = up = 0
    for k in range(3):
        in_row += board[row, k] == mark
        in_column += board[k, column] == mark
        down += board[k, k] == mark
        up += board[k, 2 - k] == mark
    if in_row == 3 or in_column == 3 or down == 3 or up == 3:
        state["winner"] = mark
    state["plies"] += 1
    state["to_play"] = 1 - state["to_play"]


def is_terminal(state):
    """Say whether a line or the full board has ended the game."""
    return state["winner"] != 0 or state["plies"] == 9


def returns(state, out):
    """Write 1 for the winner and -1 for the loser, or zeros."""
    out[0] = 0.0
    out[1] = 0.0
    if state["winner"] != 0:
        out[state["winner"] - 1] = 1.0
        out[2 - state["winner"]] = -1.0


def observe(state, planes):
    """Write the mover's marks, then the other's."""
    board = state["board"]
    mine = state["to_play"] + 1
    for row in range(3):
        for column in range(3):
            if board[row, column] != 0:
                planes[0 if board[row, column] == mine else 1, row, column] = 1.0
