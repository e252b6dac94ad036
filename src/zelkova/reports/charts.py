"""Draws a run's curves as small SVG pictures that take their text colour from the page around them."""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8f8f8f")
"""Okabe and Ito (2008): told apart by the colour-blind, and readable on white and on near-black."""

MOST_POINTS = 400  # of a curve; longer ones are averaged in equal groups
MOST_STEPS = 50  # of a stack
_INK = "#010203"  # stands for the page's text colour until the picture is written
_STYLES = ("-", "--", "-.", ":")


@dataclass(frozen=True)
class Curve:
    """One line of a chart."""

    label: str
    x: NDArray[np.float64]  # [n] ascending
    y: NDArray[np.float64]  # [n] finite
    low: NDArray[np.float64] | None = None  # [n] lower end of a band around it
    high: NDArray[np.float64] | None = None  # [n] upper end


@dataclass(frozen=True)
class Chart:
    """A picture of some curves over one axis."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    stacked: bool = False  # areas on top of each other instead of lines; the curves then share x
    y_range: tuple[float, float] | None = None  # fixed ends of the y axis


def describe(chart: Chart) -> str:
    """Say in words what a chart shows: the text for who does not see it."""
    parts = [f"{curve.label} from {curve.y[0]:.4g} to {curve.y[-1]:.4g}" for curve in chart.curves]
    return f"{chart.title}, {chart.y_label} over {chart.x_label}: " + "; ".join(parts)


def draw_chart(chart: Chart, key: str) -> str:
    """Draw a chart.

    Args:
        chart: with at least one curve of at least one point.
        key: a word that no other picture of the page has; its ids begin with it.
    Returns:
        an `<svg>` element without fixed size, text in `currentColor`, without a link to anywhere.
    """
    import matplotlib
    from matplotlib.figure import Figure

    look: Any = {
        "svg.fonttype": "none", "svg.hashsalt": key, "font.size": 9, "font.family": "sans-serif",
        "text.color": _INK, "axes.labelcolor": _INK, "xtick.color": _INK, "ytick.color": _INK,
        "axes.edgecolor": _INK, "axes.spines.top": False, "axes.spines.right": False,
        "text.usetex": False, "text.parse_math": False,
    }  # fmt: skip
    with matplotlib.rc_context(look):
        figure = Figure(figsize=(4.6, 2.7), layout="constrained")
        axes = figure.add_subplot()
        (_draw_stack if chart.stacked else _draw_lines)(axes, chart)
        axes.set_title(chart.title, loc="left", fontsize=10, fontweight="bold")
        axes.set_xlabel(chart.x_label)
        axes.set_ylabel(chart.y_label)
        if chart.y_range is not None:
            axes.set_ylim(*chart.y_range)
        axes.grid(alpha=0.25, linewidth=0.6)
        if len(chart.curves) > 1:
            place = {"loc": "lower right", "bbox_to_anchor": (1.0, 0.98), "ncols": 4, "columnspacing": 0.9}
            labels = [curve.label for curve in chart.curves]
            where: dict[str, Any] = place if chart.stacked else {"loc": "best"}
            axes.legend(_handles(axes, chart), labels, frameon=False, fontsize=8, handlelength=1.4, **where)
        file = io.StringIO()
        nothing = {"Creator": None, "Date": None, "Format": None, "Type": None}
        figure.savefig(file, format="svg", transparent=True, metadata=nothing)
    return _tidy(file.getvalue(), key)


def _draw_lines(axes: "Axes", chart: Chart) -> None:
    for index, curve in enumerate(chart.curves):
        colour, style = PALETTE[index % len(PALETTE)], _STYLES[index // len(PALETTE) % len(_STYLES)]
        x, y = thin_out(curve.x, curve.y)
        marker = "o" if len(x) < 30 else None
        axes.plot(x, y, color=colour, linestyle=style, linewidth=1.6, marker=marker, markersize=3)
        if curve.low is not None and curve.high is not None:
            low, high = (thin_out(curve.x, end)[1] for end in (curve.low, curve.high))
            axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)


def _draw_stack(axes: "Axes", chart: Chart) -> None:
    thin = [thin_out(curve.x, curve.y, MOST_STEPS) for curve in chart.curves]
    colours = [PALETTE[index % len(PALETTE)] for index in range(len(thin))]
    axes.stackplot(thin[0][0], [y for _, y in thin], colors=colours, alpha=0.8)


def _handles(axes: "Axes", chart: Chart) -> list[Any]:
    """Give what the legend shows for each curve."""
    return list(axes.collections) if chart.stacked else list(axes.lines)


def thin_out(
    x: NDArray[np.float64], y: NDArray[np.float64], most: int = MOST_POINTS
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Average a long curve in groups of neighbours, so that a page of a long run stays small.

    Args:
        x, y: [n] points.
        most: points that are left at most.
    """
    if len(x) <= most:
        return x, y
    starts = np.linspace(0, len(x), most, endpoint=False).astype(int)
    counts = np.diff([*starts, len(x)])
    return np.add.reduceat(x, starts) / counts, np.add.reduceat(y, starts) / counts


def _tidy(svg: str, key: str) -> str:
    """Keep the element alone: no prolog, no fixed size, only ids that are used, and those with the key."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\n?", "", svg, flags=re.DOTALL)
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', svg))
    svg = re.sub(r' id="([^"]+)"', lambda match: f' id="{key}-{match[1]}"' if match[1] in used else "", svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\g<1>{key}-", svg)
    svg = svg.replace("xlink:href", "href").replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "")
    svg = re.sub(r'(<svg\b[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg\b[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, count=1, flags=re.DOTALL)
    svg = re.sub(r"font-family: [^;\"]*; ?", "", svg)
    svg = re.sub(r' transform="rotate\(-0 [^)]*\)"', "", svg)
    svg = re.sub(r"(\d\.\d\d)\d+", r"\1", svg)
    return re.sub(r"\s*\n\s*", "\n", svg.replace(_INK, "currentColor")).strip()


def as_curve(label: str, points: Sequence[tuple[float, float]]) -> Curve:
    """Make a curve of points (x, y); its label is made printable and short."""
    label = "".join(sign for sign in label if sign.isprintable())[:40] or "?"
    array = np.array(points, np.float64).reshape(-1, 2)
    return Curve(label, array[:, 0], array[:, 1])
