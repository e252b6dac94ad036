"""Which learned model is built, as one frozen dataclass."""

from dataclasses import dataclass
from typing import Literal

from zelkova.errors import ConfigError

SIZES = {
    "width": (1, 65536), "hidden": (1, 65536), "layers": (0, 64), "blocks": (0, 256), "downsample": (0, 8),
    "head_channels": (1, 4096), "prefix_hidden": (1, 65536), "projection": (1, 65536),
}  # fmt: skip


@dataclass(frozen=True)
class LearnedConfig:
    """Sizes of representation, dynamics and prediction.

    Raises:
        ConfigError: a size out of range, or a support that is empty.
    """

    kind: Literal["mlp", "conv"] = "mlp"  # fully connected, or convolutions over planes
    width: int = 128  # numbers of a latent; channels of its planes for conv
    hidden: int = 128  # units of hidden layers
    layers: int = 1  # hidden layers of each mlp part
    blocks: int = 1  # conv: residual blocks of representation, dynamics and prediction each
    downsample: int = 0  # conv: how often the representation halves height and width
    head_channels: int = 16  # conv: channels that a head flattens
    latent_norm: Literal["minmax", "none"] = "minmax"  # brings each latent to 0..1
    heads: Literal["categorical", "scalar"] = "categorical"  # of value and reward
    value_limit: float = 20.0  # the value's support is -limit..limit, after the transform
    reward_limit: float = 10.0  # of the reward, or of the value prefix
    support_step: float = 1.0  # between two atoms
    transform: bool = True  # h(x), which squashes large numbers
    value_prefix: bool = False  # the reward head is recurrent and sums rewards (EfficientZero)
    prefix_hidden: int = 64  # units of that head's memory
    projection: int = 128  # width of the projections that consistency compares
    turns: Literal["cyclic", "learned"] = "cyclic"
    # whose turn follows in a game: the next player's, or what a head says (passes, players who are out)
    min_std: float = 0.1  # continuous: least standard deviation of the policy

    def __post_init__(self) -> None:
        """Refuse what can't be built."""
        for name, (least, most) in SIZES.items():
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= most:
                raise ConfigError(
                    f"latent.{name} is {value!r}; allowed: whole numbers from {least} to {most}"
                )
        words = {
            "kind": ("mlp", "conv"), "latent_norm": ("minmax", "none"),
            "heads": ("categorical", "scalar"), "turns": ("cyclic", "learned"),
        }  # fmt: skip
        for name, allowed in words.items():
            if getattr(self, name) not in allowed:
                raise ConfigError(
                    f"latent.{name} is {getattr(self, name)!r}; allowed: {' or '.join(allowed)}"
                )
        for name in ("value_limit", "reward_limit", "support_step", "min_std"):
            if not 0.0 < getattr(self, name) <= 1e6:
                raise ConfigError(
                    f"latent.{name} is {getattr(self, name)}; allowed: numbers above 0, 1e6 at most"
                )
        if self.support_step > min(self.value_limit, self.reward_limit):
            raise ConfigError(
                f"latent.support_step is {self.support_step}; allowed: at most value_limit and reward_limit"
            )
