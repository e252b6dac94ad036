"""Othello's board as text and as SVG."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zelkova.games.grid import draw_grid_svg, draw_grid_text


def board_of(state: Any) -> NDArray[np.int8]:
    """Give the board int8[size, size], row 0 at the top; a cell holds 0 or a player's number plus 1."""
    size = int(state["size"])
    board = np.zeros(size * size, np.int8)
    for player in range(2):
        discs = int(state["discs"][player])
        for cell in range(size * size):
            if discs >> cell & 1:
                board[cell] = player + 1
    return board.reshape(size, size)


def draw_text(game: Any, state: Any, *, colour: bool, unicode: bool) -> str:
    """Draw the board for a terminal: X is black."""
    return draw_grid_text(board_of(state), "XO", colour=colour, unicode=unicode, from_top=True)


def draw_svg(game: Any, state: Any) -> str:
    """Draw the board as an SVG picture."""
    return draw_grid_svg(board_of(state), background="#2e7d4f")
