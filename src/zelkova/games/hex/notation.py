"""Hex's moves as text: column letter and row number, a1 at the upper left; or swap."""

from typing import Any

from zelkova.errors import NotationError
from zelkova.games.grid import cell_to_text, text_to_cell


def action_to_text(game: Any, state: Any, action: int) -> str:
    """Write a cell, such as f6 for the middle of 11 x 11, or swap."""
    size = game.options.size
    return "swap" if action == size * size else cell_to_text(action, size, size, from_top=True)


def text_to_action(game: Any, state: Any, text: str) -> int:
    """Read a cell or swap.

    Raises:
        NotationError: the text is neither.
    """
    size = game.options.size
    if game.options.swap and text.strip().lower() == "swap":
        return int(size * size)
    try:
        return text_to_cell(text, size, size, from_top=True)
    except NotationError as error:
        raise NotationError(f"{error}; or swap, with the option `swap`") from None


def explain_illegal(game: Any, state: Any, action: int) -> str:
    """Say why a cell can't be played, or why there is nothing to swap."""
    if action == game.options.size**2:
        return "only the second player's first move may be swap"
    return f"{action_to_text(game, state, action)} is taken"
