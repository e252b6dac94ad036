"""2048: tiles slide to one side and equal neighbours merge once; after every move chance adds a tile.

     0  1  2  3     actions: 0 up, 1 right, 2 down, 3 left
     4  5  6  7     an outcome is 2 * cell + 0 for a 2, + 1 for a 4:
     8  9 10 11     every empty cell alike, a 2 nine times in ten
    12 13 14 15

A cell holds the exponent of its tile, 0 where it is empty. The first board is empty and two tiles come by
chance. Merging two tiles scores their sum; the game is over when no side moves anything.

Rules: 2048 (Cirulli 2014).
"""

import dataclasses

import numba
import numpy as np


@dataclasses.dataclass(frozen=True)
class Options:
    """The board, and the score that counts as everything."""

    size: int = 4  # rows and columns, 2..6
    full_score: int = 20_000  # score whose return is 1; more gives no more

    def __post_init__(self):
        for name, low, high in (("size", 2, 6), ("full_score", 1, 100_000_000)):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"option `{name}` is {getattr(self, name)}; allowed: {low} to {high}")


def make(options):
    """Give the constants and the record for the options."""
    size = options.size
    return {
        "STATE": np.dtype(
            [
                ("board", np.int8, (size, size)),
                ("to_play", np.int8),
                ("score", np.int32),
                ("full_score", np.int32),
            ],
            align=True,
        ),
        "NUM_PLAYERS": 1,
        "NUM_ACTIONS": 4,
        "NUM_OUTCOMES": 2 * size * size,
        "OBSERVATION_SHAPE": (size * size + 2, size, size),
        "RETURN_RANGE": (0.0, 1.0),
        "VIEW": "mover",
        "HAS_DRAWS": False,
        "SETTINGS": {"full_score": options.full_score},
        "SYMMETRIES": symmetries(size),
    }


def symmetries(size):
    """Give the maps of cells, actions and outcomes for the eight ways to turn and mirror the board."""
    cells = np.arange(size * size, dtype=np.int32).reshape(size, size)
    ways = {-size: 0, 1: 1, size: 2, -1: 3}  # what a step in each direction adds to a cell's number
    maps = []
    for board in (cells, cells.T):
        for turns in range(4):
            turned = np.rot90(board, turns)
            corner = int(turned[0, 0])
            down, right = ways[int(turned[1, 0]) - corner], ways[int(turned[0, 1]) - corner]
            actions = [(down + 2) % 4, right, down, (right + 2) % 4]
            outcomes = 2 * turned.reshape(-1, 1) + np.arange(2)
            maps.append((turned.ravel(), np.array(actions, np.int32), outcomes.ravel().astype(np.int32)))
    return maps


def init(state, seed):
    """Write the empty board; nature moves first."""
    state["board"][:] = 0
    state["to_play"] = -1
    state["score"] = 0


@numba.njit(error_model="numpy")
def start_of(action, line, size):
    """Give the cell of a line that lies at the side tiles slide to, and the step away from it."""
    if action == 0:
        return line, size
    if action == 1:
        return line * size + size - 1, -1
    if action == 2:
        return (size - 1) * size + line, -size
    return line * size, 1


@numba.njit(error_model="numpy")
def moves_line(cells, first, away, size):
    """Say whether sliding changes a line: a tile beyond a gap, or two equal neighbours."""
    gap = False
    last = 0
    for place in range(size):
        tile = cells[first + place * away]
        if tile == 0:
            gap = True
        else:
            if gap or tile == last:
                return True
            last = tile
    return False


@numba.njit(error_model="numpy")
def slide_line(cells, first, away, size):
    """Slide a line to its first cell, merge equal neighbours once, and give the points."""
    points = 0
    free = 0
    waiting = 0
    for place in range(size):
        tile = cells[first + place * away]
        if tile == 0:
            continue
        cells[first + place * away] = 0
        if tile == waiting:
            cells[first + (free - 1) * away] = tile + 1
            points += 1 << (tile + 1)
            waiting = 0
        else:
            cells[first + free * away] = tile
            free += 1
            waiting = tile
    return points


def legal_actions(state, out):
    """Write the sides that something moves to."""
    count = 0
    cells = state["board"].reshape(-1)
    size = state["board"].shape[0]
    for action in range(4):
        for line in range(size):
            first, away = start_of(action, line, size)
            if moves_line(cells, first, away, size):
                out[count] = action
                count += 1
                break
    return count


def chance(state, actions, probs):
    """Write a 2 and a 4 for every empty cell where nature moves."""
    if state["to_play"] >= 0:
        return 0
    cells = state["board"].reshape(-1)
    empty = 0
    for cell in range(len(cells)):
        if cells[cell] == 0:
            actions[2 * empty] = 2 * cell
            actions[2 * empty + 1] = 2 * cell + 1
            empty += 1
    for place in range(empty):
        probs[2 * place] = 0.9 / empty
        probs[2 * place + 1] = 0.1 / empty
    return 2 * empty


def step(state, action):
    """Slide every line, or put the new tile down; the first board gets two."""
    cells = state["board"].reshape(-1)
    size = state["board"].shape[0]
    if state["to_play"] < 0:
        cells[action // 2] = 1 + action % 2
        tiles = 0
        for cell in range(len(cells)):
            tiles += cells[cell] != 0
        state["to_play"] = 0 if tiles >= 2 else -1
    else:
        for line in range(size):
            first, away = start_of(action, line, size)
            state["score"] += slide_line(cells, first, away, size)
        state["to_play"] = -1


def is_terminal(state):
    """Say whether the board is full and no neighbours are equal."""
    if state["to_play"] < 0:
        return False
    board = state["board"]
    size = board.shape[0]
    for row in range(size):
        for column in range(size):
            tile = board[row, column]
            if tile == 0:
                return False
            if column + 1 < size and board[row, column + 1] == tile:
                return False
            if row + 1 < size and board[row + 1, column] == tile:
                return False
    return True


def returns(state, out):
    """Write the score's share of the full score, 1 at most."""
    out[0] = min(state["score"] / state["full_score"], 1.0)


def observe(state, planes):
    """Write a plane for every tile from 2 on, and the score's share everywhere on the last."""
    board = state["board"]
    size = board.shape[0]
    share = min(state["score"] / state["full_score"], 1.0)
    for row in range(size):
        for column in range(size):
            if board[row, column] != 0:
                planes[board[row, column] - 1, row, column] = 1.0
            planes[size * size + 1, row, column] = share
