"""Connect four: players drop discs into columns in turn; a line of `run` of one's own wins.

    35 36 37 38 39 40 41     cells as stored: row 0 is the bottom
     :  :  :  :  :  :  :
     0  1  2  3  4  5  6     an action is the number of a column

A full board is a draw. With three players the turn goes round and everyone plays for a line alone.
"""

import dataclasses

import numba
import numpy as np


@dataclasses.dataclass(frozen=True)
class Options:
    """The board, the line that wins and how many take turns."""

    height: int = 6  # rows, 1..32
    width: int = 7  # columns, 1..32
    run: int = 4  # discs in a winning line, 2..32
    players: int = 2  # 2 or 3

    def __post_init__(self):
        for name, low, high in (("height", 1, 32), ("width", 1, 32), ("run", 2, 32), ("players", 2, 3)):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"option `{name}` is {getattr(self, name)}; allowed: {low} to {high}")


def make(options):
    """Give the constants and the record for the options."""
    height, width = options.height, options.width
    cells = np.arange(height * width, dtype=np.int32).reshape(height, width)
    columns = np.arange(width, dtype=np.int32)
    return {
        "STATE": np.dtype(
            [
                ("board", np.int8, (height, width)),
                ("heights", np.int8, (width,)),
                ("to_play", np.int8),
                ("winner", np.int8),
                ("run", np.int8),
                ("players", np.int8),
                ("plies", np.int16),
            ],
            align=True,
        ),
        "NUM_PLAYERS": options.players,
        "NUM_ACTIONS": width,
        "OBSERVATION_SHAPE": (options.players, height, width),
        "RETURN_RANGE": (-1.0, 1.0) if options.players == 2 else (0.0, 1.0),
        "VIEW": "mover",
        "SETTINGS": {"run": options.run, "players": options.players},
        "SYMMETRIES": [
            (cells.ravel(), columns),
            (np.ascontiguousarray(cells[:, ::-1]).ravel(), np.ascontiguousarray(columns[::-1])),
        ],
    }


@numba.njit(error_model="numpy")
def count_from(board, row, column, down, across, mark):
    """Count the discs of one's own that follow a cell in one direction."""
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
    state["heights"][:] = 0
    state["to_play"] = 0
    state["winner"] = 0
    state["plies"] = 0


def legal_actions(state, out):
    """Write the columns that have room."""
    count = 0
    if state["winner"] == 0:
        height, width = state["board"].shape
        for column in range(width):
            if state["heights"][column] < height:
                out[count] = column
                count += 1
    return count


def step(state, action):
    """Drop a disc and look for a line through it."""
    board = state["board"]
    row = state["heights"][action]
    mark = state["to_play"] + 1
    board[row, action] = mark
    state["heights"][action] = row + 1
    for direction in range(4):
        down = (0, 1, 1, 1)[direction]
        across = (1, 0, 1, -1)[direction]
        line = 1 + count_from(board, row, action, down, across, mark)
        line += count_from(board, row, action, -down, -across, mark)
        if line >= state["run"]:
            state["winner"] = mark
    state["plies"] += 1
    state["to_play"] = mark % state["players"]


def is_terminal(state):
    """Say whether a line or the full board has ended the game."""
    height, width = state["board"].shape
    return state["winner"] != 0 or state["plies"] == height * width


def returns(state, out):
    """Write the winner's and the others' returns; all share alike in a draw."""
    players = state["players"]
    lost = -1.0 if players == 2 else 0.0
    for player in range(players):
        if state["winner"] == 0:
            out[player] = 0.0 if players == 2 else 1.0 / players
        else:
            out[player] = 1.0 if state["winner"] == player + 1 else lost


def observe(state, planes):
    """Write the mover's discs, then the others' in turn order."""
    board = state["board"]
    height, width = board.shape
    for row in range(height):
        for column in range(width):
            if board[row, column] != 0:
                plane = (board[row, column] - 1 - state["to_play"]) % state["players"]
                planes[plane, row, column] = 1.0


@numba.njit(error_model="numpy")
def weigh_line(board, row, column, down, across, run):
    """Give the mark that stands alone in the `run` cells from one on, or 0, and k cubed for its k discs."""
    mark = 0
    discs = 0
    for _ in range(run):
        found = board[row, column]
        if found != 0:
            if mark != 0 and found != mark:
                return 0, 0
            mark = found
            discs += 1
        row += down
        column += across
    return mark, discs * discs * discs


def evaluate(state, out):
    """Write each player's share of the lines still open to that player alone: k cubed for k discs."""
    board = state["board"]
    height, width = board.shape
    run = np.int64(state["run"])
    players = state["players"]
    tallest = 0
    for column in range(width):
        tallest = max(tallest, state["heights"][column])
    for player in range(players):
        out[player] = 16.0
    total = 16.0 * players
    for direction in range(4):
        down = (0, 1, 1, 1)[direction]
        across = (1, 0, 1, -1)[direction]
        left = run - 1 if across < 0 else 0
        right = width - run + 1 if across > 0 else width
        for row in range(min(tallest, height - down * (run - 1))):
            for column in range(left, right):
                mark, weight = weigh_line(board, row, column, down, across, run)
                if mark != 0:
                    out[mark - 1] += weight
                    total += weight
    for player in range(players):
        share = out[player] / total
        out[player] = 2.0 * share - 1.0 if players == 2 else share
