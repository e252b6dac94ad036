"""An episode of an environment, or a part of one: what acting hands to the replay of a learned model."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ShapeError

POLICY_SUM_TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class Trajectory:
    """T decisions and T + 1 observations.

    Raises:
        ShapeError: an array has another shape or dtype, a policy that does not sum to 1 over the legal
            columns, or a number that is not finite.
    """

    seed: int  # number of the episode in the run: trajectories enter the replay in this order
    observations: NDArray[Any]  # [T + 1, *shape] float32 or uint8
    actions: NDArray[Any]  # int32[T], or float32[T, D] in -1..1
    rewards: NDArray[np.float32]  # [T, P] received after each decision, absolute players
    legal: NDArray[np.bool_]  # [T, M] columns that could be chosen: all actions, or the drawn candidates
    policy: NDArray[np.float32]  # [T, M] policy target; sums to 1
    candidates: NDArray[np.float32] | None  # [T, M, D] what columns stand for where actions were drawn
    root_values: NDArray[
        np.float32
    ]  # [T + 1, P] after search; the last: of the final observation, 0 at an ending
    to_play: NDArray[np.int8]  # [T + 1] 0..P-1
    terminated: bool  # False: cut, by a time limit or into segments
    recorded: int = -1  # the first so many are trained on, targets look into the rest; -1: all

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit together."""
        moves = len(self.actions)
        players = self.rewards.shape[1] if self.rewards.ndim == 2 else -1
        width = self.policy.shape[1] if self.policy.ndim == 2 else -1
        shapes = {
            "rewards": (np.float32, (moves, players)),
            "legal": (np.bool_, (moves, width)),
            "policy": (np.float32, (moves, width)),
            "root_values": (np.float32, (moves + 1, players)),
            "to_play": (np.int8, (moves + 1,)),
        }
        if moves < 1 or len(self.observations) != moves + 1:
            raise ShapeError(
                f"trajectory {self.seed} has {moves} actions and {len(self.observations)} observations;"
                " allowed: 1 action or more, and one observation more than actions"
            )
        if self.recorded == -1:
            object.__setattr__(self, "recorded", moves)
        if not 1 <= self.recorded <= moves:
            raise ShapeError(
                f"trajectory {self.seed}: {self.recorded} of {moves} decisions recorded; allowed: 1 to all"
            )
        for name, (dtype, shape) in shapes.items():
            array = getattr(self, name)
            if array.dtype != dtype or array.shape != shape:
                raise ShapeError(
                    f"trajectory {self.seed}: {name} is {array.dtype}{list(array.shape)}; expected"
                    f" {np.dtype(dtype)}{list(shape)} (T from actions, P from rewards, M from policy)"
                )
        candidates = self.candidates
        if candidates is not None and (
            self.actions.ndim != 2
            or candidates.dtype != np.float32
            or candidates.shape != (moves, width, self.actions.shape[1])
        ):
            raise ShapeError(
                f"trajectory {self.seed}: candidates are {list(candidates.shape)}; expected"
                f" [{moves}, {width}, D] beside actions [T, D]"
            )
        self._refuse_numbers()

    def _refuse_numbers(self) -> None:
        """Refuse policies that are none, and numbers that are not finite, naming the decision."""
        moves = len(self.actions)
        wrong = np.append(np.abs(self.policy.sum(axis=1) - 1.0) > POLICY_SUM_TOLERANCE, False)
        wrong[:-1] |= (self.policy < 0.0).any(axis=1) | (self.policy * ~self.legal).any(axis=1)
        for name in ("observations", "actions", "rewards", "policy", "candidates", "root_values"):
            array = getattr(self, name)
            if array is not None and array.dtype.kind == "f":
                wrong[: len(array)] |= ~np.isfinite(array.reshape(len(array), -1)).all(axis=1)
        if wrong.any():
            raise ShapeError(
                f"trajectory {self.seed}, decision {int(np.argmax(wrong))} of {moves}: observations, actions,"
                " rewards and values must be finite, and a policy must sum to 1 over legal columns"
            )

    @property
    def num_recorded(self) -> int:
        """Decisions that are trained on; those behind them are for targets to look into."""
        return self.recorded

    def __len__(self) -> int:
        """T, the number of decisions."""
        return len(self.actions)


class TrajectorySpec(NamedTuple):
    """What the trajectories of one replay have in common."""

    observation_shape: tuple[int, ...]
    observation_dtype: str  # "float32" or "uint8"
    num_actions: int  # A; 0: continuous
    action_dim: int  # D; 0: numbered actions
    columns: int  # M, of policies
    num_players: int  # P

    @classmethod
    def of(cls, trajectory: Trajectory) -> "TrajectorySpec":
        """Read it off a trajectory."""
        is_continuous = trajectory.candidates is not None
        width = trajectory.policy.shape[1]
        return cls(
            trajectory.observations.shape[1:],
            trajectory.observations.dtype.name,
            0 if is_continuous else width,
            trajectory.actions.shape[1] if is_continuous else 0,
            width,
            trajectory.rewards.shape[1],
        )

    def check(self, trajectory: Trajectory) -> None:
        """Refuse a trajectory of another environment or other settings.

        Raises:
            ShapeError: says in what it differs, or which decision takes an action that there is not.
        """
        own = TrajectorySpec.of(trajectory)
        unlike = [
            f"{name} is {found}, here {wanted}"
            for name, found, wanted in zip(self._fields, own, self, strict=True)
            if found != wanted
        ]
        if unlike:
            raise ShapeError(
                f"trajectory {trajectory.seed} does not belong here: {'; '.join(unlike)};"
                " next: one environment and one configuration for a replay"
            )
        actions = trajectory.actions
        wanted = "float32" if self.action_dim else "int32"
        if actions.dtype != wanted or actions.ndim != 1 + (self.action_dim > 0):
            raise ShapeError(f"trajectory {trajectory.seed}: actions are {actions.dtype}, expected {wanted}")
        if ((trajectory.to_play < 0) | (trajectory.to_play >= self.num_players)).any():
            raise ShapeError(
                f"trajectory {trajectory.seed}: turns of players {sorted(set(trajectory.to_play.tolist()))};"
                f" allowed: 0 to {self.num_players - 1}"
            )
        low, high = (-1.0, 1.0) if self.action_dim else (0, self.num_actions - 1)
        outside = ((actions < low) | (actions > high)).reshape(len(actions), -1).any(axis=1)
        if outside.any():
            decision = int(np.argmax(outside))
            raise ShapeError(
                f"trajectory {trajectory.seed}, decision {decision}: action {actions[decision]}; allowed:"
                f" {low} to {high}"
            )
