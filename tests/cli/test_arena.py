"""`zelkova arena` as a user meets it."""

import json
from pathlib import Path

import pytest

from zelkova.cli.arena import show_circles
from zelkova.cli.figures import Figures
from zelkova.cli.main import main
from zelkova.evaluation.elo import Pairing


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(["arena", *arguments])
    return int(left.value.code or 0)


def test_two_players(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = tmp_path / "figures.json"
    arguments = ["uct:60", "random", "--game", "tic_tac_toe", "--games", "21", "--json", str(figures)]
    assert run(*arguments) == 0
    shown = capsys.readouterr().out
    assert "uct:60 against random: 22 games" in shown
    assert "95 %" in shown
    score, elo = json.loads(figures.read_text())
    assert (score["name"], elo["name"]) == ("arena/score", "arena/elo")
    assert 0.7 < score["value"] <= 1.0
    assert 0 < elo["value"] < 2000
    assert {key: score["params"][key] for key in ("a", "b", "games")} == {
        "a": "uct:60",
        "b": "random",
        "games": 22,
    }


def test_round_robin_for_three(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = tmp_path / "figures.json"
    arguments = [
        "uct:100",
        "uct:10",
        "random",
        "--game",
        "connect_four_3p",
        "--games",
        "12",
        "--json",
        str(figures),
    ]
    assert run(*arguments) == 0
    shown = capsys.readouterr().out
    assert "equals score 33.3%" in shown
    assert "random is 0" in shown
    rows = [line.split() for line in shown.splitlines() if line[:3] in (" 1 ", " 2 ", " 3 ")]
    assert [row[1:3] for row in rows] == [["uct:100", "."], ["uct:10", rows[1][2]], ["random", rows[2][2]]]
    for i, j in ((0, 1), (0, 2), (1, 2)):  # one of the row, two of the column: the shares add up to 1
        assert float(rows[i][2 + j]) + 2 * float(rows[j][2 + i]) == pytest.approx(100.0, abs=0.2)
    assert "one of the upper right sat against 2 of the other; equals score 33.3" in shown
    assert "won by seat, whoever sat there: " in shown
    names = [record["name"] for record in json.loads(figures.read_text())]
    assert names.count("arena/score") == 3
    assert names.count("arena/rating") == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("uct:10", "random"), "--game"),
        (("random", "--game", "tic_tac_toe"), "two or more"),
        (("uct:1x", "random", "--game", "tic_tac_toe"), "uct:N"),
        (("rnadom", "uct:1", "--game", "tic_tac_toe"), "did you mean `random`"),
        (("random", "uct:1", "--game", "tic_tac_to"), "did you mean `tic_tac_toe`"),
        (("random", "paranoid:0", "--game", "tic_tac_toe"), "such as paranoid:6"),
        (("random", "alphabeta:3", "--game", "connect_four_3p"), "alphabeta takes two"),
        (("random", "random", "uct:1", "--game", "tic_tac_toe"), "twice"),
    ],
)
def test_what_can_not_be_played_is_one_message(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""
    assert "Traceback" not in captured.err


def test_minimax_says_when_a_game_is_too_large(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("random", "minimax", "--game", "connect_four", "--games", "2") == 2
    assert "too many to play out" in capsys.readouterr().err


def test_a_circle_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["old", "middle", "new"]
    beats = [
        Pairing(one, other, 230.0, 400) for one, other in zip(names, [*names[1:], names[0]], strict=True)
    ]
    figures = Figures(None)
    show_circles(beats, names, figures)
    assert (
        "circle: old beats middle beats new beats old, each with 95 % confidence" in capsys.readouterr().out
    )
    share, circles = figures.records
    assert share["value"] == pytest.approx(1.0)
    assert circles["value"] == 1.0
    assert circles["params"] == {"players": [("old", "middle", "new")]}
    show_circles([*beats[:2], Pairing("old", "new", 300.0, 400)], names, figures)
    assert "circle:" not in capsys.readouterr().out
