"""Makes environments by name, and says which package is missing where one is."""

import dataclasses
import difflib
import importlib
import importlib.util
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from zelkova.envs.batch import EnvBatch, GymBatch, close_all
from zelkova.envs.config import EnvConfig
from zelkova.envs.game_env import GameBatch
from zelkova.errors import ConfigError, EnvError, MissingExtraError, word_failure
from zelkova.games import Game, runs_around

FAMILIES = {
    "ALE": "atari",
    "MiniGrid": "minigrid",
    "BabyAI": "minigrid",
}  # first part of an id, and its extra
MODULES = {"atari": "ale_py", "minigrid": "minigrid"}  # what an extra brings, and registers when imported
ENTRIES = {"box2d": "box2d"}  # part of an entry point of Gymnasium's own environments, and its extra
ATARI_SIZE = 96
MOST_HINTS = 5


def refuse_inside(name: str, folder: Path) -> None:
    """Refuse to import an environment's module out of a run's own folder, which may come from a stranger.

    Args:
        name: of the environment, as `package.module:Name-v0` where a module is to be imported.
        folder: of the run.
    Raises:
        ConfigError: the module lies there; nothing was imported.
    """
    module, colon, _ = name.partition(":")
    if not colon:
        return
    first, *rest = module.split(".")
    try:
        found = importlib.util.find_spec(first)
    except (ImportError, ValueError):
        return
    if found is None:
        return
    places = [Path(found.origin)] if found.origin else []
    for place in (
        found.submodule_search_locations or ()
    ):  # a folder above the run's is a package without a file
        inner = Path(place, *rest)
        places += [Path(place), inner, inner.with_name(inner.name + ".py")]
    runs = [run.resolve() for run in runs_around(folder)]
    if any(place.resolve().is_relative_to(run) for place in places for run in runs):
        raise ConfigError(
            f"{name} would be imported from the run's own folder {folder}; next: if you trust it, move the"
            " module elsewhere"
        )


def make_batch(
    config: EnvConfig,
    size: int,
    is_training: bool = True,
    game: Game | None = None,
    opening: tuple[float, int] = (0.0, 1),
) -> EnvBatch:
    """Make B environments.

    Args:
        config: which, and how they are seen.
        size: B.
        is_training: with clipped rewards and episodes that end with a life, where the config has such.
        game: played where config.id is empty.
        opening: of such a game; see GameBatch.
    Raises:
        ConfigError: there is no such environment, or no agent here can act in it.
        MissingExtraError: it needs a package; the message has the command.
        EnvError: it can't be made.
    """
    if not config.id:
        return _make_games(config, size, game, opening)
    envs: list[Any] = []
    try:
        with redirect_stdout(sys.stderr):  # what they print is no result
            envs += (_make_one(config, is_training) for _ in range(size))
        return GymBatch(envs, config, is_training)
    except Exception:
        close_all(envs)
        raise


def _make_games(config: EnvConfig, size: int, game: Game | None, opening: tuple[float, int]) -> GameBatch:
    if game is None:
        raise ConfigError(
            "env.id is empty and there is no game; next: set env.id, as CartPole-v1, or game.name"
        )
    plain = EnvConfig()
    changed = [
        f"env.{field.name}"
        for field in dataclasses.fields(config)
        if getattr(config, field.name) != getattr(plain, field.name)
    ]
    if changed:
        raise ConfigError(
            f"{', '.join(changed)} can't be set for the game {game.name}, which is seen through its own"
            " planes; next: leave it out, or set env.id"
        )
    return GameBatch(game, size, opening)


def _make_one(config: EnvConfig, is_training: bool) -> Any:
    import gymnasium

    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # no window is opened
    _register(config)
    options: dict[str, Any] = dict(config.make)
    if config.max_episode_steps:
        options["max_episode_steps"] = config.max_episode_steps
    if config.atari:
        options = {"frameskip": 1, "repeat_action_probability": 0.0, "full_action_space": False, **options}
    try:
        env = gymnasium.make(config.id, **options)
        if config.atari:
            env = gymnasium.wrappers.AtariPreprocessing(
                env,
                frame_skip=4,
                screen_size=ATARI_SIZE,
                grayscale_obs=config.grey,
            )
            if is_training and config.episode == "life":
                from zelkova.envs.lives import LifeEpisodes

                env = LifeEpisodes(env)
        if config.frame_stack > 1:
            env = gymnasium.wrappers.FrameStackObservation(env, config.frame_stack)
    except gymnasium.error.DependencyNotInstalled as error:
        raise _missing(config, error) from error
    except gymnasium.error.UnregisteredEnv as error:
        raise _unknown(config.id) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # an environment's constructor may raise any
        raise EnvError(
            f"{config.id} can't be made with {options}: {word_failure(error)}; next: check the keys of [env]"
        ) from error
    return env


def _register(config: EnvConfig) -> None:
    """Import what registers an environment: nothing else does it since Gymnasium 1.0.

    Raises:
        MissingExtraError: it is known which package, and it is not installed.
        ConfigError: a module that is named in the id can't be found.
        EnvError: that module fails when it is imported.
    """
    import gymnasium

    module, colon, _ = config.id.partition(":")
    if colon:
        _import_named(config.id, module)
        return
    extra = "atari" if config.atari else FAMILIES.get(config.id.partition("/")[0].partition("-")[0])
    if extra is None and config.id in gymnasium.registry:
        return
    for name in [extra] if extra else MODULES:  # old names of Atari games, as Pong-v4, tell no family
        try:
            importlib.import_module(MODULES[name])
        except ImportError as error:
            if extra:
                raise _needs(config.id, f"zelkova[{name}]") from error


def _import_named(name: str, module: str) -> None:
    try:
        importlib.import_module(module)
    except (Exception, SystemExit) as error:  # a module of the user's may raise any
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            raise ConfigError(
                f"{name}: there is no module `{error.name}`; next: stand in the folder that holds it and put"
                " PYTHONPATH=. before the command, or install it"
            ) from error
        said = " ".join(str(error).split())
        raise EnvError(
            f"{name}: importing `{module}` failed: {type(error).__name__}: {said}; next: mend the module"
        ) from error


def _needs(name: str, package: str) -> MissingExtraError:
    return MissingExtraError(f"{name} needs a package that is not installed: pip install '{package}'")


def _missing(config: EnvConfig, error: Exception) -> MissingExtraError:
    """Name the extra that brings what an environment missed."""
    import gymnasium

    spec = gymnasium.registry.get(config.id)
    entry = str(spec.entry_point) if spec is not None else ""
    extra = next((extra for part, extra in ENTRIES.items() if part in entry), "atari" if config.atari else "")
    if extra:
        return _needs(config.id, f"zelkova[{extra}]")
    return MissingExtraError(f"{config.id} needs a package that is not installed: {error}")


def _unknown(name: str) -> ConfigError:
    import gymnasium

    module, colon, own = name.partition(":")
    if colon:
        return ConfigError(
            f"module `{module}` was imported and registers no `{own}`; next: write"
            f' gymnasium.register("{own}", entry_point=YourClass) in it'
        )
    known = {known.lower(): known for known in gymnasium.registry}
    near = difflib.get_close_matches(name.lower(), known, n=MOST_HINTS, cutoff=0.5)
    shown = f"hint: did you mean {' or '.join(f'`{known[word]}`' for word in near)}?; " if near else ""
    return ConfigError(
        f"unknown environment `{name}`; {shown}next: take a name that gymnasium.pprint_registry() lists, or"
        " package.module:Name-v0 for one of your own"
    )
