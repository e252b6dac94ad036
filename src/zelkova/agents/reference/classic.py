"""The classic searches for any game: its compiled rules, and its evaluation or one of your own.

A game says what a position is worth in `evaluate(state, out)`. Where it has none, every position short of an
ending counts as even, and a search sees no more than wins and losses within its depth.
"""

import dataclasses
import re
from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from zelkova.errors import ConfigError, GameError
from zelkova.games.game import Game
from zelkova.games.native import NativeRule
from zelkova.search.classic import (
    MOST_POSITIONS,
    ClassicConfig,
    ClassicResult,
    ClassicSearch,
    Rules,
    Solution,
    solve,
)
from zelkova.search.classic.calls import Calls

_READINGS: dict[str, Literal["maxn", "paranoid"]] = {
    "maxn": "maxn",
    "paranoid": "paranoid",
    "alphabeta": "paranoid",
}
_NAME = re.compile(f"({'|'.join(_READINGS)}):([1-9][0-9]?)")

Evaluate = Callable[[Any, Any], None]
"""A plain function (state, out float32[P]): what a position is worth, ranged and summing like returns."""


def _leave_even(state, out):  # type: ignore[no-untyped-def]
    """Stand for an evaluation that a game does not have."""


def _give_no_key(state):  # type: ignore[no-untyped-def]
    """Stand for a hash that a game does not have; it is never asked."""
    return np.uint64(0)


@cache
def _stand_in(name: str) -> NativeRule:
    """Compile what stands for a missing function; one for all games, for it reads no state."""
    functions: dict[str, Callable[..., Any]] = {"evaluate": _leave_even, "position_hash": _give_no_key}
    return NativeRule(name, functions[name], types.intp)


def rules_for(game: Game, evaluate: Evaluate | None = None) -> Rules:
    """Show a game to the classic searches.

    Args:
        game: whose rules they are.
        evaluate: judges positions in place of the game's own function.
    Raises:
        GameError: the game has chance; or evaluate, or a rule, can't be compiled.
    """
    if game.has_chance:
        raise GameError(
            f"{game.name} has chance, which max^n, paranoid, alphabeta and minimax don't know; next: uct:1000"
        )
    if evaluate is not None and not callable(evaluate):
        raise GameError(f"evaluate = {evaluate!r}; allowed: a function (state, out)")
    native = game.native
    if evaluate is not None:
        judge = NativeRule("evaluate", evaluate, numba.from_dtype(game.state_dtype), cache=False)
    else:
        judge = native.evaluate if "evaluate" in game.functions else _stand_in("evaluate")
    has_hash = "position_hash" in game.functions
    return Rules(
        calls=Calls(
            native.step,
            native.legal_actions,
            native.is_terminal,
            native.returns,
            judge,
            native.position_hash if has_hash else _stand_in("position_hash"),
        ),
        has_hash=has_hash,
        words=game.words,
        to_play_byte=game.state_dtype.fields["to_play"][1],  # type: ignore[index]
        num_players=game.num_players,
        num_actions=game.num_actions,
        max_legal_actions=game.max_legal_actions,
        return_range=game.return_range,
        name=game.name,
    )


@dataclasses.dataclass(frozen=True)
class Opinion:
    """What is thought of one action."""

    action: int  # its number
    values: NDArray[np.float32]  # [P] expected returns after it
    line: tuple[int, ...]  # best play as far as it is known, the action first
    visited: int  # positions, of the whole search


class ClassicAgent:
    """Answers batches of positions by max^n or paranoid alpha-beta; equal positions, equal answers."""

    def __init__(
        self, game: Game, config: ClassicConfig, *, evaluate: Evaluate | None = None, threads: int = 1
    ) -> None:
        """Allocate the search.

        Args:
            game: whose positions are searched.
            config: rule and budget.
            evaluate: judges positions in place of the game's own function.
            threads: that split a batch.
        Raises:
            GameError: evaluate can't be compiled.
            ConfigError: the memory doesn't fit into this machine.
        """
        self.game = game
        self._search = ClassicSearch(rules_for(game, evaluate), config, threads=threads)

    def search(self, states: NDArray[np.uint64]) -> ClassicResult:
        """Search positions [n, words], none of them an ending; see ClassicSearch."""
        return self._search.search(states)

    def choose(self, states: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Give the best action of each position, int32[n]."""
        return self.search(states).actions

    def consider(self, state: NDArray[np.uint64]) -> tuple[Opinion, ...]:
        """Give the best action of one position [1, words]; of others the search knows bounds alone."""
        found = self.search(state)
        line = tuple(found.line(0))
        return (Opinion(int(found.actions[0]), found.values[0], line, int(found.visited[0])),)


class MinimaxAgent:
    """Plays small games to their ends in every position; the first of equally good actions is played."""

    def __init__(self, game: Game, *, most_positions: int = MOST_POSITIONS) -> None:
        """Bind a game.

        Args:
            game: small enough.
            most_positions: different ones that may lie below a position.
        """
        self.game = game
        self._rules = rules_for(game)
        self._most = most_positions
        self._known: dict[bytes, int] = {}

    def solve(self, state: NDArray[np.uint64]) -> Solution:
        """Solve one position [1, words]; see `zelkova.search.classic.solve`."""
        return solve(self._rules, state, most_positions=self._most)

    def choose(self, states: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Give the best action of each position [n, words], int32[n]; what was asked once is remembered.

        Raises:
            ConfigError: too many positions lie below one.
        """
        actions = np.zeros(len(states), np.int32)
        for row in range(len(states)):
            key = states[row].tobytes()
            if key not in self._known:
                self._known[key] = self.solve(states[row : row + 1]).action
            actions[row] = self._known[key]
        return actions

    def consider(self, state: NDArray[np.uint64]) -> tuple[Opinion, ...]:
        """Give every legal action of one position [1, words], best first."""
        found = self.solve(state)
        mine = found.action_values[:, int(self._rules.view_movers(state)[0])]
        order = sorted(np.flatnonzero(~np.isnan(mine)), key=lambda action: -mine[action])
        return tuple(
            Opinion(int(action), found.action_values[action], (int(action),), found.positions)
            for action in order
        )


def is_classic(text: str) -> bool:
    """Say whether a text names a classic search, well or badly."""
    return text in ("minimax", "greedy") or text.startswith(tuple(f"{name}:" for name in _READINGS))


def make_classic(text: str, game: Game, *, threads: int = 1) -> ClassicAgent | MinimaxAgent:
    """Make the classic search that a text names.

    Args:
        text: `maxn:DEPTH`, `paranoid:DEPTH`, `alphabeta:DEPTH`, `minimax`, or `greedy`, which is `maxn:1`.
        game: whose positions it plays.
        threads: that split a batch.
    Raises:
        ConfigError: the text names none, or alphabeta is asked for a game that is not for two.
    """
    if text == "minimax":
        return MinimaxAgent(game)
    match = _NAME.fullmatch("maxn:1" if text == "greedy" else text)
    if match is None:
        raise ConfigError(
            f"player `{text}`: allowed: maxn:DEPTH, paranoid:DEPTH or alphabeta:DEPTH with 1 to 99 plies,"
            " such as paranoid:6, and minimax, which plays small games to the end"
        )
    if match[1] == "alphabeta" and game.num_players != 2:
        raise ConfigError(
            f"player `{text}`: alphabeta takes two players, {game.name} has {game.num_players};"
            f" next: paranoid:{match[2]} or maxn:{match[2]}"
        )
    return ClassicAgent(game, ClassicConfig(_READINGS[match[1]], depth=int(match[2])), threads=threads)
