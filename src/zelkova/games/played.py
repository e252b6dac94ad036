"""A game that was played, as arrays: what files of games become before they are looked at.

It says what happened and, where somebody said so, what each player's chances were. Whoever measures
something over many games (`evaluation/analysis/`, a game's own `study.py`) reads it from here.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import NotationError, first_line
from zelkova.games.game import Game, Position

RESIGNED = -1  # in the place of an action: a player left the game, which is no move


@dataclasses.dataclass(frozen=True, eq=False)
class PlayedGame:
    """One game of T steps, a step being a move, an outcome of chance or a resignation."""

    origin: str  # where it was read, for messages: a file, and the place in it
    states: NDArray[np.uint64]  # [T + 1, words] before each step, and after the last one
    to_play: NDArray[np.int8]  # [T] whose move; -1 where nature moved
    actions: NDArray[np.int32]  # [T] what was played; RESIGNED where a player gave up
    returns: NDArray[np.float32] | None  # [P] in the game's return_range; None for a game without an end
    chances: NDArray[np.float64]  # [T + 1, P] expected return laid on 0..1, before each step; NaN: not known
    chosen: NDArray[np.bool_]  # [T] False: drawn at random, or taken over from another game

    @property
    def num_steps(self) -> int:
        """T."""
        return len(self.actions)

    @property
    def num_moves(self) -> int:
        """How many of the steps are players' moves."""
        return int(np.count_nonzero((self.to_play >= 0) & (self.actions != RESIGNED)))

    @property
    def wins(self) -> NDArray[np.float64]:
        """Each player's share of the win, float64[P]: 1 for a winner, 1/k for k that end equally well.

        It is NaN where the game has no end.
        """
        if self.returns is None:
            return np.full(self.chances.shape[1], np.nan)
        best = self.returns == self.returns.max()
        return np.asarray(best / best.sum(), np.float64)

    def chosen_steps(self) -> NDArray[np.int64]:
        """List the steps at which a player chose a move."""
        return np.flatnonzero(self.chosen & (self.to_play >= 0) & (self.actions != RESIGNED))


def lay_on_chances(game: Game, values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Lay returns or values [..., P] on 0..1 by the game's return range: a draw of two players is 0.5."""
    low, high = game.return_range
    return np.clip((np.asarray(values, np.float64) - low) / (high - low), 0.0, 1.0)


def make_played(
    game: Game,
    origin: str,
    states: NDArray[np.uint64],
    actions: NDArray[np.int32],
    returns: NDArray[np.float32] | None,
    values: NDArray[np.float32] | None = None,
) -> PlayedGame:
    """Put a game together in which every move was chosen.

    Args:
        game: whose rules hold.
        origin: where it was read.
        states: [T + 1, words].
        actions: [T].
        returns: [P], or None.
        values: [T, P] in the game's return_range, before each step, NaN where they are not known.
    """
    steps, players = len(actions), game.num_players
    chances = np.full((steps + 1, players), np.nan)
    if values is not None:
        chances[:steps] = lay_on_chances(game, values)
    if returns is not None:
        chances[steps] = lay_on_chances(game, returns)
    states = np.ascontiguousarray(states)
    return PlayedGame(
        origin=origin,
        states=states,
        to_play=game.view_states(states)["to_play"][:steps].astype(np.int8),
        actions=np.asarray(actions, np.int32),
        returns=returns,
        chances=chances,
        chosen=np.ones(steps, np.bool_),
    )


def replay_moves(
    position: Position, moves: list[str], origin: str, *, is_numbered: bool = False
) -> PlayedGame:
    """Play moves from a position.

    Args:
        position: where the game begins; played on.
        moves: as text, outcomes of chance among them.
        origin: where they were read.
        is_numbered: the moves are numbers of actions, whatever the game's notation.
    Raises:
        NotationError: a move is none, or not legal; the message names the origin and the ply.
    """
    states, game = [position.state], position.game
    for ply, move in enumerate(moves, 1):
        if position.is_terminal:
            raise NotationError(
                f"{origin}, ply {ply}: `{move[:40]}` comes after the end of the game; next: leave it out"
            )
        try:
            position.play(int(move) if is_numbered else move)
        except Exception as error:  # a notation of a user's may raise any
            reason = first_line(error)[:200] or type(error).__name__
            raise NotationError(f"{origin}, ply {ply}: {reason}") from None
        states.append(position.state)
    actions = np.array(position.actions_played[len(position.actions_played) - len(moves) :], np.int32)
    returns = position.returns if position.is_terminal else None
    return make_played(game, origin, np.concatenate(states), actions, returns)
