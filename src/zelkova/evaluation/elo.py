"""Elo ratings from games: gaps, intervals, maximum likelihood over many matches, cycles, seat balance.

The model is Bradley and Terry's for any number of players: the chance that a player wins is its strength's
share of the strengths at the table, s_i / sum s, and Elo = 400 log10 s. One player against P - 1 copies of
another therefore scores p with a gap of 400 log10((P - 1) p / (1 - p)); equals score 1/P.

Every estimate stays finite when one side wins all, because one drawn game (each seat scores 1/P) is added to
each pairing.
"""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ConfigError, ShapeError, hint
from zelkova.games.statistic import Z_95, wilson_interval

_ELO_PER_NAT = 400 / math.log(10)
_CLIP = 4.0


def elo_gap(score: float, num_players: int = 2) -> float:
    """Give the Elo gap behind a score of one against P - 1 equals; infinite at 0 and 1.

    Args:
        score: mean share, 0..1.
        num_players: P at the table.
    """
    if not 0 < score < 1:
        return math.inf if score >= 1 else -math.inf
    return 400 * math.log10((num_players - 1) * score / (1 - score))


def expected_score(gap: float, num_players: int = 2) -> float:
    """Give the mean share of one that is `gap` Elo above each of P - 1 equals."""
    return 1 / (1 + (num_players - 1) * 10 ** (-gap / 400))


def seat_chi_square(wins: Sequence[int] | NDArray[np.int64]) -> float:
    """Measure how far wins by seat are from equal shares; P - 1 degrees of freedom."""
    counts = np.asarray(wins, np.float64)
    even = counts.mean()
    return float(((counts - even) ** 2).sum() / even) if even > 0 else 0.0


def chi_square_chance(value: float, freedom: int) -> float:
    """Give the chance that a chi-square is as large as this or larger.

    Args:
        value: 0 or more.
        freedom: degrees of freedom, 1 or more.
    Source: Abramowitz and Stegun 26.4.4 and 26.4.5.
    """
    half = value / 2
    odd = freedom % 2
    chance = math.erfc(math.sqrt(half)) if odd else math.exp(-half)
    for k in range(2 - odd, freedom, 2):
        chance += half ** (k / 2) * math.exp(-half) / math.gamma(k / 2 + 1)
    return chance


@dataclasses.dataclass(frozen=True)
class Pairing:
    """What is kept of a match between A and P - 1 copies of B."""

    first: str  # A's name
    second: str  # B's name
    score: float  # sum of A's shares
    games: int  # played
    num_players: int = 2  # P at the table


@dataclasses.dataclass(frozen=True)
class Rating:
    """One player's place on the ladder."""

    elo: float  # Elo points
    low: float  # lower end of the 95 % interval; equal to elo where the rating was fixed
    high: float  # upper end


def fit_elo(pairings: Sequence[Pairing], fixed: Mapping[str, float]) -> dict[str, Rating]:
    """Find the ratings under which the results were likeliest, one drawn game added to each pairing.

    Args:
        pairings: of matches; several between the same two are summed by the likelihood.
        fixed: ratings that stay as they are: the anchor, or the known opponents.
    Returns: a rating for every name, intervals from the curvature at the maximum.
    Raises:
        ConfigError: no fixed name has played, or some player has no path of games to one.
    Source: Bradley and Terry 1952; the multi-player share as in Plackett 1975.
    """
    names = list(dict.fromkeys(name for pairing in pairings for name in (pairing.first, pairing.second)))
    _require_connected(pairings, names, fixed)
    free = [name for name in names if name not in fixed]
    index = {name: k for k, name in enumerate(free)}
    theta = np.zeros(len(free))
    hessian = np.eye(len(free))
    for _ in range(200):
        gradient = np.zeros(len(free))
        hessian = np.zeros((len(free), len(free)))
        for pairing in pairings:
            _add_pairing(pairing, index, theta, fixed, gradient, hessian)
        step = np.linalg.solve(hessian, gradient) if free else gradient
        theta += np.clip(step, -1.0, 1.0)
        if np.abs(step).max(initial=0.0) < 1e-10:
            break
    spread = np.sqrt(np.diag(np.linalg.inv(hessian))) if free else theta
    ratings = {name: Rating(float(fixed[name]), float(fixed[name]), float(fixed[name])) for name in fixed}
    for name, k in index.items():
        middle, half = float(theta[k]) * _ELO_PER_NAT, float(spread[k]) * Z_95 * _ELO_PER_NAT
        ratings[name] = Rating(middle, middle - half, middle + half)
    return ratings


def _add_pairing(
    pairing: Pairing,
    index: Mapping[str, int],
    theta: NDArray[np.float64],
    fixed: Mapping[str, float],
    gradient: NDArray[np.float64],
    hessian: NDArray[np.float64],
) -> None:
    """Add one pairing's slope and (negated) curvature of the log-likelihood."""
    ends = [index.get(name, -1) for name in (pairing.first, pairing.second)]
    values = [
        theta[k] if k >= 0 else fixed[name] / _ELO_PER_NAT
        for k, name in zip(ends, (pairing.first, pairing.second), strict=True)
    ]
    share = 1 / (1 + (pairing.num_players - 1) * math.exp(min(values[1] - values[0], 700.0)))
    games = pairing.games + 1
    slope = pairing.score + 1 / pairing.num_players - games * share
    curve = max(games * share * (1 - share), 1e-12)
    for k, sign in zip(ends, (1, -1), strict=True):
        if k >= 0:
            gradient[k] += sign * slope
            hessian[k, k] += curve
    if min(ends) >= 0:
        hessian[ends[0], ends[1]] -= curve
        hessian[ends[1], ends[0]] -= curve


def _require_connected(pairings: Sequence[Pairing], names: Sequence[str], fixed: Mapping[str, float]) -> None:
    """Refuse ratings that no chain of games ties to a fixed one."""
    reached = {name for name in names if name in fixed}
    if not reached:
        given = next(iter(fixed), "none")
        raise ConfigError(f"anchor `{given}` has played no game; {hint(given, names)}")
    grown = True
    while grown:
        grown = False
        for pairing in pairings:
            if (pairing.first in reached) != (pairing.second in reached):
                reached |= {pairing.first, pairing.second}
                grown = True
    lost = [name for name in names if name not in reached]
    if lost:
        raise ConfigError(
            f"player `{lost[0]}` has no chain of games to a fixed rating ({', '.join(fixed)}); "
            "next: play a match between the two groups"
        )


def log_odds_matrix(pairings: Sequence[Pairing], names: Sequence[str]) -> NDArray[np.float64]:
    """Give the log-odds of each player against each other, float64[n, n], antisymmetric, clipped at +-4.

    One drawn game is added to each pairing; a pair that never met has 0.
    """
    place = {name: k for k, name in enumerate(names)}
    matrix = np.zeros((len(names), len(names)))
    for (first, second), (score, games, players) in _sum_by_pair(pairings).items():
        share = (score + 1 / players) / (games + 1)
        odds = float(np.clip(math.log((players - 1) * share / (1 - share)), -_CLIP, _CLIP))
        i, j = place[first], place[second]
        if matrix[i, j] != 0:  # three players: A against two B and B against two A
            odds = (matrix[i, j] + odds) / 2
        matrix[i, j], matrix[j, i] = odds, -odds
    return matrix


def _sum_by_pair(pairings: Sequence[Pairing]) -> dict[tuple[str, str], tuple[float, int, int]]:
    """Add up the matches of the same two, those of two players whichever was named first."""
    sums: dict[tuple[str, str], tuple[float, int, int]] = {}
    for pairing in pairings:
        key, score = (pairing.first, pairing.second), pairing.score
        if pairing.num_players == 2 and key[::-1] in sums:
            key, score = key[::-1], pairing.games - score
        before = sums.get(key, (0.0, 0, 0))
        sums[key] = (before[0] + score, before[1] + pairing.games, pairing.num_players)
    return sums


def split_cycles(log_odds: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Split pairwise log-odds into ratings and the share that no ratings explain.

    Args:
        log_odds: float64[n, n], antisymmetric.
    Returns: ratings float64[n] in nats (row means), and the cyclic share ||R||^2 / ||A||^2 in 0..1.
    Raises:
        ShapeError: the matrix is not square.
    """
    if log_odds.ndim != 2 or log_odds.shape[0] != log_odds.shape[1]:
        raise ShapeError(f"log-odds have shape {log_odds.shape}; allowed: [n, n]")
    ratings = log_odds.mean(axis=1)
    residual = log_odds - (ratings[:, None] - ratings[None, :])
    total = float((log_odds**2).sum())
    return ratings, float((residual**2).sum()) / total if total > 0 else 0.0


def cyclic_interval(
    pairings: Sequence[Pairing], names: Sequence[str], rng: np.random.Generator, draws: int = 1000
) -> tuple[float, float]:
    """Give a 95 % interval of the cyclic share by drawing the matches again.

    Each match is drawn as games won or lost with its own score (a bootstrap over games; drawn games make it
    wider than it need be). Among players of nearly equal strength the interval is wide.

    Args:
        pairings: of matches between the named.
        names: of n players.
        rng: draws.
        draws: how many.
    Returns: the ends, in 0..1.
    Source: Efron 1979 (percentile bootstrap).
    """
    shares = np.empty(draws)
    chances = [min(max(pairing.score / pairing.games, 0.0), 1.0) for pairing in pairings]
    for k in range(draws):
        drawn = [
            dataclasses.replace(pairing, score=float(rng.binomial(pairing.games, chance)))
            for pairing, chance in zip(pairings, chances, strict=True)
        ]
        shares[k] = split_cycles(log_odds_matrix(drawn, names))[1]
    low, high = np.quantile(shares, [0.025, 0.975])
    return float(low), float(high)


def find_circles(pairings: Sequence[Pairing], names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Find all A, B, C where A beats B, B beats C and C beats A, each with 95 % confidence.

    A beats B where the interval (Wilson) of A's score lies above an equal's share 1/P, or that of B's below.

    Args:
        pairings: of matches between the named.
        names: of n players.
    Returns: each circle once, from the player of it that is named first.
    """
    beats = np.zeros((len(names), len(names)), np.bool_)
    place = {name: k for k, name in enumerate(names)}
    for (first, second), (score, games, players) in _sum_by_pair(pairings).items():
        low, high = wilson_interval(score, games)
        i, j = place[first], place[second]
        beats[i, j] |= low > 1 / players
        beats[j, i] |= high < 1 / players
    return [
        (names[i], names[j], names[k])
        for i, j, k in itertools.permutations(range(len(names)), 3)
        if i == min(i, j, k) and beats[i, j] and beats[j, k] and beats[k, i]
    ]
