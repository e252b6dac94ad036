"""Options of matches and of the ratings that a training run gives its checkpoints."""

import dataclasses
import re

from zelkova.errors import LARGEST_SEED, ConfigError, hint

MOST_GAMES = 1_000_000
MOST_PLIES = 10_000
MOST_SIMULATIONS = 100_000_000

UCT = re.compile(r"uct:([1-9][0-9]{0,6}|10000000)")
"""How the reference opponent is named, with its simulations a move."""

LADDER = re.compile(r"random|greedy|minimax|scaffold:[1-9][0-9]{0,6}|(maxn|paranoid|alphabeta):[1-9][0-9]?")
"""How the other players without a network are named."""

REFERENCES = (
    "random", "uct:1000", "scaffold:100", "greedy", "paranoid:6", "maxn:4", "alphabeta:6", "minimax",
)  # fmt: skip
"""Players that need no training, as examples of their names."""


@dataclasses.dataclass(frozen=True)
class MatchConfig:
    """How many games, from which openings."""

    games: int = 200  # rounded up to a multiple of the game's players, so that seats balance
    seed: int = 0  # of openings and of the players' own chance
    opening_plies: int | None = None  # most random plies before the players take over; None: see match.py
    parallel: int = 256  # most games in play at once

    def __post_init__(self) -> None:
        """Refuse numbers out of range.

        Raises:
            ConfigError: names the option.
        """
        for name, low, high in (
            ("games", 1, MOST_GAMES),
            ("seed", 0, LARGEST_SEED),
            ("opening_plies", 0, MOST_PLIES),
            ("parallel", 1, MOST_GAMES),
        ):
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise ConfigError(f"option `{name}` of a match is {value}; allowed: {low} to {high}")


@dataclasses.dataclass(frozen=True)
class RatingConfig:
    """The small gauntlet by which a run rates its checkpoints as it goes."""

    opponents: tuple[str, ...] = ("random", "uct:100", "uct:1000")  # weakest first; the first is Elo 0
    games: int = 40  # against each opponent
    every_rounds: int = 10  # rounds of training between ratings; 0: never
    num_simulations: int = 64  # a move of the checkpoint
    opening_plies: int = 2  # most random plies before the players take over
    ladder_games: int = 64  # between neighbouring opponents, once a run

    def __post_init__(self) -> None:
        """Refuse numbers out of range.

        Raises:
            ConfigError: names the option.
        """
        for name, low, high in (
            ("games", 1, MOST_GAMES),
            ("every_rounds", 0, 2**63),
            ("num_simulations", 1, MOST_SIMULATIONS),
            ("opening_plies", 0, MOST_PLIES),
            ("ladder_games", 1, MOST_GAMES),
        ):
            if not low <= getattr(self, name) <= high:
                raise ConfigError(f"rating.{name} is {getattr(self, name)}; allowed: {low} to {high}")
        if len(set(self.opponents)) != len(self.opponents) or not self.opponents:
            raise ConfigError(
                f"rating.opponents is {self.opponents}; allowed: different players, at least one"
            )
        for name in self.opponents:
            if not UCT.fullmatch(name) and not LADDER.fullmatch(name):
                raise ConfigError(
                    f"rating.opponents names `{name}`; allowed: random, uct:N with N from 1 to 10000000,"
                    " scaffold:N, greedy, maxn:DEPTH, paranoid:DEPTH, alphabeta:DEPTH and minimax;"
                    f" {hint(name, REFERENCES)}"
                )
