"""The terms of a learned model's loss, as one frozen dataclass."""

from dataclasses import dataclass
from typing import Literal

from zelkova.errors import ConfigError

FACTORS = (
    "policy_weight", "value_weight", "reward_weight", "consistency_weight", "turn_weight", "entropy_weight",
    "gradient_scale",
)  # fmt: skip


@dataclass(frozen=True)
class UnrollLossConfig:
    """Weights of the terms; 0 leaves a term out.

    Raises:
        ConfigError: a weight out of range, or an unknown word.
    """

    policy_weight: float = 1.0
    value_weight: float = 0.25
    reward_weight: float = 1.0
    consistency_weight: float = 0.0  # EfficientZero: 2; latents against those of the observations that came
    turn_weight: float = 1.0  # of the head that learns whose turn it is, where there is one
    entropy_weight: float = 0.0  # bonus for the policy's entropy
    scale: Literal["heads", "all"] = "heads"  # steps after the first weigh 1 / K, or everything does
    gradient_scale: float = 0.5  # of the latent where it enters the dynamics, from the second step on
    scaled_at: Literal["input", "output"] = "input"  # of the dynamics; output halves that step's heads too
    continuous: Literal["all", "best"] = (
        "all"  # continuous policies: all candidates by weight, or the best alone
    )

    def __post_init__(self) -> None:
        """Refuse what can't be."""
        for name in FACTORS:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1e6:
                raise ConfigError(f"loss.{name} is {value!r}; allowed: numbers from 0 to 1e6")
        for name, words in (
            ("scale", ("heads", "all")), ("scaled_at", ("input", "output")), ("continuous", ("all", "best")),
        ):  # fmt: skip
            if getattr(self, name) not in words:
                raise ConfigError(f"loss.{name} is {getattr(self, name)!r}; allowed: {' or '.join(words)}")
