"""The newest positions of all games, in a ring of arrays that never holds more than its capacity.

Sampling goes by a position's age, not by its place in memory, so a buffer filled again from its
chunks draws the very same batches as one that was never stopped.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ShapeError
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
            max_actions: M, width of `legal` and `policy`.
            num_players: P.
            foresee: gives what auxiliary heads learn, as a game comes in; None: there are none.
        """
        self.config, self._foresee = config, foresee
        self.total_added = 0  # positions that ever came in, those that left included
        self._widths = (words, max_actions, num_players)
        self._arrays = self._allocate(min(FIRST_ALLOCATION, config.capacity))
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
        return sum(array.nbytes for array in self._arrays)

    def _allocate(self, rows: int) -> Batch:
        words, width, players = self._widths
        return Batch(
            states=np.zeros((rows, words), np.uint64),
            to_play=np.zeros(rows, np.int8),
            legal=np.full((rows, width), -1, np.int32),
            policy=np.zeros((rows, width), np.float32),
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
        widths = (episode.states.shape[1], episode.legal.shape[1], episode.returns.shape[0])
        if widths != self._widths:
            raise ShapeError(
                f"episode {episode.seed} has words, legal actions and players {widths}; this buffer holds"
                f" {self._widths}"
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
        self._arrays.legal[place] = episode.legal[rows]
        self._arrays.policy[place] = episode.policy[rows]
        self._arrays.root_values[place] = lambda_values(episode, self.config.td_lambda)[rows]
        self._arrays.returns[place] = episode.returns
        self._arrays.progress[place] = rows / max(len(episode), 1)
        if self._foresee is not None:
            self._arrays.aftermath[place] = self._foresee(episode)[rows]
        self._size += rows.size
        self.total_added += count
        return count

    def _make_room(self, needed: int) -> None:
        """Double the arrays, up to the capacity, until `needed` positions fit."""
        rows = self._arrays.to_play.shape[0]
        if needed <= rows:
            return
        while rows < needed:
            rows *= 2
        larger = self._allocate(min(rows, self.config.capacity))
        old_columns: tuple[NDArray[Any], ...] = self.window_rows()
        new_columns: tuple[NDArray[Any], ...] = larger
        for old, new in zip(old_columns, new_columns, strict=True):
            new[: self._size] = old
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
        place = (self._head + ages) % self._arrays.to_play.shape[0]
        return Batch(*(np.take(array, place, axis=0) for array in self._arrays))

    def start_at(self, total: int) -> None:
        """Empty the buffer and say how many positions came before the next one, on resuming.

        Args:
            total: number of the next position to come.
        """
        self._head = self._size = 0
        self.total_added = total
