"""How often a player keeps the game-theoretic result: positions judged by a perfect solver, as text.

A judged position is a line of moves and, for each action, the result that the mover can still force after it:

    44412 -+=---.      `+` win, `=` draw, `-` loss, `.` not legal

Only positions count where a legal action would throw the result away. How fast a win comes does not matter.
The solver comes in as a function, so that this module and the tests that read judged positions need none.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import NotationError
from zelkova.evaluation.players import Player
from zelkova.games.game import Game
from zelkova.games.statistic import wilson_interval

_SIGNS = {1: "+", 0: "=", -1: "-"}
_RESULTS = {"+": 1, "=": 0, "-": -1, ".": -2}

Solver = Callable[[NDArray[np.uint64]], Mapping[int, int]]
"""Gives for a state uint64[1, words] each legal action's value to the mover: win above 0, loss below."""


@dataclasses.dataclass(frozen=True)
class Judged:
    """Positions whose every action is judged."""

    states: NDArray[np.uint64]  # [n, words]
    plies: NDArray[np.int32]  # [n] moves played before
    results: NDArray[np.int8]  # [n, A] the mover's result after each action: 1, 0, -1; -2 not legal


@dataclasses.dataclass(frozen=True)
class OptimalShare:
    """How many moves kept the result."""

    kept: NDArray[np.bool_]  # [n] did the chosen action keep the position's result
    plies: NDArray[np.int32]  # [n] moves played before

    @property
    def share(self) -> float:
        """Share of the moves that kept the result, 0..1."""
        return float(self.kept.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """The share's 95 % interval by Wilson."""
        return wilson_interval(float(self.kept.sum()), len(self.kept))


def optimal_move_share(player: Player, judged: Judged, seed: int) -> OptimalShare:
    """Ask a player for its move in every judged position.

    Args:
        player: of the game that the positions belong to.
        judged: positions and what each action leads to.
        seed: of the player's own chance.
    """
    seeds = np.random.default_rng(seed).integers(2**63, size=len(judged.states)).astype(np.uint64)
    actions = player.choose(judged.states, seeds)
    chosen = judged.results[np.arange(len(actions)), actions]
    return OptimalShare(chosen == judged.results.max(axis=1), judged.plies)


def judge_positions(
    game: Game, solve: Solver, count: int, seed: int, plies: tuple[int, int] = (2, 21)
) -> list[str]:
    """Draw positions after random plies in which an action loses the result, and judge them.

    Args:
        game: whose moves are one digit each, such as connect four's columns.
        solve: the perfect solver.
        count: how many lines to give, all different.
        seed: of the random plies.
        plies: fewest and most random plies before the position.
    """
    rng = np.random.default_rng(seed)
    lines: dict[str, None] = {}
    while len(lines) < count:
        moves = _draw_line(game, int(rng.integers(plies[0], plies[1] + 1)), rng)
        if moves is None:
            continue
        position = game.position()
        for move in moves:
            position.play(move)
        values = {action: int(np.sign(value)) for action, value in solve(position.state).items()}
        if len(set(values.values())) > 1:
            judged = "".join(_SIGNS[values[a]] if a in values else "." for a in range(game.num_actions))
            lines[f"{moves} {judged}"] = None
    return list(lines)


def _draw_line(game: Game, plies: int, rng: np.random.Generator) -> str | None:
    """Play random plies; give the moves, or None where the game ended."""
    position = game.position()
    moves = ""
    for _ in range(plies):
        if position.is_terminal:
            return None
        action = int(rng.choice(position.legal_actions()))
        moves += position.action_to_text(action)
        position.play(action)
    return None if position.is_terminal else moves


def read_judged(game: Game, lines: Sequence[str]) -> Judged:
    """Read judged positions; empty lines and those that begin with # are left out.

    Args:
        game: whose moves they are.
        lines: moves, a blank, one sign an action.
    Raises:
        NotationError: a line is not a judged position of this game.
    """
    states, plies, results = [], [], []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        moves, _, signs = line.strip().partition(" ")
        if len(signs) != game.num_actions or set(signs) - set(_RESULTS):
            allowed = f"moves, a blank, {game.num_actions} signs of + = - ."
            raise NotationError(f"line {number}: `{line.strip()}`; allowed: {allowed}")
        position = game.position()
        for move in moves:
            position.play(move)
        states.append(position.state[0])
        plies.append(len(moves))
        results.append([_RESULTS[sign] for sign in signs])
    return Judged(np.array(states, np.uint64), np.array(plies, np.int32), np.array(results, np.int8))


def read_judged_file(game: Game, path: Path) -> Judged:
    """Read a file of judged positions; see read_judged."""
    return read_judged(game, path.read_text(encoding="ascii").splitlines())
