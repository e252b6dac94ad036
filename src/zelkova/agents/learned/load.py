"""Describes the agent of a learned model in a checkpoint's words, and makes it again of them."""

import dataclasses
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zelkova import games
from zelkova.agents import kernels
from zelkova.agents.learned.agent import LearnedAgent, Plan
from zelkova.agents.learned.config import PlanningConfig
from zelkova.agents.load import find_checkpoint, run_of
from zelkova.errors import CheckpointError, ZelkovaError
from zelkova.games import Game
from zelkova.games.single import Single
from zelkova.networks.inference import resolve_device
from zelkova.networks.learned.config import LearnedConfig
from zelkova.networks.learned.network import ModelSizes, build_learned
from zelkova.networks.weights import fill_module
from zelkova.search.config import SearchConfig

PARTS = ("env", "latent", "search", "planning")


class LearnedParts(NamedTuple):
    """What a checkpoint holds of an agent without rules."""

    agent: LearnedAgent
    env: dict[str, Any]  # settings of its environment
    game: Game | None  # where it is a game whose rules stay hidden


def describe_learned(sizes: ModelSizes, config: Any, game: Game | None, acting: str) -> dict[str, str]:
    """Say in words what an agent is made of; a checkpoint carries it as metadata.

    Args:
        sizes: of the environment.
        config: the run's settings.
        game: whose rules stay hidden; None: an environment.
        acting: prefix of the tensors that act.
    """
    words = {name: json.dumps(dataclasses.asdict(getattr(config, name)), sort_keys=True) for name in PARTS}
    reset = config.unroll.prefix_reset if config.latent.value_prefix else 0
    words |= {
        "model": "learned",
        "sizes": json.dumps(sizes._asdict()),
        "dynamics": json.dumps({"discount": config.unroll.discount, "prefix_reset": reset}),
        "acting": acting,
    }
    if game is not None:
        options = dataclasses.asdict(game.options) if game.options is not None else {}
        words |= {"game": game.source, "game_options": json.dumps(options, sort_keys=True)}
    return words


def is_learned(path: str | Path) -> bool:
    """Say whether a run or a checkpoint is of a learned model.

    Raises:
        CheckpointError: nothing there can be read.
    """
    return find_checkpoint(path)[2].get("model") == "learned"


def load_learned(
    path: str | Path, *, num_simulations: int | None = None, device: str = "auto", **search: Any
) -> LearnedParts:
    """Load the agent of a learned model as it acts outside training, without noise.

    Args:
        path: a run's folder (its newest intact checkpoint) or a checkpoint file.
        num_simulations: a decision's budget; that of the training where None.
        device: "auto", "cpu", "cuda", ...
        **search: other fields of SearchConfig to change.
    Raises:
        CheckpointError: the file is missing, damaged or of another kind.
        ConfigError: a search setting is unknown or out of range.
        GameError: the game that it names can't be loaded, or is a file in the run's own folder.
    """
    if num_simulations is not None:
        search = {**search, "num_simulations": num_simulations}
    file, tensors, words = find_checkpoint(path)
    if words.get("model") != "learned":
        raise CheckpointError(f"{file} is not of a learned model; next: name another run")
    try:
        game = None
        if "game" in words:
            games.refuse_inside(words["game"], run_of(file))
            game = games.load(words["game"], json.loads(words["game_options"]))
        sizes = _read_sizes(words["sizes"])
        if game is not None and sizes[:4] != (game.observation_shape, game.num_actions, 0, game.num_players):
            raise CheckpointError(
                f"{file} was trained on {sizes[:4]}, and {game.name} is {game.observation_shape},"
                f" {game.num_actions} actions, {game.num_players} players; next: the game it was trained on"
            )
        network = build_learned(LearnedConfig(**json.loads(words["latent"])), sizes)
        kept = {**json.loads(words["search"]), "gumbel_scale": 0.0, "dirichlet_fraction": 0.0, **search}
        config, planning = SearchConfig(**kept), PlanningConfig(**json.loads(words["planning"]))
        dynamics, env, prefix = json.loads(words["dynamics"]), json.loads(words["env"]), words["acting"]
        discount, reset = float(dynamics["discount"]), int(dynamics["prefix_reset"])
        if not isinstance(env, dict) or not isinstance(env.get("make", {}), dict):
            raise TypeError("its environment's settings are no table")
    except ZelkovaError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise CheckpointError(
            f"{file} does not describe an agent ({error!r}); next: name a run's checkpoint"
        ) from error
    acting = {name[len(prefix) :]: tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    fill_module(network, acting, file)
    network.to(resolve_device(device)[0])
    agent = LearnedAgent(network, config, planning, discount=discount, prefix_reset=reset)
    return LearnedParts(agent, env, game)


def _read_sizes(text: str) -> ModelSizes:
    """Read what a network was made for.

    Raises:
        TypeError, ValueError, LookupError: it says something else.
    """
    table = json.loads(text)
    table["observation_shape"] = tuple(table["observation_shape"])
    for size in (
        *table["observation_shape"],
        table["num_actions"],
        table["action_dim"],
        table["num_players"],
    ):
        if type(size) is not int or size < 0:
            raise ValueError(f"a size is {size!r}")
    return ModelSizes(**table)


class Acted(NamedTuple):
    """What `HiddenRules.act` answers."""

    action: NDArray[np.int32]  # [n]


class HiddenRules:
    """Plays a game by a learned model: it sees observation, turn and legal moves, and no rules."""

    def __init__(self, game: Game, agent: LearnedAgent) -> None:
        """Take an agent.

        Args:
            game: whose positions are asked about.
            agent: of the same observations and actions.
        """
        self.game, self.agent = game, agent
        self._rules = Single(game)

    def act(self, states: NDArray[np.uint64], rng: np.random.Generator | None = None) -> Acted:
        """Search positions [n, words] without noise; rng is not used."""
        return Acted(self.search(states).action.astype(np.int32))

    def search(self, states: NDArray[np.uint64]) -> Plan:
        """Search positions [n, words] without noise; equal positions get equal answers."""
        states = np.ascontiguousarray(states)
        rows = np.arange(len(states))
        planes = np.zeros((len(states), *self.game.observation_shape), np.float32)
        kernels.observe_rows(self.game.native.observe, states, rows, rows, planes)
        legal = np.zeros((len(states), self.game.num_actions), np.bool_)
        for row in rows.tolist():
            legal[row, self._rules.legal_actions(states[row : row + 1])] = True
        to_play = self.game.view_states(states)["to_play"].astype(np.int8)
        return self.agent.search(planes, to_play, legal, seed=0, is_noisy=False)
