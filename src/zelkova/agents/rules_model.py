"""The search's model made of known rules and a network: an embedding is a position's record.

Values leave this room as absolute players, whatever view the network takes.

Where nature moves (dice, a new tile), the search gets the outcomes with their log-probabilities, and as value
the network's opinion of the position that one drawn outcome leads to. So the network needs to know only the
positions where players move, on which it is trained, and it is asked once, as for any node. The draw is right
on average: a chance node's mean is over that opinion and the outcomes that the search went on with, each as
often as it is probable. The draw follows from the position's key, so equal positions get equal answers.
"""

import time
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from zelkova.agents import kernels
from zelkova.agents.position_model import PositionModel
from zelkova.errors import ConfigError
from zelkova.games import Game
from zelkova.games.hashing import position_keys
from zelkova.networks.outcome import outcome_values
from zelkova.search.model import Evaluation

Floats = NDArray[np.float32]

PAST_KEY = np.uint64(0x9E3779B97F4A7C15)  # tells an older network's answers apart in the cache


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


class RulesModel(PositionModel):
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
        if cache < 0:
            raise ConfigError(f"cache is {cache} positions; allowed: 0 or more")
        super().__init__(game, num_trees, num_nodes, num_leaves=num_leaves)
        self.engine = engine
        self.past: Evaluator | None = None  # an older network, which answers for some of the trees
        self.is_past = np.zeros(num_trees, np.bool_)  # [B] those
        rows, wide, players = num_trees * num_leaves, game.max_edges, game.num_players
        self._planes = np.zeros((rows, *game.observation_shape), np.float32)
        self._keys = np.zeros(rows, np.uint64)
        self._shown = np.zeros((rows if game.has_chance else 0, game.words), np.uint64)
        self._counter = np.zeros(1, np.uint64)
        self._slots, self._twins, self._pending = (np.zeros(rows, np.int64) for _ in range(3))
        size = 1 << (cache - 1).bit_length() if cache else 0
        self._cache_keys = np.zeros(size, np.uint64)
        self._cache_status = np.zeros(size, np.uint8)
        self._cache_count = np.zeros(size, np.int32)
        self._cache_owner = np.zeros(size, np.int64)
        self._cache_logits = np.zeros((size, wide), np.float32)
        self._cache_value = np.zeros((size, players), np.float32)

    def forget(self) -> None:
        """Empty the evaluation cache; call it when the network has new weights."""
        self._cache_status[:] = kernels.EMPTY

    def _evaluate(
        self, source: NDArray[np.int64], target: NDArray[np.int64], played: NDArray[np.int32]
    ) -> Evaluation:
        """Play, look up, ask the network for the rest, file its answers."""
        out = self._play(source, target, played)
        rows = len(target)
        if len(self._cache_keys) or self.game.has_chance:
            position_keys(self.game, self.states, target, self._keys)
            if self.past is not None:
                self._keys[:rows][self._by_past(rows)] ^= PAST_KEY
        listed = kernels.look_up(
            target, out.discount, out.count, self._keys, self._cache_keys, self._cache_status,
            self._cache_count, self._cache_logits, self._cache_value, self._cache_owner, out.prior_logits,
            out.value, self._slots, self._twins, self._pending,
        )  # fmt: skip
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
            logits, outcomes = self._evaluate_planes(planes, self._by_past(len(target))[pending])
            return logits, absolute_values(self.game, outcomes, to_play[pending])
        shown, rows = self._shown[: len(pending)], np.arange(len(pending))
        kernels.look_ahead(
            native.step, native.chance, self.states, target, pending, self._keys, shown, self._counter,
            self._scratch, self._probs,
        )  # fmt: skip
        kernels.observe_rows(native.observe, shown, rows, rows, planes)
        logits, outcomes = self._evaluate_planes(planes, self._by_past(len(target))[pending])
        seats = self.game.view_states(shown)["to_play"].astype(np.int32)
        values = absolute_values(self.game, outcomes, seats)
        kernels.read_endings(native.is_terminal, native.returns, shown, values)
        return logits, values

    def _by_past(self, rows: int) -> NDArray[np.bool_]:
        """Say of which rows of a step (or of the roots) an older network is the judge."""
        return np.repeat(self.is_past, rows // self.num_trees) & (self.past is not None)

    def _evaluate_planes(self, planes: Floats, by_past: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Run the network; where it fails, nothing in the cache waits for its answer any more."""
        start = time.perf_counter()
        try:
            if self.past is None or not by_past.any():
                answer = self.engine.evaluate(planes)
            else:
                answer = self._evaluate_by_two(planes, by_past, self.past)
        except BaseException:
            self.forget()
            raise
        if self.busy is not None:
            self.busy.append((start, time.perf_counter()))
        return answer

    def _evaluate_by_two(
        self, planes: Floats, by_past: NDArray[np.bool_], past: Evaluator
    ) -> tuple[Floats, Floats]:
        """Let each network answer its own rows."""
        size, players = len(planes), self.game.num_players
        logits = np.zeros((size, self.game.num_actions), np.float32)
        outcomes = np.zeros((size, players + 1), np.float32)
        for engine, rows in ((self.engine, ~by_past), (past, by_past)):
            if rows.any():
                logits[rows], outcomes[rows] = engine.evaluate(np.ascontiguousarray(planes[rows]))
        return logits, outcomes
