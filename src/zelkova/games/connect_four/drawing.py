"""Connect four's board as text and as SVG."""

from typing import Any

from zelkova.games.grid import draw_grid_svg, draw_grid_text


def draw_text(game: Any, state: Any, *, colour: bool, unicode: bool) -> str:
    """Draw the board for a terminal, column numbers below."""
    drawn = draw_grid_text(state["board"][::-1], "XO#", colour=colour, unicode=unicode)
    numbers = " ".join(str((column + 1) % 10) for column in range(game.num_actions))
    return "\n".join([line[4:] for line in drawn.splitlines()[:-1]] + [numbers])


def draw_svg(game: Any, state: Any) -> str:
    """Draw the board as an SVG picture."""
    return draw_grid_svg(state["board"][::-1], background="#3b6fb6")
