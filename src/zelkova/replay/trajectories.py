"""The newest trajectories in a ring of rows, drawn by priority.

A trajectory of T decisions takes T + 1 rows, the last of which holds the final observation and its value.
Decisions that are not recorded are read by targets and never drawn.
It leaves as a whole. Rows are found by age, so a buffer filled again draws the very same batches.
"""

from collections import deque
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ShapeError
from zelkova.replay.config import ReplayConfig
from zelkova.replay.trajectory import Trajectory, TrajectorySpec

FIRST_ROWS = 1024  # allocated at first, and doubled as they fill
SMALLEST = 1e-6  # added to an error, so that nothing is never drawn


class Picks(NamedTuple):
    """Drawn starting points."""

    rows: NDArray[np.int64]  # [B] places of the decisions, counted from the oldest row held
    last: NDArray[np.int64]  # [B] of each one's final observation
    weights: NDArray[np.float32]  # [B] importance weights, 1 at most


class Held(NamedTuple):
    """One trajectory in the ring."""

    rows: int  # T + 1
    decisions: int  # that may be drawn


class TrajectoryBuffer:
    """A bounded ring of trajectories; its window is counted in decisions (see ReplayConfig)."""

    def __init__(self, config: ReplayConfig, spec: TrajectorySpec | None = None) -> None:
        """Make an empty buffer.

        Args:
            config: window and priorities.
            spec: what rows are like; None: as in the first trajectory.
        """
        self.config, self.spec = config, spec
        self.total_added = 0  # decisions that ever came in, those that left included
        self.columns: dict[str, NDArray[Any]] = {}
        self._held: deque[Held] = deque()
        self._head = 0
        self._rows = 0  # in use
        self._size = 0  # decisions held
        self._largest = 1.0  # priority of what is new

    def __len__(self) -> int:
        """Decisions held."""
        return self._size

    @property
    def first(self) -> int:
        """Number of the oldest decision held, counted from the run's first."""
        return self.total_added - self._size

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.columns.values())

    def add(self, trajectory: Trajectory) -> int:
        """Take a trajectory in; the oldest leave while more decisions are held than the window has.

        Args:
            trajectory: of the same widths as those before.
        Returns:
            how many decisions were new.
        Raises:
            ShapeError: it is unlike what belongs here; nothing changes.
        """
        self.spec = self.spec or TrajectorySpec.of(trajectory)
        self.spec.check(trajectory)
        rows = self._lay_out(trajectory)
        moves, drawn = len(trajectory), trajectory.num_recorded
        if not self.columns:
            self.columns = {name: np.zeros((FIRST_ROWS, *a.shape[1:]), a.dtype) for name, a in rows.items()}
        self.total_added += drawn
        window = self.config.window(self.total_added)
        while self._held and self._size + drawn > window:
            gone = self._held.popleft()
            self._head = (self._head + gone.rows) % len(self.columns["priority"])
            self._rows -= gone.rows
            self._size -= gone.decisions
        self._make_room(self._rows + moves + 1)
        at = self.places(np.arange(self._rows, self._rows + moves + 1))
        for name, array in rows.items():
            self.columns[name][at] = array
        self._held.append(Held(moves + 1, drawn))
        self._rows += moves + 1
        self._size += drawn
        return drawn

    def _lay_out(self, trajectory: Trajectory) -> dict[str, NDArray[Any]]:
        """Give a trajectory as rows; what the last one does not have is zero there."""

        def longer(array: NDArray[Any]) -> NDArray[Any]:
            return np.concatenate([array, np.zeros((1, *array.shape[1:]), array.dtype)])

        moves = len(trajectory)
        is_drawn = np.arange(moves + 1) < trajectory.num_recorded
        rows = {
            "observations": trajectory.observations,
            "actions": longer(trajectory.actions),
            "rewards": longer(trajectory.rewards),
            "legal": longer(trajectory.legal),
            "policy": longer(trajectory.policy),
            "values": trajectory.root_values,
            "to_play": trajectory.to_play,
            "number": self.total_added + np.arange(moves + 1),  # counted from the run's first decision
            "to_go": np.arange(moves, -1, -1, dtype=np.int32),  # rows to the final observation
            "terminated": np.full(moves + 1, trajectory.terminated),
            "priority": np.where(is_drawn, self._largest, 0.0),
        }
        if trajectory.candidates is not None:
            rows["candidates"] = longer(trajectory.candidates)
        return rows

    def _make_room(self, needed: int) -> None:
        """Double the arrays until so many rows fit."""
        have = len(self.columns["priority"])
        if needed <= have:
            return
        size = have
        while size < needed:
            size *= 2
        order = self.places(np.arange(self._rows))
        for name, array in self.columns.items():
            larger = np.zeros((size, *array.shape[1:]), array.dtype)
            larger[: self._rows] = array[order]
            self.columns[name] = larger
        self._head = 0

    def places(self, ages: NDArray[np.int64]) -> NDArray[np.int64]:
        """Say where in the arrays rows lie, 0 being the oldest."""
        return (self._head + ages) % len(self.columns["priority"])

    def take(self, name: str, ages: NDArray[np.int64]) -> NDArray[Any]:
        """Copy a column's rows, 0 being the oldest."""
        return np.take(self.columns[name], self.places(ages), axis=0)

    def sample(self, batch_size: int, rng: np.random.Generator) -> Picks:
        """Draw decisions in proportion to priority ** alpha, each draw apart from the others.

        Args:
            batch_size: B.
            rng: where the draws come from.
        Raises:
            ShapeError: nothing was added yet.
        Source: prioritised replay (Schaul et al. 2016), Section 3.3 and 3.4.
        """
        if self._size == 0:
            raise ShapeError("a batch was asked of an empty replay; add a trajectory first")
        alpha, beta = self.config.priority_alpha, self.config.priority_beta
        priority = self.take("priority", np.arange(self._rows))
        mass = np.where(priority > 0, priority**alpha, 0.0)
        total = np.cumsum(mass)
        rows = np.searchsorted(total, rng.random(batch_size) * total[-1], side="right")
        rows = np.minimum(rows, np.searchsorted(total, total[-1]))  # rounding never leaves what is drawn
        chance = mass[rows] / total[-1]
        weights = (1.0 / (self._size * chance)) ** beta
        last = rows + self.take("to_go", rows)
        return Picks(rows, last, (weights / weights.max()).astype(np.float32))

    def update_priorities(self, picks: Picks, errors: NDArray[np.float32]) -> None:
        """Take over new errors of drawn decisions; nothing may have been added since they were drawn.

        Args:
            picks: what was drawn.
            errors: [B] distances of values from targets, 0 or more.
        """
        if self.config.priority_alpha == 0.0:
            return
        new = np.asarray(errors, np.float64) + SMALLEST
        self.columns["priority"][self.places(picks.rows)] = new
        self._largest = max(self._largest, float(new.max()))

    def priority_state(self) -> NDArray[np.float64]:
        """Give the priorities of all rows, oldest first, and behind them that of what is new."""
        if not self.columns:
            return np.array([self._largest])
        return np.append(self.take("priority", np.arange(self._rows)), self._largest)

    def load_priorities(self, state: NDArray[np.float64]) -> None:
        """Go on from what `priority_state` gave, over the same trajectories.

        Raises:
            ShapeError: it is of another number of rows, or holds what is no priority.
        """
        if state.shape != (self._rows + 1,):
            raise ShapeError(f"{state.shape} priorities for {self._rows} rows of the replay, and one more")
        if state.dtype.kind != "f" or not (np.isfinite(state).all() and (state >= 0.0).all()):
            raise ShapeError("a priority is below 0 or no finite number")
        self._largest = float(state[-1])
        if self.columns:
            self.columns["priority"][self.places(np.arange(self._rows))] = state[:-1]

    def start_at(self, total: int) -> None:
        """Empty the buffer and say how many decisions came before the next one, on resuming.

        Args:
            total: number of the next decision to come.
        """
        self._held.clear()
        self._head = self._rows = self._size = 0
        self.total_added = total
