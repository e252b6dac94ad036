"""What a set of games, or one position, looks like: tables for a terminal, one HTML page."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from zelkova.games.game import Position
from zelkova.games.statistic import Cell, Mean, Share, Statistic
from zelkova.reports.charts import Chart, Curve
from zelkova.reports.page import draw_charts, make_document, show_board
from zelkova.reports.summary import show_value

SHOWN = 10  # rows of a table that a terminal gets; the page has all


@dataclass(frozen=True)
class Judgement:
    """What an agent thinks of one position."""

    position: Position
    text: str  # how the position was given
    chances: Statistic  # of all players
    lines: Statistic  # best lines, a row each
    candidates: Statistic  # what each move does to each player's chance


def show_cell(cell: Cell) -> str:
    """Write a cell: shares as percentages with their interval, means with half of theirs."""
    if cell is None:
        return "-"
    if isinstance(cell, Share):
        low, high = cell.interval
        return f"{100 * cell.value:.1f} % ({100 * low:.1f} to {100 * high:.1f})"
    if isinstance(cell, Mean):
        half = "" if math.isnan(cell.half) else f" +- {cell.half:.3g}"
        return f"{cell.value:.4g}{half}"
    return cell if isinstance(cell, str) else show_value(cell)


def show_statistic(statistic: Statistic, most: int = SHOWN) -> list[str]:
    """Give a table's lines for a terminal.

    Args:
        statistic: to show.
        most: rows.
    """
    rows = _shorten(statistic.rows, most)
    table = [statistic.columns, *([show_cell(cell) for cell in row] for row in rows)]
    wide = [max(len(row[k]) for row in table) for k in range(len(statistic.columns))]
    lines = [statistic.title]
    for row in table:
        cells = [f"{text:<{wide[k]}}" if k == 0 else f"{text:>{wide[k]}}" for k, text in enumerate(row)]
        lines.append("  " + "  ".join(cells).rstrip())
    if len(rows) < len(statistic.rows):
        lines.append(f"  ... and {len(statistic.rows) - len(rows)} more on the page (--out FILE.html)")
    return [*lines, *(f"  {note}" for note in statistic.notes)]


def _shorten(rows: Sequence[tuple[Cell, ...]], most: int) -> list[tuple[Cell, ...]]:
    """Leave out rows of a table that is longer than `most`: the last, also of those that begin alike."""
    names = [row[0] for row in rows]
    groups = len(set(names))
    if len(rows) <= most or groups == len(rows):
        return list(rows[:most])
    each = max(most // groups, 1)
    return [row for place, row in enumerate(rows) if names[:place].count(row[0]) < each]


def list_figures(statistic: Statistic) -> Iterator[tuple[str, float, dict[str, Any]]]:
    """Give every number of a table: its name analyze/TABLE_COLUMN, its value, and what it belongs to.

    The cells of a row that are text say what it belongs to, the first cell where none is; a share or a mean
    brings its interval and count.
    """
    for row in statistic.rows:
        cells = list(zip(map(_slug, statistic.columns), row, strict=True))
        labels: dict[str, Any] = {column: cell for column, cell in cells if isinstance(cell, str)}
        labels = labels or dict(cells[:1])
        for column, cell in cells:
            if column in labels:
                continue
            name = f"analyze/{statistic.key}_{column}"
            if isinstance(cell, Share):
                low, high = cell.interval
                yield name, cell.value, {**labels, "low": low, "high": high, "count": cell.count}
            elif isinstance(cell, Mean):
                ends = {"low": cell.value - cell.half, "high": cell.value + cell.half}
                known = {} if math.isnan(cell.half) else ends
                yield name, cell.value, {**labels, **known, "count": cell.count}
            elif isinstance(cell, int | float):
                yield name, float(cell), labels


def _slug(column: str) -> str:
    """Make a figure's name of a column's."""
    return "".join(sign if sign.isalnum() else "_" for sign in column.lower()).strip("_")


def make_study(title: str, about: str, statistics: Sequence[Statistic]) -> str:
    """Give the page of a set of games.

    Args:
        title: plain text.
        about: what was looked at, a sentence.
        statistics: in the order of the page.
    """
    parts = [f"<h1>{escape(title)}</h1><p class='soft'>{escape(about)}</p>"]
    parts += [_section(statistic, index) for index, statistic in enumerate(statistics)]
    return make_document(title, parts)


def make_judgement(title: str, about: str, judgement: Judgement) -> str:
    """Give the page of one position.

    Args:
        title, about: as for `make_study`.
        judgement: of the position.
    """
    board = show_board(judgement.position, judgement.text, f"<code>{escape(judgement.text)}</code>")
    words = f"<h1>{escape(title)}</h1><p class='soft'>{escape(about)}</p>"
    parts = [f"<div class='head'><div>{words}{_table(judgement.chances)}</div>{board}</div>"]
    parts += [_section(table, index) for index, table in enumerate((judgement.lines, judgement.candidates))]
    return make_document(title, parts)


def _section(statistic: Statistic, index: int) -> str:
    """Give a table with its definition, and its picture where it has one."""
    notes = "".join(f"<p class='note'>{escape(note)}</p>" for note in statistic.notes)
    chart = choose_chart(statistic)
    picture = draw_charts([chart], f"a{index}") if chart is not None else ""
    return (
        f"<h2>{escape(statistic.title)}</h2><p class='soft'>{escape(statistic.meaning)}</p>"
        f"{picture}{_table(statistic)}{notes}"
    )


def _table(statistic: Statistic) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in statistic.columns)
    rows = []
    for row in statistic.rows:
        cells = [
            f"<td>{escape(cell)}</td>" if isinstance(cell, str) else f"<td class='n'>{show_cell(cell)}</td>"
            for cell in row
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<div class='wide'><table><tr>{head}</tr>{''.join(rows)}</table></div>"


def choose_chart(statistic: Statistic) -> Chart | None:
    """Make the picture of a table; None where it has none, or fewer than two points."""
    if statistic.plot is None or len(statistic.rows) < 2:
        return None
    along, shown = statistic.plot
    x = _numbers(statistic, along)
    curves = []
    for name in shown:
        low, y, high = (_numbers(statistic, name, end) for end in (-1, 0, 1))
        known = np.isfinite(x) & np.isfinite(y)
        if known.any():
            band = (low[known], high[known]) if (high > low)[known].any() else (None, None)
            curves.append(Curve(name, x[known], y[known], *band))
    if not curves:
        return None
    first = [row[statistic.columns.index(shown[0])] for row in statistic.rows]
    is_share = all(isinstance(cell, Share | None) for cell in first)
    label = shown[0] if len(shown) == 1 else "share" if is_share else ""  # else the curves' names tell
    y_range = (0.0, 1.0) if is_share else None
    return Chart(statistic.title, along, label, tuple(curves), y_range=y_range)


def _numbers(
    statistic: Statistic, column: str, end: int = 0
) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Give a column as numbers, or the lower (-1) or upper (1) ends of its intervals; NaN for none."""
    place = statistic.columns.index(column)
    return np.array([_number(row[place], end) for row in statistic.rows], np.float64)


def _number(cell: Cell, end: int) -> float:
    if isinstance(cell, Share):
        return (cell.interval[0], cell.value, cell.interval[1])[end + 1]
    if isinstance(cell, Mean):
        return cell.value + end * (0.0 if math.isnan(cell.half) else cell.half)
    return float(cell) if isinstance(cell, int | float) else math.nan
