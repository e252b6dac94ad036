"""The scaffold: PUCT over what a game says of its own positions, without a network and without rollouts.

It is what learning begins with where a game is too large for results alone to teach it, and the ruler that
learning is measured against. A game says what a position is worth in `evaluate(state, out)` and, if it
likes, which actions to look at first in `weigh(state, actions, out)`. An `Agent` or `Planner` without an
engine searches so.
"""

import dataclasses
import re

from zelkova.errors import ConfigError
from zelkova.search.config import SearchConfig

SEARCH = SearchConfig(policy="puct", c_init=1.5, fpu="reduction", fpu_reduction=0.2)
"""How the scaffold searches, but for its simulations."""

_NAME = re.compile(r"scaffold:([1-9][0-9]{0,6})")


def read_scaffold(text: str) -> SearchConfig | None:
    """Read `scaffold:N`; None where a text names something else.

    Args:
        text: with N simulations a move.
    Raises:
        ConfigError: it begins so and goes on wrongly.
    """
    if text.partition(":")[0] != "scaffold":
        return None
    match = _NAME.fullmatch(text)
    if match is None:
        raise ConfigError(f"player `{text}`: allowed: scaffold:N with N from 1 to 9999999, as scaffold:100")
    return dataclasses.replace(SEARCH, num_simulations=int(match[1]))
