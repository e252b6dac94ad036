"""Openings of a match: short lines of random plies that each seating plays once.

Who has the better colour and who gets the better opening then cancels out. An opening that is won for one
side already tells nothing, though: both players win it once. So more lines are drawn than are needed, a short
UCT search judges each, and the most even two thirds are kept.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from zelkova.agents.reference.uct import UctSearch
from zelkova.errors import ConfigError
from zelkova.games.game import Game
from zelkova.games.playout import random_below, roll

_TRIES = 64
_JUDGE_SIMULATIONS = 256


def even_openings(
    game: Game, count: int, most_plies: int, rng: np.random.Generator, *, distinct: bool
) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Draw half as many lines again as are needed and keep the most even ones, in the order drawn.

    For one player no line is uneven, and as many are drawn as are needed.

    Args:
        game: whose positions they are.
        count: how many to keep.
        most_plies: longest opening.
        rng: the source of chance.
        distinct: draw each line once while there are enough.
    Returns: positions uint64[count, words] and their lengths in plies int32[count].
    Raises:
        ConfigError: random openings of this length end the game again and again.
    """
    if most_plies == 0 or game.num_players == 1:
        return draw_openings(game, count, 0, rng, distinct=distinct)
    states, lengths = draw_openings(game, count + (count + 1) // 2, most_plies, rng, distinct=distinct)
    seeds = rng.integers(2**63, size=len(states)).astype(np.uint64)
    found = UctSearch(game, _JUDGE_SIMULATIONS).search(states, seeds)
    own = found.values[np.arange(len(states)), :, game.view_states(states)["to_play"]]
    mean = (found.visit_counts * own).sum(axis=1) / _JUDGE_SIMULATIONS
    low, high = game.return_range
    lopsided = np.abs((mean - low) / (high - low) - 1 / game.num_players)
    kept = np.sort(np.argsort(lopsided, kind="stable")[:count])
    return states[kept], lengths[kept]


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _play_random_plies(
    step: Any,
    legal_actions: Any,
    is_terminal: Any,
    chance: Any,
    state: Any,
    plies: Any,
    counter: Any,
    legal: Any,
    probs: Any,
) -> Any:
    """Play random legal plies on state uint64[1, words], and what nature does before, between and after them.

    Outcomes don't count as plies. Says whether the game goes on.
    """
    address = np.intp(state.ctypes.data)
    roll(step, chance, address, counter, legal, probs)
    for _ in range(plies):
        count = legal_actions(address, legal)
        if count <= 0:
            return False
        step(address, np.int64(legal[random_below(counter, count)]))
        roll(step, chance, address, counter, legal, probs)
        if is_terminal(address):
            return False
    return legal_actions(address, legal) > 0


def draw_openings(
    game: Game, count: int, most_plies: int, rng: np.random.Generator, *, distinct: bool
) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Draw positions after random plies, none of them an ending.

    Each opening draws its length evenly from 0 to `most_plies`, then its plies, and is drawn again up to 64
    times where it ends the game or, of distinct ones, was drawn before; then a repeat is taken.

    Args:
        game: whose positions they are.
        count: how many.
        most_plies: longest opening.
        rng: the source of chance, of the game's own too.
        distinct: draw each position once while there are enough.
    Returns: positions uint64[count, words] and their lengths in plies int32[count].
    Raises:
        ConfigError: random openings of this length end the game again and again.
    """
    scratch = game.new_scratch()
    openings = game.new_states(count)
    lengths = np.zeros(count, np.int32)
    seen: set[bytes] = set()
    rules = game.native
    for row in range(count):
        found = False
        for _ in range(_TRIES):
            plies = int(rng.integers(most_plies + 1))
            seeds = rng.integers(2**63, size=2).astype(np.uint64)
            state = game.initial_states(seeds[:1])
            if not _play_random_plies(*rules.moving, state, plies, seeds[1:], *scratch):
                continue
            openings[row], lengths[row] = state[0], plies
            found = True
            if not distinct or state.tobytes() not in seen:
                break
        if not found:
            raise ConfigError(
                f"{_TRIES} random openings of {game.name} in a row ended within {most_plies} plies; "
                "next: give fewer opening plies"
            )
        seen.add(openings[row].tobytes())
    return openings, lengths
