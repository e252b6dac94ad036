"""An agent: rules, a network and a search policy that pick actions for a batch of positions."""

import numpy as np
from numpy.typing import NDArray

from zelkova.agents.own_model import make_model
from zelkova.agents.rollouts import with_rollouts
from zelkova.agents.rules_model import Evaluator
from zelkova.errors import ShapeError, require_memory
from zelkova.games import Game
from zelkova.search.batch import BatchSearch, run
from zelkova.search.config import SearchConfig
from zelkova.search.draws import draw_actions, draw_noise
from zelkova.search.kernels.native import F32, I32
from zelkova.search.model import SearchResult

__all__ = ["Agent", "SearchConfig", "SearchResult", "draw_actions"]

NODE_BYTES = 128  # of a tree's node and its edges, at least


class Agent:
    """Searches from many positions of one game at once."""

    def __init__(
        self,
        game: Game,
        engine: Evaluator | None,
        config: SearchConfig,
        *,
        batch: int,
        cache: int = 0,
        num_leaves: int = 1,
    ) -> None:
        """Allocate the trees.

        Args:
            game: the rules.
            engine: the network; None: the game's own evaluate and weigh.
            config: how to search.
            batch: B, trees at a time.
            cache: positions in the evaluation cache, 0 for none.
            num_leaves: of one tree evaluated at a time; the engine's batch holds batch * num_leaves rows.
        Raises:
            ConfigError: the trees are more than the machine can hold.
            GameError: there is no engine, and the game has no opinion of its own.
        """
        node = NODE_BYTES + 8 * game.words + 8 * game.max_edges + 16 * game.num_players
        require_memory(
            batch * config.num_simulations * node + cache * 4 * game.max_edges,
            f"a search of {batch} trees with {config.num_simulations} simulations and a cache of {cache}",
        )
        self.game, self.config, self.batch = game, config, batch
        self.model = make_model(
            game, engine, batch, config.num_simulations + 1, leaves=num_leaves, cache=cache
        )
        self._asked = with_rollouts(self.model, config)
        self.search = BatchSearch(
            config,
            num_trees=batch,
            max_actions=game.max_edges,
            num_players=game.num_players,
            q_range=game.return_range,
            num_leaves=num_leaves,
        )

    def search_batch(self, states: NDArray[np.uint64], rng: np.random.Generator | None) -> SearchResult:
        """Search from exactly B positions.

        Args:
            states: [B, words], not at an ending and not where nature moves.
            rng: draws the root noise; None searches without.
        """
        self.model.place(states)
        most = self.game.max_edges

        def noise(count: I32) -> F32:
            assert rng is not None
            return draw_noise(self.config, count, most, rng)

        is_noisy = rng is not None and self.config.has_noise
        return run(self.search, self._asked, noise if is_noisy else None)

    def act(self, states: NDArray[np.uint64], rng: np.random.Generator | None = None) -> SearchResult:
        """Search from any number of positions, B at a time.

        Args:
            states: [n, words], not at an ending and not where nature moves.
            rng: draws the root noise; None searches without, as evaluation does.
        Returns:
            A result of n rows.
        Raises:
            ShapeError: there is no position.
        """
        if len(states) == 0:
            raise ShapeError("no position to search from; allowed: one or more")
        parts = []
        for start in range(0, len(states), self.batch):
            part = states[start : start + self.batch]
            full = np.concatenate([part, np.repeat(part[:1], self.batch - len(part), axis=0)])
            result = self.search_batch(full, rng)
            parts.append([field[: len(part)] for field in result])
        return SearchResult(*(np.concatenate(fields) for fields in zip(*parts, strict=True)))
