"""Breakthrough's moves as text: the cell left and the cell reached, as a2-a3 or a2a3; x for a capture."""

import re
from typing import Any

from zelkova.errors import NotationError
from zelkova.games.grid import cell_to_text, text_to_cell


def _target(game: Any, state: Any, action: int) -> int:
    """Give the cell that a move reaches; -1 outside the board."""
    height, width = game.options.height, game.options.width
    row, column = divmod(action // 3, width)
    row, column = row + 2 * int(state["to_play"]) - 1, column + action % 3 - 1
    return row * width + column if 0 <= row < height and 0 <= column < width else -1


def action_to_text(game: Any, state: Any, action: int) -> str:
    """Write a move, such as a2-a3, or a2xb3 for a capture."""
    height, width = game.options.height, game.options.width
    target = _target(game, state, action)
    left = cell_to_text(action // 3, height, width)
    if target < 0:
        return f"{left}-off"
    captures = state["board"][target // width, target % width] != 0
    return f"{left}{'x' if captures else '-'}{cell_to_text(target, height, width)}"


def text_to_action(game: Any, state: Any, text: str) -> int:
    """Read a move: two cells, with or without a dash or x between.

    Raises:
        NotationError: the text names no step of the mover.
    """
    height, width = game.options.height, game.options.width
    match = re.fullmatch(r"([a-z]+[0-9]+)[-x]?([a-z]+[0-9]+)", text.strip().lower())
    if match is None:
        raise NotationError(f"`{text}` is no move; allowed: two cells, such as a2-a3 or a2xb3")
    cell, target = (text_to_cell(part, height, width) for part in match.groups())
    for action in range(3 * cell, 3 * cell + 3):
        if _target(game, state, action) == target:
            return action
    raise NotationError(f"`{text}` is no step forward; allowed: one row ahead, at most one column aside")


def explain_illegal(game: Any, state: Any, action: int) -> str:
    """Say why a step can't be made: whose piece it is, or what stands in its way."""
    height, width = game.options.height, game.options.width
    mark, board = int(state["to_play"]) + 1, state["board"].ravel()
    left, target = action // 3, _target(game, state, action)
    start = cell_to_text(left, height, width)
    if board[left] == 0:
        return f"{start} is empty"
    if board[left] != mark:
        return f"the piece on {start} is player {board[left]}'s, and player {mark} is to move"
    if target < 0:
        return f"the step from {start} leads off the board"
    if board[target] == mark:
        return f"{cell_to_text(target, height, width)} has a piece of one's own"
    return f"{cell_to_text(target, height, width)} is taken, and pieces capture aslant alone"
