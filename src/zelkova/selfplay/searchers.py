"""How the games of a group are searched: fully or quickly, by the newest network or by an older one.

Source: playout-cap randomisation, KataGo (Wu 2019), Section 3.1.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from zelkova.agents.agent import Agent, SearchConfig, SearchResult
from zelkova.agents.position_model import PositionModel
from zelkova.agents.rules_model import Evaluator, RulesModel
from zelkova.games import Game
from zelkova.selfplay.config import SelfPlayConfig


class Searchers:
    """The agents of one group."""

    def __init__(
        self, full: Agent, fast: Agent | None = None, full_share: float = 1.0, random_moves: float = 0.0
    ) -> None:
        """Take agents for equally many games.

        Args:
            full: searches with the noise that its settings ask for; its moves are trained on.
            fast: searches with a smaller budget and without noise, only to play on; None: all moves are full.
            full_share: of the moves, with a fast agent.
            random_moves: share of the moves that are played at random, whatever was found.
        """
        self.full, self.fast, self.full_share, self.random_moves = full, fast, full_share, random_moves

    @property
    def batch(self) -> int:
        """Games searched together."""
        return self.full.batch

    @property
    def models(self) -> list[PositionModel]:
        """What the agents ask."""
        return [agent.model for agent in (self.full, self.fast) if agent is not None]

    def search(
        self, states: NDArray[np.uint64], is_past: NDArray[np.bool_], rng: np.random.Generator
    ) -> tuple[SearchResult, bool]:
        """Search all games of the group; say whether that was a full search.

        Args:
            states: [B, words].
            is_past: [B] rows whose mover is an older network.
            rng: draws the kind of search, and root noise.
        """
        is_full = self.fast is None or bool(rng.random() < self.full_share)
        agent = self.full if self.fast is None or is_full else self.fast
        if isinstance(agent.model, RulesModel):
            agent.model.is_past[:] = is_past
        return agent.search_batch(states, rng if is_full else None), is_full

    def invite(self, engine: Evaluator | None) -> None:
        """Let an older network answer where it is the mover; None: the newest answers everywhere."""
        for model in self.models:
            if isinstance(model, RulesModel):
                model.past = engine


def make_searchers(
    game: Game, engines: list[Evaluator], search: SearchConfig, config: SelfPlayConfig
) -> list[Searchers]:
    """Make the agents of all groups.

    Args:
        game: the rules.
        engines: one a group.
        search: of full searches.
        config: budget of fast ones, and caches.
    """
    batch, cache = config.games // config.groups, config.cache_positions
    quick = dataclasses.replace(search, num_simulations=config.fast_simulations or search.num_simulations)
    return [
        Searchers(
            Agent(game, engine, search, batch=batch, cache=cache),
            Agent(game, engine, quick, batch=batch, cache=cache) if config.fast_simulations else None,
            config.full_share,
        )
        for engine in engines
    ]
