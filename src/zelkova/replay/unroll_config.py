"""Which targets a learned model is trained on, as one frozen dataclass."""

from dataclasses import dataclass
from typing import Literal

from zelkova.errors import ConfigError

RANGES = {
    "unroll_steps": (1, 1000), "td_steps": (0, 1_000_000), "segment": (0, 1_000_000),
    "prefix_reset": (1, 1000),    "correction_span": (1, 10**12),
}  # fmt: skip


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
    segment: int = 0  # decisions after which an episode in play enters the replay as a part; 0: never
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
        if self.correction and self.td_steps == 0:
            raise ConfigError(
                "unroll.correction shortens td_steps, which is 0; next: td_steps = 5, for instance"
            )
