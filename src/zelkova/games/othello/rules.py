"""Othello: a disc must enclose a line of the other's, which it turns; most discs win.

     0  1  2 ..  7     a position is two sets of cells, one bit a cell (bit = cell number);
     8  9 10 .. 15     an action is the number of the cell that is filled,
     :                 or size * size: pass, legal only where no disc can be placed
    56 57 58 .. 63     but the other player could place one

The game ends when neither player can place a disc; a disc more than the other wins.
"""

import dataclasses

import numba
import numpy as np

ONE = np.uint64(1)
NONE = np.uint64(0)


@dataclasses.dataclass(frozen=True)
class Options:
    """The side of the board."""

    size: int = 8  # cells a side: 4, 6 or 8

    def __post_init__(self):
        if self.size not in (4, 6, 8):
            raise ValueError(f"option `size` is {self.size}; allowed: 4, 6 or 8")


def make(options):
    """Give the constants and the record for the options."""
    size = options.size
    cells = np.arange(size * size, dtype=np.int32).reshape(size, size)
    turns = [np.rot90(cells, k) for k in range(4)]
    maps = [
        np.ascontiguousarray(turned).ravel() for turned in turns + [np.fliplr(turned) for turned in turns]
    ]
    inner = sum(1 << cell for cell in range(size * size) if 0 < cell % size < size - 1)
    return {
        "STATE": np.dtype(
            [
                ("discs", np.uint64, (2,)),
                ("moves", np.uint64),
                ("board", np.uint64),
                ("inner", np.uint64),
                ("to_play", np.int8),
                ("over", np.bool_),
                ("size", np.int8),
            ],
            align=True,
        ),
        "NUM_PLAYERS": 2,
        "NUM_ACTIONS": size * size + 1,
        "OBSERVATION_SHAPE": (2, size, size),
        "RETURN_RANGE": (-1.0, 1.0),
        "VIEW": "mover",
        "MAX_LEGAL_ACTIONS": size * size - 4,
        "SETTINGS": {"size": size, "board": (1 << (size * size)) - 1, "inner": inner},
        "SYMMETRIES": [(cell_map, np.append(cell_map, np.int32(size * size))) for cell_map in maps],
    }


@numba.njit(error_model="numpy")
def count_bits(bits):
    """Count the cells of a set (Warren, Hacker's Delight, section 5-1, without a product)."""
    bits = bits - ((bits >> ONE) & np.uint64(0x5555555555555555))
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    bits = bits + (bits >> np.uint64(8))
    bits = bits + (bits >> np.uint64(16))
    return np.int64((bits + (bits >> np.uint64(32))) & np.uint64(0x7F))


@numba.njit(error_model="numpy")
def find_moves(own, other, board, inner, size):
    """Find the cells where `own` encloses discs: run along each line over discs of `other`."""
    moves = NONE
    for direction in range(4):
        shift = np.uint64(1 if direction == 0 else size + direction - 2)
        through = other if direction == 2 else other & inner
        ahead = through & (own << shift)
        behind = through & (own >> shift)
        for _ in range(size - 3):
            ahead |= through & (ahead << shift)
            behind |= through & (behind >> shift)
        moves |= (ahead << shift) | (behind >> shift)
    return moves & board & ~(own | other)


@numba.njit(error_model="numpy")
def find_turned(disc, own, other, inner, size):
    """Find the discs of `other` between a new disc and those of `own`."""
    turned = NONE
    for direction in range(4):
        shift = np.uint64(1 if direction == 0 else size + direction - 2)
        through = other if direction == 2 else other & inner
        ahead = through & (disc << shift)
        behind = through & (disc >> shift)
        for _ in range(size - 3):
            ahead |= through & (ahead << shift)
            behind |= through & (behind >> shift)
        if (ahead << shift) & own:
            turned |= ahead
        if (behind >> shift) & own:
            turned |= behind
    return turned


def init(state, seed):
    """Write the four discs in the middle; player 0 has black and moves first."""
    size = state["size"]
    corner = (size // 2 - 1) * size + size // 2 - 1
    state["discs"][0] = (ONE << np.uint64(corner + 1)) | (ONE << np.uint64(corner + size))
    state["discs"][1] = (ONE << np.uint64(corner)) | (ONE << np.uint64(corner + size + 1))
    state["to_play"] = 0
    state["over"] = False
    state["moves"] = find_moves(state["discs"][0], state["discs"][1], state["board"], state["inner"], size)


def legal_actions(state, out):
    """Write the cells that enclose something, or the pass."""
    count = 0
    moves = state["moves"]
    while moves != NONE:
        out[count] = count_bits((moves & (~moves + ONE)) - ONE)
        moves &= moves - ONE
        count += 1
    if count == 0 and not state["over"]:
        out[0] = np.int32(state["size"]) * state["size"]
        count = 1
    return count


def step(state, action):
    """Place a disc and turn what it encloses, or pass; find what the next player can do."""
    mover = state["to_play"]
    own = state["discs"][mover]
    other = state["discs"][1 - mover]
    size = state["size"]
    if state["moves"] != NONE:
        disc = ONE << np.uint64(action)
        turned = find_turned(disc, own, other, state["inner"], size)
        own |= disc | turned
        other &= ~turned
        state["discs"][mover] = own
        state["discs"][1 - mover] = other
    state["to_play"] = 1 - mover
    state["moves"] = find_moves(other, own, state["board"], state["inner"], size)
    if state["moves"] == NONE:
        state["over"] = find_moves(own, other, state["board"], state["inner"], size) == NONE


def is_terminal(state):
    """Say whether neither player can place a disc."""
    return state["over"]


def returns(state, out):
    """Write 1 for the player with more discs and -1 for the other, or zeros."""
    difference = count_bits(state["discs"][0]) - count_bits(state["discs"][1])
    out[0] = np.sign(difference)
    out[1] = -np.sign(difference)


def observe(state, planes):
    """Write the mover's discs, then the other's."""
    own = state["discs"][state["to_play"]]
    other = state["discs"][1 - state["to_play"]]
    size = state["size"]
    for row in range(size):
        for column in range(size):
            cell = np.uint64(row * size + column)
            planes[0, row, column] = (own >> cell) & ONE
            planes[1, row, column] = (other >> cell) & ONE


def evaluate(state, out):
    """Write the share of mobility and corners: one point a possible move, five a corner."""
    size = np.uint64(state["size"])
    last = size * size - ONE
    corners = ONE | (ONE << (size - ONE)) | (ONE << (last - size + ONE)) | (ONE << last)
    mover = state["to_play"]
    own, other = state["discs"][mover], state["discs"][1 - mover]
    replies = find_moves(other, own, state["board"], state["inner"], state["size"])
    mine = count_bits(state["moves"]) + 5 * count_bits(own & corners)
    theirs = count_bits(replies) + 5 * count_bits(other & corners)
    out[mover] = (mine - theirs) / (mine + theirs + 8.0)
    out[1 - mover] = -out[mover]
