"""The newest positions of all games, in a ring of arrays that never holds more than its capacity.

Sampling goes by a position's age, not by its place in memory, so a buffer filled again from its
chunks draws the very same batches as one that was never stopped.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ShapeError
from zelkova.replay.choices.ring import ChoiceRing
from zelkova.replay.config import ReplayConfig
from zelkova.replay.episode import Episode

Foresee = Callable[[Episode], NDArray[np.float32]]
"""Gives what came of each position of a game, [T, 2P + 2] as in `targets.Aftermath`."""

FIRST_ALLOCATION = 4096  # positions allocated at first; doubled as they fill, up to the capacity


class Batch(NamedTuple):
    """Positions as they were stored; `targets.make_targets` turns them into what the loss needs."""

    states: NDArray[np.uint64]  # [B, words]
    to_play: NDArray[np.int8]  # [B] 0..P-1
    legal: NDArray[np.int32]  # [B, M] padded with -1
    policy: NDArray[np.float32]  # [B, M] aligned to legal
    root_values: NDArray[np.float32]  # [B, P] absolute seats, in RETURN_RANGE; see `lambda_values`
    returns: NDArray[np.float32]  # [B, P] absolute seats
    progress: NDArray[np.float32]  # [B] share of its game that came before, 0 up to below 1
    aftermath: NDArray[np.float32]  # [B, 2P + 2] absolute seats, see `targets.Aftermath`; [B, 0]: not kept


class Columns(NamedTuple):
    """What is held of each position in a row of one width; its choices lie in a ring of their own."""

    states: NDArray[np.uint64]  # [n, words]
    to_play: NDArray[np.int8]  # [n]
    start: NDArray[np.int64]  # [n] serial number of its first legal action in the ring
    counts: NDArray[np.int32]  # [n] legal actions
    root_values: NDArray[np.float32]  # [n, P]
    returns: NDArray[np.float32]  # [n, P]
    progress: NDArray[np.float32]  # [n]
    aftermath: NDArray[np.float32]  # [n, 2P + 2] or [n, 0]


def lambda_values(episode: Episode, td_lambda: float) -> NDArray[np.float32]:
    """Average the root values from each position on and the outcome: G_t = (1 - l) nu_t + l G_{t+1}.

    Args:
        episode: a game; positions that are not recorded add nothing of their own.
        td_lambda: l in [0, 1]; 0 gives the root values themselves.
    Returns:
        [T, P] absolute seats.
    Source: the lambda-return (Sutton 1988), with searched values in place of predicted ones.
    """
    if td_lambda == 0.0:
        return episode.root_values
    values = np.empty_like(episode.root_values)
    after = episode.returns.astype(np.float32)
    for move in range(len(episode) - 1, -1, -1):
        if episode.recorded[move]:
            after = np.float32(1.0 - td_lambda) * episode.root_values[move] + np.float32(td_lambda) * after
        values[move] = after
    return values


class ReplayBuffer:
    """A bounded ring of positions with a window that may grow (see ReplayConfig)."""

    def __init__(
        self,
        config: ReplayConfig,
        words: int,
        max_actions: int,
        num_players: int,
        foresee: Foresee | None = None,
    ) -> None:
        """Make an empty buffer.

        Args:
            config: capacity and window.
            words: width of a state's row in uint64 words.
            max_actions: M, most legal actions of a position and width of a batch's `legal` and `policy`.
            num_players: P.
            foresee: gives what auxiliary heads learn, as a game comes in; None: there are none.
        """
        self.config, self._foresee = config, foresee
        self.total_added = 0  # positions that ever came in, those that left included
        self.max_actions = max_actions
        self._widths = (words, num_players)
        self._arrays = self._allocate(min(FIRST_ALLOCATION, config.capacity))
        self._choices = ChoiceRing(config.capacity * max_actions)
        self._head = 0  # where in the ring the oldest position lies
        self._size = 0

    def __len__(self) -> int:
        """Positions in the window, which are all that is held."""
        return self._size

    @property
    def first(self) -> int:
        """Number of the oldest position held, counted from the run's first; chunks before it can go."""
        return self.total_added - self._size

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self._arrays) + self._choices.nbytes

    def _allocate(self, rows: int) -> Columns:
        words, players = self._widths
        return Columns(
            states=np.zeros((rows, words), np.uint64),
            to_play=np.zeros(rows, np.int8),
            start=np.zeros(rows, np.int64),
            counts=np.zeros(rows, np.int32),
            root_values=np.zeros((rows, players), np.float32),
            returns=np.zeros((rows, players), np.float32),
            progress=np.zeros(rows, np.float32),
            aftermath=np.zeros((rows, 2 * players + 2 if self._foresee else 0), np.float32),
        )

    def add(self, episode: Episode) -> int:
        """Take the recorded positions of a game in; the oldest ones leave the window.

        Args:
            episode: a game; rows that are not recorded are left out.
        Returns:
            how many positions were new.
        Raises:
            ShapeError: the episode's widths are not the buffer's.
        """
        widths, most = (episode.states.shape[1], len(episode.returns)), int(episode.counts.max(initial=0))
        if widths != self._widths or most > self.max_actions:
            raise ShapeError(
                f"episode {episode.seed} has words and players {widths} and up to {most} legal actions; this"
                f" buffer holds {self._widths} and up to {self.max_actions}"
            )
        rows = np.flatnonzero(episode.recorded)
        count = rows.size
        window = self.config.window(self.total_added + count)
        dropped = max(0, self._size + count - window)  # oldest first; may reach into the episode itself
        stale = min(dropped, self._size)
        rows = rows[dropped - stale :]
        self._make_room(self._size - stale + rows.size)
        capacity = self._arrays.to_play.shape[0]
        self._head = (self._head + stale) % capacity
        self._size -= stale
        place = (self._head + self._size + np.arange(rows.size)) % capacity
        self._arrays.states[place] = episode.states[rows]
        self._arrays.to_play[place] = episode.to_play[rows]
        self._arrays.counts[place] = episode.counts[rows]
        self._arrays.start[place] = self._add_choices(episode, rows)
        self._arrays.root_values[place] = lambda_values(episode, self.config.td_lambda)[rows]
        self._arrays.returns[place] = episode.returns
        self._arrays.progress[place] = rows / max(len(episode), 1)
        if self._foresee is not None:
            self._arrays.aftermath[place] = self._foresee(episode)[rows]
        self._size += rows.size
        self.total_added += count
        return count

    def _add_choices(self, episode: Episode, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Put the choices of some of a game's positions into their ring; give where each one's start, [n]."""
        self._choices.drop_before(int(self._arrays.start[self._head]) if self._size else None)
        chosen = np.zeros(len(episode), np.bool_)
        chosen[rows] = True
        inside = np.repeat(chosen, episode.counts)
        first = self._choices.add(episode.legal[inside], episode.policy[inside])
        count = episode.counts[rows].astype(np.int64)
        start: NDArray[np.int64] = first + np.cumsum(count) - count
        return start

    def _make_room(self, needed: int) -> None:
        """Double the arrays, up to the capacity, until `needed` positions fit."""
        rows = self._arrays.to_play.shape[0]
        if needed <= rows:
            return
        while rows < needed:
            rows *= 2
        larger = self._allocate(min(rows, self.config.capacity))
        place = self._places(np.arange(self._size))
        old_columns: tuple[NDArray[Any], ...] = self._arrays
        new_columns: tuple[NDArray[Any], ...] = larger
        for old, new in zip(old_columns, new_columns, strict=True):
            new[: self._size] = old[place]
        self._arrays, self._head = larger, 0

    def window_rows(self) -> Batch:
        """Copy all positions held, oldest first."""
        return self._rows(np.arange(self._size))

    def sample(self, batch_size: int, rng: np.random.Generator) -> Batch:
        """Draw positions uniformly from the window, each draw apart from the others.

        Args:
            batch_size: B.
            rng: where the draws come from.
        Raises:
            ShapeError: nothing was added yet.
        """
        if self._size == 0:
            raise ShapeError("a batch was asked of an empty replay buffer; add an episode first")
        return self._rows(rng.integers(0, self._size, batch_size))

    def _rows(self, ages: NDArray[np.int64]) -> Batch:
        """Copy the positions with these numbers, 0 being the oldest."""
        place = self._places(ages)
        taken: list[Any] = [np.take(array, place, axis=0) for array in self._arrays]
        held = Columns(*taken)
        legal, policy = self._choices.take(held.start, held.counts, self.max_actions)
        return Batch(
            held.states, held.to_play, legal, policy, held.root_values, held.returns, held.progress,
            held.aftermath,
        )  # fmt: skip

    def _places(self, ages: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give where in the ring the positions with these numbers lie, 0 being the oldest."""
        places: NDArray[np.int64] = (self._head + ages) % self._arrays.to_play.shape[0]
        return places

    def start_at(self, total: int) -> None:
        """Empty the buffer and say how many positions came before the next one, on resuming.

        Args:
            total: number of the next position to come.
        """
        self._head = self._size = 0
        self._choices.clear()
        self.total_added = total
