"""What a set of games tells, against games whose figures are known by hand."""

import dataclasses
import types

import numpy as np
import pytest

from zelkova import games
from zelkova.errors import GameError
from zelkova.evaluation.analysis import study
from zelkova.evaluation.analysis.judging import count_unknown, fill_chances
from zelkova.evaluation.analysis.leads import measure_leads
from zelkova.evaluation.analysis.outcomes import count_lengths, count_openings, count_results
from zelkova.games.played import PlayedGame, make_played, replay_moves
from zelkova.games.statistic import Cell, Mean, Share, Statistic

GAME = games.load("tic_tac_toe")

FIRST_WINS = "b2 a1 b1 a2 b3"  # 5 moves
SECOND_WINS = "a1 b2 a2 b1 c1 b3"  # 6 moves
DRAW = "a1 b2 c3 b1 b3 a3 c1 c2 a2"  # 9 moves


def play(moves: str, number: int = 0) -> PlayedGame:
    return replay_moves(GAME.position(), moves.split(), f"game {number}")


GAMES = [play(FIRST_WINS), play(FIRST_WINS), play(SECOND_WINS), play(DRAW), play("b2 a1")]


def share(cell: Cell) -> tuple[float, int]:
    assert isinstance(cell, Share)
    return cell.hits, cell.count


def row(statistic: Statistic, *names: str) -> tuple[Cell, ...]:
    return next(row for row in statistic.rows if row[: len(names)] == names)


def test_results_by_seat() -> None:
    found = count_results(GAME, GAMES)
    first, second = row(found, "player 1"), row(found, "player 2")
    assert [share(cell) for cell in first[2:]] == [(2.0, 4), (1.0, 4)]
    assert [share(cell) for cell in second[2:]] == [(1.0, 4), (1.0, 4)]
    assert found.notes[0] == "1 of 5 games have no end and are left out"
    assert "chi-square 0.33 against equal shares, 1 degrees of freedom" in found.notes[1]
    assert "56 % of such sets" in found.notes[1]  # erfc(sqrt(1 / 6)) = 0.5637


def test_lengths() -> None:
    length, lengths = count_lengths(GAMES)
    assert [row(length, name)[1] for name in ("shortest", "median", "longest")] == [5.0, 5.5, 9.0]
    mean = row(length, "mean")[1]
    assert isinstance(mean, Mean)
    assert mean.value == 6.25
    assert [(name, count) for name, _, count in lengths.rows] == [
        ("5", 2),
        ("6", 1),
        ("7", 0),
        ("8", 0),
        ("9", 1),
    ]


def test_openings_by_seat() -> None:
    found = count_openings(GAME, GAMES)
    assert row(found, "player 1", "b2")[2] == 3
    assert share(row(found, "player 1", "b2")[3]) == (3.0, 5)
    assert share(row(found, "player 1", "b2")[4]) == (2.0, 2)  # the third has no end
    assert share(row(found, "player 1", "a1")[4]) == (0.5, 2)  # lost, and half a draw
    assert share(row(found, "player 2", "b2")[4]) == (1.5, 2)


def test_openings_leave_out_drawn_moves_and_other_beginnings() -> None:
    whole = play(FIRST_WINS)
    steps = whole.num_steps
    drawn = dataclasses.replace(whole, chosen=np.arange(steps) > 0)
    late = make_played(GAME, "late", whole.states[2:], whole.actions[2:], whole.returns)
    found = count_openings(GAME, [drawn, late])
    assert found.rows == ()
    assert found.notes == ("1 of 2 games begin elsewhere",)
    mixed = count_results(GAME, [drawn, whole, play(SECOND_WINS)])
    assert share(row(mixed, "player 1")[-1]) == (1.0, 2)  # of the two without drawn moves


def test_leads_and_chances_against_results() -> None:
    chances = []
    for played, first in zip(GAMES[:4], (0.9, 0.6, 0.9, 0.5), strict=True):
        known = np.full_like(played.chances, np.nan)
        known[0] = first, 1 - first  # said once a game
        chances.append(known)
    lead, chance = measure_leads("test", "a test", GAMES[:4], chances)
    assert lead.key == "lead_test"
    assert share(row(lead, "80 to 90 %")[3]) == (1.0, 2)  # led twice by 0.8, won once
    assert row(lead, "80 to 90 %")[1] == pytest.approx(0.8)
    assert share(row(lead, "20 to 30 %")[3]) == (1.0, 1)  # 0.6 - 0.4, whatever its last bit
    assert share(row(lead, "0 to 10 %")[3]) == (0.5, 1)  # equal, and drawn
    assert share(row(chance, "90 to 100 %")[3]) == (1.0, 2)
    assert share(row(chance, "50 to 60 %")[3]) == (1.0, 2)  # both of the draw came to a half
    assert measure_leads("test", "a test", GAMES[4:], chances[:1]) == []


class Halves:
    """Answers every position with 0 for the mover and 0.5 for the other, eight at a time."""

    num_trees = 8

    def __init__(self) -> None:
        self.game, self.asked = GAME, 0

    def place(self, states: "np.ndarray[tuple[int, int], np.dtype[np.uint64]]") -> None:
        assert states.shape == (8, GAME.words)
        self.asked += 1

    def root(self) -> "Halves":
        self.value = np.tile(np.array([0.0, 0.5], np.float32), (8, 1))
        return self


def test_an_agent_says_what_the_records_do_not() -> None:
    known = play(FIRST_WINS)
    known.chances[0] = 0.25, 0.75
    assert count_unknown([known, play(DRAW)]) == (13, 14)
    model = Halves()
    told: list[int] = []
    filled = fill_chances(model, [known, play(DRAW)], told.append)  # type: ignore[arg-type]
    assert told == [8, 13]
    assert filled[0].chances[0].tolist() == [0.25, 0.75]
    assert filled[0].chances[1].tolist() == [0.5, 0.75]  # 0 and 0.5 of -1..1
    assert filled[0].chances[-1].tolist() == [1.0, 0.0]
    assert np.isnan(known.chances[1]).all()
    assert count_unknown(filled) == (0, 14)


def test_the_whole_study_has_every_general_table() -> None:
    keys = [statistic.key for statistic in study.study_games(GAME, GAMES, "nobody")]
    assert keys == ["results", "length", "lengths", "openings"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([1], "it gives int in its list; allowed: Statistic"),
        ([Statistic("own", "Own", "", ("a", "b"), ((1,),))], "a row of `own` has 1 cells; allowed: 2"),
        (None, "NoneType"),
    ],
)
def test_what_a_users_study_gives_is_checked(
    given: object, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = types.SimpleNamespace(study=lambda game, games: given)
    monkeypatch.setattr(study, "beside", lambda game, name: own)
    with pytest.raises(GameError, match=said):
        study.study_games(GAME, GAMES, "nobody")
