"""How much of the past is trained on, and which targets a learned model gets from it."""

from dataclasses import dataclass
from typing import Literal

from zelkova.errors import ConfigError

RANGES = {
    "unroll_steps": (1, 1000), "td_steps": (0, 1_000_000), "segment": (0, 1_000_000),
    "prefix_reset": (1, 1000), "correction_span": (1, 10**12),
}  # fmt: skip


@dataclass(frozen=True)
class ReplayConfig:
    """Size of the replay and how its window grows.

    The window is all positions until `min_window` of them came, and from then on

        min_window * (1 + window_scale * ((total / min_window) ** window_exponent - 1) / window_exponent)

    but never more than `capacity`: early, weak games are forgotten quickly and later ones kept
    longer. `window_scale = 1` and `window_exponent = 1` keep everything up to the capacity.

    Raises:
        ConfigError: a size or exponent out of range.
    Source: KataGo (Wu 2019), appendix C, replay window.
    """

    capacity: int = 200_000  # positions held at most
    min_window: int = 20_000  # positions before the window begins to lag behind; capacity = fixed window
    window_exponent: float = 0.75  # in (0, 1]
    window_scale: float = 0.4  # in (0, 1]: share of the first new positions by which the window grows
    td_lambda: float = 0.0  # in [0, 1]: 0 trains on each position's own root value, 1 on the game's outcome

    priority_alpha: float = 0.0  # learned models: draws in proportion to error ** this; 0: uniform
    priority_beta: float = 1.0  # of the weights that make up for it; 1: fully

    offline_steps: int = 0
    # optimiser steps a round from a fixed data set, all of which is the window and to which nothing is added;
    # 0: self-play fills the replay

    def __post_init__(self) -> None:
        """Refuse what can't be."""
        if type(self.capacity) is not int or self.capacity < 1:
            raise ConfigError(f"replay.capacity is {self.capacity!r}; allowed: a whole number of 1 or more")
        if type(self.min_window) is not int or self.min_window < 1:
            raise ConfigError(
                f"replay.min_window is {self.min_window!r}; allowed: a whole number of 1 or more"
            )
        for name in ("window_exponent", "window_scale"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0.0 < value <= 1.0:
                raise ConfigError(f"replay.{name} is {value!r}; allowed: a number above 0, 1 at most")
        if not isinstance(self.td_lambda, int | float) or not 0.0 <= self.td_lambda <= 1.0:
            raise ConfigError(f"replay.td_lambda is {self.td_lambda!r}; allowed: a number from 0 to 1")

        if type(self.offline_steps) is not int or not 0 <= self.offline_steps <= 1_000_000:
            raise ConfigError(
                f"replay.offline_steps is {self.offline_steps!r}; allowed: whole numbers from 0 to 1000000"
            )
        for name in ("priority_alpha", "priority_beta"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0.0 <= value <= 4.0:
                raise ConfigError(f"replay.{name} is {value!r}; allowed: a number from 0 to 4")

    def window(self, total: int) -> int:
        """How many of the newest positions are trained on once `total` have come.

        It never grows faster than `total`, so a position that left the window never comes back.
        """
        if self.offline_steps:
            return total
        if total <= self.min_window:
            return min(total, self.capacity)
        ratio = (total / self.min_window) ** self.window_exponent
        grown = self.min_window * (1.0 + self.window_scale * (ratio - 1.0) / self.window_exponent)
        return min(int(grown + 1e-6), self.capacity)  # rounding never costs a position


@dataclass(frozen=True)
class UnrollConfig:
    """Length of unrolls, and how value and reward targets are made.

    Raises:
        ConfigError: a number out of range.
    """

    unroll_steps: int = 5  # K
    td_steps: int = 5  # n of n-step targets; 0: to the end of the episode
    discount: float = 0.997  # gamma of a decision
    absorbing: Literal["train", "mask"] = "train"
    # beyond a terminal state: reward and value 0 are targets (MuZero), or nothing is (EfficientZero)
    segment: int = 0
    # decisions of an episode in play that enter the replay as a part, once those that its targets reach into
    # came as well; 0: never
    value_prefix: bool = False  # reward targets are sums since the last reset
    prefix_reset: int = 5  # steps after which such sums start anew
    correction: bool = False  # EfficientZero: old data gets shorter n
    correction_span: int = 100_000  # decisions of the whole run, which that is measured by

    def __post_init__(self) -> None:
        """Refuse what can't be."""
        for name, (least, most) in RANGES.items():
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= most:
                raise ConfigError(
                    f"unroll.{name} is {value!r}; allowed: whole numbers from {least} to {most}"
                )
        if not 0.0 < self.discount <= 1.0:
            raise ConfigError(f"unroll.discount is {self.discount}; allowed: above 0, 1 at most")
        if self.absorbing not in ("train", "mask"):
            raise ConfigError(f"unroll.absorbing is {self.absorbing!r}; allowed: train or mask")
        if self.segment and self.td_steps == 0:
            raise ConfigError(
                f"unroll.segment = {self.segment} cuts episodes, to whose end td_steps = 0 reaches;"
                " next: td_steps = 10, for instance, or segment = 0"
            )
        if self.correction and self.td_steps == 0:
            raise ConfigError(
                "unroll.correction shortens td_steps, which is 0; next: td_steps = 5, for instance"
            )
