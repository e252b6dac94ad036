"""What a search over learned dynamics needs beside `SearchConfig`."""

from dataclasses import dataclass
from typing import Literal

from zelkova.errors import ConfigError


@dataclass(frozen=True)
class PlanningConfig:
    """Which actions are drawn, where there are too many to number.

    Raises:
        ConfigError: a number out of range.
    """

    num_samples: int = 0  # K_s actions drawn at a node; 0: all that are numbered, 20 of a continuous policy
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    # of the network; auto: bfloat16 on a GPU that has it
    spread: float = 1.0  # continuous: factor on the standard deviation of the root's draws

    def __post_init__(self) -> None:
        """Refuse what can't be drawn."""
        if not 0 <= self.num_samples <= 1_000_000:
            raise ConfigError(f"planning.num_samples is {self.num_samples}; allowed: 0 to 1000000")
        if self.precision not in ("auto", "float32", "bfloat16"):
            raise ConfigError(f"planning.precision is {self.precision!r}; allowed: auto, float32 or bfloat16")
        if not 0.0 < self.spread <= 100.0:
            raise ConfigError(f"planning.spread is {self.spread}; allowed: numbers above 0, 100 at most")
