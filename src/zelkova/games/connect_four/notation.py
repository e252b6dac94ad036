"""Connect four's moves as text: the column's number, 1 at the left."""

from typing import Any

from zelkova.errors import NotationError


def action_to_text(game: Any, state: Any, action: int) -> str:
    """Write a column, such as 4 for the middle of seven."""
    return str(action + 1)


def text_to_action(game: Any, state: Any, text: str) -> int:
    """Read a column.

    Raises:
        NotationError: the text names no column.
    """
    if text.strip().isdecimal() and text.strip().isascii() and 1 <= int(text) <= game.num_actions:
        return int(text) - 1
    raise NotationError(f"`{text}` is no column; allowed: 1 to {game.num_actions}")


def explain_illegal(game: Any, state: Any, action: int) -> str:
    """Say why a column can't be played: it is full."""
    return f"column {action + 1} is full"
