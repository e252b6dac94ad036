"""Keys of positions, for caches and transposition tables.

A game may declare `position_hash`, which finds more equal positions (it can leave out a ply counter
or the last move). Without one, every word of the row counts: rows start from the game's template,
so that even padding bytes are equal where positions are.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

if TYPE_CHECKING:
    from zelkova.games.game import Game

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _hash_words(states: Any, rows: Any, keys: Any) -> None:
    """Hash every word of the rows given, of states uint64[n, words], into keys uint64[len(rows)]."""
    for index in range(len(rows)):
        row = rows[index]
        if row < 0:
            continue
        key = np.uint64(states.shape[1])
        for word in range(states.shape[1]):
            key = (key ^ states[row, word]) * _PRIME
            key = (key ^ (key >> np.uint64(32))) * _MIX
        keys[index] = key ^ (key >> np.uint64(29))


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _hash_by_rule(position_hash: Any, states: Any, rows: Any, keys: Any) -> None:
    """Ask the game's own position_hash for the rows given."""
    base = np.intp(states.ctypes.data)
    stride = states.shape[1] * 8
    for index in range(len(rows)):
        if rows[index] >= 0:
            keys[index] = position_hash(base + rows[index] * stride)


def position_keys(
    game: "Game", states: NDArray[np.uint64], rows: NDArray[np.int64], keys: NDArray[np.uint64]
) -> None:
    """Write the keys of some positions.

    Args:
        game: whose positions they are.
        states: [n, words].
        rows: [R], which of them; a negative row is left out.
        keys: [R], written; equal positions have equal keys.
    """
    if "position_hash" in game.functions:
        _hash_by_rule(game.native.position_hash, states, rows, keys)
    else:
        _hash_words(states, rows, keys)
