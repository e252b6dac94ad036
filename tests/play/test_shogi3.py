"""Three-player shogi at the terminal: a seat by its name, drops and promotions as text."""

import io
import re

import pytest

from zelkova.cli.main import main


def test_a_person_sits_down_as_red_and_drops(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("L*5e\nhint\nlines 1\n5b5c+\nresign\n"))
    with pytest.raises(SystemExit) as left:
        main(["play", "shogi3", "--seat", "red", "--agent", "uct:20", "--seed", "3"])
    out = capsys.readouterr().out
    assert left.value.code in (0, None), out
    assert "you are player 2 of 3, Red, against uct:20" in out
    assert "Red (you) to move: " in out
    assert "Green plays " in out
    assert " e   .   .   .   .  rL " in out or " e   ·   ·   ·   ·  rL " in out
    assert "`5b5c+`" in out
    assert "the game is over: Red (you) resigned" in out
    expected = re.findall(r"expects? Blue ([\d.]+) %, Red ([\d.]+) %, Green ([\d.]+) %", out)
    assert len(expected) >= 4  # three winning chances each time, though UCT has no network
    for chances in expected:
        assert sum(map(float, chances)) == pytest.approx(100, abs=0.2)
