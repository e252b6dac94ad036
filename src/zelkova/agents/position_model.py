"""The search's model made of known rules alone: a position's record is a node's embedding.

What a position is worth, and how likely its actions are good, its kinds say: a network (`rules_model.py`) or
the game itself (`own_model.py`).
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zelkova.agents import kernels
from zelkova.errors import ConfigError, SearchError, ShapeError
from zelkova.games import Game
from zelkova.search.model import Evaluation


class PositionModel(ABC):
    """The positions of a batch of trees; every array is allocated here, once."""

    asked = 0  # positions that needed an evaluation
    evaluated = 0  # of these, how many were not known from before
    busy: list[tuple[float, float]] | None = None  # start and end of the network's calls, if kept

    def __init__(self, game: Game, num_trees: int, num_nodes: int, *, num_leaves: int = 1) -> None:
        """Allocate.

        Args:
            game: the rules.
            num_trees: B.
            num_nodes: N, states a tree.
            num_leaves: rows of one tree in a step.
        Raises:
            ConfigError: a size is out of range.
        """
        if num_trees < 1 or num_nodes < 1 or num_leaves < 1:
            raise ConfigError(
                f"sizes {num_trees} trees, {num_nodes} nodes, {num_leaves} leaves; allowed: 1 or more"
            )
        self.game = game
        self.num_trees, self.num_nodes, self.num_leaves = num_trees, num_nodes, num_leaves
        rows, wide, players = num_trees * num_leaves, game.max_edges, game.num_players
        self.states = np.zeros((num_trees * num_nodes, game.words), np.uint64)
        self._seats = game.view_states(self.states)["to_play"]
        self._trees = np.repeat(np.arange(num_trees, dtype=np.int64), num_leaves) * num_nodes
        self._scratch, self._probs = game.new_scratch()
        self._answer = Evaluation(
            reward=np.zeros((rows, players), np.float32),
            discount=np.zeros(rows, np.float32),
            actions=np.zeros((rows, wide), np.int32),
            count=np.zeros(rows, np.int32),
            prior_logits=np.zeros((rows, wide), np.float32),
            value=np.zeros((rows, players), np.float32),
            to_play=np.zeros(rows, np.int32),
        )
        self._is_placed = False

    def forget(self) -> None:
        """Empty the evaluation cache, where there is one; call it when the network has new weights."""
        return None

    def place(self, states: NDArray[np.uint64]) -> None:
        """Put a position at each tree's root.

        Args:
            states: [B, words], not at an ending and not where nature moves.
        Raises:
            ShapeError: states has another shape.
        """
        if states.shape != (self.num_trees, self.game.words):
            raise ShapeError(f"states has shape {states.shape}; allowed: {(self.num_trees, self.game.words)}")
        self.states[self._trees[:: self.num_leaves]] = states
        self._is_placed = True

    def root(self) -> Evaluation:
        """Evaluate the positions that were placed at the roots.

        Returns:
            B rows; the arrays are written again by the next call.
        Raises:
            SearchError: no positions were placed.
        """
        if not self._is_placed:
            raise SearchError("root() before place(): put a position at each root first")
        roots = self._trees[:: self.num_leaves]
        none = np.full(self.num_trees, -1, np.int64)
        return self._evaluate(none, roots, np.zeros(self.num_trees, np.int32))

    def keep(self, moved: NDArray[np.int32], tree: int = 0) -> None:
        """Let the states follow their nodes when a tree was cut down to one of its subtrees.

        Args:
            moved: [N] new number of each old node, -1 where it was freed, as `BatchSearch.keep` gives it.
            tree: which of the batch.
        """
        old = np.flatnonzero(moved >= 0)
        start = tree * self.num_nodes
        self.states[start + moved[old]] = self.states[start + old]

    def step(
        self, parent: NDArray[np.int32], action: NDArray[np.int32], node: NDArray[np.int32]
    ) -> Evaluation:
        """Play an action from a node of each row's tree and evaluate the position that follows.

        Args:
            parent: [R], the node that is left.
            action: [R], a legal action there, or an outcome.
            node: [R], the slot of the new node; -1 for a row without work.
        Returns:
            R rows; the arrays are written again by the next call.
        """
        return self._evaluate(self._trees + parent, np.where(node >= 0, self._trees + node, -1), action)

    def _play(
        self, source: NDArray[np.int64], target: NDArray[np.int64], played: NDArray[np.int32]
    ) -> Evaluation:
        """Play each row's action and give what the rules say; values, and the movers' priors, are to come."""
        native = self.game.native
        cut: tuple[Any, ...] = tuple(array[: len(target)] for array in self._answer)
        out = Evaluation(*cut)
        kernels.play_rows(
            native.step, native.is_terminal, native.legal_actions, native.returns, native.chance,
            self.states, self._seats, source, target, played, out.reward, out.discount, out.actions,
            out.count, out.to_play, out.prior_logits, self._probs,
        )  # fmt: skip
        self.asked += int(np.count_nonzero(out.discount[target >= 0]))
        return out

    @abstractmethod
    def _evaluate(
        self, source: NDArray[np.int64], target: NDArray[np.int64], played: NDArray[np.int32]
    ) -> Evaluation:
        """Play, and evaluate what follows."""
