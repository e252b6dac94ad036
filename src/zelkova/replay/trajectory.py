"""An episode of an environment, or a part of one: what acting hands to the replay of a learned model."""

from dataclasses import dataclass
from typing import Any

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
        for name, (dtype, shape) in shapes.items():
            array = getattr(self, name)
            if array.dtype != dtype or array.shape != shape:
                raise ShapeError(
                    f"trajectory {self.seed}: {name} is {array.dtype}{list(array.shape)}; expected"
                    f" {np.dtype(dtype)}{list(shape)} (T from actions, P from rewards, M from policy)"
                )
        candidates = self.candidates
        if candidates is not None and (
            self.actions.ndim != 2 or candidates.shape != (moves, width, self.actions.shape[1])
        ):
            raise ShapeError(
                f"trajectory {self.seed}: candidates are {list(candidates.shape)}; expected"
                f" [{moves}, {width}, D] beside actions [T, D]"
            )
        wrong = np.abs(self.policy.sum(axis=1) - 1.0) > POLICY_SUM_TOLERANCE
        wrong |= (self.policy < 0.0).any(axis=1) | (self.policy * ~self.legal).any(axis=1)
        for array in (self.policy, self.rewards, self.root_values[:-1]):
            wrong |= ~np.isfinite(array).all(axis=1)
        if wrong.any() or not np.isfinite(self.root_values[-1]).all():
            move = int(np.argmax(wrong)) if wrong.any() else moves
            raise ShapeError(
                f"trajectory {self.seed}, decision {move}: rewards and values must be finite, and a policy"
                " must sum to 1 over legal columns"
            )

    @property
    def num_recorded(self) -> int:
        """Decisions, all of which are trained on."""
        return len(self.actions)

    def __len__(self) -> int:
        """T, the number of decisions."""
        return len(self.actions)
