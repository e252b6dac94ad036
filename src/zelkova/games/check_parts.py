"""What a check of a game works with: rules as single calls, a visit to a position, guarded memory."""

import dataclasses
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from zelkova.games.game import Game


class Rules(Protocol):
    """Rules as single calls: PlainRules or CompiledRules."""

    def init(self, state: NDArray[np.uint64], seed: int) -> None: ...  # noqa: D102
    def legal_actions(self, state: NDArray[np.uint64], out: NDArray[np.int32]) -> Any: ...  # noqa: D102
    def step(self, state: NDArray[np.uint64], action: int) -> None: ...  # noqa: D102
    def is_terminal(self, state: NDArray[np.uint64]) -> Any: ...  # noqa: D102
    def returns(self, state: NDArray[np.uint64], out: NDArray[np.float32]) -> None: ...  # noqa: D102
    def observe(self, state: NDArray[np.uint64], planes: NDArray[np.float32]) -> None: ...  # noqa: D102
    def position_hash(self, state: NDArray[np.uint64]) -> int: ...  # noqa: D102
    def evaluate(self, state: NDArray[np.uint64], out: NDArray[np.float32]) -> None: ...  # noqa: D102
    def weigh(  # noqa: D102
        self, state: NDArray[np.uint64], actions: NDArray[np.int32], out: NDArray[np.float32]
    ) -> None: ...
    def places(self, state: NDArray[np.uint64], out: NDArray[np.float32]) -> None: ...  # noqa: D102
    def eliminated(self, state: NDArray[np.uint64], out: NDArray[np.float32]) -> None: ...  # noqa: D102
    def material(self, state: NDArray[np.uint64], out: NDArray[np.float32]) -> None: ...  # noqa: D102
    def chance(  # noqa: D102
        self, state: NDArray[np.uint64], actions: NDArray[np.int32], probs: NDArray[np.float32]
    ) -> Any: ...


class BrokenPromiseError(Exception):
    """A rule broke the contract; carries where and what."""

    def __init__(self, function: str, promise: str, line: int | None = None, file: str | None = None) -> None:
        """Say which function broke which promise; line and file where an exception told them."""
        super().__init__(promise)
        self.function, self.promise, self.line, self.file = function, promise, line, file


@dataclasses.dataclass
class Visit:
    """What the rules said of one position."""

    record: dict[str, Any]  # a copy of every field of the state
    state: NDArray[np.uint64]  # [1, words]
    to_play: int  # the mover, 0..P-1; -1 where nature moves
    legal: NDArray[np.int32]  # [n], ascending; outcomes where nature moves
    terminal: bool  # is the game over
    planes: NDArray[np.float32]  # [C, H, W]
    returns: NDArray[np.float32] | None  # [P] at an ending
    key: int | None  # position_hash, where the game has one
    worth: NDArray[np.float32] | None  # [P] evaluate short of endings, where the game has one
    weights: NDArray[np.float32] | None  # [n] weigh of the legal actions, where the game has one
    probs: NDArray[np.float32]  # [n] of the outcomes; empty where a player moves
    standing: dict[str, NDArray[np.float32]]  # [P] each: `places` (at an ending), `eliminated`, `material`


@dataclasses.dataclass
class Played:
    """One game played from a seed."""

    seed: int  # given to init
    actions: list[int]  # played, one fewer than visits where the game ended
    visits: list[Visit]  # one a position


class Guarded:
    """A row of state between two rows that nobody may touch."""

    def __init__(self, game: Game, fill: int) -> None:
        """Make the rows; `fill` is written into the neighbours."""
        self._game = game
        self._rows = game.new_states(3)
        self._rows[0] = self._rows[2] = fill
        self._fill = np.uint64(fill)
        self.state = self._rows[1:2]

    def check(self, function: str) -> None:
        """Refuse a write outside the row."""
        if (self._rows[0] != self._fill).any() or (self._rows[2] != self._fill).any():
            raise BrokenPromiseError(function, "writes outside its own state, into a neighbour's")


def check_standing(function: str, values: NDArray[np.float32]) -> None:
    """Refuse places that are none, a player who is neither in nor out, or less than nothing.

    Args:
        function: `places`, `eliminated` or `material`.
        values: [P] what it gave.
    """
    given = " ".join(f"{value:g}" for value in values)
    if function == "places":
        before = 1 + (values[None, :] < values[:, None]).sum(axis=1)
        if not np.array_equal(values, before):
            raise BrokenPromiseError(
                function, f"gives {given}; allowed: 1 and the number of players who stand before"
            )
    elif function == "eliminated" and not (((values == 0.0) | (values == 1.0)).all() and values.min() == 0.0):
        raise BrokenPromiseError(function, f"gives {given}; allowed: 0 or 1, and somebody who is not out")
    elif not (np.isfinite(values) & (values >= 0.0)).all():
        raise BrokenPromiseError(function, f"gives {given}; allowed: finite numbers of 0 or more")


def fields_of(game: Game, state: NDArray[np.uint64]) -> dict[str, Any]:
    """Copy every field of a state row; padding bytes do not count."""
    record = game.view_states(state)[0]
    return {name: np.array(record[name]) for name in game.state_dtype.names or ()}


def same_fields(one: dict[str, Any], other: dict[str, Any]) -> str | None:
    """Name the first field that differs, or None."""
    for name, value in one.items():
        if not np.array_equal(value, other[name]):
            return name
    return None
