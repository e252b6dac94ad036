"""Draws a tree as a standalone SVG document.

root ──┬─ a1 41 % ── box ──┬─ b2 55 % ── box      a line is as wide as the share of visits that took it,
│                   └─ c3 12 % ── box      a box as dark as its share of the root's visits
└─ a2 20 % ── box
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from zelkova.search.view.branches import Branch
from zelkova.search.view.text import Names, name_of, show_values

SHOWN_PLAYERS = 4  # whose values fit into a box

_TALL, _GAP, _EDGE = 36, 10, 14  # height of a box, between boxes, around everything
_SIGN = 7.0  # width of a sign, generously


@dataclass(frozen=True)
class _Box:
    """A node with its place."""

    branch: Branch
    label: str  # of the line that leads here
    level: int
    y: float  # of its middle
    below: tuple["_Box", ...]


@dataclass(frozen=True)
class _Scale:
    """Widths that all boxes of a picture share."""

    box: float
    across: float  # from a level to the next

    def x(self, box: _Box) -> float:
        """Give the left edge of a box."""
        return box.level * self.across


def draw_svg(root: Branch, names: Names) -> str:
    """Draw a tree; every text is escaped.

    Args:
        root: the tree.
        names: gives an action's text.
    """
    rows, top = _place(root, names, 0, 0.0)
    boxes = list(_all(top))
    longest = max((len(box.label) for box in boxes), default=0)
    box_width = max(64.0, 16 + _SIGN * max(len(_numbers(box.branch)) for box in boxes))
    scale = _Scale(box_width, box_width + 44 + _SIGN * longest)
    width = max(scale.x(box) for box in boxes) + box_width + 2 * _EDGE
    height = rows * (_TALL + _GAP) - _GAP + 2 * _EDGE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img">',
        f"<title>search tree, {root.visits:,} visits at the root</title>",
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fdfdfb"/>',
        f'<g transform="translate({_EDGE} {_EDGE})" font-family="sans-serif" font-size="11" fill="#1b1d1f">',
    ]
    most = max(root.visits, 1)
    for box in boxes:
        parts += [_draw_line(box, child, scale, most) for child in box.below]
    for box in boxes:
        parts += _draw_box(box, scale, most)
    return "\n".join([*parts, "</g>", "</svg>"]) + "\n"


def _place(branch: Branch, names: Names, level: int, top: float) -> tuple[float, _Box]:
    """Place a node and what is drawn below it; give the rows that they take."""
    rows, below = 0.0, []
    for child in branch.children:
        taken, placed = _place(child, names, level + 1, top + rows)
        rows += taken
        below.append(placed)
    middle = (below[0].y + below[-1].y) / 2 if below else top * (_TALL + _GAP) + _TALL / 2
    label = f"{name_of(names, branch.action)}  {100 * branch.prior:.1f} %" if level else ""
    return max(rows, 1.0), _Box(branch, label, level, middle, tuple(below))


def _all(box: _Box) -> Iterator[_Box]:
    yield box
    for child in box.below:
        yield from _all(child)


def _numbers(branch: Branch) -> str:
    shown = show_values(branch.value[:SHOWN_PLAYERS])
    return shown if len(branch.value) <= SHOWN_PLAYERS else f"{shown} …"


def _draw_line(box: _Box, child: _Box, scale: _Scale, most: int) -> str:
    start, end = scale.x(box) + scale.box, scale.x(child)
    bend = start + 22
    width = 1 + 7 * math.sqrt(child.branch.visits / most)
    return (
        f'<path d="M{start:.1f} {box.y:.1f}C{bend:.1f} {box.y:.1f} {start:.1f} {child.y:.1f} '
        f'{start + 40:.1f} {child.y:.1f}H{end:.1f}" fill="none" stroke="#b9bcb4" stroke-width="{width:.1f}"/>'
    )


def _draw_box(box: _Box, scale: _Scale, most: int) -> list[str]:
    x, y = scale.x(box), box.y
    dark = 0.05 + 0.5 * box.branch.visits / most
    middle = x + scale.box / 2
    parts = [
        f'<rect x="{x:.1f}" y="{y - _TALL / 2:.1f}" width="{scale.box:.1f}" height="{_TALL}" rx="6" '
        'fill="#fdfdfb"/>',
        f'<rect x="{x:.1f}" y="{y - _TALL / 2:.1f}" width="{scale.box:.1f}" height="{_TALL}" rx="6" '
        f'fill="#0072b2" fill-opacity="{dark:.3f}" stroke="#6b6f68"/>',
        f'<text x="{middle:.1f}" y="{y - 3:.1f}" text-anchor="middle" font-weight="bold">'
        f"{box.branch.visits:,}</text>",
        f'<text x="{middle:.1f}" y="{y + 12:.1f}" text-anchor="middle">{escape(_numbers(box.branch))}</text>',
    ]
    if box.label:
        at, label = f'x="{x - 5:.1f}" y="{y + 4:.1f}" text-anchor="end"', escape(box.label)
        parts.append(f'<text {at} stroke="#fdfdfb" stroke-width="3">{label}</text>')  # a halo, drawn first:
        parts.append(f"<text {at}>{label}</text>")  # not every viewer knows paint-order
    return parts
