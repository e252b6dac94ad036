"""The learning rate by step, and when a session of training ends. Nothing here reads a clock."""

import dataclasses
import math

from zelkova.errors import ConfigError
from zelkova.learning.config import LearningConfig


def learning_rate(config: LearningConfig, step: int) -> float:
    """Give the rate of a step.

    A linear warm-up over `warmup_steps` reaches `learning_rate`; with d steps since, D = decay_steps
    and f = decay_factor it goes on as

    * constant: 1;
    * cosine: f + (1 - f) (1 + cos(pi min(d / D, 1))) / 2;
    * step: f to the power floor(d / D);
    * inverse_sqrt: 1 up to D, then sqrt(D / d): for runs whose end is not known

    times `learning_rate`.

    With `ramp_steps` above 0 the rate of each step from `ramp_begin` to the end of the ramp is that one's
    times a factor: `ramp_from` up to step `ramp_start`, then linearly up to 1 over `ramp_steps`. After
    distillation a network so goes on at the last rate that it knew, and self-play does not destroy what it
    learned.

    Args:
        config: the settings.
        step: 0 for the first.
    Source: cosine: Loshchilov and Hutter 2017; inverse square root: Vaswani et al. 2017, section 5.3.
    """
    peak, since = config.learning_rate * _ramp(config, step), step - config.warmup_steps
    if since < 0:
        return peak * (step + 1) / (config.warmup_steps + 1)
    if config.schedule == "cosine":
        part = 0.5 * (1.0 + math.cos(math.pi * min(since / config.decay_steps, 1.0)))
        return peak * (config.decay_factor + (1.0 - config.decay_factor) * part)
    if config.schedule == "step":
        return peak * config.decay_factor ** (since // config.decay_steps)
    if config.schedule == "inverse_sqrt":
        return peak * math.sqrt(config.decay_steps / max(since, config.decay_steps))
    return peak


def _ramp(config: LearningConfig, step: int) -> float:
    """Give the ramp's factor, ramp_from..1."""
    if config.ramp_steps == 0 or step < config.ramp_begin:
        return 1.0
    share = min(max((step - config.ramp_start) / config.ramp_steps, 0.0), 1.0)
    return config.ramp_from + (1.0 - config.ramp_from) * share


@dataclasses.dataclass(frozen=True)
class Pace:
    """From where on a run counts its samples: its start, or the round after which their ratio was changed.

    A ratio that changed would otherwise hold for the past too: a higher one would be made up for at once,
    after a lower one learning would rest.
    """

    samples: float  # that are learnt from, for each position
    batch: int  # of them in an optimiser step
    positions: int = 0  # that had entered the replay
    steps: int = 0  # that were due by then

    def go_on(self, samples: float, batch: int, positions: int, steps: int) -> "Pace":
        """Give the pace of a run that goes on at a ratio: this one, where it is the same.

        Args:
            samples: for each position from here on.
            batch: of them in a step.
            positions: how many ever entered the replay.
            steps: how many optimiser steps were ever taken; those still owed at the old ratio are taken yet.
        """
        if (samples, batch) == (self.samples, self.batch):
            return self
        return Pace(samples, batch, positions, steps + self.steps_due(positions, steps))

    def steps_due(self, positions: int, steps: int) -> int:
        """Say how many steps to take now, so that their ratio to positions stays as set.

        Args:
            positions: how many ever entered the replay.
            steps: how many steps were ever taken.
        Returns:
            0 or more; what is left of a step is carried over by these very counters.
        """
        due = math.floor((positions - self.positions) * self.samples / self.batch)
        return max(0, due - (steps - self.steps))


@dataclasses.dataclass(frozen=True)
class Limits:
    """When a session of training ends; the first that is reached counts, none means never."""

    minutes: float | None = None  # of this session's wall time; the round that passes it is finished
    steps: int | None = None  # optimiser steps, over all sessions; the round that reaches it is finished

    def __post_init__(self) -> None:
        """Refuse what is no limit."""
        if self.minutes is not None and not self.minutes >= 0.0:
            raise ConfigError(f"--minutes is {self.minutes}; allowed: 0 or more")

    def share_done(self, seconds: float, steps: int, first_step: int) -> float:
        """Give how much of the session is done, 0..1; 0 where there is no limit.

        Args:
            seconds: since it began.
            steps: optimiser steps taken, over all sessions.
            first_step: of this session.
        """
        shares = [0.0]
        if self.minutes is not None:
            shares.append(seconds / (60.0 * self.minutes) if self.minutes > 0.0 else 1.0)
        if self.steps is not None:
            to_go = self.steps - first_step
            shares.append((steps - first_step) / to_go if to_go > 0 else 1.0)
        return min(max(shares), 1.0)
