"""Gomoku's board as text and as SVG."""

from typing import Any

from zelkova.games.grid import draw_grid_svg, draw_grid_text


def draw_text(game: Any, state: Any, *, colour: bool, unicode: bool) -> str:
    """Draw the board for a terminal: X moves first."""
    return draw_grid_text(state["board"], "XO", colour=colour, unicode=unicode)


def draw_svg(game: Any, state: Any) -> str:
    """Draw the board as an SVG picture."""
    return draw_grid_svg(state["board"])
