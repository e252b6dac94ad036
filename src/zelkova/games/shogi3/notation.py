"""Three-player shogi's moves as text, in the letters of USI: 7g7f, 7g7f+ with promotion, L*1c a drop.

A cell is its file, 9 at the left, and its rank, a at the top.
"""

import re
from typing import Any

from zelkova.errors import NotationError
from zelkova.games.shogi3 import rules

SEATS = "brg"
PLAYERS = ("Blue", "Red", "Green")
HAND_LETTERS = "PLNSGBR"
FORMS = "7g7f, 7g7f+ with promotion, or a drop such as L*1c; files 9 to 1, ranks a to i"

_KINDS: list[int] = rules.KIND_OF_CODE.tolist()

Piece = tuple[int, int]  # the owner's seat, and a place in rules.KINDS


def cell_to_text(cell: int) -> str:
    """Name a cell 0..80, such as 7f."""
    return f"{9 - cell % 9}{chr(ord('a') + cell // 9)}"


def text_to_cell(text: str) -> int:
    """Give the number of a cell that is named by a file 1-9 and a rank a-i."""
    return 9 * (ord(text[1]) - ord("a")) + 9 - int(text[0])


def board_of(state: Any) -> list[Piece | None]:
    """List what stands on each cell: 81 pieces or None."""
    sets = [int(low) | int(high) << 64 for low, high in state["sets"].tolist()]
    bits = sets[3:]
    board: list[Piece | None] = [None] * 81
    for seat in range(3):
        left = sets[seat]
        while left:
            cell = (left & -left).bit_length() - 1
            left &= left - 1
            code = sum((word >> cell & 1) << bit for bit, word in enumerate(bits))
            board[cell] = (seat, _KINDS[code])
    return board


def origin_of(state: Any, action: int) -> int | None:
    """Find the cell that a move on the board comes from, legal or not; None where there is none."""
    board, seat = board_of(state), int(state["to_play"])
    kind, cell = action // 81 % rules.RISE, action % 81
    if kind >= 8:
        down, across = rules.turn(seat, -2, 2 * kind - 17)
        path = rules.walk(cell, -down, -across)[:1]
    else:
        down, across = rules.OFFSETS[kind]
        path = rules.walk(cell, -down, -across)
    return next((found for found in path if board[found] is not None), None)


def action_to_text(game: Any, state: Any, action: int) -> str:
    """Write a move; `--` stands for the cell that no piece can have come from."""
    kind, to = action // 81, cell_to_text(action % 81)
    if kind >= rules.DROP:
        return f"{HAND_LETTERS[kind - rules.DROP]}*{to}"
    origin = origin_of(state, action)
    left = "--" if origin is None else cell_to_text(origin)
    return f"{left}{to}{'+' if kind >= rules.RISE else ''}"


def text_to_action(game: Any, state: Any, text: str) -> int:
    """Read a move.

    Raises:
        NotationError: the text names no move of the player to move.
    """
    given = text.strip().lower()
    drop = re.fullmatch(r"([plnsgbr])\*([1-9][a-i])", given)
    if drop:
        return 81 * (rules.DROP + HAND_LETTERS.index(drop[1].upper())) + text_to_cell(drop[2])
    match = re.fullmatch(r"([1-9][a-i])([1-9][a-i])(\+?)", given)
    if match is None:
        raise NotationError(f"`{text}` is no move; allowed: {FORMS}")
    left, to = text_to_cell(match[1]), text_to_cell(match[2])
    for kind in range(rules.RISE):
        action = 81 * (kind + (rules.RISE if match[3] else 0)) + to
        if _leads(state, kind, left, to):
            if origin_of(state, action) == left:
                return action
            why = "is empty" if board_of(state)[left] is None else "has another piece in its way"
            raise NotationError(f"`{text}`: {match[1]} {why}; allowed: {FORMS}")
    raise NotationError(f"`{text}`: no piece moves like that; allowed: {FORMS}")


def _leads(state: Any, kind: int, left: int, to: int) -> bool:
    """Say whether a kind of move leads from one cell to another on an empty board."""
    if kind < 8:
        return to in rules.walk(left, *rules.OFFSETS[kind])
    return rules.walk(left, *rules.turn(int(state["to_play"]), -2, 2 * kind - 17))[:1] == [to]
