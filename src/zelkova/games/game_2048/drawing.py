"""2048's board as text and as SVG."""

from typing import Any

_COLOURS = ("#eee4da", "#ede0c8", "#f2b179", "#f59563", "#f67c5f", "#f65e3b", "#edcf72", "#edc850", "#e0b93a")
_EMPTY, _FRAME = "#cdc1b4", "#bbada0"
_TERMINAL = ("\x1b[37m", "\x1b[33m", "\x1b[32m", "\x1b[36m", "\x1b[34m", "\x1b[35m", "\x1b[31m")
_RESET = "\x1b[0m"


def draw_text(game: Any, state: Any, *, colour: bool, unicode: bool) -> str:
    """Draw the tiles as a table, and the score."""
    board = state["board"]
    wide = max(4, len(str(1 << int(board.max()))))
    blank = "·" if unicode else "."
    lines = []
    for row in board.tolist():
        cells = [(str(1 << tile) if tile else blank).rjust(wide) for tile in row]
        if colour:
            cells = [
                f"{_TERMINAL[(tile - 1) % len(_TERMINAL)]}{cell}{_RESET}" if tile else cell
                for tile, cell in zip(row, cells, strict=True)
            ]
        lines.append(" ".join(cells))
    return "\n".join([*lines, f"score {int(state['score'])}"])


def draw_svg(game: Any, state: Any) -> str:
    """Draw the tiles as an SVG picture."""
    board, cell = state["board"], 60
    side = len(board) * cell
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {side} {side}" '
        f'width="{side}" height="{side}">',
        f'<rect width="{side}" height="{side}" fill="{_FRAME}"/>',
    ]
    for row, tiles in enumerate(board.tolist()):
        for column, tile in enumerate(tiles):
            left, top = column * cell, row * cell
            colour = _COLOURS[min(tile, len(_COLOURS)) - 1] if tile else _EMPTY
            parts.append(
                f'<rect x="{left + 3}" y="{top + 3}" width="{cell - 6}" height="{cell - 6}" rx="4" '
                f'fill="{colour}"/>'
            )
            if tile:
                text = str(1 << tile)
                parts.append(
                    f'<text x="{left + cell // 2}" y="{top + cell // 2}" text-anchor="middle" '
                    f'dominant-baseline="central" font-family="sans-serif" '
                    f'font-size="{24 - 3 * max(0, len(text) - 2)}" fill="#4a4038">{text}</text>'
                )
    return "".join(parts) + "</svg>"
