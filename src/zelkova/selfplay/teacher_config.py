"""Who plays the first games of a run, as one frozen dataclass."""

import re
from dataclasses import dataclass

from zelkova.errors import ConfigError

WITHOUT_WEIGHTS = re.compile(r"random|greedy|minimax|(uct|maxn|paranoid|alphabeta):.*")
"""Players that only say which move they play."""


@dataclass(frozen=True)
class TeacherConfig:
    """A teacher plays a run's first games, and the network learns from its searches: distillation.

    Raises:
        ConfigError: one is set without the other, or out of range.
    """

    player: str = ""  # `scaffold:N`, a run's folder or a checkpoint; empty: the network plays from the start
    positions: int = 0  # that the teacher plays; afterwards the network does

    def __post_init__(self) -> None:
        """Refuse what can't be."""
        if not 0 <= self.positions <= 10**12:
            raise ConfigError(f"teacher.positions is {self.positions}; allowed: 0 to 10**12")
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
