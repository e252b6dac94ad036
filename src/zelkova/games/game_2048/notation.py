"""2048's moves as text: up, right, down, left; chance's as the cell and the tile, such as b3=2."""

from typing import Any

from zelkova.errors import NotationError
from zelkova.games.grid import cell_to_text, text_to_cell

SIDES = ("up", "right", "down", "left")


def action_to_text(game: Any, state: Any, action: int) -> str:
    """Write a side; where nature moves, the new tile and its cell, a1 at the lower left."""
    if state["to_play"] >= 0:
        return SIDES[action]
    size = game.options.size
    return f"{cell_to_text(action // 2, size, size)}={2 + 2 * (action % 2)}"


def text_to_action(game: Any, state: Any, text: str) -> int:
    """Read a side, or its first letter; where nature moves, a tile such as b3=2.

    Raises:
        NotationError: the text is no such thing.
    """
    word = text.strip().lower()
    if state["to_play"] >= 0:
        found = [number for number, side in enumerate(SIDES) if word in (side, side[0])]
        if found:
            return found[0]
        raise NotationError(f"`{text}` is no side; allowed: {', '.join(SIDES)}, or the first letter")
    cell, _, tile = word.partition("=")
    if tile not in ("2", "4"):
        raise NotationError(f"`{text}` is no new tile; allowed: a cell and 2 or 4, such as b3=2")
    size = game.options.size
    return 2 * text_to_cell(cell, size, size) + (tile == "4")


def explain_illegal(game: Any, state: Any, action: int) -> str:
    """Say why the tiles can't be moved to a side."""
    return f"no tile can move {SIDES[action]}"
