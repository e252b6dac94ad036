"""Calls a game's compiled rules on one state from Python."""

from typing import Any, Protocol

import numpy as np
from numba import njit
from numpy.typing import NDArray

from zelkova.games.native import NativeRules


class HasRules(Protocol):
    """What is asked of a game here; a Game has it."""

    @property
    def native(self) -> NativeRules:
        """The compiled rules."""

    @property
    def num_players(self) -> int:
        """P."""

    @property
    def max_legal_actions(self) -> int:
        """M."""

    @property
    def num_outcomes(self) -> int:
        """C, 0 without chance."""

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """C, H, W."""


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _ask(rule: Any, states: Any) -> Any:
    return rule(np.intp(states.ctypes.data))


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _give(rule: Any, states: Any, value: Any) -> Any:
    return rule(np.intp(states.ctypes.data), value)


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _give_two(rule: Any, states: Any, first: Any, second: Any) -> Any:
    return rule(np.intp(states.ctypes.data), first, second)


class CompiledRules:
    """One game's rules as compiled calls; every `state` is a row uint64[1, words]."""

    def __init__(self, game: HasRules) -> None:
        """Bind a game; its rules are compiled now, if they are not yet."""
        self.game = game
        self.native = game.native

    def init(self, state: NDArray[np.uint64], seed: int) -> None:
        """Write an initial position."""
        _give(self.native.init, state, np.uint64(seed))

    def legal_actions(self, state: NDArray[np.uint64], out: NDArray[np.int32]) -> Any:
        """Write the legal actions into out int32[M] and give their number."""
        return _give(self.native.legal_actions, state, out)

    def step(self, state: NDArray[np.uint64], action: int) -> None:
        """Play an action in place; its legality is the caller's promise."""
        _give(self.native.step, state, np.int64(action))

    def is_terminal(self, state: NDArray[np.uint64]) -> Any:
        """Is the game over."""
        return _ask(self.native.is_terminal, state)

    def returns(self, state: NDArray[np.uint64], out: NDArray[np.float32]) -> None:
        """Write each player's return into out float32[P]."""
        _give(self.native.returns, state, out)

    def observe(self, state: NDArray[np.uint64], planes: NDArray[np.float32]) -> None:
        """Write the input planes into planes float32[C, H, W], zero before."""
        _give(self.native.observe, state, planes)

    def chance(
        self, state: NDArray[np.uint64], actions: NDArray[np.int32], probs: NDArray[np.float32]
    ) -> Any:
        """Write outcomes and their probabilities, int32[C] and float32[C], and give their number."""
        return _give_two(self.native.chance, state, actions, probs) if self.native.chance else 0

    def position_hash(self, state: NDArray[np.uint64]) -> int:
        """Give the position's key."""
        return int(_ask(self.native.position_hash, state))

    def evaluate(self, state: NDArray[np.uint64], out: NDArray[np.float32]) -> None:
        """Write what the position is worth to each player into out float32[P]."""
        _give(self.native.evaluate, state, out)

    def weigh(self, state: NDArray[np.uint64], actions: NDArray[np.int32], out: NDArray[np.float32]) -> None:
        """Write how good each legal action looks into out float32[n]."""
        _give_two(self.native.weigh, state, actions, out)

    def places(self, state: NDArray[np.uint64], out: NDArray[np.float32]) -> None:
        """Write each player's place at an ending into out float32[P]."""
        _give(self.native.places, state, out)

    def eliminated(self, state: NDArray[np.uint64], out: NDArray[np.float32]) -> None:
        """Write 1 for each player who is out, else 0, into out float32[P]."""
        _give(self.native.eliminated, state, out)

    def material(self, state: NDArray[np.uint64], out: NDArray[np.float32]) -> None:
        """Write what each player has into out float32[P]."""
        _give(self.native.material, state, out)


class Single:
    """One game's rules as Python calls that give fresh arrays."""

    def __init__(self, game: HasRules) -> None:
        """Bind a game."""
        self.game = game
        self._rules = CompiledRules(game)

    def legal_actions(self, state: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Give the legal action numbers, ascending."""
        out = np.empty(self.game.max_legal_actions, np.int32)
        return out[: self._rules.legal_actions(state, out)]

    def outcomes(self, state: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Give the possible outcomes [n], ascending, and their probabilities [n]; none at other positions."""
        most = self.game.num_outcomes
        actions, probs = np.empty(most, np.int32), np.empty(most, np.float32)
        count = self._rules.chance(state, actions, probs)
        return actions[:count], probs[:count]

    def step(self, state: NDArray[np.uint64], action: int) -> None:
        """Play an action or an outcome in place; its legality is the caller's promise."""
        self._rules.step(state, action)

    def is_terminal(self, state: NDArray[np.uint64]) -> bool:
        """Is the game over."""
        return bool(self._rules.is_terminal(state))

    def returns(self, state: NDArray[np.uint64]) -> NDArray[np.float32]:
        """Give each player's return, float32[P]."""
        out = np.zeros(self.game.num_players, np.float32)
        self._rules.returns(state, out)
        return out

    def observe(self, state: NDArray[np.uint64]) -> NDArray[np.float32]:
        """Give the network's input planes, float32[C, H, W]."""
        planes = np.zeros(self.game.observation_shape, np.float32)
        self._rules.observe(state, planes)
        return planes
