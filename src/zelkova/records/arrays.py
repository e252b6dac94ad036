"""Games that self-play kept as arrays: each step is played again, and must lead where the arrays say."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from zelkova.errors import NotationError
from zelkova.games.game import Game, Position
from zelkova.games.played import PlayedGame, make_played

_NEXT = "next: name the run that the file belongs to, or leave it out"


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _play_rows(step: Any, legal_actions: Any, states: Any, actions: Any, legal: Any) -> Any:
    """Play one action in every row in place; give the first row where it is not legal, or -1."""
    base = np.intp(states.ctypes.data)
    stride = states.shape[1] * 8
    for row in range(len(states)):
        count = legal_actions(base + row * stride, legal)
        is_legal = False
        for k in range(count):
            is_legal = is_legal or legal[k] == actions[row]
        if not is_legal:
            return row
        step(base + row * stride, np.int64(actions[row]))
    return -1


def play_arrays(
    game: Game,
    origin: str,
    states: NDArray[np.uint64],
    actions: NDArray[np.int32],
    returns: NDArray[np.float32],
    values: NDArray[np.float32] | None = None,
) -> PlayedGame:
    """Make a played game of what self-play kept of it.

    Args:
        game: whose rules hold.
        origin: where it was read.
        states: [T, words] before each move.
        actions: [T].
        returns: [P].
        values: [T, P] in the game's return_range, before each move, NaN where they are not known.
    Raises:
        NotationError: the arrays are of another game, or no game of this one; names the origin and the ply.
    """
    if (
        len(actions) == 0
        or states.shape != (len(actions), game.words)
        or returns.shape != (game.num_players,)
    ):
        raise NotationError(
            f"{origin}: positions of {states.shape[1]} words and {len(returns)} players; {game.name} has"
            f" {game.words} words and {game.num_players} players; {_NEXT}"
        )
    after = np.ascontiguousarray(states).copy()
    native, legal = game.native, game.new_scratch()[0]
    wrong = int(_play_rows(native.step, native.legal_actions, after, actions, legal))
    if wrong >= 0:
        raise NotationError(
            f"{origin}, ply {wrong + 1}: action {int(actions[wrong])} is not legal in {game.name}; {_NEXT}"
        )
    parted = np.flatnonzero((after[:-1] != states[1:]).any(axis=1))
    if not game.has_chance and len(parted):
        raise NotationError(
            f"{origin}, ply {int(parted[0]) + 1}: the move does not lead to the next position; {_NEXT}"
        )
    last = Position(game, after[-1:])
    if not game.has_chance and not (last.is_terminal and np.allclose(last.returns, returns, atol=1e-5)):
        leads = f"returns {last.returns.tolist()}" if last.is_terminal else "a game that goes on"
        raise NotationError(
            f"{origin}, ply {len(actions)}: the file says returns {returns.tolist()}, the moves lead to"
            f" {leads}; {_NEXT}"
        )
    return make_played(game, origin, np.concatenate([states, after[-1:]]), actions, returns, values)
