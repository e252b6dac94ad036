"""Hex: player 0 joins the top side to the bottom, player 1 the left side to the right.

    0  1  2  3
     4  5  6  7       cells of a board of 4 x 4; the neighbours of cell 5 are 1, 2, 4, 6, 8 and 9;
      8  9 10 11      an action is the number of the cell that is filled,
       12 13 14 15    or with the swap rule 16: swap, for player 1's first turn only

A swap takes player 0's first stone off and puts a stone of player 1 on the cell mirrored in the
long diagonal (row and column exchanged), so that every player keeps his sides; then player 0 moves.
Stones that touch are kept as trees (union-find), and so are the four sides.
"""

import dataclasses

import numba
import numpy as np


@dataclasses.dataclass(frozen=True)
class Options:
    """The side of the board, and whether the second player may swap."""

    size: int = 11  # cells a side, 2..26
    swap: bool = False  # player 1 may take over player 0's first stone

    def __post_init__(self):
        if not 2 <= self.size <= 26:
            raise ValueError(f"option `size` is {self.size}; allowed: 2 to 26")


def make(options):
    """Give the constants and the record for the options."""
    size, cells = options.size, options.size * options.size
    same = np.arange(cells, dtype=np.int32)
    half_turn = np.ascontiguousarray(same[::-1])
    swap = np.full(int(options.swap), cells, np.int32)
    return {
        "STATE": np.dtype(
            [
                ("board", np.int8, (size, size)),
                ("parent", np.int16, (cells + 4,)),
                ("plies", np.int16),
                ("to_play", np.int8),
                ("winner", np.int8),
                ("swap", np.bool_),
            ],
            align=True,
        ),
        "NUM_PLAYERS": 2,
        "NUM_ACTIONS": cells + int(options.swap),
        "OBSERVATION_SHAPE": (3, size, size),
        "RETURN_RANGE": (-1.0, 1.0),
        "VIEW": "mover",
        "HAS_DRAWS": False,
        "MAX_LEGAL_ACTIONS": cells,
        "SETTINGS": {"swap": options.swap},
        "SYMMETRIES": [(cell_map, np.append(cell_map, swap)) for cell_map in (same, half_turn)],
    }


@numba.njit(error_model="numpy")
def find_root(parent, node):
    """Find the root of a node's tree, halving the path on the way."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@numba.njit(error_model="numpy")
def place(board, parent, row, column, mark):
    """Place a stone and join it to its own neighbours and side; say whether the two sides are joined."""
    size = board.shape[0]
    board[row, column] = mark
    root = find_root(parent, row * size + column)
    for direction in range(6):
        near_row = row + (-1, -1, 0, 0, 1, 1)[direction]
        near_column = column + (0, 1, -1, 1, -1, 0)[direction]
        if 0 <= near_row < size and 0 <= near_column < size and board[near_row, near_column] == mark:
            near = find_root(parent, near_row * size + near_column)
            parent[near] = root
    along = row if mark == 1 else column
    first_side = size * size + 2 * (mark - 1)
    if along == 0:
        parent[find_root(parent, first_side)] = root
    if along == size - 1:
        parent[find_root(parent, first_side + 1)] = root
    return find_root(parent, first_side) == find_root(parent, first_side + 1)


def init(state, seed):
    """Write the empty board; cells hold 0 or the player's number plus 1; winner likewise."""
    state["board"][:] = 0
    for node in range(len(state["parent"])):
        state["parent"][node] = node
    state["plies"] = 0
    state["to_play"] = 0
    state["winner"] = 0


def legal_actions(state, out):
    """Write the empty cells, and the swap where it is allowed."""
    count = 0
    if state["winner"] == 0:
        board = state["board"]
        size = board.shape[0]
        for row in range(size):
            for column in range(size):
                if board[row, column] == 0:
                    out[count] = row * size + column
                    count += 1
        if state["swap"] and state["plies"] == 1:
            out[count] = size * size
            count += 1
    return count


def step(state, action):
    """Place a stone, or swap: take the only stone off and place one's own on the mirrored cell."""
    board = state["board"]
    parent = state["parent"]
    size = board.shape[0]
    mark = state["to_play"] + 1
    row, column = action // size, action % size
    if action == size * size:
        first = 0
        while board[first // size, first % size] == 0:
            first += 1
        board[first // size, first % size] = 0
        for node in range(len(parent)):
            parent[node] = node
        row, column = first % size, first // size
    if place(board, parent, row, column, mark):
        state["winner"] = mark
    state["plies"] += 1
    state["to_play"] = 1 - state["to_play"]


def is_terminal(state):
    """Say whether somebody has joined his sides; one always does before the board is full."""
    return state["winner"] != 0


def returns(state, out):
    """Write 1 for the winner and -1 for the loser."""
    out[0] = 1.0 if state["winner"] == 1 else -1.0
    out[1] = -out[0]


def observe(state, planes):
    """Write the mover's stones, the other's, and ones where player 1 (left to right) moves."""
    board = state["board"]
    size = board.shape[0]
    mine = state["to_play"] + 1
    for row in range(size):
        for column in range(size):
            if board[row, column] != 0:
                planes[0 if board[row, column] == mine else 1, row, column] = 1.0
            planes[2, row, column] = state["to_play"]


def position_hash(state):
    """Hash the board and the mover; the trees depend on the order of the moves (FNV-1a, 64 bits)."""
    board = state["board"]
    size = board.shape[0]
    key = (np.uint64(0xCBF29CE484222325) ^ np.uint64(state["to_play"])) * np.uint64(0x100000001B3)
    for row in range(size):
        for column in range(size):
            key = (key ^ np.uint64(board[row, column])) * np.uint64(0x100000001B3)
    return key ^ (key >> np.uint64(32))
