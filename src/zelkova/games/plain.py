"""Runs a game's rules as plain Python: the same functions, interpreted, with bounds checked.

Compiled code indexes without checks; interpreted code says which line is wrong. Helpers that a rule
calls through `numba.njit` are interpreted too. The contract check and the differential tests use it.
"""

import ctypes
import threading
import time
import types
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numba.core.dispatcher import Dispatcher
from numpy.typing import NDArray

from zelkova.games.game import Game


class CallTooLongError(Exception):
    """An interpreted rule ran past its time limit."""


def interpret(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a copy of a function in which every compiled helper is replaced by its Python source."""
    copy: Callable[..., Any] = _copy(function, {}, {})
    return copy


def _copy(function: Any, seen: dict[Any, Any], spaces: dict[int, dict[str, Any]]) -> Any:
    """Copy a function once; `spaces` holds one rewritten namespace for each module."""
    if function in seen:
        return seen[function]
    space = function.__globals__
    rewritten = id(space) not in spaces
    names = spaces.setdefault(id(space), dict(space))
    cells = None
    if function.__closure__:
        cells = tuple(
            types.CellType(_plain(cell.cell_contents, seen, spaces)) for cell in function.__closure__
        )
    copy = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
    copy.__kwdefaults__ = function.__kwdefaults__
    seen[function] = copy
    if rewritten:
        for name, value in space.items():
            names[name] = _plain(value, seen, spaces)
    return copy


def _plain(value: Any, seen: dict[Any, Any], spaces: dict[int, dict[str, Any]]) -> Any:
    """Give the interpreted form of a compiled helper; any other value as it is."""
    return _copy(value.py_func, seen, spaces) if isinstance(value, Dispatcher) else value


class PlainRules:
    """One game's rules as interpreted calls; every `state` is a row uint64[1, words].

    A call that takes longer than `limit_s` is broken off with CallTooLongError.
    """

    def __init__(self, game: Game, limit_s: float = 10.0) -> None:
        """Interpret a game's functions.

        Args:
            game: whose rules they are.
            limit_s: seconds that one call may take.
        """
        self.game = game
        self._limit = limit_s
        seen: dict[Any, Any] = {}
        spaces: dict[int, dict[str, Any]] = {}
        self._functions = {name: _copy(function, seen, spaces) for name, function in game.functions.items()}

    def _call(self, name: str, state: NDArray[np.uint64], *rest: Any) -> Any:
        record = self.game.view_states(state)[0]
        with np.errstate(all="ignore"), warnings.catch_warnings(), _Alarm(self._limit):
            warnings.simplefilter("ignore")
            return self._functions[name](record, *rest)

    def init(self, state: NDArray[np.uint64], seed: int) -> None:
        """Write an initial position."""
        self._call("init", state, np.uint64(seed))

    def legal_actions(self, state: NDArray[np.uint64], out: NDArray[np.int32]) -> Any:
        """Write the legal actions into out int32[M] and give their number."""
        return self._call("legal_actions", state, out)

    def step(self, state: NDArray[np.uint64], action: int) -> None:
        """Play an action in place."""
        self._call("step", state, action)

    def is_terminal(self, state: NDArray[np.uint64]) -> Any:
        """Is the game over."""
        return self._call("is_terminal", state)

    def returns(self, state: NDArray[np.uint64], out: NDArray[np.float32]) -> None:
        """Write each player's return into out float32[P]."""
        self._call("returns", state, out)

    def observe(self, state: NDArray[np.uint64], planes: NDArray[np.float32]) -> None:
        """Write the input planes into planes float32[C, H, W], zero before."""
        self._call("observe", state, planes)

    def chance(
        self, state: NDArray[np.uint64], actions: NDArray[np.int32], probs: NDArray[np.float32]
    ) -> Any:
        """Write outcomes and their probabilities, int32[C] and float32[C], and give their number."""
        return self._call("chance", state, actions, probs)

    def position_hash(self, state: NDArray[np.uint64]) -> int:
        """Give the position's key."""
        return int(self._call("position_hash", state))

    def evaluate(self, state: NDArray[np.uint64], out: NDArray[np.float32]) -> None:
        """Write what the position is worth to each player into out float32[P]."""
        self._call("evaluate", state, out)

    def weigh(self, state: NDArray[np.uint64], actions: NDArray[np.int32], out: NDArray[np.float32]) -> None:
        """Write how good each legal action looks into out float32[n]."""
        self._call("weigh", state, actions, out)

    def places(self, state: NDArray[np.uint64], out: NDArray[np.float32]) -> None:
        """Write each player's place at an ending into out float32[P]."""
        self._call("places", state, out)

    def eliminated(self, state: NDArray[np.uint64], out: NDArray[np.float32]) -> None:
        """Write 1 for each player who is out, else 0, into out float32[P]."""
        self._call("eliminated", state, out)

    def material(self, state: NDArray[np.uint64], out: NDArray[np.float32]) -> None:
        """Write what each player has into out float32[P]."""
        self._call("material", state, out)


class _Alarm:
    """Breaks off this thread's Python code after some seconds, from one watching thread for all alarms."""

    _deadlines: ClassVar[dict[int, float]] = {}
    _lock = threading.Lock()
    _watching = False

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._thread = threading.get_ident()

    def __enter__(self) -> None:
        with self._lock:
            self._deadlines[self._thread] = time.monotonic() + self._seconds
            if not _Alarm._watching:
                _Alarm._watching = True
                threading.Thread(target=self._watch, name="rule-time-limit", daemon=True).start()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._deadlines.pop(self._thread, None)

    @classmethod
    def _watch(cls) -> None:
        """Raise CallTooLongError in every thread whose time is over; end after a quiet second."""
        quiet = 0
        while quiet < 50:
            time.sleep(0.02)
            with cls._lock:
                now = time.monotonic()
                for thread, deadline in list(cls._deadlines.items()):
                    if now > deadline:
                        del cls._deadlines[thread]
                        ctypes.pythonapi.PyThreadState_SetAsyncExc(
                            ctypes.c_ulong(thread), ctypes.py_object(CallTooLongError)
                        )
                quiet = 0 if cls._deadlines else quiet + 1
                if quiet >= 50:
                    cls._watching = False
