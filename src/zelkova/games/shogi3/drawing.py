"""Three-player shogi's board as text and as SVG; the hands below it."""

from typing import Any

from zelkova.games.shogi3 import rules
from zelkova.games.shogi3.notation import HAND_LETTERS, PLAYERS, SEATS, board_of

_TERMINAL = ("\x1b[34m", "\x1b[31m", "\x1b[32m")
_FADED = "\x1b[90m"
_RESET = "\x1b[0m"
_FILLS = ("#cfe0f5", "#f6d0cb", "#d3ecd0")
_FALLEN = "#d8d4cc"
_INK = ("#1c4f8c", "#a62a1c", "#23702a")
_TURNS = (0, 180, 270)  # degrees that a piece of a seat is turned by
_CELL = 44
_SHAPE = "0,-19 12,-13 16,18 -16,18 -12,-13"  # a piece that points up, around its middle


def describe(state: Any) -> list[str]:
    """Write each seat's hand and state, then whose turn it is, or who won and how."""
    lines = []
    for seat, name in enumerate(PLAYERS):
        hand = [(letter, int(state["hands"][seat, kind])) for kind, letter in enumerate(HAND_LETTERS)]
        held = " ".join(letter + (str(count) if count > 1 else "") for letter, count in hand if count)
        out = " (eliminated)" if state["fallen"][seat] else ""
        lines.append(f"{name:<5} {SEATS[seat]}  in hand: {held or '-'}{out}")
    plies, most = int(state["plies"]), int(state["max_plies"])
    rule = rules.CAPTURES[int(state["capture"])]
    if state["winner"] >= 0:
        told = f"{PLAYERS[int(state['winner'])]} wins ({rules.ENDINGS[int(state['ending'])]})"
    else:
        told = f"{PLAYERS[int(state['to_play'])]} to move"
    return [*lines, f"{told}, ply {plies} of {most}, captures: {rule}"]


def draw_text(game: Any, state: Any, *, colour: bool, unicode: bool) -> str:
    """Draw the board for a terminal: b, r, g and a piece's letter, + for a promoted one."""
    files = "    " + "".join(f" {9 - column}  " for column in range(9))
    lines = [files.rstrip()]
    board = board_of(state)
    for row in range(9):
        cells = []
        for piece in board[9 * row : 9 * row + 9]:
            if piece is None:
                cells.append(" ·  " if unicode else " .  ")
                continue
            seat, kind = piece
            name = f"{SEATS[seat] + rules.KINDS[kind]:<4}"
            ink = _FADED if state["fallen"][seat] else _TERMINAL[seat]
            cells.append(f"{ink}{name}{_RESET}" if colour else name)
        lines.append(f" {chr(ord('a') + row)}  {''.join(cells).rstrip()}")
    return "\n".join([*lines, "", *describe(state)])


def draw_svg(game: Any, state: Any) -> str:
    """Draw the board as an SVG picture; a piece points where its army walks."""
    side, margin = 9 * _CELL, 24
    lines = describe(state)
    width, height = side + 2 * margin, side + 2 * margin + 20 * len(lines)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="14" text-anchor="middle">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<rect x="{margin}" y="{margin}" width="{side}" height="{side}" fill="#e9cf97" stroke="#5a4a2a"/>',
    ]
    grid = "".join(
        f"M{margin + k * _CELL} {margin}v{side}M{margin} {margin + k * _CELL}h{side}" for k in range(1, 9)
    )
    parts.append(f'<path d="{grid}" stroke="#5a4a2a" fill="none"/>')
    for k in range(9):
        middle = margin + k * _CELL + _CELL // 2
        parts.append(f'<text x="{middle}" y="{margin - 8}">{9 - k}</text>')
        parts.append(f'<text x="{margin // 2}" y="{middle + 5}">{chr(ord("a") + k)}</text>')
    for cell, piece in enumerate(board_of(state)):
        if piece is not None:
            x, y = (margin + place * _CELL + _CELL // 2 for place in (cell % 9, cell // 9))
            parts.append(_draw_piece(x, y, *piece, is_fallen=bool(state["fallen"][piece[0]])))
    for number, line in enumerate(lines):
        y = side + 2 * margin + 20 * number
        parts.append(f'<text x="{margin}" y="{y}" text-anchor="start">{line}</text>')
    return "".join(parts) + "</svg>"


def _draw_piece(x: int, y: int, seat: int, kind: int, *, is_fallen: bool) -> str:
    """Draw one piece around its middle."""
    fill, ink, name = (_FALLEN if is_fallen else _FILLS[seat]), _INK[seat], rules.KINDS[kind]
    return (
        f'<g transform="translate({x} {y})"><polygon points="{_SHAPE}" transform="rotate({_TURNS[seat]})" '
        f'fill="{fill}" stroke="{ink}"/><text y="6" fill="{ink}" font-size="16">{name}</text></g>'
    )
