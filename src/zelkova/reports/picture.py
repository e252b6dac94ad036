"""Draws a board beside its search tree: what the agent looked at before it chose.

      board        root ──┬── 4 ──┬── 4        a line is as wide as the share of visits that took it,
                          │       └── 3        a box is blue where player 1 stands well, orange where badly
                          └── 3 ───── 5

The tree is given as plain nodes, whatever search it came from.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from xml.etree import ElementTree

from zelkova.errors import ShapeError

SVG = "http://www.w3.org/2000/svg"

_BOX, _TALL, _GAP, _ACROSS = 92, 34, 8, 150  # width and height of a box, between boxes, between levels
_EDGE = 12  # around everything
_GOOD, _EVEN, _BAD = (0, 114, 178), (236, 234, 226), (213, 94, 0)  # blue and orange: Okabe and Ito (2008)


@dataclass(frozen=True)
class Node:
    """A position of a search tree."""

    move: str  # that led here, as text; empty at the root
    visits: int  # simulations that passed
    share: float  # expected share of player 1, 0..1
    children: tuple["Node", ...] = field(default=())


@dataclass(frozen=True)
class _Placed:
    """A node with its place."""

    node: Node
    x: float
    y: float  # of the middle of its left edge
    below: tuple["_Placed", ...]


def draw_tree_picture(board: str, root: Node, title: str, *, widths: Sequence[int] = (4, 2, 2)) -> str:
    """Draw a board at the left and the best part of the tree at the right.

    Args:
        board: SVG of the position, as a game draws it.
        root: the tree.
        title: what the picture shows, in words, for those who do not see it.
        widths: children of a node that are drawn, a number for each level; those of most visits.
    Returns:
        an `<svg>` document.
    Raises:
        ShapeError: board is no SVG with a viewBox or a size.
    """
    picture, board_width, board_height = _read_board(board)
    rows, placed = _place(root, widths, 0, 0.0)
    tree_height = max(rows * (_TALL + _GAP) - _GAP, _TALL)
    tree_width = _BOX + (_depth(placed) * _ACROSS)
    height = max(tree_height, min(board_height, 420.0))
    scale = min(height, 420.0) / board_height
    left = board_width * scale + 3 * _EDGE
    picture.attrib.update(
        x=f"{_EDGE}", y=f"{_EDGE + (height - board_height * scale) / 2:.1f}",
        width=f"{board_width * scale:.1f}", height=f"{board_height * scale:.1f}",
    )  # fmt: skip
    across, down = left + tree_width + _EDGE, height + 2 * _EDGE
    parts = [
        f'<svg xmlns="{SVG}" viewBox="0 0 {across:.0f} {down:.0f}" width="{across:.0f}" height="{down:.0f}" '
        'role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{across:.0f}" height="{down:.0f}" rx="8" fill="#fdfdfb"/>',
        _write_board(picture),
        f'<g transform="translate({left:.1f} {_EDGE + (height - tree_height) / 2:.1f})" '
        'font-family="sans-serif" font-size="12" text-anchor="middle">',
    ]
    parts += _edges(placed, max(root.visits, 1))
    parts += _boxes(placed)
    return "\n".join([*parts, "</g>", "</svg>"]) + "\n"


def _read_board(board: str) -> tuple[ElementTree.Element, float, float]:
    """Read a board's SVG; give it with its width and height in its own units."""
    try:
        if "<!" in board:  # a DOCTYPE could blow up, and a drawing needs none
            raise ShapeError("the board's SVG has a prolog or remarks; allowed: an <svg> element alone")
        picture = ElementTree.fromstring(board)
        if "viewBox" in picture.attrib:
            _, _, width, height = (float(side) for side in picture.attrib["viewBox"].split())
        else:
            width, height = (float(picture.attrib[side].removesuffix("px")) for side in ("width", "height"))
            picture.attrib["viewBox"] = f"0 0 {width:g} {height:g}"
    except (ElementTree.ParseError, KeyError, ValueError) as error:
        if isinstance(error, ShapeError):
            raise
        raise ShapeError(f"the board is no SVG with a viewBox or a size: {error}") from error
    if not (0 < width < 1e6 and 0 < height < 1e6):
        raise ShapeError(f"the board's SVG is {width:g} x {height:g}; allowed: positive sides")
    return picture, width, height


def _write_board(picture: ElementTree.Element) -> str:
    """Write a board's element so that it stands in the default namespace."""
    ElementTree.register_namespace("", SVG)
    return ElementTree.tostring(picture, encoding="unicode")


def _place(node: Node, widths: Sequence[int], level: int, top: float) -> tuple[float, _Placed]:
    """Place a node and what is drawn below it; give the rows that they take."""
    best = sorted(node.children, key=lambda child: -child.visits)[
        : widths[level] if level < len(widths) else 0
    ]
    rows, below = 0.0, []
    for child in best:
        taken, placed = _place(child, widths, level + 1, top + rows)
        rows += taken
        below.append(placed)
    middle = (below[0].y + below[-1].y) / 2 if below else top * (_TALL + _GAP) + _TALL / 2
    return max(rows, 1.0), _Placed(node, level * _ACROSS, middle, tuple(below))


def _depth(placed: _Placed) -> int:
    return max((1 + _depth(child) for child in placed.below), default=0)


def _edges(placed: _Placed, most: int) -> list[str]:
    """Draw the lines below a node, as wide as their share of the visits."""
    parts = []
    for child in placed.below:
        start, end = placed.x + _BOX, child.x
        bend = (start + end) / 2
        width = 1 + 11 * math.sqrt(max(child.node.visits, 0) / most)
        parts.append(
            f'<path d="M{start:.1f} {placed.y:.1f}C{bend:.1f} {placed.y:.1f} {bend:.1f} {child.y:.1f} '
            f'{end:.1f} {child.y:.1f}" fill="none" stroke="#b9bcb4" stroke-width="{width:.1f}"/>'
        )
        parts += _edges(child, most)
    return parts


def _boxes(placed: _Placed) -> list[str]:
    """Draw a node and those below it as boxes with the move, the visits and player 1's share."""
    node = placed.node
    fill, ink = _colour(node.share)
    x, y = placed.x + _BOX / 2, placed.y
    move, numbers = escape(node.move or "now"), f"{node.visits:,} · {100 * node.share:.0f} %"
    parts = [
        f'<rect x="{placed.x:.1f}" y="{y - _TALL / 2:.1f}" width="{_BOX}" height="{_TALL}" rx="6" '
        f'fill="{fill}" stroke="#6b6f68"/>',
        f'<text x="{x:.1f}" y="{y - 3:.1f}" font-weight="bold" fill="{ink}">{move}</text>',
        f'<text x="{x:.1f}" y="{y + 12:.1f}" fill="{ink}" font-size="11">{numbers}</text>',
    ]
    for child in placed.below:
        parts += _boxes(child)
    return parts


def _colour(share: float) -> tuple[str, str]:
    """Give a box's colour for player 1's share, and the ink that can be read on it."""
    away = 2 * min(max(share, 0.0), 1.0) - 1
    target = _GOOD if away > 0 else _BAD
    strength = abs(away) ** 0.6  # small leads should be seen
    mixed = [round(even + strength * (end - even)) for even, end in zip(_EVEN, target, strict=True)]
    light = (0.299 * mixed[0] + 0.587 * mixed[1] + 0.114 * mixed[2]) > 140
    return "#" + "".join(f"{part:02x}" for part in mixed), "#1b1d1f" if light else "#ffffff"
