"""One finished game as arrays: what self-play hands to the buffer and what a chunk holds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ShapeError
from zelkova.replay.choices.rows import own_part

POLICY_SUM_TOLERANCE = 1e-3  # a float32 policy sums to 1 within this


@dataclass(frozen=True, eq=False)
class Episode:
    """A game from its first searched position to its last.

    Raises:
        ShapeError: an array has another shape or dtype, or a recorded row has no legal action or a
            policy that is negative or does not sum to 1.
    """

    seed: int  # the game's number in the run: games enter the replay in this order
    states: NDArray[np.uint64]  # [T, words] records of the positions
    to_play: NDArray[np.int8]  # [T] whose move, 0..P-1
    actions: NDArray[np.int32]  # [T] the action played
    counts: NDArray[np.int32]  # [T] how many legal actions; 0: none were noted
    legal: NDArray[np.int32]  # [L] those of all moves, one move behind the other; L is the sum of counts
    policy: NDArray[np.float32]  # [L] policy target aligned to legal, sums to 1 over each move's
    root_values: NDArray[np.float32]  # [T, P] value after search, absolute seats, in RETURN_RANGE
    returns: NDArray[np.float32]  # [P] the game's outcome, absolute seats
    recorded: NDArray[np.bool_]  # [T] False: never trained on
    ending: NDArray[np.uint64] | None = None  # [words] the position after the last move; None: not kept

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit together."""
        moves = self.actions.shape[0] if self.actions.ndim == 1 else -1
        choices = int(self.counts.sum())
        words = self.states.shape[1] if self.states.ndim == 2 else -1
        players = self.returns.shape[0] if self.returns.ndim == 1 else -1
        expected: dict[str, tuple[type[np.generic], tuple[int, ...]]] = {
            "states": (np.uint64, (moves, words)),
            "to_play": (np.int8, (moves,)),
            "actions": (np.int32, (moves,)),
            "counts": (np.int32, (moves,)),
            "legal": (np.int32, (choices,)),
            "policy": (np.float32, (choices,)),
            "root_values": (np.float32, (moves, players)),
            "returns": (np.float32, (players,)),
            "recorded": (np.bool_, (moves,)),
        }
        if self.ending is not None:
            expected["ending"] = (np.uint64, (words,))
        for name, (dtype, shape) in expected.items():
            array: NDArray[np.generic] = getattr(self, name)
            if array.dtype != dtype or array.shape != shape:
                raise ShapeError(
                    f"episode {self.seed}: {name} is {array.dtype}{list(array.shape)}; expected"
                    f" {np.dtype(dtype)}{list(shape)} (T from actions, words from states, L from counts,"
                    " P from returns)"
                )
        if (self.counts < 0).any():
            raise ShapeError(f"episode {self.seed}: counts has negative numbers; allowed: 0 or more")
        self._check_rows(players)

    def _check_rows(self, players: int) -> None:
        """Refuse recorded rows that can't be trained on; P is `players`."""
        if not self.recorded.any():
            return
        move_of = np.repeat(np.arange(len(self)), self.counts)
        total = np.bincount(move_of, self.policy, len(self))
        wrong = ~(np.abs(total - 1.0) <= POLICY_SUM_TOLERANCE)  # what is not finite is not near 1 either
        wrong[move_of[(self.policy < 0.0) | (self.legal < 0)]] = True
        wrong |= ~np.isfinite(self.root_values).all(axis=1) | (self.counts == 0)
        wrong |= (self.to_play < 0) | (self.to_play >= players)
        wrong &= self.recorded
        if wrong.any():
            move = int(np.argmax(wrong))
            legal, policy = self.choices(move)
            raise ShapeError(
                f"episode {self.seed}, move {move}: legal {legal.tolist()}, policy"
                f" {policy.tolist()}, root values {self.root_values[move].tolist()}, to_play"
                f" {int(self.to_play[move])}; a recorded move needs a legal action, a policy over legal"
                f" actions that sums to 1, finite values and to_play in 0..{players - 1}"
            )

    def choices(self, move: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Give the legal actions before a move, and the policy over them, without a copy."""
        own = own_part(self.counts, move)
        return self.legal[own], self.policy[own]

    @property
    def num_recorded(self) -> int:
        """How many positions are trained on."""
        return int(np.count_nonzero(self.recorded))

    def __len__(self) -> int:
        """T, the number of moves."""
        return int(self.actions.shape[0])
