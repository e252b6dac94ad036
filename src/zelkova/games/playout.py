"""Generic kernels over any game's compiled rules: initial positions, chance, random playouts, perft.

States are rows of uint64 words and pass as addresses (see `native.py`). Random numbers come from a
counter-based generator whose state is an argument, the same natively, interpreted and in WebAssembly.

`chance` is None for a game without chance. Numba compiles a kernel for None apart and leaves out what stands
under `if chance is not None`, so such a game pays nothing.
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
def draw_outcome(counter: Any, probs: Any, count: Any) -> Any:
    """Draw one of `count` outcomes by the probabilities probs float32[>= count]; give its place."""
    left = np.float64(next_random(counter) >> np.uint64(11)) * 2.0**-53
    for place in range(count - 1):
        left -= np.float64(probs[place])
        if left < 0.0:
            return place
    return count - 1


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def ask_players(rule: Any, states: Any, out: Any) -> None:
    """Ask a rule that writes a number a player of states uint64[n, words]; out float32[n, P] is written."""
    base = np.intp(states.ctypes.data)
    for row in range(len(states)):
        rule(base + row * states.shape[1] * 8, out[row])


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def roll(step: Any, chance: Any, address: Any, counter: Any, actions: Any, probs: Any) -> Any:
    """Play drawn outcomes in place until nature is not to move; give how many.

    Args:
        chance: the game's rule, or None: then nothing is done.
        address: of the state.
        counter: uint64[1], the generator's state, changed.
        actions: int32[C], scratch.
        probs: float32[C], scratch.
    """
    rolled = 0
    if chance is not None:
        count = chance(address, actions, probs)
        while count > 0 and rolled < MOST_PLIES:
            step(address, np.int64(actions[draw_outcome(counter, probs, count)]))
            rolled += 1
            count = chance(address, actions, probs)
    return rolled


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def roll_states(step: Any, chance: Any, states: Any, counters: Any, actions: Any, probs: Any) -> None:
    """Roll every row of states uint64[n, words] by a generator of its own, counters uint64[n]; see `roll`."""
    base = np.intp(states.ctypes.data)
    stride = states.shape[1] * 8
    for row in range(len(states)):
        roll(step, chance, base + row * stride, counters[row : row + 1], actions, probs)


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def list_moves(legal_actions: Any, chance: Any, address: Any, actions: Any, probs: Any) -> Any:
    """Write the legal actions, or the outcomes where nature moves, into actions; give their number."""
    if chance is not None:
        count = chance(address, actions, probs)
        if count > 0:
            return count
    return legal_actions(address, actions)


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def init_states(init: Any, states: Any, seeds: Any) -> None:
    """Write an initial position into every row of states uint64[n, words]; seeds uint64[n]."""
    base = np.intp(states.ctypes.data)
    stride = states.shape[1] * 8
    for row in range(len(states)):
        init(base + row * stride, seeds[row])


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def playout_up_to(
    step: Any,
    legal_actions: Any,
    is_terminal: Any,
    chance: Any,
    address: Any,
    counter: Any,
    actions: Any,
    probs: Any,
    most: Any,
) -> Any:
    """Play uniformly random legal actions in place until the game ends or `most` plies are played.

    Where nature moves, an outcome is drawn by its probability; it counts as a ply.
    Gives the number of plies; -1 if no action was legal before the end; -2 if the game did not end.

    Args:
        chance: the game's rule, or None.
        address: of the state.
        counter: uint64[1], the generator's state, changed.
        actions: int32[M], scratch for legal actions and outcomes.
        probs: float32[C], scratch; empty without chance.
    """
    plies = 0
    while not is_terminal(address):
        if chance is not None:
            outcomes = chance(address, actions, probs)
            if outcomes > 0:
                if plies == most:
                    return -2
                step(address, np.int64(actions[draw_outcome(counter, probs, outcomes)]))
                plies += 1
                continue
        count = legal_actions(address, actions)
        if count <= 0:
            return -1
        if plies == most:
            return -2
        step(address, np.int64(actions[random_below(counter, count)]))
        plies += 1
    return plies


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def playout(
    step: Any,
    legal_actions: Any,
    is_terminal: Any,
    chance: Any,
    address: Any,
    counter: Any,
    actions: Any,
    probs: Any,
) -> Any:
    """Play uniformly random legal actions in place to the end, as in playout_up_to; at most MOST_PLIES."""
    return playout_up_to(
        step, legal_actions, is_terminal, chance, address, counter, actions, probs, MOST_PLIES
    )


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def playouts(
    step: Any,
    legal_actions: Any,
    is_terminal: Any,
    chance: Any,
    states: Any,
    counter: Any,
    actions: Any,
    probs: Any,
) -> Any:
    """Play every row of states uint64[n, words] to its end in place; give the total of plies."""
    base = np.intp(states.ctypes.data)
    stride = states.shape[1] * 8
    total = 0
    for row in range(len(states)):
        address = base + row * stride
        total += playout(step, legal_actions, is_terminal, chance, address, counter, actions, probs)
    return total


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def perft(
    step: Any,
    legal_actions: Any,
    is_terminal: Any,
    chance: Any,
    stack: Any,
    actions: Any,
    probs: Any,
    counts: Any,
) -> Any:
    """Count the positions at exactly `depth` plies below stack[0], without recursion; an outcome is a ply.

    Args:
        chance: the game's rule, or None.
        stack: uint64[depth + 1, words]; row 0 is the start.
        actions: int32[depth, M], scratch.
        probs: float32[C], scratch.
        counts: int64[2, depth], scratch: legal actions and the next one to try, by ply.
    """
    depth = len(stack) - 1
    base = np.intp(stack.ctypes.data)
    stride = stack.shape[1] * 8
    nodes = 0
    ply = 0
    counts[0, 0] = 0 if is_terminal(base) else list_moves(legal_actions, chance, base, actions[0], probs)
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
        counts[0, ply] = 0
        if not is_terminal(below):
            counts[0, ply] = list_moves(legal_actions, chance, below, actions[ply], probs)
        counts[1, ply] = 0
    return nodes
