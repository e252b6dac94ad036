"""Generic kernels over any game's compiled rules: initial positions, random playouts, perft.

States are rows of uint64 words and pass as addresses (see `native.py`). Random numbers come from a
counter-based generator whose state is an argument, the same natively, interpreted and in WebAssembly.
"""

from typing import Any

import numpy as np
from numba import njit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)

MOST_PLIES = 1_000_000
"""No playout is longer, so that a game that never ends can't hang a search; the contract check refuses it."""


@njit(cache=True, nogil=True, error_model="numpy", inline="never")  # type: ignore[untyped-decorator]
def next_random(counter: Any) -> Any:
    """Advance counter uint64[1] and give 64 random bits.

    Source: SplitMix64 (Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014).
    """
    counter[0] += _GOLDEN
    z = counter[0]
    z = (z ^ (z >> np.uint64(30))) * _MIX1
    z = (z ^ (z >> np.uint64(27))) * _MIX2
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def random_below(counter: Any, bound: Any) -> Any:
    """Give a random whole number in 0..bound-1 (bound below 2^32; bias below 2^-32 * bound)."""
    high = next_random(counter) >> np.uint64(32)
    return np.int64((high * np.uint64(bound)) >> np.uint64(32))


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def init_states(init: Any, states: Any, seeds: Any) -> None:
    """Write an initial position into every row of states uint64[n, words]; seeds uint64[n]."""
    base = np.intp(states.ctypes.data)
    stride = states.shape[1] * 8
    for row in range(len(states)):
        init(base + row * stride, seeds[row])


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def playout_up_to(
    step: Any, legal_actions: Any, is_terminal: Any, address: Any, counter: Any, actions: Any, most: Any
) -> Any:
    """Play uniformly random legal actions in place until the game ends or `most` plies are played.

    Gives the number of plies; -1 if no action was legal before the end; -2 if the game did not end.

    Args:
        address: of the state.
        counter: uint64[1], the generator's state, changed.
        actions: int32[M], scratch.
    """
    plies = 0
    while not is_terminal(address):
        count = legal_actions(address, actions)
        if count <= 0:
            return -1
        if plies == most:
            return -2
        step(address, np.int64(actions[random_below(counter, count)]))
        plies += 1
    return plies


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def playout(step: Any, legal_actions: Any, is_terminal: Any, address: Any, counter: Any, actions: Any) -> Any:
    """Play uniformly random legal actions in place to the end, as in playout_up_to; at most MOST_PLIES."""
    return playout_up_to(step, legal_actions, is_terminal, address, counter, actions, MOST_PLIES)


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def playouts(step: Any, legal_actions: Any, is_terminal: Any, states: Any, counter: Any, actions: Any) -> Any:
    """Play every row of states uint64[n, words] to its end in place; give the total of plies."""
    base = np.intp(states.ctypes.data)
    stride = states.shape[1] * 8
    total = 0
    for row in range(len(states)):
        total += playout(step, legal_actions, is_terminal, base + row * stride, counter, actions)
    return total


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def perft(step: Any, legal_actions: Any, is_terminal: Any, stack: Any, actions: Any, counts: Any) -> Any:
    """Count the positions at exactly `depth` plies below stack[0], without recursion.

    Args:
        stack: uint64[depth + 1, words]; row 0 is the start.
        actions: int32[depth, M], scratch.
        counts: int64[2, depth], scratch: legal actions and the next one to try, by ply.
    """
    depth = len(stack) - 1
    base = np.intp(stack.ctypes.data)
    stride = stack.shape[1] * 8
    nodes = 0
    ply = 0
    counts[0, 0] = 0 if is_terminal(base) else legal_actions(base, actions[0])
    counts[1, 0] = 0
    while ply >= 0:
        if counts[1, ply] == counts[0, ply]:
            ply -= 1
            continue
        action = np.int64(actions[ply, counts[1, ply]])
        counts[1, ply] += 1
        if ply == depth - 1:
            nodes += 1
            continue
        stack[ply + 1] = stack[ply]
        below = base + (ply + 1) * stride
        step(below, action)
        ply += 1
        counts[0, ply] = 0 if is_terminal(below) else legal_actions(below, actions[ply])
        counts[1, ply] = 0
    return nodes
