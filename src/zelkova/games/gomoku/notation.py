"""Gomoku's moves as text: column letter and row number, a1 at the lower left."""

from typing import Any

from zelkova.games.grid import cell_to_text, text_to_cell


def action_to_text(game: Any, state: Any, action: int) -> str:
    """Write a cell, such as h8 for the middle of 15 x 15."""
    return cell_to_text(action, game.options.height, game.options.width)


def text_to_action(game: Any, state: Any, text: str) -> int:
    """Read a cell.

    Raises:
        NotationError: the text names no cell.
    """
    return text_to_cell(text, game.options.height, game.options.width)


def explain_illegal(game: Any, state: Any, action: int) -> str:
    """Say why a cell can't be played: somebody has it."""
    return f"{action_to_text(game, state, action)} is taken"
