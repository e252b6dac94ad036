"""Who can play a match: a protocol of one method, and the players that need no training.

A player answers a batch of positions, each with a seed of its own, so that a game doesn't depend on
which others are played beside it.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numba import njit
from numpy.typing import NDArray

from zelkova.agents.packaged import is_agent
from zelkova.agents.reference.classic import ClassicAgent, MinimaxAgent, is_classic, make_classic
from zelkova.agents.reference.scaffold import read_scaffold
from zelkova.agents.reference.uct import UctSearch
from zelkova.errors import ConfigError, hint
from zelkova.evaluation.config import REFERENCES, UCT
from zelkova.games.game import Game
from zelkova.games.playout import random_below

TREES = 64  # of the scaffold, searched together


class Player(Protocol):
    """Picks one action for each of many positions of one game."""

    @property
    def name(self) -> str:
        """How tables and records call it."""

    @property
    def is_deterministic(self) -> bool:
        """Say whether equal positions get equal answers whatever the seed."""

    def choose(self, states: NDArray[np.uint64], seeds: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Pick a legal action for each position.

        Args:
            states: [n, words], none of them an ending.
            seeds: [n], the only source of chance.
        Returns: int32[n].
        """


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _choose_random(
    legal_actions: Any, states: Any, seeds: Any, counter: Any, legal: Any, actions: Any
) -> None:
    """Write a uniformly random legal action for every row of states; -1 where there is none."""
    base = np.intp(states.ctypes.data)
    stride = states.shape[1] * 8
    for row in range(len(states)):
        counter[0] = seeds[row]
        count = legal_actions(base + row * stride, legal)
        actions[row] = legal[random_below(counter, count)] if count > 0 else -1


class RandomPlayer:
    """Plays uniformly random legal actions."""

    is_deterministic = False

    def __init__(self, game: Game) -> None:
        """Play one game's positions."""
        self.name = "random"
        self._game = game
        self._legal = np.empty(game.max_legal_actions, np.int32)

    def choose(self, states: NDArray[np.uint64], seeds: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Pick a legal action for each position; see Player."""
        actions = np.empty(len(states), np.int32)
        states, seeds = np.ascontiguousarray(states), np.ascontiguousarray(seeds, np.uint64)
        counter = np.zeros(1, np.uint64)
        _choose_random(self._game.native.legal_actions, states, seeds, counter, self._legal, actions)
        return actions


class UctPlayer:
    """Plays the most visited action of UCT with random rollouts."""

    is_deterministic = False

    def __init__(self, game: Game, num_simulations: int, *, threads: int = 1) -> None:
        """Allocate the search.

        Args:
            game: whose positions it plays.
            num_simulations: a move.
            threads: that split a batch.
        Raises:
            ConfigError: a number is below 1.
        """
        self.name = f"uct:{num_simulations}"
        self._search = UctSearch(game, num_simulations, threads=threads)

    def choose(self, states: NDArray[np.uint64], seeds: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Pick a legal action for each position; see Player."""
        return self._search.search(states, seeds).actions


class ClassicPlayer:
    """Plays what max^n, alpha-beta or minimax picks: equal positions, equal answers."""

    is_deterministic = True

    def __init__(self, agent: ClassicAgent | MinimaxAgent, name: str) -> None:
        """Wrap a classic search.

        Args:
            agent: searches a batch of positions.
            name: how tables and records call it.
        """
        self.name = name
        self.agent = agent

    def choose(self, states: NDArray[np.uint64], seeds: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Pick a legal action for each position; the seeds are not used."""
        return self.agent.choose(states)


class ActingAgent(Protocol):
    """What a SearchPlayer asks of an agent."""

    def act(self, states: NDArray[np.uint64], rng: np.random.Generator | None = None) -> Any:
        """Search positions [n, words]; the result's field `action` is int32[n]."""


class SearchPlayer:
    """Plays what an agent (network and search) picks, without noise: equal positions, equal answers."""

    is_deterministic = True

    def __init__(self, agent: ActingAgent, name: str) -> None:
        """Wrap an agent.

        Args:
            agent: searches a batch of positions.
            name: how tables and records call it.
        """
        self.name = name
        self.agent = agent

    def choose(self, states: NDArray[np.uint64], seeds: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Pick a legal action for each position; the seeds are not used."""
        return np.asarray(self.agent.act(states).action, np.int32)


def is_reference(text: str) -> bool:
    """Say whether a text names a player without a network."""
    return text == "random" or text.startswith(("uct:", "scaffold:")) or is_classic(text)


def make_player(
    text: str, game: Game, *, threads: int = 1, load_agent: Callable[[str], ActingAgent] | None = None
) -> Player:
    """Make the player that a text names.

    Args:
        text: `random`, `uct:N`, `scaffold:N`, a classic search (see make_classic), a run's folder, a
            checkpoint's path or `packaged:GAME`.
        game: whose positions it plays.
        threads: that uct and the classic searches split a batch over.
        load_agent: reads one of the last three; without it they are unknown.
    Raises:
        ConfigError: the text names no player.
        GameError: the game lacks what the player asks of it.
        CheckpointError: the run can't be read.
    """
    if text == "random":
        return RandomPlayer(game)
    if is_classic(text):
        return ClassicPlayer(make_classic(text, game, threads=threads), text)
    scaffold = read_scaffold(text)
    if scaffold is not None:
        from zelkova.agents.agent import Agent  # takes a second, as it brings PyTorch

        return SearchPlayer(Agent(game, None, scaffold, batch=TREES), text)
    if is_reference(text):
        match = UCT.fullmatch(text)
        if match is None:
            raise ConfigError(f"player `{text}`: allowed: uct:N with N from 1 to 10000000, such as uct:1000")
        return UctPlayer(game, int(match[1]), threads=threads)
    if load_agent is not None and is_agent(text):
        return SearchPlayer(load_agent(text), text)
    raise ConfigError(
        f"unknown player `{text}`; {hint(text, REFERENCES)}; or the path of a run's folder or of a "
        "checkpoint, which must exist"
    )
