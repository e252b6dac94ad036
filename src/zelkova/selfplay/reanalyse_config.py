"""How much of the replay gets new targets, as one frozen dataclass."""

from dataclasses import dataclass
from typing import Literal

from zelkova.errors import ConfigError

VALUES = ("stored", "target", "search", "mixed")
Values = Literal["stored", "target", "search", "mixed"]


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
