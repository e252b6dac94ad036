"""Three-player shogi: three armies on one 9 x 9 board; take kings, or walk your own to the far edge.

     0  1  2 ..  8     rank a, the top          seat 0 Blue walks up, 1 Red down, 2 Green to the left;
     9 10 11 .. 17     rank b                   nothing is ever turned
     :                                          action = 81 * kind + the cell that is reached:
    72 73 74 .. 80     rank i                   kinds 0-7 by direction, 8-9 jumps, 10-19 the same with
     :                                          promotion, 20-26 drops of P L N S G B R
    file 9 .. file 1

A board is seven sets of cells, two words each: who owns a cell (3), and the bits of its piece's code (4).
The bit of a cell is its number. Legal moves are found for all pieces at once, one direction after the other:
the first piece met on the way back from a destination is the only one that can have come.

    code   0 P   1 L   2 N   3 S   4 B   5 R   may still promote
    code   8 +P  9 +L 10 +N 11 +S 12 +B 13 +R 14 G 15 K

Positions are settled: the player to move is alive and has a legal move, or the game is over.
Rules: docs/three-player-shogi.md.
"""

import dataclasses

import numba
import numpy as np
from numba.cpython.unsafe.numbers import leading_zeros, trailing_zeros
from numba.extending import overload

ONE = np.uint64(1)
NONE = np.uint64(0)
ALL = np.uint64(2**64 - 1)
LOW = np.uint64(63)
HIGH_CELLS = np.uint64(2**17 - 1)  # the cells of the second word

CAPTURES = ("own", "share", "vanish")
OWN, SHARE, VANISH = range(3)
ENDINGS = ("", "last", "entry", "limit")
LAST, ENTRY, LIMIT = 1, 2, 3
KNIGHT, GOLD, KING = 2, 14, 15
PROMOTED = 8
RISE = 10  # added to a kind of move: with promotion
DROP = 20  # the first kind of drop
MIDDLE = 4  # depth of the middle line

KINDS = ("P", "L", "N", "S", "G", "B", "R", "K", "+P", "+L", "+N", "+S", "+B", "+R")
KIND_OF_CODE = np.array([0, 1, 2, 3, 5, 6, -1, -1, 8, 9, 10, 11, 12, 13, 4, 7], np.int64)
CODE_OF_KIND = np.array([0, 1, 2, 3, 14, 4, 5, 15, 8, 9, 10, 11, 12, 13], np.int64)
TOTALS = np.array([15, 3, 3, 6, 6, 3, 3, 3], np.int64)  # pieces of a kind in all, the last is the king
BOARD_WORTH = np.array([100, 300, 350, 400, 800, 900, 0, 0, 500, 500, 500, 500, 1300, 1350, 500, 0], np.int64)
HAND_WORTH = np.array([130, 390, 455, 520, 650, 1040, 1170], np.int64)

OFFSETS = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
FORWARD = np.array([0, 4, 6], np.int64)  # direction that a seat walks in
START = (
    "rSrGrKrGrS........"
    "rB......rR........"
    "rPrPrPrPrP..gPgRgS"
    "............gP..gG"
    "............gP..gK"
    "............gP..gG"
    "bPbPbPbPbP..gPgBgS"
    "bR......bB........"
    "bSbGbKbGbS........"
)
MOST_MOVES = 1024  # 560 drops, and 386 moves of all pieces there are, at the very most
HALF = 512  # promotions wait in the second half of the list until the other moves are written

# Steps and slides by code, one bit a direction as Blue sees it: bit 0 forward, then clockwise.
_ROUND, _STRAIGHT, _SLANT, _GOLD = 0b11111111, 0b01010101, 0b10101010, 0b11010111
_STEPS = {0: 1, 3: 0b10101011, 12: _STRAIGHT, 13: _SLANT, 14: _GOLD, 15: _ROUND} | dict.fromkeys(
    range(8, 12), _GOLD
)
_SLIDES = {1: 1, 4: _SLANT, 5: _STRAIGHT, 12: _SLANT, 13: _STRAIGHT}
STEPS = np.array([_STEPS.get(code, 0) for code in range(16)], np.int64)
SLIDES = np.array([_SLIDES.get(code, 0) for code in range(16)], np.int64)


def set_of(cells):
    """Give a set of cells as two words."""
    bits = sum(1 << cell for cell in cells)
    return bits & (2**64 - 1), bits >> 64


def walk(cell: int, down: int, across: int) -> list[int]:
    """List the cells from one to the edge, without the first."""
    row, column = divmod(cell, 9)
    cells = []
    while 0 <= row + down < 9 and 0 <= column + across < 9:
        row, column = row + down, column + across
        cells.append(9 * row + column)
    return cells


def depth_of(seat: int, cell: int) -> int:
    """Count the steps from a cell to a seat's far edge."""
    row, column = divmod(cell, 9)
    return (row, 8 - row, column)[seat]


def turn(seat: int, down: int, across: int) -> tuple[int, int]:
    """Turn Blue's step for a seat."""
    return ((down, across), (-down, -across), (-across, down))[seat]


_CELLS = range(81)
_SEATS = range(3)


def _depths(most):
    """Give for each seat the set of cells of at most a depth."""
    return [set_of(c for c in _CELLS if depth_of(seat, c) <= most) for seat in _SEATS]


RAYS = np.array([[set_of(walk(cell, *step)) for cell in _CELLS] for step in OFFSETS], np.uint64)
AROUND = np.array(
    [set_of(c for step in OFFSETS for c in walk(cell, *step)[:1]) for cell in _CELLS], np.uint64
)
SHIFTS = np.array([9 * down + across for down, across in OFFSETS], np.int64)
LEAVES = np.array(  # cells that a step in a direction doesn't carry over the left or right edge
    [set_of(c for c in _CELLS if 0 <= c % 9 + across < 9) for _, across in OFFSETS], np.uint64
)
DEPTH = np.array([[depth_of(seat, cell) for cell in _CELLS] for seat in _SEATS], np.int64)
UP_TO = np.array([_depths(most) for most in range(4)], np.uint64)  # [depth, seat, word]
_JUMPS = [[turn(seat, -2, side) for side in (-1, 1)] for seat in _SEATS]
JUMPS = np.array([[9 * down + across for down, across in pair] for pair in _JUMPS], np.int64)
JUMPERS = np.array(  # cells that a jump leads from
    [
        [
            set_of(c for c in _CELLS if 0 <= c // 9 + down < 9 and 0 <= c % 9 + across < 9)
            for down, across in pair
        ]
        for pair in _JUMPS
    ],
    np.uint64,
)
LINES = np.array(  # the cells that another pawn closes: its file, or its rank for Green
    [
        [
            set_of(c for c in _CELLS if (c // 9 == cell // 9 if seat == 2 else c % 9 == cell % 9))
            for cell in _CELLS
        ]
        for seat in _SEATS
    ],
    np.uint64,
)
START_OWNER = np.array(["brg".find(letter) for letter in START[::2]], np.int64)
START_CODE = np.array(
    [CODE_OF_KIND[KINDS.index(name)] if name != "." else 0 for name in START[1::2]], np.int64
)


@dataclasses.dataclass(frozen=True)
class Options:
    """Who receives what is captured, and when a game is decided by material."""

    capture: str = "own"  # own, share or vanish
    max_plies: int = 499  # moves of all players together, 1 or more

    def __post_init__(self):
        if self.capture not in CAPTURES:
            raise ValueError(f"option `capture` is {self.capture!r}; allowed: {', '.join(CAPTURES)}")
        if not 1 <= self.max_plies <= 1_000_000:
            raise ValueError(f"option `max_plies` is {self.max_plies}; allowed: 1 to 1000000")


def make(options):
    """Give the constants and the record for the options."""
    return {
        "STATE": np.dtype(
            [
                ("sets", np.uint64, (7, 2)),  # of Blue, Red, Green; then the four bits of the codes
                ("hands", np.int8, (3, 7)),  # P L N S G B R of each seat
                ("kings", np.int8, (3,)),  # cell, -1 once it is gone
                ("fallen", np.int8, (3,)),  # 0 while alive; 1 who fell first, 2 who fell second
                ("to_play", np.int8),
                ("winner", np.int8),  # -1 before the end
                ("ending", np.int8),  # how it ended, a place in ENDINGS
                ("capture", np.int8),  # a place in CAPTURES
                ("plies", np.int32),
                ("max_plies", np.int32),
            ],
            align=True,
        ),
        "NUM_PLAYERS": 3,
        "NUM_ACTIONS": 27 * 81,
        "OBSERVATION_SHAPE": (73, 9, 9),
        "RETURN_RANGE": (0.0, 1.0),
        "VIEW": "absolute",
        "HAS_DRAWS": False,
        "MAX_LEGAL_ACTIONS": MOST_MOVES,
        "MAX_PLIES": options.max_plies,
        "SETTINGS": {"capture": CAPTURES.index(options.capture), "max_plies": options.max_plies},
    }


def lowest(word):
    """Give the number of the lowest bit of a word that is not zero."""
    return (int(word) & -int(word)).bit_length() - 1


def highest(word):
    """Give the number of the highest bit of a word that is not zero."""
    return int(word).bit_length() - 1


@overload(lowest)
def _lowest(word):
    return lambda word: np.int64(trailing_zeros(word))


@overload(highest)
def _highest(word):
    return lambda word: np.int64(63) - np.int64(leading_zeros(word))


@numba.njit(error_model="numpy", forceinline=True)
def first(low, high):
    """Give the first cell of a set that is not empty."""
    return lowest(low) if low != NONE else 64 + lowest(high)


@numba.njit(error_model="numpy", forceinline=True)
def drop_first(low, high):
    """Give a set without its first cell."""
    if low != NONE:
        return low & (low - ONE), high
    return low, high & (high - ONE)


@numba.njit(error_model="numpy", forceinline=True)
def shift(low, high, by):
    """Move every cell of a set by a number of cells, -63..63; what leaves the top is lost."""
    if by > 0:
        left = np.uint64(by)
        return low << left, (high << left) | (low >> np.uint64(64 - by))
    right = np.uint64(-by)
    return (low >> right) | (high << np.uint64(64 + by)), high >> right


@numba.njit(error_model="numpy", forceinline=True)
def see(cell, direction, low, high):
    """Give the cells that a slide reaches, up to and with the first one of a set."""
    ray0, ray1 = RAYS[direction, cell, 0], RAYS[direction, cell, 1]
    met0, met1 = ray0 & low, ray1 & high
    if 2 <= direction < 6:
        less = NONE if met0 != NONE else ONE
        return ray0 & (met0 ^ (met0 - ONE)), ray1 & (met1 ^ (met1 - less))
    if met1 != NONE:
        return NONE, ray1 & (ALL << np.uint64(highest(met1)))
    if met0 != NONE:
        return ray0 & (ALL << np.uint64(highest(met0))), ray1
    return ray0, ray1


@numba.njit(error_model="numpy", forceinline=True)
def holds(low, high, cell):
    """Say whether a cell is in a set."""
    return ((low if cell < 64 else high) >> (np.uint64(cell) & LOW)) & ONE != NONE


@numba.njit(error_model="numpy", forceinline=True)
def code_at(sets, cell):
    """Give the code of the piece on a cell."""
    word, place = cell >> 6, np.uint64(cell) & LOW
    code = np.int64(0)
    for bit in range(4):
        code |= np.int64((sets[3 + bit, word] >> place) & ONE) << bit
    return code


@numba.njit(error_model="numpy", forceinline=True)
def put(sets, seat, code, cell):
    """Put a piece on an empty cell."""
    word, place = cell >> 6, np.uint64(cell) & LOW
    sets[seat, word] |= ONE << place
    for bit in range(4):
        sets[3 + bit, word] |= np.uint64((code >> bit) & 1) << place


@numba.njit(error_model="numpy", forceinline=True)
def lift(sets, seat, cell):
    """Take a seat's piece off a cell."""
    word = cell >> 6
    rest = ~(ONE << (np.uint64(cell) & LOW))
    sets[seat, word] &= rest
    for bit in range(4):
        sets[3 + bit, word] &= rest


def init(state, seed):
    """Write the start: a lance and a knight in each hand."""
    sets = state["sets"]
    for index in range(7):
        sets[index, 0] = NONE
        sets[index, 1] = NONE
    for seat in range(3):
        state["fallen"][seat] = 0
        for kind in range(7):
            state["hands"][seat, kind] = 1 if kind in (1, 2) else 0
    for cell in range(81):
        if START_OWNER[cell] >= 0:
            put(sets, START_OWNER[cell], START_CODE[cell], cell)
            if START_CODE[cell] == KING:
                state["kings"][START_OWNER[cell]] = cell
    state["to_play"] = 0
    state["winner"] = -1
    state["ending"] = 0
    state["plies"] = 0


@numba.njit(error_model="numpy", forceinline=True)
def write_set(out, count, kind, low, high):
    """Write one action for each cell of a set; give the length of the list."""
    base = 81 * kind
    while low != NONE:
        out[count] = base + lowest(low)
        low &= low - ONE
        count += 1
    base += 64
    while high != NONE:
        out[count] = base + lowest(high)
        high &= high - ONE
        count += 1
    return count


@numba.njit(error_model="numpy", forceinline=True)
def sort_pieces(sets, seat, word):
    """Give one word of a seat's pawns, lances, knights, silvers, golds, kings, bishops, rooks and promoted.

    Golds are all that move like one; bishops and rooks with the promoted ones.
    """
    own = sets[seat, word]
    bit0, bit1, bit2, bit3 = sets[3, word], sets[4, word], sets[5, word], sets[6, word]
    small = own & ~bit2 & ~bit3
    great = own & bit2
    pawns, lances = small & ~bit1 & ~bit0, small & ~bit1 & bit0
    knights, silvers = small & bit1 & ~bit0, small & bit1 & bit0
    golds = own & bit3 & (~bit2 | (bit1 & ~bit0))
    kings = great & bit1 & bit0
    bishops, rooks = great & ~bit1 & ~bit0, great & ~bit1 & bit0
    return pawns, lances, knights, silvers, golds, kings, bishops, rooks, bit3


@numba.njit(error_model="numpy", forceinline=True)
def slide(seat, direction, slide0, slide1, full0, full1, lance0, lance1, risen0, risen1):
    """Give the cells that a set of pieces slides to without promotion, and with it."""
    step0, step1, rise0, rise1 = NONE, NONE, NONE, NONE
    while (slide0 | slide1) != NONE:
        cell = first(slide0, slide1)
        slide0, slide1 = drop_first(slide0, slide1)
        seen0, seen1 = see(cell, direction, full0, full1)
        if not holds(risen0, risen1, cell):
            low, high = ALL, ALL
            if DEPTH[seat, cell] > 2:
                low, high = UP_TO[2, seat, 0], UP_TO[2, seat, 1]
            rise0, rise1 = rise0 | (seen0 & low), rise1 | (seen1 & high)
        if holds(lance0, lance1, cell):
            seen0, seen1 = seen0 & ~UP_TO[0, seat, 0], seen1 & ~UP_TO[0, seat, 1]
        step0, step1 = step0 | seen0, step1 | seen1
    return step0, step1, rise0, rise1


@numba.njit(error_model="numpy", forceinline=True)
def write_jumps(seat, knight0, knight1, open0, open1, out, stays, rises):
    """Write the knights' jumps; give the lengths of both lists."""
    must0, must1 = UP_TO[1, seat, 0], UP_TO[1, seat, 1]
    may0, may1 = UP_TO[2, seat, 0], UP_TO[2, seat, 1]
    for side in range(2):
        low, high = knight0 & JUMPERS[seat, side, 0], knight1 & JUMPERS[seat, side, 1]
        low, high = shift(low, high, JUMPS[seat, side])
        low, high = low & open0, high & open1
        stays = write_set(out, stays, 8 + side, low & ~must0, high & ~must1)
        rises = write_set(out, rises, RISE + 8 + side, low & may0, high & may1)
    return stays, rises


@numba.njit(error_model="numpy")
def write_moves(sets, seat, out):
    """Write the moves on the board in ascending order; give their number."""
    pawn0, lance0, knight0, silver0, gold0, king0, bishop0, rook0, risen0 = sort_pieces(sets, seat, 0)
    pawn1, lance1, knight1, silver1, gold1, king1, bishop1, rook1, risen1 = sort_pieces(sets, seat, 1)
    full0, full1 = sets[0, 0] | sets[1, 0] | sets[2, 0], sets[0, 1] | sets[1, 1] | sets[2, 1]
    open0, open1 = ~sets[seat, 0], ~sets[seat, 1] & HIGH_CELLS
    cross0, cross1 = gold0 | king0 | (bishop0 & risen0), gold1 | king1 | (bishop1 & risen1)
    slant0, slant1 = silver0 | king0 | (rook0 & risen0), silver1 | king1 | (rook1 & risen1)
    stays, rises = 0, HALF
    for direction in range(8):
        ahead = (direction - FORWARD[seat]) & 7
        # What steps there without and with promotion, and what slides there.
        rising = 3 if ahead < 2 or ahead == 7 else 2
        zone0, zone1 = UP_TO[rising, seat, 0], UP_TO[rising, seat, 1]
        if direction & 1:
            step0, step1, rise0, rise1 = slant0, slant1, silver0 & zone0, silver1 & zone1
            if rising == 3:
                step0, step1 = step0 | gold0, step1 | gold1
            slide0, slide1 = bishop0, bishop1
        else:
            step0, step1, rise0, rise1 = cross0, cross1, NONE, NONE
            slide0, slide1 = rook0, rook1
            if ahead == 0:
                step0 |= silver0 | (pawn0 & ~UP_TO[1, seat, 0])
                step1 |= silver1 | (pawn1 & ~UP_TO[1, seat, 1])
                rise0, rise1 = (silver0 | pawn0) & zone0, (silver1 | pawn1) & zone1
                slide0, slide1 = slide0 | lance0, slide1 | lance1
        by = SHIFTS[direction]
        step0, step1 = shift(step0 & LEAVES[direction, 0], step1 & LEAVES[direction, 1], by)
        rise0, rise1 = shift(rise0 & LEAVES[direction, 0], rise1 & LEAVES[direction, 1], by)
        seen0, seen1, up0, up1 = slide(
            seat, direction, slide0, slide1, full0, full1, lance0, lance1, risen0, risen1
        )
        step0, step1, rise0, rise1 = step0 | seen0, step1 | seen1, rise0 | up0, rise1 | up1
        stays = write_set(out, stays, direction, step0 & open0, step1 & open1)
        rises = write_set(out, rises, RISE + direction, rise0 & open0, rise1 & open1)
    if (knight0 | knight1) != NONE:
        stays, rises = write_jumps(seat, knight0, knight1, open0, open1, out, stays, rises)
    for place in range(HALF, rises):
        out[stays] = out[place]
        stays += 1
    return stays


@numba.njit(error_model="numpy")
def find_drops(sets, seat, kind):
    """Give the cells on which a seat may drop a piece of a kind."""
    low = ~(sets[0, 0] | sets[1, 0] | sets[2, 0])
    high = ~(sets[0, 1] | sets[1, 1] | sets[2, 1]) & HIGH_CELLS
    if kind <= 2:
        edge = 1 if kind == KNIGHT else 0
        low, high = low & ~UP_TO[edge, seat, 0], high & ~UP_TO[edge, seat, 1]
    if kind == 0:
        pawn0 = sets[seat, 0] & ~(sets[3, 0] | sets[4, 0] | sets[5, 0] | sets[6, 0])
        pawn1 = sets[seat, 1] & ~(sets[3, 1] | sets[4, 1] | sets[5, 1] | sets[6, 1])
        while (pawn0 | pawn1) != NONE:
            cell = first(pawn0, pawn1)
            pawn0, pawn1 = drop_first(pawn0, pawn1)
            low, high = low & ~LINES[seat, cell, 0], high & ~LINES[seat, cell, 1]
    return low, high


@numba.njit(error_model="numpy")
def write_drops(state, seat, out, count):
    """Write the drops in ascending order; give the length of the list."""
    hands = state["hands"]
    done, length = -1, 0
    for kind in range(7):
        if hands[seat, kind] > 0 and done >= 0:
            more = 81 * (kind - done)  # silver, gold, bishop and rook go to the same cells
            for place in range(count - length, count):
                out[place + length] = out[place] + more
            count += length
            done = kind
        elif hands[seat, kind] > 0:
            low, high = find_drops(state["sets"], seat, kind)
            before = count
            count = write_set(out, count, DROP + kind, low, high)
            if kind > KNIGHT:
                done, length = kind, count - before
    return count


def legal_actions(state, out):
    """Write every move and drop; none at an ending. There is no check and no pass."""
    if state["winner"] >= 0:
        return 0
    seat = np.int64(state["to_play"])
    return write_drops(state, seat, out, write_moves(state["sets"], seat, out))


@numba.njit(error_model="numpy")
def reach(sets, seat, cell):
    """Give the cells that a seat's piece attacks, its own pieces' cells included."""
    code = code_at(sets, cell)
    full0, full1 = sets[0, 0] | sets[1, 0] | sets[2, 0], sets[0, 1] | sets[1, 1] | sets[2, 1]
    low, high = NONE, NONE
    for direction in range(8):
        ahead = (direction - FORWARD[seat]) & 7
        if (SLIDES[code] >> ahead) & 1:
            seen0, seen1 = see(cell, direction, full0, full1)
            low, high = low | seen0, high | seen1
        elif (STEPS[code] >> ahead) & 1:
            low |= RAYS[direction, cell, 0] & AROUND[cell, 0]
            high |= RAYS[direction, cell, 1] & AROUND[cell, 1]
    if code == KNIGHT:
        for side in range(2):
            if holds(JUMPERS[seat, side, 0], JUMPERS[seat, side, 1], cell):
                to = cell + JUMPS[seat, side]
                bit = ONE << (np.uint64(to) & LOW)
                low, high = (low | bit, high) if to < 64 else (low, high | bit)
    return low, high


@numba.njit(error_model="numpy")
def is_attacked(sets, cell, seat):
    """Say whether a seat attacks a cell."""
    low, high = sets[seat, 0], sets[seat, 1]
    while (low | high) != NONE:
        piece = first(low, high)
        low, high = drop_first(low, high)
        seen0, seen1 = reach(sets, seat, piece)
        if holds(seen0, seen1, cell):
            return True
    return False


@numba.njit(error_model="numpy")
def has_move(state, seat):
    """Say whether a living seat has a legal move; its king has one nearly always."""
    sets = state["sets"]
    open0, open1 = ~sets[seat, 0], ~sets[seat, 1] & HIGH_CELLS
    king = np.int64(state["kings"][seat])
    if ((AROUND[king, 0] & open0) | (AROUND[king, 1] & open1)) != NONE:
        return True
    low, high = sets[seat, 0], sets[seat, 1]
    while (low | high) != NONE:
        seen0, seen1 = reach(sets, seat, first(low, high))
        if ((seen0 & open0) | (seen1 & open1)) != NONE:
            return True
        low, high = drop_first(low, high)
    for kind in range(7):
        if state["hands"][seat, kind] > 0:
            low, high = find_drops(sets, seat, kind)
            if (low | high) != NONE:
                return True
    return False


@numba.njit(error_model="numpy")
def material_of(state, seat):
    """Give a seat's material in points, the king without worth."""
    sets = state["sets"]
    points = np.int64(0)
    low, high = sets[seat, 0], sets[seat, 1]
    while (low | high) != NONE:
        points += BOARD_WORTH[code_at(sets, first(low, high))]
        low, high = drop_first(low, high)
    for kind in range(7):
        points += state["hands"][seat, kind] * HAND_WORTH[kind]
    return points


@numba.njit(error_model="numpy")
def size_of(state, seat):
    """Count a seat's pieces on the board, king included, and in hand."""
    low, high = state["sets"][seat, 0], state["sets"][seat, 1]
    size = np.int64(0)
    while low != NONE:
        low &= low - ONE
        size += 1
    while high != NONE:
        high &= high - ONE
        size += 1
    for kind in range(7):
        size += state["hands"][seat, kind]
    return size


@numba.njit(error_model="numpy")
def win(state, seat, ending):
    """End the game."""
    state["winner"] = seat
    state["ending"] = ending


@numba.njit(error_model="numpy")
def fall(state, seat):
    """Eliminate a seat whose king has left the board."""
    order = 1
    for other in range(3):
        order += state["fallen"][other] != 0
    state["kings"][seat] = -1
    state["fallen"][seat] = order


@numba.njit(error_model="numpy")
def settle(state, seat):
    """Find out whether the game is over; else give the turn to the first from a seat on who can move."""
    last, alive = 0, 0
    for other in range(3):
        if state["fallen"][other] == 0:
            last = other
            alive += 1
    if alive == 1:
        win(state, last, LAST)
        return
    if state["plies"] < state["max_plies"]:
        for ahead in range(3):
            other = (seat + ahead) % 3
            if state["fallen"][other] == 0 and has_move(state, other):
                state["to_play"] = other
                return
    best, most = -1, np.int64(-1)
    for other in range(3):
        if state["fallen"][other] == 0:
            points = material_of(state, other)
            if points > most:
                best, most = other, points
    win(state, best, LIMIT)


@numba.njit(error_model="numpy")
def receiver(state, taker, victim, code):
    """Give the seat that receives a captured piece; -1 if it leaves the game."""
    fallen = state["fallen"]
    third = 3 - taker - victim
    if state["capture"] == SHARE:
        return third if fallen[third] == 0 else taker
    if state["capture"] == VANISH:
        if fallen[0] + fallen[1] + fallen[2] > 0 or (code >= PROMOTED and code != GOLD):
            return taker
        if DEPTH[victim, state["kings"][victim]] <= MIDDLE:
            return taker
        return taker if size_of(state, victim) - size_of(state, taker) >= 3 else -1
    return taker


@numba.njit(error_model="numpy")
def take(state, seat, victim, cell):
    """Capture what a victim has on a cell; say whether it was a king."""
    sets = state["sets"]
    code = code_at(sets, cell)
    if code == KING:
        fall(state, victim)
    else:
        to = receiver(state, seat, victim, code)
        if to >= 0:
            kind = KIND_OF_CODE[code if code == GOLD else code & 7]
            state["hands"][to, kind] += 1
    lift(sets, victim, cell)
    return code == KING


@numba.njit(error_model="numpy", forceinline=True)
def find_origin(sets, seat, kind, cell):
    """Give the cell that a board move of a kind, without promotion, came from."""
    if kind >= 8:
        return cell - JUMPS[seat, kind - 8]
    back = (kind + 4) & 7
    met0 = RAYS[back, cell, 0] & (sets[0, 0] | sets[1, 0] | sets[2, 0])
    met1 = RAYS[back, cell, 1] & (sets[0, 1] | sets[1, 1] | sets[2, 1])
    if 2 <= back < 6:
        return first(met0, met1)
    return 64 + highest(met1) if met1 != NONE else highest(met0)


def step(state, action):
    """Move or drop a piece; then elimination, entry, limit, and whose turn it is."""
    seat = np.int64(state["to_play"])
    sets = state["sets"]
    kind, cell = action // 81, action % 81
    state["plies"] += 1
    if kind >= DROP:
        state["hands"][seat, kind - DROP] -= 1
        put(sets, seat, CODE_OF_KIND[kind - DROP], cell)
    else:
        rises = kind >= RISE
        origin = find_origin(sets, seat, kind - RISE if rises else kind, cell)
        code = code_at(sets, origin)
        kings = False
        for victim in range(3):
            if holds(sets[victim, 0], sets[victim, 1], cell):
                kings = take(state, seat, victim, cell)
        lift(sets, seat, origin)
        put(sets, seat, code | PROMOTED if rises else code, cell)
        if code == KING:
            state["kings"][seat] = cell
            if DEPTH[seat, cell] == 0 and not kings:
                guarded = False
                for other in range(3):
                    if other != seat and state["fallen"][other] == 0:
                        guarded = guarded or is_attacked(sets, cell, other)
                if not guarded:
                    win(state, seat, ENTRY)
                    return
    settle(state, (seat + 1) % 3)


def is_terminal(state):
    """Say whether somebody has won."""
    return state["winner"] >= 0


def returns(state, out):
    """Write 1 for the winner and 0 for the others."""
    for seat in range(3):
        out[seat] = 1.0 if state["winner"] == seat else 0.0


@numba.njit(error_model="numpy")
def fill(planes, plane, value):
    """Write a value on a whole plane."""
    for row in range(9):
        for column in range(9):
            planes[plane, row, column] = value


def observe(state, planes):
    """Write the pieces (42), the hands (21), who is out (3), who moves (3), the ply, the capture rule (3)."""
    sets = state["sets"]
    for seat in range(3):
        low, high = sets[seat, 0], sets[seat, 1]
        while (low | high) != NONE:
            cell = first(low, high)
            low, high = drop_first(low, high)
            planes[14 * seat + KIND_OF_CODE[code_at(sets, cell)], cell // 9, cell % 9] = 1.0
        for kind in range(7):
            count = state["hands"][seat, kind]
            if count > 0:
                fill(planes, 42 + 7 * seat + kind, np.float32(count) / np.float32(TOTALS[kind]))
        if state["fallen"][seat] != 0:
            fill(planes, 63 + seat, np.float32(1.0))
    fill(planes, 66 + state["to_play"], np.float32(1.0))
    fill(planes, 69, np.float32(state["plies"]) / np.float32(state["max_plies"]))
    fill(planes, 70 + state["capture"], np.float32(1.0))


def evaluate(state, out):
    """Write the softmax of the living players' material, in units of 600, once a king that can be taken is.

    Source: the scaffold engine of the game's first program, restated.
    """
    seat = np.int64(state["to_play"])
    taken = -1
    for victim in range(3):
        is_prey = victim != seat and state["fallen"][victim] == 0 and taken < 0
        if is_prey and is_attacked(state["sets"], np.int64(state["kings"][victim]), seat):
            taken = victim
    most = np.float32(-1.0)
    for player in range(3):
        out[player] = -1.0
        if state["fallen"][player] == 0 and player != taken:
            out[player] = material_of(state, player) / 600.0
            most = max(most, out[player])
    total = np.float32(0.0)
    for player in range(3):
        out[player] = np.exp(out[player] - most) if out[player] >= 0.0 else 0.0
        total += out[player]
    for player in range(3):
        out[player] /= total


def weigh(state, actions, out):
    """Write 1 for each action, 50 more for taking a king, a hundredth of what is taken, 1 for a promotion."""
    seat = np.int64(state["to_play"])
    sets = state["sets"]
    for place in range(len(actions)):
        kind, cell = actions[place] // 81, actions[place] % 81
        out[place] = 1.0
        if kind < DROP:
            if kind >= RISE:
                out[place] += 1.0
            for victim in range(3):
                if victim != seat and holds(sets[victim, 0], sets[victim, 1], cell):
                    code = code_at(sets, cell)
                    out[place] += 50.0 if code == KING else BOARD_WORTH[code] / 100.0


@numba.njit(error_model="numpy")
def stands_before(state, one, other):
    """Does a seat stand before another at the end: winner, living, fallen late, fallen early."""
    if one == state["winner"] or other == state["winner"]:
        return one == state["winner"]
    first, second = state["fallen"][one], state["fallen"][other]
    if first == 0 and second == 0:
        return state["ending"] == LIMIT and material_of(state, one) > material_of(state, other)
    return first == 0 or first > second > 0


def places(state, out):
    """Write each seat's place at the end, 1 for the winner; who is equal shares the better place.

    Of living losers more material is better at the move limit; after an entry they are equal.
    """
    for seat in range(3):
        out[seat] = 1.0
        for other in range(3):
            if other != seat and stands_before(state, other, seat):
                out[seat] += 1.0


def eliminated(state, out):
    """Write 1 for each seat that has fallen, else 0."""
    for seat in range(3):
        out[seat] = np.float32(state["fallen"][seat] != 0)


def material(state, out):
    """Write each seat's points of material; a fallen army's too, though they win nothing."""
    for seat in range(3):
        out[seat] = material_of(state, seat)
