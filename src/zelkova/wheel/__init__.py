"""What turns in a run; `make_wheel` sets it up for known rules or for a learned model."""

from zelkova.config import RunConfig
from zelkova.wheel.wheel import Metrics, Wheel

__all__ = ["Metrics", "Wheel", "make_wheel"]


def make_wheel(config: RunConfig) -> Wheel:
    """Set all stages of a run up, with fresh weights and new episodes.

    Args:
        config: the run's settings; its `model` decides what the search asks.
    Raises:
        ZelkovaError: the game, the environment, the device or a setting is refused.
    """
    if config.model == "learned":
        from zelkova.wheel.learned import LearnedWheel

        return LearnedWheel(config)
    from zelkova.wheel.known import KnownWheel

    return KnownWheel(config)
