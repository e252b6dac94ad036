"""Hex's board as text and as SVG."""

from typing import Any

from zelkova.games.grid import COLOURS, draw_grid_text

_RADIUS = 20.0
_HALF = 17.32  # half of a hexagon's width, for the radius above


def draw_text(game: Any, state: Any, *, colour: bool, unicode: bool) -> str:
    """Draw the board for a terminal: X joins top and bottom, O left and right."""
    return draw_grid_text(state["board"], "XO", colour=colour, unicode=unicode, from_top=True, slant=True)


def draw_svg(game: Any, state: Any) -> str:
    """Draw the board as an SVG picture: dark joins the dark sides, light the light ones."""
    board = state["board"]
    size = board.shape[0]
    across, down = (3 * size + 1) * _HALF, (1.5 * size + 1.5) * _RADIUS
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across:.0f} {down:.0f}" '
        f'width="{across:.0f}" height="{down:.0f}">'
    ]
    left, top, right, bottom = _HALF, 0.5 * _RADIUS, 2 * size * _HALF, 1.5 * size * _RADIUS + _RADIUS
    lean = (size - 1) * _HALF
    for player, lines in enumerate(
        (
            f"M0 {top}H{right}M{lean} {bottom}H{lean + right}",
            f"M0 {top}L{lean} {bottom}M{right + left} {top}l{lean} {bottom - top}",
        )
    ):
        parts.append(f'<path d="{lines}" stroke="{COLOURS[player]}" stroke-width="8" fill="none"/>')
    for row in range(size):
        for column in range(size):
            x, y = (2 * column + row + 1.5) * _HALF, (1.5 * row + 1.25) * _RADIUS
            value = int(board[row, column])
            fill = COLOURS[value - 1] if value else "#e3c78f"
            corner = (
                f"l{_HALF} {_RADIUS / 2}v{_RADIUS}l{-_HALF} {_RADIUS / 2}l{-_HALF} {-_RADIUS / 2}v{-_RADIUS}z"
            )
            parts.append(f'<path d="M{x:.2f} {y - _RADIUS:.2f}{corner}" fill="{fill}" stroke="#5a4a2a"/>')
    return "".join(parts) + "</svg>"
