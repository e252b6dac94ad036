"""Makes an agent of a run's checkpoint: the file describes its game, its network and how it searches."""

import dataclasses
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from torch import nn

from zelkova import games
from zelkova.agents.agent import Agent
from zelkova.agents.packaged import find_packaged, is_packaged
from zelkova.agents.planner import Planner, PlannerConfig
from zelkova.errors import CheckpointError, ConfigError, ZelkovaError, hint
from zelkova.networks.build import build_network
from zelkova.networks.config import NetworkConfig
from zelkova.networks.inference import make_engine, resolve_device
from zelkova.networks.weights import fill_module, load_weights
from zelkova.search.config import SearchConfig

CHECKPOINTS = "checkpoints"


def describe(game: games.Game, network: NetworkConfig, search: SearchConfig, acting: str) -> dict[str, str]:
    """Say in words what load_agent needs to know; a checkpoint carries it as metadata.

    Args:
        game, network, search: what the agent is made of.
        acting: prefix of the tensors that play.
    """
    options = dataclasses.asdict(game.options) if game.options is not None else {}
    return {
        "game": game.source,
        "game_options": json.dumps(options, sort_keys=True),
        "network": json.dumps(dataclasses.asdict(network), sort_keys=True),
        "search": json.dumps(dataclasses.asdict(search), sort_keys=True),
        "acting": acting,
    }


def find_checkpoint(path: str | Path) -> tuple[Path, dict[str, Any], dict[str, str]]:
    """Find the newest intact checkpoint of a run, or read the file that is named.

    Args:
        path: a run's folder, a checkpoint file, or `packaged:GAME`.
    Returns:
        its path, tensors and description.
    Raises:
        CheckpointError: nothing there can be read; the message says what was tried.
        ConfigError: no such network comes with the package.
    """
    place = find_packaged(path) if is_packaged(path) else Path(path)
    if place.is_file():
        return (place, *load_weights(place))
    files = sorted((place / CHECKPOINTS).glob("[0-9]" * 8 + ".safetensors"), reverse=True)
    refused = []
    for file in files:
        try:
            return (file, *load_weights(file))
        except CheckpointError as error:
            refused.append(str(error))
    if refused:
        raise CheckpointError(f"no checkpoint of {place} can be read: " + "; ".join(refused))
    what = f"has no {CHECKPOINTS}/NNNNNNNN.safetensors" if place.is_dir() else "does not exist"
    raise CheckpointError(f"`{place}` {what}; allowed: a run's folder or a checkpoint; next: zelkova train")


def run_of(path: Path) -> Path:
    """Give the folder of the run that a checkpoint belongs to; the checkpoint's own folder where it is alone.

    Args:
        path: a checkpoint file, or a run's folder.
    """
    folder = path.absolute().parent if path.is_file() else path.absolute()
    return folder.parent if folder.name == CHECKPOINTS else folder


class Parts(NamedTuple):
    """What a checkpoint holds of an agent."""

    game: games.Game
    module: nn.Module  # the network, in evaluation mode
    config: SearchConfig  # without noise unless asked


def load_agent(
    path: str | Path,
    *,
    num_simulations: int | None = None,
    batch: int = 1,
    device: str = "auto",
    cache: int = 65536,
    num_leaves: int = 1,
    **search: Any,
) -> Agent:
    """Load an agent as it plays outside training: without noise unless asked, and with a budget of its own.

    Args:
        path: a run's folder (its newest intact checkpoint), a checkpoint file or `packaged:GAME`.
        num_simulations: a move's budget; that of the training where None.
        batch: positions searched at a time.
        device: "auto", "cpu", "cuda", ...
        cache: positions whose evaluation is kept.
        num_leaves: of one tree evaluated at a time: fills a network's batch where few positions are searched.
        **search: other fields of SearchConfig to change.
    Raises:
        CheckpointError: the file is missing, damaged, foreign or of a learned model.
        ConfigError: a search setting is unknown or out of range.
        GameError: the game that it names can't be loaded, or is a file in the run's own folder.
    """
    game, module, config = load_parts(path, num_simulations, search)
    place, _ = resolve_device(device)
    engine = make_engine(module, game.observation_shape, device=place, max_batch=batch * num_leaves)
    return Agent(game, engine, config, batch=batch, cache=cache, num_leaves=num_leaves)


def load_planner(
    path: str | Path,
    options: PlannerConfig | None = None,
    *,
    num_simulations: int | None = None,
    device: str = "auto",
    rng: np.random.Generator | None = None,
    **search: Any,
) -> Planner:
    """Load an agent for one game in play; what it says of the checkpoint is as for `load_agent`.

    Args:
        path: a run's folder (its newest intact checkpoint), a checkpoint file or `packaged:GAME`.
        options: of the planner.
        num_simulations: of a move, where it is not told; that of the training where None.
        device: "auto", "cpu", "cuda", ...
        rng: draws root noise; None searches without.
        **search: other fields of SearchConfig to change.
    Raises:
        CheckpointError, ConfigError, GameError: as `load_agent`.
    """
    options = options or PlannerConfig()
    game, module, config = load_parts(path, num_simulations, search)
    place, _ = resolve_device(device)
    engine = make_engine(module, game.observation_shape, device=place, max_batch=options.num_leaves)
    return Planner(game, engine, config, options, rng)


def load_parts(path: str | Path, num_simulations: int | None, search: dict[str, Any]) -> Parts:
    """Read a checkpoint's game, network and search settings, as they play outside training.

    Args:
        path: a run's folder or a checkpoint file.
        num_simulations: a move's budget; that of the training where None.
        search: fields of SearchConfig to change.
    Raises:
        CheckpointError, ConfigError, GameError: as `load_agent`.
    """
    unknown = [name for name in search if name not in SearchConfig.__dataclass_fields__]
    if unknown:
        raise ConfigError(
            f"unknown search setting `{unknown[0]}`; {hint(unknown[0], SearchConfig.__dataclass_fields__)}"
        )
    if num_simulations is not None:
        search = {**search, "num_simulations": num_simulations}
    file, tensors, words = find_checkpoint(path)
    if words.get("model") == "learned":
        raise CheckpointError(
            f"{file} is of a learned model and knows no rules; next: zelkova arena {path}, or from Python"
            " zelkova.agents.learned.load.load_learned"
        )
    try:
        games.refuse_inside(words["game"], run_of(file))
        game = games.load(words["game"], json.loads(words["game_options"]))
        network = NetworkConfig(**json.loads(words["network"]))
        kept = {**json.loads(words["search"]), "gumbel_scale": 0.0, "dirichlet_fraction": 0.0, **search}
        config, prefix = SearchConfig(**kept), words["acting"]
    except ZelkovaError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise CheckpointError(
            f"{file} does not describe an agent ({error!r}); next: name a run's checkpoint"
        ) from error
    module = build_network(
        network, game.observation_shape, game.num_actions, game.num_players, game.has_draws
    )
    acting = {name[len(prefix) :]: tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    fill_module(module, acting, file)
    return Parts(game, module.eval(), config)
