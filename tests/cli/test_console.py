"""Progress lines and figures: readable anywhere, written all at once or not at all."""

import io
import json
from pathlib import Path

import numpy as np
import pytest

from zelkova.cli import console
from zelkova.cli.figures import Figures
from zelkova.errors import ConfigError


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def narrow() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="ascii")


def test_without_a_terminal_there_is_one_plain_line_a_minute() -> None:
    stream, clock = io.StringIO(), Clock()
    with console.Progress("train", stream, clock) as progress:
        for second in range(181):
            clock.now = 100.0 + second
            progress.update(second / 240, {"positions/s": 2712.3, "loss": 1.23456})
    lines = stream.getvalue().splitlines()
    assert lines[0] == "train  25% · positions/s 2,712 · loss 1.235 · 60 s so far · 3 min left"
    assert len(lines) == 3
    assert "\r" not in stream.getvalue()


def test_a_terminal_has_one_live_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream, clock = Terminal(), Clock()
    with console.Progress("train", stream, clock) as progress:
        progress.update(0.0, {"games": 1})
        clock.now += 0.1
        progress.update(0.1, {"games": 2})
        clock.now += 0.2
        progress.update(0.2, {"games": 3})
        progress.say("rated")
    text = stream.getvalue()
    assert "games 1" in text
    assert "games 2" not in text
    assert "games 3" in text
    assert text.endswith("\rrated\n")


def test_a_narrow_stream_gets_plain_signs() -> None:
    stream, clock = narrow(), Clock()
    progress = console.Progress("train", stream, clock)
    clock.now += 61
    progress.update(0.5, {"games": 1})
    progress.say("느티나무")
    assert stream.buffer.getvalue().decode("ascii").splitlines() == [  # type: ignore[attr-defined]
        "train  50% | games 1 | 61 s so far | 61 s left",
        "????",
    ]


def test_a_stream_that_is_gone_does_not_stop_the_work() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    console.Progress("train", Gone()).say("on we go")


def test_colour_and_signs_depend_on_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert console.has_colour(Terminal())
    assert not console.has_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not console.has_colour(Terminal())
    assert not console.has_unicode(narrow())
    assert console.has_unicode(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3.4, "3 s"), (89, "89 s"), (90, "2 min"), (3599, "1 h 00 min"), (5400, "1 h 30 min")],
)
def test_durations_read_as_a_person_says_them(seconds: float, text: str) -> None:
    assert console.format_seconds(seconds) == text


def test_figures_are_written_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    path.write_text("[]")
    with Figures(path) as figures:
        figures.add("rules/moves_per_s", np.float32(2.5), game="othello", size=np.int32(8))
        figures.add("arena/elo", float("inf"))
        assert path.read_text() == "[]"
    assert json.loads(path.read_text()) == [
        {"name": "rules/moves_per_s", "value": 2.5, "params": {"game": "othello", "size": 8}},
        {"name": "arena/elo", "value": None, "params": {}},
    ]
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_figures(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    path.write_text("[]")
    with pytest.raises(ZeroDivisionError), Figures(path) as figures:
        figures.add("a/b", 1 / 0)
    assert path.read_text() == "[]"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["missing/figures.json", ".", "file/figures.json"])
def test_a_place_that_can_not_be_written_is_refused_before_the_work(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="--json"):
        Figures(tmp_path / name)


def test_no_file_asked_for_is_no_file_written() -> None:
    with Figures(None) as figures:
        figures.add("a/b", 1.0)
    assert figures.records[0]["value"] == 1.0
