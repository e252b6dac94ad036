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
        if _leads(state, kind, left, to) and origin_of(state, action) == left:
            return action
    why = _explain_move(state, left, to, match[3] == "+")
    raise NotationError(f"`{text}`: {why}; allowed: a legal move of {PLAYERS[int(state['to_play'])]}'s")


def _leads(state: Any, kind: int, left: int, to: int) -> bool:
    """Say whether a kind of move leads from one cell to another on an empty board."""
    if kind < 8:
        return to in rules.walk(left, *rules.OFFSETS[kind])
    return rules.walk(left, *rules.turn(int(state["to_play"]), -2, 2 * kind - 17))[:1] == [to]


def explain_illegal(game: Any, state: Any, action: int) -> str:
    """Say why a move or a drop is not legal."""
    kind, to = action // 81, action % 81
    if kind >= rules.DROP:
        return _explain_drop(state, kind - rules.DROP, to)
    origin = origin_of(state, action)
    if origin is None:
        return f"no piece can come to {cell_to_text(to)} that way"
    return _explain_move(state, origin, to, kind >= rules.RISE)


def _explain_move(state: Any, left: int, to: int, rises: bool) -> str:
    """Say what forbids a move from one cell to another, the first that does."""
    board, seat = board_of(state), int(state["to_play"])
    piece, start, end = board[left], cell_to_text(left), cell_to_text(to)
    if piece is None:
        return f"{start} is empty"
    owner, kind = piece
    name = f"{PLAYERS[owner]}'s {rules.KINDS[kind]} on {start}"
    if owner != seat:
        return f"{start} has {PLAYERS[owner]}'s {rules.KINDS[kind]}, and {PLAYERS[seat]} is to move"
    path = _path_of(seat, kind, left, to)
    if path is None:
        return f"{name} does not move like that"
    closed = next((cell for cell in path if board[cell] is not None), None)
    if closed is not None:
        return f"the piece on {cell_to_text(closed)} is in the way of {name}"
    target = board[to]
    if target is not None and target[0] == seat:
        return f"{end} has a piece of {PLAYERS[seat]}'s own"
    if not rises:
        return f"{name} could never move again from {end}, and must promote: {start}{end}+"
    if kind >= rules.KINDS.index("K") or rules.KINDS[kind] == "G":
        return f"{name} can't be promoted"
    return f"neither {start} nor {end} is in {PLAYERS[seat]}'s promotion zone"


def _path_of(seat: int, kind: int, left: int, to: int) -> list[int] | None:
    """List the cells between two that a piece runs over; None where it doesn't move like that."""
    code = int(rules.CODE_OF_KIND[kind])
    if code == rules.KNIGHT:
        jumps = [rules.walk(left, *rules.turn(seat, -2, side))[:1] for side in (-1, 1)]
        return [] if [to] in jumps else None
    for direction, offset in enumerate(rules.OFFSETS):
        ahead, path = (direction - int(rules.FORWARD[seat])) & 7, rules.walk(left, *offset)
        if to in path:
            between = path[: path.index(to)]
            slides, steps = (bool(table[code] >> ahead & 1) for table in (rules.SLIDES, rules.STEPS))
            return between if slides or (steps and not between) else None
    return None


def _explain_drop(state: Any, hand: int, to: int) -> str:
    """Say what forbids a drop of the hand-th piece of a hand on a cell, the first that does."""
    seat = int(state["to_play"])
    player, letter, end = PLAYERS[seat], HAND_LETTERS[hand], cell_to_text(to)
    if state["hands"][seat][hand] == 0:
        return f"{player} has no {letter} in hand"
    if board_of(state)[to] is not None:
        return f"{end} is taken, and a drop needs an empty cell"
    if rules.depth_of(seat, to) < (1, 1, 2, 0, 0, 0, 0)[hand]:
        return f"{player}'s {letter} could never move from {end}"
    return f"{player} has an unpromoted pawn on that {'rank' if seat == 2 else 'file'} already"
