"""How statistics are shown: cells, tables, figures and pictures."""

import math

import numpy as np

from zelkova.games.statistic import Mean, Share, Statistic
from zelkova.reports.analysis import choose_chart, list_figures, make_study, show_cell, show_statistic

HALF = Share(1.0, 2, 2.0)
TABLE = Statistic(
    "evil_table",
    "<b>Title</b>",
    "What & how",
    ("seat", "mean lead", "won"),
    (("<i>Blue</i>", 0.25, HALF), ("Red", 0.75, None), ("Green", 1.0, HALF)),
    ("mean lead", ("won",)),
    ("a <note>",),
)


def test_cells_say_how_sure_they_are() -> None:
    assert show_cell(HALF) == "50.0 % (9.5 to 90.5)"
    assert show_cell(Mean(1.5, 0.25, 4)) == "1.5 +- 0.25"
    assert show_cell(Mean(1.5, math.nan, 1)) == "1.5"
    assert show_cell(None) == "-"
    assert show_cell(1234) == "1,234"


def test_figures_have_names_and_what_they_belong_to() -> None:
    figures = list(list_figures(TABLE))
    assert figures[0] == ("analyze/evil_table_mean_lead", 0.25, {"seat": "<i>Blue</i>"})
    name, value, params = figures[1]
    assert (name, value) == ("analyze/evil_table_won", 0.5)
    assert params["count"] == 2
    assert len(figures) == 5  # nothing is said of Red


def test_the_first_number_tells_rows_without_text_apart() -> None:
    table = Statistic("x", "X", "", ("plies later", "change"), ((1, Mean(2.0, math.nan, 1)), (3, None)))
    assert list(list_figures(table)) == [("analyze/x_change", 2.0, {"plies_later": 1, "count": 1})]


def test_a_page_escapes_what_it_shows() -> None:
    page = make_study("<script>", "about", [TABLE])
    assert "<script>" not in page
    assert "<i>" not in page
    assert "&lt;b&gt;Title" in page
    assert "a &lt;note&gt;" in page


def test_a_picture_leaves_out_what_is_not_known() -> None:
    chart = choose_chart(TABLE)
    assert chart is not None
    assert chart.y_range == (0.0, 1.0)
    (curve,) = chart.curves
    assert curve.x.tolist() == [0.25, 1.0]
    assert curve.low is not None
    assert np.isclose(curve.low[0], 0.0945, atol=1e-4)


def test_a_terminal_gets_a_few_rows_of_each_kind() -> None:
    rows = tuple((f"seat {k // 20}", k) for k in range(40))
    shown = show_statistic(Statistic("x", "X", "", ("seat", "number"), rows), most=6)
    assert sum("seat 0" in line for line in shown) == 3
    assert sum("seat 1" in line for line in shown) == 3
    assert shown[-1] == "  ... and 34 more on the page (--out FILE.html)"
