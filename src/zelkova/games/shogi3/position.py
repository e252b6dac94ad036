"""Three-player shogi's positions as one line of text, and what happens outside the game's moves.

    rSrGrKrGrS4/rB3rR4/.../bSbGbKbGbS4 b NL/NL/NL - 0 own
    board (ranks a to i)              turn hands  eliminated ply rule

A reader refuses what no game can hold and names the field. The text of a game won by entry reads back as a
game that goes on: that ending needs its record (`record.py`).
"""

import re
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import IllegalActionError, NotationError
from zelkova.games.game import Game
from zelkova.games.plain import interpret
from zelkova.games.shogi3 import rules
from zelkova.games.shogi3.notation import HAND_LETTERS, PLAYERS, SEATS, Piece, board_of, cell_to_text

States = NDArray[np.uint64]
FIELDS = ("board", "turn", "hands", "eliminated", "ply", "rule")
HAND_ORDER = "RBGSNLP"
MOST_PLIES = 2**31 - 1
_settle = interpret(rules.settle.py_func)
_fall = interpret(rules.fall.py_func)
_lift = interpret(rules.lift.py_func)
_put = interpret(rules.put.py_func)
_material = interpret(rules.material)
_places = interpret(rules.places)


def position_to_text(game: Game, state: States) -> str:
    """Write a position as its six fields.

    Args:
        game: shogi3, with the capture rule that the text names.
        state: [1, words].
    """
    record = game.view_states(state)[0]
    out = "".join(letter for seat, letter in enumerate(SEATS) if record["fallen"][seat])
    hands = "/".join(hand_to_text(record["hands"][seat]) for seat in range(3))
    rule = rules.CAPTURES[int(record["capture"])]
    turn = SEATS[int(record["to_play"])]
    return f"{board_to_text(record)} {turn} {hands} {out or '-'} {int(record['plies'])} {rule}"


def board_to_text(record: Any) -> str:
    """Write the nine ranks from the top, each from the left."""
    names = [piece and SEATS[piece[0]] + rules.KINDS[piece[1]] for piece in board_of(record)]
    ranks = ["".join(name or " " for name in names[9 * row : 9 * row + 9]) for row in range(9)]
    return "/".join(re.sub(" +", lambda run: str(len(run[0])), rank) for rank in ranks)


def hand_to_text(hand: Any) -> str:
    """Write a hand, counts int8[7] in the order P L N S G B R; `-` where it is empty."""
    counts = {letter: int(hand[HAND_LETTERS.index(letter)]) for letter in HAND_ORDER}
    parts = [(str(count) if count > 1 else "") + letter for letter, count in counts.items() if count]
    return "".join(parts) or "-"


def text_to_position(game: Game, text: str) -> States:
    """Read a position and settle it: the turn passes on where there is no move, and a game may be over.

    Args:
        game: shogi3; its capture rule and limit hold.
        text: six fields; the letters of a hand in any order.
    Returns:
        the state, uint64[1, words].
    Raises:
        NotationError: names the field that is wrong.
    """
    parts = text.split()
    if len(parts) != len(FIELDS):
        raise NotationError(f"a position has the fields {' '.join(FIELDS)}; given: {len(parts)} in `{text}`")
    given = dict(zip(FIELDS, parts, strict=True))
    board = _read_board(given["board"])
    hands = [_read_hand(given["hands"], seat) for seat in range(3)]
    out = _read_eliminated(given["eliminated"])
    _check_kings(given, board, out)
    _check_pieces(given, board, hands)
    if given["turn"] not in tuple(SEATS):
        refuse("turn", given["turn"], "b, r or g")
    turn = SEATS.index(given["turn"])
    if turn in out:
        refuse("turn", given["turn"], "a living seat; this one is eliminated")
    options = game.options
    if given["rule"] not in rules.CAPTURES:
        refuse("rule", given["rule"], ", ".join(rules.CAPTURES))
    if given["rule"] != options.capture:
        refuse("rule", given["rule"], f"{options.capture}, as this game plays; next: --set game.capture=RULE")
    ply = given["ply"]
    if not re.fullmatch(r"[0-9]{1,10}", ply) or int(ply) > MOST_PLIES:
        refuse("ply", ply, f"a whole number from 0 to {MOST_PLIES}")
    return _build(game, board, hands, (out, turn, int(ply)))


def _build(
    game: Game, board: list[Piece | None], hands: list[list[int]], rest: tuple[list[int], int, int]
) -> States:
    """Write a checked position into a state and settle it."""
    states = game.new_states(1)
    record = game.view_states(states)[0]
    out, turn, plies = rest
    for seat in range(3):
        record["hands"][seat] = hands[seat]
        record["fallen"][seat] = seat in out
        record["kings"][seat] = -1
    for cell, piece in enumerate(board):
        if piece is not None:
            seat, kind = piece
            _put(record["sets"], seat, int(rules.CODE_OF_KIND[kind]), cell)
            if rules.KINDS[kind] == "K":
                record["kings"][seat] = cell
    record["to_play"], record["plies"] = turn, plies
    record["winner"] = -1
    with np.errstate(over="ignore"):
        _settle(record, turn)
    return states


def refuse(field: str, given: object, allowed: str) -> NoReturn:
    """Raise the error that names a field of a position."""
    raise NotationError(f"field {field} is `{given}`; allowed: {allowed}")


def _read_board(text: str) -> list[Piece | None]:
    """Read the nine ranks."""
    ranks = text.split("/")
    if len(ranks) != 9:
        refuse("board", text, f"nine ranks with / between; these are {len(ranks)}")
    board: list[Piece | None] = []
    for row, rank in enumerate(ranks):
        name = chr(ord("a") + row)
        cells: list[Piece | None] = []
        for sign in re.findall(r"[1-9]|[brg]\+?[A-Z]|.", rank):
            if sign in "123456789":
                cells += [None] * int(sign)
                continue
            if len(sign) == 1 or sign.lstrip("brg") not in rules.KINDS:
                what = "a piece that can't be promoted" if sign[1:] in ("+G", "+K") else "unknown"
                allowed = "b, r or g, then + or nothing, then P L N S G B R K; + never with G and K"
                refuse("board", rank, f"{allowed}; `{sign}` in rank {name} is {what}")
            cells.append((SEATS.index(sign[0]), rules.KINDS.index(sign[1:])))
        if len(cells) != 9:
            refuse("board", rank, f"nine cells a rank; rank {name} has {len(cells)}")
        board += cells
    return board


def _read_hand(text: str, seat: int) -> list[int]:
    """Read one seat's hand: counts in the order P L N S G B R."""
    parts = text.split("/")
    if len(parts) != 3:
        refuse("hands", text, f"three hands with / between, - for an empty one; these are {len(parts)}")
    counts = [0] * 7
    if parts[seat] == "-":
        return counts
    found = re.findall(r"([1-9][0-9]?)?([PLNSGBR])", parts[seat])
    letters = [letter for _, letter in found]
    if "".join(map("".join, found)) != parts[seat] or not found or len(set(letters)) < len(letters):
        refuse("hands", parts[seat], "-, or each of R B G S N L P once, a count from 1 to 99 before it")
    for count, letter in found:
        counts[HAND_LETTERS.index(letter)] = int(count or 1)
    return counts


def _read_eliminated(text: str) -> list[int]:
    """Read who is eliminated; somebody is alive."""
    if text == "-":
        return []
    if not re.fullmatch(r"b?r?g?", text):
        refuse("eliminated", text, "-, or letters of b r g in this order")
    if len(text) == 3:
        refuse("eliminated", text, "one living seat at least")
    return [SEATS.index(letter) for letter in text]


def _check_kings(given: dict[str, str], board: list[Piece | None], out: list[int]) -> None:
    """Refuse a living seat without exactly one king, and an eliminated one with any."""
    king = rules.KINDS.index("K")
    for seat, name in enumerate(PLAYERS):
        kings = board.count((seat, king))
        wanted = 0 if seat in out else 1
        if kings != wanted:
            state = "eliminated and has no king" if seat in out else "alive and has one king"
            refuse("board", given["board"], f"{name} is {state}; there are {kings} (field eliminated)")


def _check_pieces(given: dict[str, str], board: list[Piece | None], hands: list[list[int]]) -> None:
    """Refuse more pieces than there are, pieces that can never move, and two pawns on a line."""
    for kind, letter in enumerate(HAND_LETTERS):
        names = (letter, "+" + letter)
        stand = sum(piece is not None and rules.KINDS[piece[1]] in names for piece in board)
        held = sum(hand[kind] for hand in hands)
        most = int(rules.TOTALS[kind])
        if stand + held > most:
            field = "hands" if held else "board"
            refuse(field, given[field], f"{most} of {letter} in all; {stand} on the board, {held} in hand")
    lines: dict[tuple[int, int], int] = {}
    for cell, piece in enumerate(board):
        if piece is None or piece[1] > rules.KNIGHT:
            continue
        seat, kind = piece
        place = f"{PLAYERS[seat]}'s {rules.KINDS[kind]} on {cell_to_text(cell)}"
        if rules.depth_of(seat, cell) < 1 + (kind == rules.KNIGHT):
            refuse("board", given["board"], f"pieces that can still move; {place} never could")
        line = cell // 9 if seat == 2 else cell % 9
        if kind == 0 and (seat, line) in lines:
            other = cell_to_text(lines[seat, line])
            refuse("board", given["board"], f"one unpromoted pawn a line; {place} has {other} beside it")
        if kind == 0:
            lines[seat, line] = cell


def resign(game: Game, state: States, seat: int) -> States:
    """Let a living player resign, in or out of turn: the king leaves, the army stays. It is no ply.

    Args:
        game: shogi3.
        state: [1, words]; left as it is.
        seat: 0 to 2.
    Returns:
        the state after it, uint64[1, words].
    Raises:
        IllegalActionError: the game is over, or the player is out already.
    """
    after = state.copy()
    record = game.view_states(after)[0]
    if record["winner"] >= 0 or record["fallen"][seat]:
        why = "the game is over" if record["winner"] >= 0 else "that player is eliminated already"
        raise IllegalActionError(
            f"{PLAYERS[seat]} can't resign: {why}; allowed: living players, before the end"
        )
    with np.errstate(over="ignore"):
        _lift(record["sets"], seat, int(record["kings"][seat]))
        _fall(record, seat)
        turn = int(record["to_play"])
        while record["fallen"][turn]:
            turn = (turn + 1) % 3
        record["to_play"] = turn
        _settle(record, turn)
    return after


def material(game: Game, state: States) -> tuple[int, int, int]:
    """Give each seat's points of material; a fallen army's are given too, though they win nothing."""
    return _ask(_material, game.view_states(state)[0])


def places(game: Game, state: States) -> tuple[int, int, int]:
    """Give each seat's place, 1 for the winner; who is equal shares the better place.

    The living stand before the fallen, the later fallen before the earlier. Of living losers more material
    is better at the move limit; after an entry they are equal.

    Raises:
        IllegalActionError: the game is not over.
    """
    record = game.view_states(state)[0]
    if record["winner"] < 0:
        raise IllegalActionError("places are known at the end; next: play on")
    return _ask(_places, record)


def _ask(rule: Callable[..., None], record: Any) -> tuple[int, int, int]:
    """Give the whole numbers that a rule writes, one a seat."""
    out = np.zeros(3, np.float32)
    rule(record, out)
    blue, red, green = map(int, out)
    return blue, red, green
