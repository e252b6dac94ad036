import json
import os
import re
import threading
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.reports.test_run import CONFIG, make_run

from zelkova.cli.main import main
from zelkova.learning.losses import PolicyLoss
from zelkova.reports.charts import Chart, as_curve, draw_chart, thin_out
from zelkova.reports.curves import choose_charts
from zelkova.reports.metrics import METRICS, as_markdown, find_metric
from zelkova.reports.page import make_page, write_page
from zelkova.reports.run import read_run

EVIL = "<img src=x onerror=alert(1)>&\"'"
VOID = {"meta", "img", "link", "br", "input", "hr"}


class Outline(HTMLParser):
    """Collects what a browser would make of a page: tags, attributes, text; and that tags are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def full_round(number: int) -> dict[str, float]:
    """Give a round with every metric of ours."""
    figures = {
        name.replace("seatN", f"seat{number % 2}").replace("NAME", "uct_1000"): 0.01 * number + 0.1
        for name in METRICS
    }
    return {**figures, "round": number, "seconds": 60.0 * number, "eval/elo": 100.0 * number}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run", [full_round(number) for number in range(1, 9)], games="4 4 3\n")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    lines = [full_round(number) for number in range(1, 9)]
    return make_page(read_run(make_run(tmp_path_factory.mktemp("page") / "run", lines, games="4 4 3\n")))


def test_the_page_needs_nothing_from_elsewhere(page: str) -> None:
    assert set(re.findall(r"\w+://[^\s\"'<)]*", page)) == {"http://www.w3.org/2000/svg"}
    outline = Outline(page)
    for tag, attributes in outline.tags:
        assert tag not in ("script", "link", "iframe", "object", "embed", "base", "form")
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href", "xlink:href", "srcset", "data", "action"):
            value = attributes.get(name)
            assert value is None or value.startswith(("data:image/svg+xml;base64,", "#"))
    assert "@import" not in page
    assert re.findall(r"url\((?!#)", page) == []
    policy = [attributes.get("content") for tag, attributes in outline.tags if tag == "meta"]
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in policy


def test_every_picture_has_words_and_its_own_ids(page: str) -> None:
    outline = Outline(page)
    pictures = [attributes for tag, attributes in outline.tags if tag == "svg"]
    assert len(pictures) == 16
    assert all(picture["role"] == "img" and picture["aria-label"] for picture in pictures)
    assert all(attributes["alt"] for tag, attributes in outline.tags if tag == "img")
    ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [str(attributes["href"])[1:] for tag, attributes in outline.tags if tag == "use"]
    assert set(links) <= set(ids)


def test_the_page_shows_every_metric_with_its_meaning(page: str) -> None:
    texts = Outline(page).texts
    for name, metric in METRICS.items():
        if "seatN" not in name and "NAME" not in name:
            assert name in texts
        assert metric.meaning in texts
    assert "connect_four: run" in texts
    assert "4 4 3" in texts


def test_whatever_a_run_holds_is_escaped(tmp_path: Path) -> None:
    config = (
        f"[game]\nname = {json.dumps(EVIL)}\n[{json.dumps(EVIL)}]\n{json.dumps(EVIL)} = {json.dumps(EVIL)}\n"
    )
    names = [EVIL, f"eval/score_{EVIL}", "eval/score__x", "eval/score_\u202e\0$x^2$", f"{EVIL}/seconds"]
    lines = [{"round": number, **dict.fromkeys(names, 0.5)} for number in (1, 2)]
    run = read_run(make_run(tmp_path / "<b onclick=x>", lines, config, games=f"{EVIL}\n"))
    outline = Outline(make_page(run))
    assert {tag for tag, _ in outline.tags} <= {
        *("html", "head", "meta", "title", "style", "body", "div", "h1", "h2", "p", "ul", "li", "code"),
        *("figure", "svg", "g", "path", "defs", "use", "text", "clippath", "rect"),
        *("table", "tr", "td", "th", "details", "summary"),
    }
    assert EVIL in outline.texts


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [{}],
        [{"round": 1}],
        [full_round(1)],
        [{"round": 1, "eval/elo": 5}, {"round": 2, "learn/seconds": -1, "eval/seconds": 0}],
        [{"round": 1, "seconds": 9}, {"round": 2, "seconds": 3}, {"round": 3}],
        [{"round": 1, "learn/policy_loss": 1e299}, {"round": 2, "learn/policy_loss": -1e299}],
        [{"learn/policy_loss": 2}, {"learn/policy_loss": 1}],
        ['{"round": 1, "eval/elo": NaN, "eval/elo_low": 3}', '{"round": 2, "eval'],
    ],
)
def test_a_run_in_any_state_has_a_page(lines: list[object], tmp_path: Path) -> None:
    text = make_page(read_run(make_run(tmp_path / "run", lines)))
    assert "connect_four" in Outline(text).texts[0] or "connect_four: run" in text
    if not any(lines):
        assert "no figures yet" in text


def test_a_long_run_has_a_small_page(tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path / "run", [full_round(number) for number in range(1, 3001)]))
    assert len(make_page(run)) < 400_000


def test_a_long_curve_keeps_its_mean_and_its_order() -> None:
    x, y = np.arange(1000.0), np.sin(np.arange(1000.0))
    few_x, few_y = thin_out(x, y, 100)
    assert len(few_x) == len(few_y) == 100
    assert few_y.mean() == pytest.approx(y.mean())
    assert np.all(np.diff(few_x) > 0)
    assert thin_out(x, y, 1000)[0] is x


def test_a_chart_is_an_element_that_takes_the_pages_ink() -> None:
    svg = draw_chart(Chart("Losses", "minutes", "nats", (as_curve("policy", [(0, 2.0), (1, 1.0)]),)), "k")
    element = ElementTree.fromstring(svg)
    assert element.tag == "{http://www.w3.org/2000/svg}svg"
    assert "currentColor" in svg
    assert "width" not in element.attrib
    assert svg == draw_chart(
        Chart("Losses", "minutes", "nats", (as_curve("policy", [(0, 2.0), (1, 1.0)]),)), "k"
    )


def test_time_is_shared_out_to_all_of_it(folder: Path) -> None:
    chart = next(chart for chart in choose_charts(read_run(folder)) if chart.stacked)
    assert {curve.label for curve in chart.curves} == {"self-play", "learning", "evaluation", "saving"}
    assert sum(curve.y for curve in chart.curves) == pytest.approx(100.0)


def test_the_document_of_metrics_is_the_one_source() -> None:
    document = Path(__file__).parents[2] / "docs" / "metrics.md"
    assert document.read_text(encoding="utf-8") == as_markdown(), (
        "regenerate docs/metrics.md: python -c 'from zelkova.reports import metrics as m; "
        'print(m.as_markdown(), end="")\' > docs/metrics.md'
    )


def test_every_metric_that_training_writes_is_explained() -> None:
    package = Path(__file__).parents[2] / "src" / "zelkova"
    sources = [package / "train.py", *(package / "wheel").glob("*.py")]
    text = "".join(source.read_text(encoding="utf-8") for source in sources)
    names = re.findall(r'"((?:selfplay|learn|eval|replay|save)/[a-z0-9_{}]+)"', text)
    assert len(names) > 10
    learnt = [f"learn/policy_{name}" for name in PolicyLoss._fields]
    names += [*learnt, "learn/value_loss", "learn/value_accuracy", "learn/value_error"]
    unrolled = (package / "learning" / "unroll_loss.py").read_text(encoding="utf-8")
    names += [f"learn/{name}" for name in re.findall(r'"(\w+_(?:loss|bonus|entropy|support))"', unrolled)]
    for name in names:
        shown = name.replace("{seat}", "0")
        assert "{" in shown or find_metric(shown) is not None, f"{name} is missing in reports/metrics.py"


def test_metrics_of_a_family_are_found() -> None:
    assert find_metric("selfplay/win_share_seat2") is METRICS["selfplay/win_share_seatN"]
    assert find_metric("eval/score_uct_1000") is METRICS["eval/score_NAME"]
    assert find_metric("eval/score_") is None
    assert find_metric("made/up") is None


def test_the_command_writes_page_and_figures(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["report", str(folder), "--json", str(tmp_path / "f.json")])
    assert left.value.code == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "connect_four: 8 rounds, 0.18 games, 0.18 positions, 0.18 steps, 8 min"
    assert said[-1] == f"report: {folder / 'report.html'}"
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    records = json.loads((tmp_path / "f.json").read_text())
    elo = next(record for record in records if record["name"] == "eval/elo")
    assert elo == {"name": "eval/elo", "value": 800.0, "params": {"run": str(folder), "round": 8.0}}


@pytest.mark.parametrize("out", ["no/where.html", "."])
def test_a_place_that_cannot_be_written_is_one_message(
    out: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as left:
        main(["report", str(folder), "--out", out])
    said = capsys.readouterr()
    assert left.value.code == 2
    assert said.out == ""
    assert len(said.err.splitlines()) == 1


def test_a_failure_leaves_the_old_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = folder / "report.html"
    page.write_text("<!DOCTYPE html>old")
    run = read_run(folder)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="No space"):
        write_page(run, page)
    assert page.read_text() == "<!DOCTYPE html>old"
    assert list(folder.glob(".report*")) == []


def test_the_config_is_spelled_out(tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path / "run", [], config=CONFIG + "[search]\nnum_simulations = 32\n"))
    texts = Outline(make_page(run)).texts
    assert texts[texts.index("search.num_simulations") + 1] == "32"


@pytest.mark.skipif(os.name != "posix", reason="devices are files there alone")
def test_a_device_is_written_and_never_replaced(folder: Path, tmp_path: Path) -> None:
    pipe, found = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    write_page(read_run(folder), pipe)
    reader.join()
    assert found[0].startswith(b"<!DOCTYPE html>")
    assert pipe.is_fifo()


def test_a_place_that_can_not_be_written_is_named(folder: Path) -> None:
    for place in (folder, folder / "none" / "page.html"):
        with pytest.raises(OSError, match=re.escape(str(place))) as caught:
            write_page(read_run(folder), place)
        assert caught.value.filename == str(place)
