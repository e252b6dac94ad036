"""Which classic search, how deep, how many nodes, how large a table."""

import dataclasses
from typing import Literal, get_args

from zelkova.errors import ConfigError, hint

LARGEST_DEPTH = 500
"""No search looks further, in plies."""

Reading = Literal["maxn", "paranoid"]


@dataclasses.dataclass(frozen=True)
class ClassicConfig:
    """One search's rule and budget; it ends with whichever part of the budget is spent first."""

    reading: (
        Reading  # of the others: maxn, each for itself; paranoid, all against the one who moves at the root
    )
    depth: int | None = None  # plies that the last iteration looks ahead; None: as many as the nodes allow
    nodes: int | None = None  # positions visited a search; None: no limit
    first_depth: int = 1  # plies of the first iteration, which always runs to its end
    table_size: int = 2**17  # entries of the transposition table, rounded up to a power of two; 0: none

    def __post_init__(self) -> None:
        """Refuse numbers out of range.

        Raises:
            ConfigError: names the option.
        """
        if self.reading not in get_args(Reading):
            raise ConfigError(
                f"classic.reading = {self.reading!r} is unknown; {hint(str(self.reading), get_args(Reading))}"
            )
        for name, low, high in (
            ("depth", 1, LARGEST_DEPTH),
            ("nodes", 1, 2**62),
            ("first_depth", 1, LARGEST_DEPTH),
            ("table_size", 0, 2**28),
        ):
            value = getattr(self, name)
            is_whole = isinstance(value, int) and not isinstance(value, bool)
            if value is not None and not (is_whole and low <= value <= high):
                raise ConfigError(f"classic.{name} = {value!r}; allowed: a whole number from {low} to {high}")
        if self.depth is None and self.nodes is None:
            raise ConfigError("a classic search without an end; next: give depth, nodes or both")
        if self.first_depth > 1 and (self.depth is None or self.first_depth > self.depth or self.nodes):
            raise ConfigError(
                f"classic.first_depth is {self.first_depth}; allowed: 1 to depth, 1 with a limit of nodes"
            )

    @property
    def last_depth(self) -> int:
        """Plies that the last iteration looks ahead, at most."""
        return LARGEST_DEPTH if self.depth is None else self.depth
