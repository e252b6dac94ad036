"""What a round's games were like: figures for the metrics, and a few of them as text to read."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from zelkova.games import Game
from zelkova.games.game import Position
from zelkova.replay.episode import Episode


def seat_wins(episodes: Sequence[Episode]) -> NDArray[np.int64]:
    """Count the games that each seat won alone, int64[P]; episodes are of one game, one or more."""
    returns = np.stack([episode.returns for episode in episodes])
    best = returns == returns.max(axis=1, keepdims=True)
    return np.asarray(best[best.sum(axis=1) == 1].sum(axis=0), np.int64)


def describe_games(episodes: Sequence[Episode]) -> dict[str, float]:
    """Say how long games were and which seats won.

    Args:
        episodes: of one game; none gives no figures.
    Returns:
        `selfplay/game_length` in moves and, for two players or more, the share of the games that each seat
        won alone, `selfplay/win_share_seatN`, and of those that nobody did, `selfplay/draw_share`.
    """
    if not episodes:
        return {}
    figures = {"selfplay/game_length": float(np.mean([len(episode) for episode in episodes]))}
    shares = seat_wins(episodes) / len(episodes)
    if len(shares) > 1:
        figures |= {f"selfplay/win_share_seat{seat}": share for seat, share in enumerate(shares.tolist())}
        figures["selfplay/draw_share"] = float(1.0 - shares.sum())
    return figures


def write_games(game: Game, episodes: Sequence[Episode]) -> str:
    """Write games as text, a line each: number, moves, returns by seat.

    Where nature moved between two moves, its outcomes stand there; after the last move they are not kept.

    Args:
        game: whose rules and notation hold.
        episodes: the games.
    """
    lines = []
    for episode in episodes:
        words = []
        for move, action in enumerate(episode.actions.tolist()):
            words.append(_write_move(game, episode.states[move : move + 1], action))
            if game.has_chance and move + 1 < len(episode):
                before = Position(game, episode.states[move : move + 1])
                words += _outcomes_between(before.play(action), episode.states[move + 1]) or []
        if game.has_chance:
            words = (_outcomes_between(game.position(), episode.states[0]) or []) + words
        moves = " ".join(words)
        returns = " ".join(f"{value:g}" for value in episode.returns.tolist())
        lines.append(f"game {episode.seed}: {moves} ; returns {returns}\n")
    return "".join(lines)


def _outcomes_between(
    position: Position, after: "np.ndarray[tuple[int], np.dtype[np.uint64]]"
) -> list[str] | None:
    """Find the outcomes that lead from a position to the next one that a player saw; None where none do."""
    if not position.is_chance:
        return [] if np.array_equal(position.state[0], after) else None
    for outcome in position.outcomes()[0].tolist():
        text = _write_move(position.game, position.state, outcome)
        rest = _outcomes_between(position.copy().play(outcome), after)
        if rest is not None:
            return [text, *rest]
    return None


def _write_move(game: Game, state: NDArray[np.uint64], action: int) -> str:
    """Write a move; its number where a user's notation fails, which is no reason to end a run."""
    try:
        return Position(game, state).action_to_text(action)
    except Exception:
        return str(action)
