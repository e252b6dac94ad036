"""Othello's moves as text: column letter and row number, a1 at the upper left; or pass."""

from typing import Any

from zelkova.errors import NotationError
from zelkova.games.grid import cell_to_text, text_to_cell


def action_to_text(game: Any, state: Any, action: int) -> str:
    """Write a cell, such as d3, or pass."""
    size = game.options.size
    return "pass" if action == size * size else cell_to_text(action, size, size, from_top=True)


def text_to_action(game: Any, state: Any, text: str) -> int:
    """Read a cell or pass.

    Raises:
        NotationError: the text is neither.
    """
    size = game.options.size
    if text.strip().lower() == "pass":
        return int(size * size)
    try:
        return text_to_cell(text, size, size, from_top=True)
    except NotationError as error:
        raise NotationError(f"{error}; or pass") from None


def explain_illegal(game: Any, state: Any, action: int) -> str:
    """Say why a cell can't be played, or why the turn can't be passed on."""
    text = action_to_text(game, state, action)
    if action == game.options.size**2:
        return "who can turn a disc over may not pass"
    taken = int(state["discs"][0]) | int(state["discs"][1])
    return f"{text} is taken" if taken >> action & 1 else f"{text} turns no disc over"
