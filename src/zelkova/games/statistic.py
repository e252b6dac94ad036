"""A statistic over many games, as data: a table with its definition, and what is behind its figures.

Positions of one game are not independent of each other, games are. So shares and means over positions carry
how many independent observations they are worth, judged by how much games differ from each other.
"""

import dataclasses
import itertools
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Z_95 = 1.96
"""Standard deviations in half of a 95 % interval."""


def wilson_interval(wins: float, games: float, z: float = Z_95) -> tuple[float, float]:
    """Give an interval of the chance to win, 95 % unless told.

    Args:
        wins: games won, or the sum of shares.
        games: games played, or independent ones that they are worth, above 0.
        z: half width in standard deviations.
    Source: Wilson 1927.
    """
    share = wins / games
    weight = z * z / games
    middle = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(max(share * (1 - share), 0.0) / games + weight / (4 * games))
    return max(middle - half, 0.0), min(middle + half, 1.0)


@dataclasses.dataclass(frozen=True)
class Share:
    """How often something was so."""

    hits: float  # times it was so; a shared win counts its part
    count: int  # times it could have been so, 1 or more
    worth: float  # independent observations that the count is worth, above 0, at most the count

    @property
    def value(self) -> float:
        """The share, 0..1."""
        return self.hits / self.count

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval, by what the count is worth."""
        return wilson_interval(self.value * self.worth, self.worth)


@dataclasses.dataclass(frozen=True)
class Mean:
    """A mean."""

    value: float
    half: float  # half width of the 95 % interval; NaN where one game alone is behind it
    count: int  # observations, 1 or more


Cell = str | int | float | Share | Mean | None


@dataclasses.dataclass(frozen=True)
class Statistic:
    """One table of figures."""

    key: str  # its name among figures: letters and underscores
    title: str
    meaning: str  # what is counted, in sentences
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]  # as wide as the columns; leading cells that are text name the row
    plot: tuple[str, tuple[str, ...]] | None = None  # the column along a picture, and those that it shows
    notes: tuple[str, ...] = ()  # what is to be said beside the table


def share_by_game(hits: ArrayLike, games: ArrayLike) -> Share | None:
    """Give how often something was so among observations that belong to games; None where there is none.

    Args:
        hits: float[n] of each observation, 0..1.
        games: int[n] number of the game that it belongs to.
    Source: the ratio estimator of cluster sampling (Cochran 1977, section 9A.2); its variance is that of
        p (1 - p) / worth.
    """
    values, index = np.asarray(hits, np.float64), np.asarray(games, np.int64)
    if not len(values):
        return None
    share = float(values.mean())
    spread, number = _spread_of_games(values - share, index)
    worth = float(number)
    if number > 1 and 0 < share < 1:
        worth = share * (1 - share) / max(spread, 1e-12)
    return Share(float(values.sum()), len(values), min(worth, float(len(values))))


def mean_by_game(values: ArrayLike, games: ArrayLike) -> Mean | None:
    """Give the mean of observations that belong to games; None where there is none.

    Args:
        values: float[n].
        games: int[n] number of the game that each belongs to.
    """
    seen, index = np.asarray(values, np.float64), np.asarray(games, np.int64)
    if not len(seen):
        return None
    mean = float(seen.mean())
    spread, number = _spread_of_games(seen - mean, index)
    half = Z_95 * math.sqrt(spread * number / (number - 1)) if number > 1 else math.nan
    return Mean(mean, half, len(seen))


def _spread_of_games(rest: NDArray[np.float64], games: NDArray[np.int64]) -> tuple[float, int]:
    """Give the variance of a mean whose deviations are `rest`, and how many games are behind it."""
    _, place = np.unique(games, return_inverse=True)
    sums = np.bincount(place, weights=rest)
    return float((sums**2).sum() / len(rest) ** 2), len(sums)


def label_bins(edges: list[float], form: str = "g") -> list[str]:
    """Name the bins that ascending edges part: `below 0`, `0 to 2`, `2 and above`."""
    names = [f"{low:{form}} to {high:{form}}" for low, high in itertools.pairwise(edges)]
    return [f"below {edges[0]:{form}}", *names, f"{edges[-1]:{form}} and above"]
