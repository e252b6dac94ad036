"""The search's model made of known rules and a network: an embedding is a position's record.

Values leave this room as absolute players, whatever view the network takes.

Where nature moves (dice, a new tile), the search gets the outcomes with their log-probabilities, and as value
the network's opinion of the position that one drawn outcome leads to. So the network needs to know only the
positions where players move, on which it is trained, and it is asked once, as for any node. The draw is right
on average: a chance node's mean is over that opinion and the outcomes that the search went on with, each as
often as it is probable. The draw follows from the position's key, so equal positions get equal answers.
"""

import time
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from zelkova.agents import kernels
from zelkova.errors import ConfigError, SearchError, ShapeError
from zelkova.games import Game
from zelkova.games.hashing import position_keys
from zelkova.networks.outcome import outcome_values
from zelkova.search.model import Evaluation

Floats = NDArray[np.float32]


class Evaluator(Protocol):
    """What the model needs of an inference engine."""

    def evaluate(self, planes: Floats) -> tuple[Floats, Floats]:
        """Answer planes [n, C, H, W] with policy logits [n, A] and outcome logits [n, P + 1]."""
        ...


def absolute_values(game: Game, outcome_logits: Floats, to_play: NDArray[np.int32]) -> Floats:
    """Turn the value head's answer into each absolute player's expected return.

    Args:
        game: gives return range and view.
        outcome_logits: [n, P + 1], in the network's view.
        to_play: [n], the mover.
    Returns:
        [n, P], in the game's return_range.
    """
    shifted = np.exp(outcome_logits - outcome_logits.max(axis=1, keepdims=True))
    values = outcome_values(shifted / shifted.sum(axis=1, keepdims=True), game.return_range)
    if game.view == "absolute" or game.num_players == 1:
        return np.ascontiguousarray(values)
    seats = (np.arange(game.num_players)[None] - to_play[:, None]) % game.num_players
    return np.take_along_axis(values, seats, axis=1)


class RulesModel:
    """Rules and a network for a batch of trees; every array is allocated here, once."""

    def __init__(
        self,
        game: Game,
        engine: Evaluator,
        num_trees: int,
        num_nodes: int,
        *,
        num_leaves: int = 1,
        cache: int = 0,
    ) -> None:
        """Allocate.

        Args:
            game: the rules.
            engine: the network; its batch holds num_trees * num_leaves rows.
            num_trees: B.
            num_nodes: N, states a tree.
            num_leaves: rows of one tree in a step.
            cache: positions that the evaluation cache holds, rounded up to a power of two; 0 for none.
        Raises:
            ConfigError: a size is out of range.
        """
        if num_trees < 1 or num_nodes < 1 or num_leaves < 1 or cache < 0:
            raise ConfigError(
                f"sizes {num_trees} trees, {num_nodes} nodes, {num_leaves} leaves, cache {cache};"
                " allowed: 1 or more, cache 0 or more"
            )
        self.game, self.engine = game, engine
        self.num_trees, self.num_nodes, self.num_leaves = num_trees, num_nodes, num_leaves
        rows, wide, players = num_trees * num_leaves, game.max_edges, game.num_players
        self.states = np.zeros((num_trees * num_nodes, game.words), np.uint64)
        self._seats = game.view_states(self.states)["to_play"]
        self._trees = np.repeat(np.arange(num_trees, dtype=np.int64), num_leaves) * num_nodes
        self._planes = np.zeros((rows, *game.observation_shape), np.float32)
        self._keys = np.zeros(rows, np.uint64)
        self._shown = np.zeros((rows if game.has_chance else 0, game.words), np.uint64)
        self._counter = np.zeros(1, np.uint64)
        self._scratch, self._probs = game.new_scratch()
        self._slots, self._twins, self._pending = (np.zeros(rows, np.int64) for _ in range(3))
        self._answer = Evaluation(
            reward=np.zeros((rows, players), np.float32),
            discount=np.zeros(rows, np.float32),
            actions=np.zeros((rows, wide), np.int32),
            count=np.zeros(rows, np.int32),
            prior_logits=np.zeros((rows, wide), np.float32),
            value=np.zeros((rows, players), np.float32),
            to_play=np.zeros(rows, np.int32),
        )
        size = 1 << (cache - 1).bit_length() if cache else 0
        self._cache_keys = np.zeros(size, np.uint64)
        self._cache_status = np.zeros(size, np.uint8)
        self._cache_count = np.zeros(size, np.int32)
        self._cache_owner = np.zeros(size, np.int64)
        self._cache_logits = np.zeros((size, wide), np.float32)
        self._cache_value = np.zeros((size, players), np.float32)
        self._is_placed = False
        self.asked = 0  # positions that needed an evaluation
        self.evaluated = 0  # positions that the network was given
        self.busy: list[tuple[float, float]] | None = None  # start and end of the network's calls, if kept

    def forget(self) -> None:
        """Empty the evaluation cache; call it when the network has new weights."""
        self._cache_status[:] = kernels.EMPTY

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

    def _evaluate(
        self, source: NDArray[np.int64], target: NDArray[np.int64], played: NDArray[np.int32]
    ) -> Evaluation:
        """Play, look up, ask the network for the rest, file its answers."""
        native, rows = self.game.native, len(target)
        cut: tuple[Any, ...] = tuple(array[:rows] for array in self._answer)
        out = Evaluation(*cut)
        kernels.play_rows(
            native.step, native.is_terminal, native.legal_actions, native.returns, native.chance,
            self.states, self._seats, source, target, played, out.reward, out.discount, out.actions,
            out.count, out.to_play, out.prior_logits, self._probs,
        )  # fmt: skip
        if len(self._cache_keys) or self.game.has_chance:
            position_keys(self.game, self.states, target, self._keys)
        listed = kernels.look_up(
            target, out.discount, out.count, self._keys, self._cache_keys, self._cache_status,
            self._cache_count, self._cache_logits, self._cache_value, self._cache_owner, out.prior_logits,
            out.value, self._slots, self._twins, self._pending,
        )  # fmt: skip
        self.asked += int(np.count_nonzero(out.discount[target >= 0]))
        if listed:
            pending = self._pending[:listed]
            logits, values = self._ask(target, pending, out.to_play)
            self.evaluated += listed
            kernels.file_answers(
                pending, logits, values, out.actions, out.count, out.to_play, self._slots[:rows],
                self._twins[:rows], self._cache_status, self._cache_logits, self._cache_value,
                out.prior_logits, out.value,
            )  # fmt: skip
        return out

    def _ask(
        self, target: NDArray[np.int64], pending: NDArray[np.int64], to_play: NDArray[np.int32]
    ) -> tuple[Floats, Floats]:
        """Ask the network about the pending rows: logits [n, A] and absolute values [n, P]."""
        native, planes = self.game.native, self._planes[: len(pending)]
        if not self.game.has_chance:
            kernels.observe_rows(native.observe, self.states, target, pending, planes)
            logits, outcomes = self._evaluate_planes(planes)
            return logits, absolute_values(self.game, outcomes, to_play[pending])
        shown, rows = self._shown[: len(pending)], np.arange(len(pending))
        kernels.look_ahead(
            native.step, native.chance, self.states, target, pending, self._keys, shown, self._counter,
            self._scratch, self._probs,
        )  # fmt: skip
        kernels.observe_rows(native.observe, shown, rows, rows, planes)
        logits, outcomes = self._evaluate_planes(planes)
        seats = self.game.view_states(shown)["to_play"].astype(np.int32)
        values = absolute_values(self.game, outcomes, seats)
        kernels.read_endings(native.is_terminal, native.returns, shown, values)
        return logits, values

    def _evaluate_planes(self, planes: Floats) -> tuple[Floats, Floats]:
        """Run the network; where it fails, nothing in the cache waits for its answer any more."""
        start = time.perf_counter()
        try:
            answer = self.engine.evaluate(planes)
        except BaseException:
            self.forget()
            raise
        if self.busy is not None:
            self.busy.append((start, time.perf_counter()))
        return answer
