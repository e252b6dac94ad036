"""How self-play is laid out, who plays its first games, and what of its past gets new targets."""

import re
from dataclasses import dataclass
from typing import Literal

from zelkova.errors import ConfigError

RANGES = {
    "games": (1, 1_000_000),
    "groups": (1, 1024),
    "moves_per_round": (1, 1_000_000),
    "exploration_moves": (0, 1_000_000_000),
    "random_opening_moves": (1, 1_000_000),
    "longest_game": (1, 1_000_000_000),
    "cache_positions": (0, 2**40),
    "fast_simulations": (0, 100_000_000),
    "past_rounds": (1, 1_000_000_000),
}
VALUES = ("stored", "target", "search", "mixed")
Values = Literal["stored", "target", "search", "mixed"]
WITHOUT_WEIGHTS = re.compile(r"random|greedy|minimax|(uct|maxn|paranoid|alphabeta):.*")
"""Players that only say which move they play."""


@dataclass(frozen=True)
class SelfPlayConfig:
    """Many games in lockstep, in groups that alternate: while one waits for its network, another plays."""

    games: int = 256  # games in play at a time, over all groups
    groups: int = 2  # threads, each with its share of the games and its own engine
    moves_per_round: int = 20  # moves that every game makes between two sets of weights
    exploration_moves: int = 10  # moves at a game's start sampled by visits
    temperature: float = 1.0  # of that sampling: visits^(1/temperature)
    random_opening: float = 0.0  # share of games that start with uniformly random legal moves, 0..1
    random_opening_moves: int = 8  # at most so many of them; none of them is trained on
    restart_share: float = 0.0  # share of games that go on from a lopsided position of an earlier game, 0..1
    restart_lead: float = 0.75  # lopsided: one seat's share of the root value is this or more, 0..1
    fast_simulations: int = 0  # budget of moves that are only played, not trained on; 0: all moves are full
    full_share: float = 0.25  # share of full searches where there are fast ones, 0..1
    past_share: float = 0.0  # share of games in which older networks sit in some of the seats, 0..1
    past_rounds: int = 10  # rounds between two networks that are kept for that
    longest_game: int = 10_000  # moves after which a game that has not ended is an error of its rules
    cache_positions: int = 262144  # evaluations kept by each group until new weights come; 0 for none

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        for name, (low, high) in RANGES.items():
            if not low <= getattr(self, name) <= high:
                raise ConfigError(f"`{name}` is {getattr(self, name)}; allowed: {low} to {high}")
        if self.games % self.groups:
            raise ConfigError(f"`games` is {self.games}; allowed: a multiple of `groups` ({self.groups})")
        for name in ("random_opening", "restart_share", "restart_lead", "full_share", "past_share"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigError(f"`{name}` is {getattr(self, name)}; allowed: 0 to 1")
        if self.fast_simulations and not self.full_share > 0.0:
            raise ConfigError(
                "`full_share` is 0 with fast searches, which are not trained on; allowed: above 0"
            )
        if not self.temperature > 0.0:
            raise ConfigError(f"`temperature` is {self.temperature}; allowed: above 0")


@dataclass(frozen=True)
class TeacherConfig:
    """A teacher plays a run's first games, and the network learns from its searches: distillation.

    Raises:
        ConfigError: one is set without the other, or out of range.
    """

    player: str = ""  # a run's folder, a checkpoint, or `scaffold:N`, N simulations of the run's own `search`
    # over the game's judgement; empty: the network plays from the start
    positions: int = 0  # that the teacher plays; afterwards the network does
    value_mix: float = 1.0  # learning.value_mix while it plays: 1, what it thinks; 0, who won its games
    random_moves: float = 0.0
    # share of its moves, 0..1, that are uniformly random: what it thinks of a position after a blunder is
    # then learnt too, which a search of the network will meet at most of its nodes
    samples_per_position: float = 0.0  # learning.samples_per_position while it plays; 0: the same

    def __post_init__(self) -> None:
        """Refuse what can't be."""
        if not 0 <= self.positions <= 10**12:
            raise ConfigError(f"teacher.positions is {self.positions}; allowed: 0 to 10**12")
        for name, most in (("value_mix", 1.0), ("random_moves", 1.0), ("samples_per_position", 1e6)):
            if not 0.0 <= getattr(self, name) <= most:
                raise ConfigError(f"teacher.{name} is {getattr(self, name)}; allowed: 0 to {most:,.0f}")
        if bool(self.player) != bool(self.positions):
            raise ConfigError(
                f"teacher.player is `{self.player}` and teacher.positions is {self.positions}; allowed: both"
                " or neither"
            )
        if WITHOUT_WEIGHTS.fullmatch(self.player):
            raise ConfigError(
                f"teacher.player is `{self.player}`, which gives no weights for all moves; allowed:"
                " scaffold:N, a run's folder or a checkpoint"
            )


@dataclass(frozen=True)
class ReanalyseConfig:
    """How much of the old data gets new targets.

    Raises:
        ConfigError: a number out of range, or an unknown word.
    """

    policy_share: float = 0.0  # of the sampled unrolls, 0..1: their policies come from a fresh search
    values: Values = "stored"
    # what targets bootstrap from: the root values of acting, the target network's own values (EfficientZero),
    # or the fresh searches' root values where there are such; mixed: those of the target network, and of
    # stale decisions the mean of a fresh search's back-ups is the target itself (EfficientZero V2)
    mixed_after: int = 40_000  # mixed: optimiser steps before which nothing is stale
    mixed_newest: int = 20_000  # mixed: newest decisions of the run, which are not stale
    target_steps: int = 100  # optimiser steps between two sets of the target network's weights

    def __post_init__(self) -> None:
        """Refuse what can't be."""
        if self.values not in VALUES:
            raise ConfigError(f"reanalyse.values is `{self.values}`; allowed: {', '.join(VALUES)}")
        if not 0.0 <= self.policy_share <= 1.0:
            raise ConfigError(f"reanalyse.policy_share is {self.policy_share}; allowed: 0 to 1")
        for name in ("mixed_after", "mixed_newest"):
            if getattr(self, name) < 0:
                raise ConfigError(f"reanalyse.{name} is {getattr(self, name)}; allowed: 0 or more")
        if self.target_steps < 1:
            raise ConfigError(f"reanalyse.target_steps is {self.target_steps}; allowed: 1 or more")
