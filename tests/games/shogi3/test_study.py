"""What games of three-player shogi tell: every figure of hand-made records is known by hand."""

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from zelkova import games
from zelkova.games.played import PlayedGame
from zelkova.games.shogi3.offers import Offer, find_offers
from zelkova.games.shogi3.record import read_options, read_played
from zelkova.games.shogi3.study import study
from zelkova.games.shogi3.survey import view_game
from zelkova.games.statistic import Cell, Mean, Share, Statistic

GAME = games.load("shogi3")

# Blue's rook steps before Red's pawn; Green's rook follows with 9g, where Blue's king takes it.
OFFERING = "2rK6/9/9/4rP3gK/9/9/bP6gR1/1bK2bR4/9 b -/-/- - 0 own"
OFFERED = ["5h5e", "5d5e", "2g9g", "8h9g", "7a7b"]
VALUES = [[0.5, 0.25, 0.25], [0.4, 0.3, 0.3], [0.2, 0.5, 0.3], [0.1, 0.5, 0.4], [0.3, 0.5, 0.2]]


def played(start: str | None, moves: list[str], result: Any = None, values: Any = None) -> PlayedGame:
    given = {"game": "shogi3", "capture": "own", "start": start, "moves": moves, "result": result}
    if values is not None:
        given["values"] = values
    return read_played(GAME, json.dumps(given), "by hand")


def won(winner: str, how: str, plies: int) -> dict[str, Any]:
    return {"winner": winner, "how": how, "plies": plies}


BLUE_TAKES_RED = played(
    "2rK6/9/9/9/2bR5gK/9/9/9/2bK6 b -/-/- - 0 own", ["7e7a+", "resign:g"], won("b", "last", 1)
)
GREEN_TAKES_RED = played(
    "2rK6/9/9/9/2gR5gK/9/9/9/2bK6 g -/-/- - 0 own", ["7e7a", "resign:g"], won("b", "last", 1)
)
GREEN_RESIGNS = played(None, ["resign:g", "7g7f", "resign:r"], won("b", "last", 1))
BLUE_ENTERS = played(
    "rK8/2bK6/9/9/3rR4gK/9/9/9/9 b -/-/- - 0 own", ["7b6a", "9a9b", "1e1d", "6a5a"], won("b", "entry", 4)
)


def table(statistics: Sequence[Statistic], key: str) -> dict[Any, tuple[Cell, ...]]:
    """Give a table's rows by the text or number that they begin with."""
    statistic = next(one for one in statistics if one.key == key)
    found: dict[Any, tuple[Cell, ...]] = {}
    for row in statistic.rows:
        texts = tuple(cell for cell in row[:2] if isinstance(cell, str))
        found[texts if len(texts) > 1 else texts[0] if texts else row[0]] = row
    return found


def share(cell: Cell) -> tuple[float, int]:
    assert isinstance(cell, Share)
    return cell.hits, cell.count


def mean(cell: Cell) -> float:
    assert isinstance(cell, Mean)
    return cell.value


def test_offers_are_found_with_their_taker_and_who_follows() -> None:
    game = played(OFFERING, OFFERED)
    assert find_offers(0, game, view_game(GAME, game)) == [
        Offer(0, 0, giver=0, worth=900, how="moved", alive=3, taker=1, followed=True),
        Offer(0, 2, giver=2, worth=900, how="moved", alive=3, taker=0, followed=False),
    ]


def test_a_piece_is_offered_once_when_its_guard_leaves() -> None:
    guarded = played(OFFERING.replace("/9/9/bP", "/9/4bP4/bP"), ["8h7h"])
    found = find_offers(0, guarded, view_game(GAME, guarded))
    assert [(offer.worth, offer.how) for offer in found] == [(100, "left")]  # 9g, which the king guarded
    again = played("2rK6/9/9/4rP3gK/4bG4/9/9/2bK6/9 b -/-/- - 0 own", ["7h7g", "7a8a", "1d1c", "7g7h"])
    seen = find_offers(0, again, view_game(GAME, again))
    assert [(offer.step, offer.worth, offer.how, offer.taker) for offer in seen] == [
        (0, 500, "left", None),
        (1, 100, "left", None),  # Red's pawn, which the gold attacks
    ]


def test_what_stood_so_after_a_drawn_move_is_no_new_offer() -> None:
    start = "2rK6/9/9/4rP3gK/4bG4/9/9/2bK6/9 b -/-/- - 0 own"
    game = played(start, ["7h7g", "7a8a", "1d1c", "7g7h"])
    late = dataclasses.replace(game, chosen=np.arange(4) > 0)
    assert [offer.step for offer in find_offers(0, late, view_game(GAME, late))] == [1]


def test_of_two_the_one_who_takes_is_not_told_by_seat() -> None:
    start = OFFERING.replace("2rK6", "9").replace("b -/-/- - 0", "b -/-/- r 0")
    game = played(start, ["5h5e", "2g5g", "8h8g", "5g5e"])
    row = table(study(GAME, [game]), "offers")["all", "all"]
    assert row[2] > 0  # type: ignore[operator]
    assert row[5] is None


def test_what_was_taken_pays_for_what_is_offered() -> None:
    start = "2rK6/9/4rP4/4rR3gK/9/9/9/1bK2bR4/9 b -/-/- - 0 own"
    game = played(start, ["5h5d"])  # a rook for a rook
    assert find_offers(0, game, view_game(GAME, game)) == []


def test_a_dropped_piece_is_told_from_a_moved_one() -> None:
    game = played("2rK6/9/9/4rP3gK/9/9/9/1bK7/9 b S/-/- - 0 own", ["S*5e"])
    assert [offer.how for offer in find_offers(0, game, view_game(GAME, game))] == ["dropped"]


def test_offers_are_counted() -> None:
    row = table(study(GAME, [played(OFFERING, OFFERED)]), "offers")["all", "all"]
    assert row[2:4] == (2, 40.0)
    assert [share(cell) for cell in row[4:]] == [(2.0, 2), (2.0, 2), (1.0, 2)]
    note = next(one for one in study(GAME, [played(OFFERING, OFFERED)]) if one.key == "offers").notes[0]
    assert "in 30.0 % of cases" in note  # three captures in five moves, two opponents each


def test_the_givers_chance_is_followed() -> None:
    rows = table(study(GAME, [played(OFFERING, OFFERED, values=VALUES)]), "offer_chance")
    assert mean(rows[1][1]) == pytest.approx(0.0, abs=1e-4)  # 40 - 50 for Blue, 40 - 30 for Green
    assert mean(rows[2][1]) == pytest.approx(-20.0)  # 20 - 50 and 20 - 30
    assert mean(rows[3][1]) == pytest.approx(-40.0)  # 10 - 50; Green's is not known
    assert mean(rows[1][4]) == pytest.approx(20.0)  # Red 50 - 30, Blue 30 - 10
    assert rows[1][3] is None  # both offers were taken
    assert rows[6][1] is None


def test_captures_are_counted_by_where_the_victim_sits() -> None:
    rows = table(study(GAME, [played(OFFERING, OFFERED)]), "captures")
    assert share(rows["anybody", "next"][3]) == (1.0, 3)
    assert mean(rows["anybody", "next"][4]) == 100.0  # Green took a pawn from Blue
    assert share(rows["anybody", "before"][3]) == (2.0, 3)
    assert mean(rows["anybody", "before"][4]) == 900.0  # Red took a rook from Blue, Blue one from Green
    assert share(rows["Red", "before: Blue"][3]) == (1.0, 1)
    assert rows["Blue", "next: Red"][2] == 0
    kings = table(study(GAME, [BLUE_TAKES_RED]), "captures")["Blue", "next: Red"]
    assert (kings[2], kings[4], kings[5]) == (1, None, 1)


def test_first_falls_and_endings() -> None:
    found = study(GAME, [BLUE_TAKES_RED, GREEN_TAKES_RED, GREEN_RESIGNS, BLUE_ENTERS])
    falls = table(found, "first_fall")
    after, before = (falls[f"taken by who sits {side} the victim"] for side in ("next after", "before"))
    assert [share(cell) for cell in after[2:]] == [(1.0, 4), (0.0, 1)]  # Green took Red's king and lost
    assert [share(cell) for cell in before[2:]] == [(1.0, 4), (1.0, 1)]  # Blue took Red's king and won
    assert share(falls["resigned"][2]) == share(falls["nobody fell"][2]) == (1.0, 4)
    assert [share(falls[f"{name} fell first"][2]) for name in ("Blue", "Red", "Green")] == [
        (0.0, 3),
        (2.0, 3),
        (1.0, 3),
    ]
    endings = table(found, "endings")
    assert share(endings["last: one is left"][2]) == (3.0, 4)
    assert share(endings["entry"][2]) == (1.0, 4)


def test_material_and_hands_against_the_result() -> None:
    found = study(GAME, [BLUE_TAKES_RED])  # Blue's rook, 900, stands alone; one move was chosen
    material = table(found, "material")
    assert share(material["500 to 1000"][3]) == (1.0, 1)
    assert share(material["-1000 to -500"][3]) == (0.0, 2)
    assert material["500 to 1000"][4] is None  # two were never left
    assert mean_lead(material["500 to 1000"]) == 900.0
    assert share(table(found, "hand")["0"][3]) == (1.0, 3)


def mean_lead(row: tuple[Cell, ...]) -> float:
    assert isinstance(row[1], float)
    return row[1]


def test_a_record_tells_its_options() -> None:
    text: dict[str, Any] = {"game": "shogi3", "capture": "share", "start": None, "moves": [], "result": None}
    assert read_options(json.dumps(text)) == {"capture": "share", "max_plies": 499}
    with pytest.raises(ValueError, match="field max_plies of the record is `0`; allowed: a whole number"):
        read_options(json.dumps({**text, "max_plies": 0}))


def test_what_a_record_becomes() -> None:
    game = played(OFFERING, OFFERED, values=[VALUES[0], None, *VALUES[2:]])
    assert game.num_moves == game.num_steps == 5
    assert game.to_play.tolist() == [0, 1, 2, 0, 1]
    assert game.chances[0] == pytest.approx([0.5, 0.25, 0.25])
    assert np.isnan(game.chances[[1, 5]]).all()
    assert GREEN_RESIGNS.num_moves == 1
    assert GREEN_RESIGNS.actions.tolist()[0] == -1
    assert BLUE_ENTERS.wins.tolist() == [1.0, 0.0, 0.0]
