"""The transposition table: what a search found below a position, kept by the position's key.

An entry is a few words side by side, seen as uint64, int32 and float32 of one memory:

    word 0      the key
    word 1      action (int32); generation | depth | settled | bound (int32)
    word 2 ...  the value vector, float32[P]

Two entries make a bucket. The first keeps the deeper search, the second the later one. A generation is one
search of one position: entries of older ones count as empty, so that no answer depends on earlier questions.
"""

from typing import Any, NamedTuple

import numpy as np

from zelkova.search.kernels.native import inlined

EXACT, LOWER, UPPER = 1, 2, 3
"""What a stored value is: the value itself, or a bound that the true one is at least or at most."""

DEPTH_BITS = 9
GENERATIONS = 2**18
_SETTLED = 4
_DEPTH_MASK = 2**DEPTH_BITS - 1

_PRIME = np.uint64(0xD1342543DE82EF95)
_MIX = np.uint64(0xAF251AF3B0F025B5)
_HALF = np.uint64(32)


class Table(NamedTuple):
    """S entries of W words; three views of one memory."""

    words: Any  # uint64[S, W]
    ints: Any  # int32[S, 2 W]
    floats: Any  # float32[S, 2 W]


def entry_words(num_players: int) -> int:
    """Give the width of an entry in words."""
    return 2 + (num_players + 1) // 2


def new_table(size: int, num_players: int) -> Table:
    """Make an empty table.

    Args:
        size: entries wanted; rounded up to a power of two, 2 at least; 0: none.
        num_players: P.
    """
    entries = 0 if size == 0 else max(2, 1 << (size - 1).bit_length())
    words = np.zeros((entries, entry_words(num_players)), np.uint64)
    return Table(words, words.view(np.int32), words.view(np.float32))


@inlined
def hash_row(states: Any, row: Any) -> Any:
    """Mix every word of a row of states uint64[n, words] into a key."""
    key = np.uint64(states.shape[1])
    for word in range(states.shape[1]):
        key = (key ^ states[row, word]) * _PRIME
        key ^= key >> _HALF
    key *= _MIX
    return key ^ (key >> _HALF)


@inlined
def find_entry(table: Table, key: Any, generation: Any) -> Any:
    """Give the entry of a key, -1 where there is none."""
    first = np.int64(key & np.uint64(len(table.words) - 2))
    for entry in range(first, first + 2):
        if table.words[entry, 0] == key and table.ints[entry, 3] >> (DEPTH_BITS + 3) == generation:
            return entry
    return np.int64(-1)


@inlined
def is_valid(table: Table, entry: Any, remaining: Any) -> Any:
    """Say whether an entry holds for a search of so many plies just as if that search were made.

    It does where it looked as far, and where it met nothing but endings within fewer plies.
    """
    packed = table.ints[entry, 3]
    depth = (packed >> 3) & _DEPTH_MASK
    return depth == remaining or (depth < remaining and packed & _SETTLED != 0)


@inlined
def bound_of(table: Table, entry: Any) -> Any:
    """Give EXACT, LOWER or UPPER."""
    return table.ints[entry, 3] & 3


@inlined
def is_settled(table: Table, entry: Any) -> Any:
    """Say whether the value rests on endings alone."""
    return table.ints[entry, 3] & _SETTLED != 0


@inlined
def pack(generation: Any, remaining: Any, settled: Any, bound: Any) -> Any:
    """Put into one number whose search it is, how far it looked, and what it found."""
    return (generation << (DEPTH_BITS + 3)) | (remaining << 3) | (_SETTLED if settled else 0) | bound


@inlined
def store_entry(table: Table, key: Any, packed: Any, action: Any, value: Any) -> None:
    """Keep what was found below a position: packed by `pack`, the best action, value float32[P]."""
    first = np.int64(key & np.uint64(len(table.words) - 2))
    known = table.ints[first, 3]
    is_free = known >> (DEPTH_BITS + 3) != packed >> (DEPTH_BITS + 3) or table.words[first, 0] == key
    entry = first if is_free or known >> 3 <= packed >> 3 else first + 1
    table.words[entry, 0] = key
    table.ints[entry, 2] = action
    table.ints[entry, 3] = packed
    for player in range(len(value)):
        table.floats[entry, 4 + player] = value[player]
