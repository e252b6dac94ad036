"""A game as an environment whose rules the search is not told; B of them step together, compiled."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from zelkova.envs.batch import EnvSpec, Transition
from zelkova.errors import EnvError, IllegalActionError
from zelkova.games import Game, Position
from zelkova.games.playout import roll_states
from zelkova.games.single import Single


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _step_rows(step: Any, states: Any, actions: Any) -> None:
    """Play one legal action int32[n] in each state uint64[n, words], in place."""
    base = np.intp(states.ctypes.data)
    stride = states.shape[1] * 8
    for row in range(len(states)):
        step(base + row * stride, np.int64(actions[row]))


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _look_at_rows(
    legal_actions: Any, is_terminal: Any, returns: Any, observe: Any, states: Any, scratch: Any,
    planes: Any, legal: Any, ended: Any, outcome: Any,
) -> None:  # fmt: skip
    """Write all that is seen of states uint64[n, words].

    Args:
        scratch: int32[M].
        planes: float32[n, C, H, W], zero before.
        legal: bool[n, A], False before and where a game ended.
        ended: bool[n].
        outcome: float32[n, P], written where a game ended: its returns.
    """
    base = np.intp(states.ctypes.data)
    stride = states.shape[1] * 8
    for row in range(len(states)):
        address = base + row * stride
        observe(address, planes[row])
        ended[row] = is_terminal(address)
        if ended[row]:
            returns(address, outcome[row])
        else:
            for place in range(legal_actions(address, scratch)):
                legal[row, scratch[place]] = True


class GameBatch:
    """B games; an `EnvBatch`. Rewards are 0 until the end, then the returns of the absolute players."""

    def __init__(self, game: Game, size: int, opening: tuple[float, int] = (0.0, 1)) -> None:
        """Make B games; `reset` begins them.

        Args:
            game: whose rules are played and not shown.
            size: B.
            opening: share of games that begin with random legal moves, and how many at most. They are
                nobody's decisions: the first observation comes after them.
        """
        self.game, self.size, self.opening = game, size, opening
        self._rules = Single(game)
        self.spec = EnvSpec(
            game.name, game.observation_shape, np.dtype(np.float32), game.num_actions, 0, game.num_players
        )
        self._states = game.new_states(size)
        self._counters = np.zeros(size, np.uint64)  # each row's generator, for chance
        self._legal = np.zeros((size, game.num_actions), np.bool_)
        self.goes_on = np.zeros(size, np.bool_)  # never
        self._is_over = np.ones(size, np.bool_)  # a row that was never reset has ended, too
        self._steps = np.zeros(size, np.int64)

    def reset(self, seeds: Sequence[int]) -> Transition:
        """Begin a game in each; see EnvBatch."""
        return self.reset_rows(range(self.size), seeds)

    def reset_rows(self, rows: Sequence[int], seeds: Sequence[int]) -> Transition:
        """Begin games in some; see EnvBatch.

        A seed gives the first position as `game.position(seed)` does, the opening and all later chance.

        Raises:
            EnvError: not as many seeds as rows, or a seed that is none.
        """
        if len(rows) != len(seeds) or any(seed < 0 or seed >= 2**64 for seed in seeds):
            raise EnvError(
                f"{self.spec.name}: {len(rows)} games begin from the seeds {list(seeds)!r:.100}; allowed: one"
                " whole number from 0 to 2**64 - 1 for each"
            )
        chosen = np.asarray(rows, np.int64)
        self._states[chosen] = self.game.initial_states(np.array(seeds, np.uint64))
        for row, seed in zip(rows, seeds, strict=True):
            self._counters[row] = np.random.SeedSequence(int(seed)).generate_state(1, np.uint64)[0]
        self._steps[chosen] = 0
        self._roll(chosen)
        if self.opening[0] > 0.0:
            for row, seed in zip(rows, seeds, strict=True):
                self._open(row, np.random.default_rng([int(seed), 1]))
        return self._look(chosen)

    def step(self, actions: NDArray[Any]) -> Transition:
        """Act in each; see EnvBatch.

        Args:
            actions: int32[B].
        Raises:
            EnvError: a row has ended, or these are no actions; nothing is played.
            IllegalActionError: an action is not legal; nothing is played.
        """
        rows = np.arange(self.size)
        self._play(rows, np.asarray(actions))
        return self._look(rows)

    def replay(self, seeds: Sequence[int], actions: Sequence[Sequence[Any]]) -> Transition:
        """Begin games and play them again; see EnvBatch."""
        self.reset(seeds)
        for age in range(max(map(len, actions), default=0)):
            rows = np.array([row for row, moves in enumerate(actions) if len(moves) > age], np.int64)
            self._play(rows, np.array([actions[row][age] for row in rows]))
            self._look(rows)
        return self._look(np.arange(self.size))

    def close(self) -> None:
        """Do nothing: a game holds nothing."""

    def _play(self, rows: NDArray[np.int64], actions: NDArray[Any]) -> None:
        """Play an action in each of some rows, and let nature move."""
        if actions.shape != rows.shape or not np.issubdtype(actions.dtype, np.integer):
            raise EnvError(
                f"{self.spec.name}: the actions have shape {actions.shape} and type {actions.dtype}; allowed:"
                f" {len(rows)} whole numbers"
            )
        for row, action in zip(rows.tolist(), actions.tolist(), strict=True):
            if self._is_over[row] or not (0 <= action < self.game.num_actions and self._legal[row, action]):
                self._refuse(row, action)
        states = self._states[rows]
        _step_rows(self.game.native.step, states, actions.astype(np.int32))
        self._states[rows] = states
        self._steps[rows] += 1
        self._roll(rows)

    def _open(self, row: int, rng: np.random.Generator) -> None:
        """Play a game's random opening, shorter where the game would end in it."""
        share, most = self.opening
        moves = int(rng.integers(1, most + 1)) if rng.random() < share else 0
        first = self._states[row].copy(), self._counters[row].copy()
        while moves:
            left = moves
            while left and not self._rules.is_terminal(self._states[row : row + 1]):
                legal = self._rules.legal_actions(self._states[row : row + 1])
                self._rules.step(self._states[row : row + 1], int(rng.choice(legal)))
                self._roll(np.array([row]))
                left -= 1
            if not left and not self._rules.is_terminal(self._states[row : row + 1]):
                return
            self._states[row], self._counters[row] = first
            moves //= 2

    def _refuse(self, row: int, action: int) -> None:
        """Say why an action can't be played."""
        where = f"{self.spec.name}, environment {row}, step {int(self._steps[row]) + 1}"
        if self._is_over[row]:
            raise EnvError(f"{where}: its game is over or has not begun; next: reset_rows")
        try:
            Position(self.game, self._states[row : row + 1]).play(action)
        except IllegalActionError as error:
            raise IllegalActionError(f"{where}: {error}") from None
        raise IllegalActionError(f"{where}: action {action} is not legal")

    def _roll(self, rows: NDArray[np.int64]) -> None:
        """Let nature move in some rows, each by its own generator."""
        if not self.game.has_chance:
            return
        states, counters, native = self._states[rows], self._counters[rows], self.game.native
        roll_states(native.step, native.chance, states, counters, *self.game.new_scratch())
        self._states[rows], self._counters[rows] = states, counters

    def _look(self, rows: NDArray[np.int64]) -> Transition:
        """Give what is seen of some rows, and keep what is legal there.

        Raises:
            EnvError: a game has not ended and no action is legal.
        """
        count, native = len(rows), self.game.native
        planes = np.zeros((count, *self.game.observation_shape), np.float32)
        legal = np.zeros((count, self.game.num_actions), np.bool_)
        ended = np.zeros(count, np.bool_)
        outcome = np.zeros((count, self.game.num_players), np.float32)
        states = self._states[rows]
        _look_at_rows(
            native.legal_actions, native.is_terminal, native.returns, native.observe, states,
            self.game.new_scratch()[0], planes, legal, ended, outcome,
        )  # fmt: skip
        stuck = np.flatnonzero(~ended & ~legal.any(axis=1))
        if len(stuck):
            row = int(rows[stuck[0]])
            raise EnvError(
                f"{self.spec.name}, environment {row}, step {int(self._steps[row])}: no action is legal and"
                " the game has not ended; next: check its rules"
            )
        self._legal[rows], self._is_over[rows] = legal, ended
        to_play = np.maximum(self.game.view_states(states)["to_play"], 0).astype(np.int8)
        return Transition(planes, outcome, ended, np.zeros(count, np.bool_), legal, to_play)
