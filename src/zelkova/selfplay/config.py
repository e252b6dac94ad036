"""How self-play is laid out."""

import dataclasses

from zelkova.errors import ConfigError

RANGES = {
    "games": (1, 1_000_000),
    "groups": (1, 1024),
    "moves_per_round": (1, 1_000_000),
    "exploration_moves": (0, 1_000_000_000),
    "random_opening_moves": (1, 1_000_000),
    "longest_game": (1, 1_000_000_000),
    "cache_positions": (0, 2**40),
}


@dataclasses.dataclass(frozen=True)
class SelfPlayConfig:
    """Many games in lockstep, in groups that alternate: while one waits for its network, another plays."""

    games: int = 256  # games in play at a time, over all groups
    groups: int = 2  # threads, each with its share of the games and its own engine
    moves_per_round: int = 20  # moves that every game makes between two sets of weights
    exploration_moves: int = 10  # moves at a game's start sampled by visits
    temperature: float = 1.0  # of that sampling: visits^(1/temperature)
    random_opening: float = 0.0  # share of games that start with uniformly random legal moves, 0..1
    random_opening_moves: int = 8  # at most so many of them; none of them is trained on
    longest_game: int = 10_000  # moves after which a game that has not ended is an error of its rules
    cache_positions: int = 262144  # evaluations kept by each group until new weights come; 0 for none

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        for name, (low, high) in RANGES.items():
            if not low <= getattr(self, name) <= high:
                raise ConfigError(f"`{name}` is {getattr(self, name)}; allowed: {low} to {high}")
        if self.games % self.groups:
            raise ConfigError(f"`games` is {self.games}; allowed: a multiple of `groups` ({self.groups})")
        if not 0.0 <= self.random_opening <= 1.0:
            raise ConfigError(f"`random_opening` is {self.random_opening}; allowed: 0 to 1")
        if not self.temperature > 0.0:
            raise ConfigError(f"`temperature` is {self.temperature}; allowed: above 0")
