"""What a classic search is told of a game: compiled functions of a state's address, and sizes."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ShapeError


class Calls(NamedTuple):
    """The functions in the order in which kernels take them; Numba sees them as first-class functions."""

    step: Any  # void(intp, int64)
    legal_actions: Any  # int64(intp, int32[M])
    is_terminal: Any  # boolean(intp)
    returns: Any  # void(intp, float32[P])
    evaluate: Any  # void(intp, float32[P]); leaves out as it is where the game has none
    position_hash: Any  # uint64(intp); called where has_hash


@dataclasses.dataclass(frozen=True)
class Rules:
    """One game of one player or more, without chance moves; states are rows uint64[words]."""

    calls: Calls  # compiled
    has_hash: bool  # may position_hash be asked; otherwise every word of a row tells positions apart
    words: int  # of a state's row
    to_play_byte: int  # where the int8 field to_play lies in a row
    num_players: int  # P
    num_actions: int  # A, actions are 0..A-1
    max_legal_actions: int  # M
    return_range: tuple[float, float]  # lowest and highest return of a player
    name: str  # of the game, for messages

    @property
    def total(self) -> float | None:
        """What the players' returns sum to: 0 for two, 1 for more; None for one."""
        return None if self.num_players == 1 else 0.0 if self.num_players == 2 else 1.0

    @property
    def even(self) -> float:
        """The value that favours nobody, for positions that no function judges."""
        low, high = self.return_range
        return (low + high) / 2 if self.total is None else self.total / self.num_players

    @property
    def winning(self) -> float:
        """The return of one player that settles everyone's: inf where the highest return does not."""
        low, high = self.return_range
        settles = self.total is None or abs(high + (self.num_players - 1) * low - self.total) < 1e-6
        return high if settles else float("inf")

    def view_movers(self, states: NDArray[np.uint64]) -> NDArray[np.int8]:
        """See the field to_play of rows [n, words] as int8[n], without a copy."""
        return states.view(np.int8)[:, self.to_play_byte]

    def check_states(self, states: NDArray[np.uint64]) -> None:
        """Refuse rows of another width.

        Raises:
            ShapeError: states are not [n, words].
        """
        if states.ndim != 2 or states.shape[1] != self.words:
            raise ShapeError(f"states have shape {states.shape}; allowed: [n, {self.words}] for {self.name}")
