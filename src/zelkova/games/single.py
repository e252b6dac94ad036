"""Calls a game's compiled rules on one state from Python."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from zelkova.games.game import Game


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _legal_actions(rule: Any, states: Any, out: Any) -> Any:
    return rule(np.intp(states.ctypes.data), out)


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _step(rule: Any, states: Any, action: Any) -> None:
    rule(np.intp(states.ctypes.data), action)


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _is_terminal(rule: Any, states: Any) -> Any:
    return rule(np.intp(states.ctypes.data))


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _write(rule: Any, states: Any, out: Any) -> None:
    rule(np.intp(states.ctypes.data), out)


class Single:
    """One game's rules as Python calls; every `state` is a row uint64[1, words]."""

    def __init__(self, game: Game) -> None:
        """Bind a game."""
        self.game = game
        self.native = game.native

    def legal_actions(self, state: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Give the legal action numbers, ascending."""
        out = np.empty(self.game.max_legal_actions, np.int32)
        return out[: _legal_actions(self.native.legal_actions, state, out)]

    def step(self, state: NDArray[np.uint64], action: int) -> None:
        """Play an action in place; its legality is the caller's promise."""
        _step(self.native.step, state, np.int64(action))

    def is_terminal(self, state: NDArray[np.uint64]) -> bool:
        """Is the game over."""
        return bool(_is_terminal(self.native.is_terminal, state))

    def returns(self, state: NDArray[np.uint64]) -> NDArray[np.float32]:
        """Give each player's return, float32[P]."""
        out = np.zeros(self.game.num_players, np.float32)
        _write(self.native.returns, state, out)
        return out

    def observe(self, state: NDArray[np.uint64]) -> NDArray[np.float32]:
        """Give the network's input planes, float32[C, H, W]."""
        planes = np.zeros(self.game.observation_shape, np.float32)
        _write(self.native.observe, state, planes)
        return planes
