"""How networks learn, as frozen dataclasses."""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from zelkova.errors import ConfigError, hint

Optimizer = Literal["adamw", "sgd"]
Schedule = Literal["constant", "cosine", "step", "inverse_sqrt"]
Precision = Literal["auto", "float32", "bfloat16"]

INFINITE = math.inf
MOST_INTENSITY = 0.5  # the factor stays at 0 or above: draws are cut at two deviations
FACTORS = (
    "policy_weight", "value_weight", "reward_weight", "consistency_weight", "turn_weight", "entropy_weight",
    "gradient_scale",
)  # fmt: skip


@dataclass(frozen=True)
class LearningConfig:
    """Optimiser, schedule, losses and precision. Schedules count steps, never seconds.

    Raises:
        ConfigError: an unknown word or a number out of range.
    """

    batch_size: int = 512  # positions a step
    samples_per_position: float = 4.0  # how often a position is drawn on average, whatever the speed
    optimizer: Optimizer = "adamw"
    learning_rate: float = 2e-3  # highest rate, reached after the warm-up
    weight_decay: float = 1e-4  # on weights of two dimensions or more; adamw: decoupled, times the rate
    momentum: float = 0.9  # of sgd
    schedule: Schedule = "constant"  # after the warm-up; see schedule.learning_rate
    warmup_steps: int = 100  # the rate rises linearly over these
    decay_steps: int = 10_000  # cosine: steps to the end; step: steps between; inverse_sqrt: steps held
    decay_factor: float = 0.1  # step: factor at each; cosine: rate at the end as a share of the highest
    ramp_begin: int = (
        0  # ramp: step at which it begins, that of a teacher's last round; the whole rate before
    )
    ramp_from: float = 0.1  # ramp: share of the rate that is held at first
    ramp_start: int = 0  # ramp: last step, counted from the run's first, for which it is held
    ramp_steps: int = 0  # ramp: steps over which it then rises linearly to the whole rate; 0: no ramp
    value_mix: float = 0.5  # w: value loss = (1 - w) * outcome part + w * root value part
    value_weight: float = 1.0  # of the value loss beside the policy loss
    root_value_weight: float = 1.0  # of the squared error within the value loss
    grad_clip: float = 5.0  # largest norm of the gradient; 0: not clipped
    precision: Precision = "auto"  # of the forward and backward pass; auto: bfloat16 where it is native
    ema_decay: float = 0.0  # the weights that act are a running mean with this decay; 0: the newest

    def __post_init__(self) -> None:
        """Refuse what can't be."""
        for name, words in (("optimizer", Optimizer), ("schedule", Schedule), ("precision", Precision)):
            given = getattr(self, name)
            if given not in get_args(words):
                raise ConfigError(f"unknown learning.{name} `{given}`; {hint(str(given), get_args(words))}")
        for name, least, most in (
            ("batch_size", 1, 2.0**24),
            ("warmup_steps", 0, INFINITE),
            ("decay_steps", 1, INFINITE),
            ("ramp_begin", 0, INFINITE),
            ("ramp_start", 0, INFINITE),
            ("ramp_steps", 0, INFINITE),
        ):
            self._check(name, int, least, most)
        for name in ("weight_decay", "value_weight", "root_value_weight", "grad_clip"):
            self._check(name, float, 0.0, INFINITE)
        for name in ("value_mix", "decay_factor", "momentum", "ema_decay", "ramp_from"):
            self._check(name, float, 0.0, 1.0)
        for name in ("learning_rate", "samples_per_position"):
            self._check(name, float, 0.0, INFINITE)
            if getattr(self, name) == 0.0:
                raise ConfigError(f"learning.{name} is 0; allowed: numbers above 0")
        for name in ("momentum", "ema_decay"):
            if getattr(self, name) == 1.0:
                raise ConfigError(f"learning.{name} is 1, which never moves; allowed: 0 up to below 1")

    def _check(self, name: str, kind: type[Any], least: float, most: float) -> None:
        """Refuse a number of another type or out of range; whole numbers pass as floats."""
        value = getattr(self, name)
        allowed = (int,) if kind is int else (int, float)
        if isinstance(value, bool) or not isinstance(value, allowed) or not least <= value <= most:
            noun = "whole numbers" if kind is int else "numbers"
            top = "" if most == INFINITE else f" to {most:.12g}"
            raise ConfigError(f"learning.{name} is {value!r}; allowed: {noun} from {least:g}{top}")
        if math.isinf(value):
            raise ConfigError(f"learning.{name} is infinite; allowed: finite numbers")


@dataclass(frozen=True)
class CheckpointConfig:
    """When a run is saved, and what stays on disk.

    Raises:
        ConfigError: a number out of range.
    """

    every_rounds: int = 5  # rounds between checkpoints; what is lost at worst when a run is killed
    keep: int = 3  # newest checkpoints that stay; the run can go on from any of them
    milestone_rounds: int = 0  # checkpoints whose round this divides stay for good; 0: none

    def __post_init__(self) -> None:
        """Refuse numbers out of range."""
        for name, least in (("every_rounds", 1), ("keep", 1), ("milestone_rounds", 0)):
            if getattr(self, name) < least:
                raise ConfigError(
                    f"checkpoint.{name} is {getattr(self, name)}; allowed: whole numbers from {least}"
                )


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
    shift_pixels: int = 0  # images are shifted by up to so many as they are learnt; SPR, EfficientZero: 4
    intensity: float = 0.0  # spread of the factor that their brightness gets; SPR, EfficientZero: 0.05
    scale: Literal["heads", "all"] = "heads"  # steps after the first weigh 1 / K, or everything does
    gradient_scale: float = 0.5  # of the latent where it enters the dynamics, from the second step on
    scaled_at: Literal["input", "output"] = "input"  # of the dynamics; output halves that step's heads too
    continuous: Literal["all", "best"] = "all"
    # continuous policies: all candidates by weight, or the best alone

    @property
    def augments(self) -> bool:
        """Whether observations are changed as they are learnt."""
        return self.shift_pixels > 0 or self.intensity > 0.0

    def __post_init__(self) -> None:
        """Refuse what can't be."""
        for name in FACTORS:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1e6:
                raise ConfigError(f"loss.{name} is {value!r}; allowed: numbers from 0 to 1e6")
        if type(self.shift_pixels) is not int or not 0 <= self.shift_pixels <= 64:
            raise ConfigError(
                f"loss.shift_pixels is {self.shift_pixels!r}; allowed: whole numbers from 0 to 64"
            )
        if isinstance(self.intensity, bool) or not 0.0 <= self.intensity <= MOST_INTENSITY:
            raise ConfigError(
                f"loss.intensity is {self.intensity!r}; allowed: numbers from 0 to {MOST_INTENSITY}"
            )
        for name, words in (
            ("scale", ("heads", "all")), ("scaled_at", ("input", "output")), ("continuous", ("all", "best")),
        ):  # fmt: skip
            if getattr(self, name) not in words:
                raise ConfigError(f"loss.{name} is {getattr(self, name)!r}; allowed: {' or '.join(words)}")
