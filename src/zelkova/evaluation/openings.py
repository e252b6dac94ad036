"""Openings of a match: short lines of random plies that each seating plays once.

Who has the better colour and who gets the better opening then cancels out.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from zelkova.errors import ConfigError
from zelkova.games.game import Game
from zelkova.games.playout import random_below

_TRIES = 64


@njit(cache=True, nogil=True, error_model="numpy")
def _play_random_plies(
    step: Any, legal_actions: Any, is_terminal: Any, state: Any, plies: Any, counter: Any, legal: Any
) -> Any:
    """Play random legal plies on state uint64[1, words]; say whether the game goes on after them."""
    address = np.intp(state.ctypes.data)
    for _ in range(plies):
        count = legal_actions(address, legal)
        if count <= 0:
            return False
        step(address, np.int64(legal[random_below(counter, count)]))
        if is_terminal(address):
            return False
    return legal_actions(address, legal) > 0


def draw_openings(
    game: Game, count: int, most_plies: int, rng: np.random.Generator, least_plies: int = 0
) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Draw positions after random plies, none of them an ending, different while there are enough.

    Each opening draws its length evenly from `least_plies` to `most_plies`, then its plies, and is drawn
    again up to 64 times where it ends the game or was drawn before; then a repeat is taken.

    Args:
        game: whose positions they are.
        count: how many.
        most_plies: longest opening.
        rng: the source of chance, of the game's own too.
        least_plies: shortest opening.
    Returns: positions uint64[count, words] and their lengths in plies int32[count].
    Raises:
        ConfigError: random openings of this length end the game again and again.
    """
    legal = np.empty(game.max_legal_actions, np.int32)
    openings = game.new_states(count)
    lengths = np.zeros(count, np.int32)
    seen: set[bytes] = set()
    rules = game.native
    for row in range(count):
        found = False
        for _ in range(_TRIES):
            plies = int(rng.integers(least_plies, most_plies + 1))
            seeds = rng.integers(2**63, size=2).astype(np.uint64)
            state = game.initial_states(seeds[:1])
            if not _play_random_plies(
                rules.step, rules.legal_actions, rules.is_terminal, state, plies, seeds[1:], legal
            ):
                continue
            openings[row], lengths[row] = state[0], plies
            found = True
            if state.tobytes() not in seen:
                break
        if not found:
            raise ConfigError(
                f"{_TRIES} random openings of {game.name} in a row ended within {most_plies} plies; "
                "next: give fewer opening plies"
            )
        seen.add(openings[row].tobytes())
    return openings, lengths
