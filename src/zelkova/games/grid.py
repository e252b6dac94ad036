"""What games on a rectangular board share when they write moves and draw positions.

Boards are int8[H, W] with row 0 at the top; a cell holds 0 or a player's number plus 1.
"""

import re
from typing import Any

from zelkova.errors import NotationError

COLOURS = ("#1f1f1f", "#f7f4ea", "#c0392b", "#2e86c1")
_TERMINAL = ("\x1b[36m", "\x1b[33m", "\x1b[35m", "\x1b[32m")
_RESET = "\x1b[0m"


def column_name(column: int) -> str:
    """Name a column: a..z, then aa, ab, ..."""
    name = chr(ord("a") + column % 26)
    return name if column < 26 else chr(ord("a") + column // 26 - 1) + name


def cell_to_text(cell: int, height: int, width: int, *, from_top: bool = False) -> str:
    """Write a cell's number as column letter and row number, a1 at the lower left (or upper left)."""
    row = cell // width
    return f"{column_name(cell % width)}{row + 1 if from_top else height - row}"


def text_to_cell(text: str, height: int, width: int, *, from_top: bool = False) -> int:
    """Read column letter and row number, a1 at the lower left (or upper left).

    Raises:
        NotationError: the text names no cell of the board.
    """
    match = re.fullmatch(r"([a-z]{1,2})([1-9][0-9]?)", text.strip().lower())
    if match:
        columns = {column_name(column): column for column in range(width)}
        row = int(match[2]) - 1 if from_top else height - int(match[2])
        if match[1] in columns and 0 <= row < height:
            return row * width + columns[match[1]]
    last = f"{column_name(width - 1)}{height}"
    raise NotationError(f"`{text}` is no cell; allowed: a1 to {last}, column letter then row number")


def draw_grid_text(
    board: Any, marks: str, *, colour: bool, unicode: bool, from_top: bool = False, slant: bool = False
) -> str:
    """Draw a board for a terminal, with column letters and row numbers.

    Args:
        board: int8[H, W].
        marks: one ASCII character a player.
        colour: use terminal colours.
        unicode: an empty cell may be drawn with a middle dot.
        from_top: rows are numbered from the top.
        slant: each row begins half a cell to the right of the one above, as on a board of hexagons.
    """
    height, width = board.shape
    blank = "·" if unicode else "."
    lines = []
    for row in range(height):
        cells = []
        for column in range(width):
            value = int(board[row, column])
            mark = marks[value - 1] if value else blank
            cells.append(f"{_TERMINAL[value - 1]}{mark}{_RESET}" if colour and value else mark)
        number = row + 1 if from_top else height - row
        lines.append(" " * (row if slant else 0) + f"{number:>3} " + " ".join(cells))
    letters = " ".join(column_name(column)[-1] for column in range(width))
    lines.append(" " * (height if slant else 0) + "    " + letters)
    return "\n".join(lines)


def draw_grid_svg(board: Any, *, cell: int = 40, background: str = "#d9b36c") -> str:
    """Draw a board of discs as an SVG picture, `cell` pixels a side."""
    height, width = board.shape
    across, down = width * cell, height * cell
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across} {down}" '
        f'width="{across}" height="{down}">',
        f'<rect width="{across}" height="{down}" fill="{background}"/>',
    ]
    lines = [f"M{k * cell} 0V{down}" for k in range(1, width)] + [
        f"M0 {k * cell}H{across}" for k in range(1, height)
    ]
    parts.append(f'<path d="{"".join(lines)}" stroke="#5a4a2a" stroke-width="1" fill="none"/>')
    for row in range(height):
        for column in range(width):
            if board[row, column]:
                parts.append(
                    f'<circle cx="{column * cell + cell // 2}" cy="{row * cell + cell // 2}" '
                    f'r="{cell * 2 // 5}" '
                    f'fill="{COLOURS[int(board[row, column]) - 1]}" stroke="#333"/>'
                )
    return "".join(parts) + "</svg>"
