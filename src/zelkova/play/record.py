"""Writes the moves of a game as text: remarks that begin with `#`, then the moves on one line."""

import dataclasses
from pathlib import Path

from zelkova.games.game import Position


def write_moves(position: Position, seed: int, resigned: int | None = None) -> str:
    """Give a game as text.

    Args:
        position: its last position.
        seed: that the game's initial position was made from.
        resigned: the player who gave up, 0-based.
    """
    game = position.game
    lines = [f"# game: {game.source}", f"# seed: {seed}"]
    if game.options is not None:
        options = dataclasses.asdict(game.options)
        lines.append("# options: " + " ".join(f"{key}={value}" for key, value in options.items()))
    if resigned is not None:
        lines.append(f"# result: player {resigned + 1} resigned")
    elif position.is_terminal:
        lines.append("# result: " + " ".join(f"{value:g}" for value in position.returns))
    else:
        lines.append("# result: not finished")
    return "\n".join([*lines, " ".join(_moves(position))]) + "\n"


def save_moves(path: Path, position: Position, seed: int, resigned: int | None = None) -> None:
    """Write a game to a new file.

    Args:
        path: of the file.
        position, seed, resigned: as for write_moves.
    Raises:
        FileExistsError: there is such a file.
        OSError: it can't be written.
    """
    with path.open("x", encoding="utf-8") as file:
        file.write(write_moves(position, seed, resigned))


def _moves(position: Position) -> list[str]:
    """Write each move as it was in the position it was played in."""
    back, moves = position.copy(), []
    for action in reversed(position.actions_played):
        back.undo()
        moves.append(back.action_to_text(action))
    return moves[::-1]
