"""Makes environments by name, and says which package is missing where one is."""

import os
from typing import Any

from zelkova.envs.batch import EnvBatch, GymBatch
from zelkova.envs.config import EnvConfig
from zelkova.errors import ConfigError, EnvError, MissingExtraError, hint

EXTRAS = {
    "ALE": "atari",
    "MiniGrid": "minigrid",
    "BabyAI": "minigrid",
}  # first part of an id, and what it needs
ATARI_SIZE = 96


def make_batch(config: EnvConfig, size: int, is_training: bool = True) -> EnvBatch:
    """Make B environments.

    Args:
        config: which, and how they are seen.
        size: B.
        is_training: with clipped rewards and episodes that end with a life, where the config has such.
    Raises:
        ConfigError: there is no such environment, or no agent here can act in it.
        MissingExtraError: it needs a package; the message has the command.
        EnvError: it can't be made.
    """
    return GymBatch([_make_one(config, is_training) for _ in range(size)], config, is_training)


def _make_one(config: EnvConfig, is_training: bool) -> Any:
    import gymnasium

    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # no window is opened
    _register(config.id)
    options: dict[str, Any] = dict(config.make)
    if config.max_episode_steps:
        options["max_episode_steps"] = config.max_episode_steps
    if config.atari:
        options = {"frameskip": 1, "repeat_action_probability": 0.0, "full_action_space": False, **options}
    try:
        env = gymnasium.make(config.id, **options)
    except gymnasium.error.DependencyNotInstalled as error:
        raise MissingExtraError(
            f"{config.id} needs a package: pip install 'zelkova[box2d]' ({error})"
        ) from error
    except gymnasium.error.UnregisteredEnv as error:
        raise _unknown(config.id) from error
    except Exception as error:  # an environment's constructor may raise any
        raise EnvError(
            f"{config.id} can't be made with {options}: {type(error).__name__}: {error};"
            " next: check the keys of [env]"
        ) from error
    if config.atari:
        env = gymnasium.wrappers.AtariPreprocessing(
            env, frame_skip=4, screen_size=ATARI_SIZE, grayscale_obs=True, terminal_on_life_loss=is_training
        )
    if config.frame_stack > 1:
        env = gymnasium.wrappers.FrameStackObservation(env, config.frame_stack)
    return env


def _register(name: str) -> None:
    """Import the package that registers an environment, where it is known.

    Raises:
        MissingExtraError: it is not installed.
    """
    import gymnasium

    family = name.partition("/")[0].partition("-")[0]
    module = {"atari": "ale_py", "minigrid": "minigrid"}.get(EXTRAS.get(family, ""))
    if module is None:
        return
    try:
        gymnasium.register_envs(__import__(module))
    except ImportError as error:
        raise MissingExtraError(f"{name} needs a package: pip install 'zelkova[{EXTRAS[family]}]'") from error


def _unknown(name: str) -> ConfigError:
    import gymnasium

    known = [spec for spec in gymnasium.registry if "/" not in spec]
    return ConfigError(f"unknown environment `{name}`; {hint(name, known)}")
