"""Positions, moves and records that are refused, each with the field; and records that are read."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from zelkova import games
from zelkova.errors import ConfigError, NotationError
from zelkova.games.shogi3.position import position_to_text, text_to_position
from zelkova.games.shogi3.record import read_record, replay, write_record

BARE = "2rK6/9/9/9/8gK/9/9/9/2bK6"
GAME = games.load("shogi3")

REFUSED = [
    (f"{BARE} b -/-/- - 0", "fields board turn hands eliminated ply rule"),
    (f"{BARE} b -/-/- - 0 own more", "given: 7"),
    ("2rX6/9/9/9/8gK/9/9/9/2bK6 b -/-/- - 0 own", "field board .* `rX` in rank a is unknown"),
    ("2yK6/9/9/9/8gK/9/9/9/2bK6 b -/-/- - 0 own", "field board .* in rank a is unknown"),
    ("2rK6/9/9/9/8gK/9/9/9/2b6 b -/-/- - 0 own", "field board .* rank i is unknown"),
    ("2rK06/9/9/9/8gK/9/9/9/2bK6 b -/-/- - 0 own", "field board .* `0` in rank a"),
    ("2rK5/9/9/9/8gK/9/9/9/2bK6 b -/-/- - 0 own", "field board .* rank a has 8"),
    ("2rK6/9/9/99/8gK/9/9/9/2bK6 b -/-/- - 0 own", "field board .* rank d has 18"),
    ("2rK6/9/9/9/8gK/9/9/2bK6 b -/-/- - 0 own", "field board .* nine ranks .* these are 8"),
    (
        "2rK6/9/9/9/8gK/4b+G4/9/9/2bK6 b -/-/- - 0 own",
        "field board .* `b\\+G` in rank f .* can't be promoted",
    ),
    ("2rK6/9/9/9/8gK/9/9/9/2b+K6 b -/-/- - 0 own", "field board .* `b\\+K` in rank i .* can't be promoted"),
    ("9/9/9/9/8gK/9/9/9/2bK6 b -/-/- - 0 own", "field board .* Red is alive and has one king; there are 0"),
    ("2rK1rK4/9/9/9/8gK/9/9/9/2bK6 b -/-/- - 0 own", "Red is alive and has one king; there are 2"),
    (f"{BARE} b -/-/- r 0 own", "field board .* Red is eliminated and has no king; there are 1"),
    ("9/9/9/9/8gK/9/9/9/2bK6 r -/-/- r 0 own", "field turn is `r`.* a living seat"),
    (f"{BARE} w -/-/- - 0 own", "field turn is `w`"),
    (f"{BARE} br -/-/- - 0 own", "field turn is `br`"),
    ("9/9/9/9/9/9/9/9/9 b -/-/- brg 0 own", "field eliminated is `brg`.* one living seat"),
    (f"{BARE} b -/-/- x 0 own", "field eliminated is `x`"),
    ("9/9/9/9/9/9/9/9/2bK6 b -/-/- gr 0 own", "field eliminated is `gr`.* in this order"),
    (f"{BARE} b -/- - 0 own", "field hands .* these are 2"),
    (f"{BARE} b K/-/- - 0 own", "field hands is `K`"),
    (f"{BARE} b -/2/- - 0 own", "field hands is `2`"),
    (f"{BARE} b -/PP/- - 0 own", "field hands is `PP`.* once"),
    (f"{BARE} b -/0P/- - 0 own", "field hands is `0P`"),
    (f"{BARE} b //- - 0 own", "field hands is ``"),
    (f"{BARE} b 9P/4P/3P - 0 own", "field hands .* 15 of P in all; 0 on the board, 16 in hand"),
    ("2rK6/9/9/4b+R4/8gK/9/9/9/2bK6 b R/R/R - 0 own", "field hands .* 3 of R in all; 1 on the board, 3"),
    ("2rK6/9/bLbLrL6/5g+L3/8gK/9/9/9/2bK6 b -/-/- - 0 own", "field board .* 3 of L in all; 4 on the board"),
    ("bPrK7/9/9/9/8gK/9/9/9/2bK6 b -/-/- - 0 own", "field board .* Blue's P on 9a never could"),
    ("2rK6/9/9/9/8gK/9/9/9/rL1bK6 b -/-/- - 0 own", "Red's L on 9i never could"),
    ("2rK6/1bN7/9/9/8gK/9/9/9/2bK6 b -/-/- - 0 own", "Blue's N on 8b never could"),
    ("2rK6/9/9/1gN7/8gK/9/9/9/2bK6 b -/-/- - 0 own", "Green's N on 8d never could"),
    ("2rK6/9/9/gP8/8gK/9/9/9/2bK6 b -/-/- - 0 own", "Green's P on 9d never could"),
    (
        "2rK6/9/9/4bP4/8gK/9/4bP4/9/2bK6 b -/-/- - 0 own",
        "field board .* one unpromoted pawn a line; Blue's P on 5g",
    ),
    ("2rK6/9/9/4gP1gP2/8gK/9/9/9/2bK6 b -/-/- - 0 own", "one unpromoted pawn a line; Green's P on 3d has 5d"),
    (f"{BARE} b -/-/- - -1 own", "field ply is `-1`"),
    (f"{BARE} b -/-/- - 1.5 own", "field ply is `1.5`"),
    (f"{BARE} b -/-/- - ² own", "field ply is `²`"),
    (f"{BARE} b -/-/- - 9999999999 own", "field ply is `9999999999`.* to 2147483647"),
    (f"{BARE} b -/-/- - 0 keep", "field rule is `keep`.* own, share, vanish"),
    (f"{BARE} b -/-/- - 0 share", "field rule is `share`.* own, as this game plays"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_a_position_is_refused_by_its_field(text: str, message: str) -> None:
    with pytest.raises(NotationError, match=message):
        text_to_position(GAME, text)


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (f"{BARE} b 2PNR/LSG/- - 0 own", f"{BARE} b RN2P/GSL/- - 0 own"),
        (
            "2rK6/9/9/4gP4/8gK/4gP4/9/9/2bK6 g -/-/- - 5 own",
            "2rK6/9/9/4gP4/8gK/4gP4/9/9/2bK6 g -/-/- - 5 own",
        ),
        ("9/9/9/9/9/9/9/9/2bK6 b -/-/- rg 5 own", "9/9/9/9/9/9/9/9/2bK6 b -/-/- rg 5 own"),
        (f"{BARE} g 12P/-/- - 1000 own", f"{BARE} g 12P/-/- - 1000 own"),
    ],
)
def test_a_position_is_read_and_written_in_one_form(given: str, written: str) -> None:
    state = text_to_position(GAME, given)
    assert position_to_text(GAME, state) == written
    assert (text_to_position(GAME, written) == state).all()


def test_a_loaded_position_may_be_over() -> None:
    lone = text_to_position(GAME, "9/9/9/9/9/9/9/9/2bK6 b -/-/- rg 5 own")
    assert GAME.view_states(lone)[0]["winner"] == 0
    late = text_to_position(GAME, f"{BARE} b -/-/P - 499 own")
    assert GAME.view_states(late)[0]["winner"] == 2


@pytest.mark.parametrize(
    ("move", "message"),
    [
        ("7g", "is no move; allowed: 7g7f"),
        ("0g7f", "is no move"),
        ("7g7f*", "is no move"),
        ("K*5e", "is no move"),
        ("7g5f", "Blue's P on 7g does not move like that"),
        ("7i7f", "Blue's K on 7i does not move like that"),
        ("7f7e", "7f is empty"),
        ("9h4h", "the piece on 5h is in the way of Blue's R on 9h"),
        ("3g3c", "3g has Green's P, and Blue is to move; allowed: a legal move of Blue's"),
    ],
)
def test_text_that_is_no_move(move: str, message: str) -> None:
    with pytest.raises(NotationError, match=message):
        GAME.position().play(move)


@pytest.mark.parametrize(
    ("field", "value"), [("capture", "keep"), ("max_plies", 0), ("max_plies", 2_000_000)]
)
def test_options_are_refused(field: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"option `{field}` is .*; allowed: "):
        games.load("shogi3", {field: value})


START = "rK8/2bK6/9/9/3rR4gK/9/9/9/9 b -/-/- - 0 own"


def record(**changes: Any) -> str:
    given: dict[str, Any] = {"game": "shogi3", "capture": "own", "start": START, "moves": ["7b6a", "9a9b"]}
    given |= {"result": None, **changes}
    return json.dumps({key: value for key, value in given.items() if value != "left out"})


WON = {"winner": "b", "how": "entry", "plies": 4}
WINNING = ["7b6a", "9a9b", "1e1d", "6a5a"]


def test_a_record_is_read_played_and_written() -> None:
    values = [[0.5, 0.25, 0.25], None, [1, 0, 0], None]
    text = record(moves=WINNING, result=WON, values=values, comments=["walks in", None, None, "진입"])
    found = read_record(GAME, text)
    assert len(found.states) == 5
    assert found.values[2] == (1.0, 0.0, 0.0)
    assert found.comments[3] == "진입"
    assert json.loads(write_record(GAME, found)) == json.loads(text)
    gone = read_record(GAME, record(start=None, moves=["resign:g", "7g7f", "resign:r"], result={
        "winner": "b", "how": "last", "plies": 1}))  # fmt: skip
    assert read_record(GAME, write_record(GAME, gone)).moves == gone.moves


def test_a_record_of_a_short_game_carries_its_limit() -> None:
    short = games.load("shogi3", {"max_plies": 2})
    text = write_record(short, replay(short, ["7g7f", "7c7d"]))
    assert json.loads(text)["max_plies"] == 2
    assert json.loads(text)["result"] == {"winner": "b", "how": "limit", "plies": 2}
    assert read_record(short, text).moves == ("7g7f", "7c7d")
    with pytest.raises(NotationError, match="field max_plies of the record is `2`; allowed: 499"):
        read_record(GAME, text)


WRONG = [
    ("{", "the record is no JSON"),
    ("[" * 100_000, "the record is no JSON"),
    ("[]", "the record is a list; allowed: an object"),
    (record(result="left out"), "lacks the field `result`"),
    (record(mover="b"), "unknown field `mover`.*did you mean `moves`"),
    (record(game="shogi"), "field game of the record is `shogi`; allowed: shogi3"),
    (record(capture="share"), "field capture of the record is `share`; allowed: own, as this game is played"),
    (record(capture="keep"), "field capture of the record is `keep`; allowed: own, share, vanish"),
    (record(capture=["own"]), "field capture of the record"),
    (record(max_plies=True), "field max_plies of the record is `True`"),
    (record(start=7), "field start of the record is `7`"),
    (record(start="9/9 b"), "field start: a position has the fields"),
    (record(start=START.replace(" b ", " y ")), "field start: field turn is `y`"),
    (record(start=START.replace("own", "vanish")), "field start: field rule is `vanish`"),
    (record(moves="7b6a"), "field moves of the record"),
    (record(moves=["7b6a", 5]), "field moves of the record"),
    (record(moves=["7b6a", "hello"]), "move 2 of the record .after ply 1.: `hello` is no move"),
    (
        record(moves=["7b6a", "6e6h", "1e1f", "6a6b+"]),
        "move 4 of the record .after ply 3.*not legal for Blue",
    ),
    (record(moves=["7b6a", "resign:x"]), "move 2 .*no resignation; allowed: resign:b"),
    (
        record(moves=["resign:g", "7b6a", "resign:g"]),
        "move 3 .*Green can't resign: that player is eliminated",
    ),
    (record(moves=[*WINNING, "9b9c"], result=WON), "move 5 .*comes after the end"),
    (record(moves=WINNING), 'field result of the record is `null`.*after ply 4.*"how": "entry"'),
    (record(moves=WINNING, result={**WON, "winner": "r"}), "field result .*after ply 4"),
    (record(moves=WINNING, result={**WON, "how": "last"}), "field result .*after ply 4"),
    (record(moves=WINNING, result={**WON, "plies": 5}), "field result .*after ply 4"),
    (record(moves=WINNING, result={"winner": "b"}), "field result lacks the field `how`"),
    (record(moves=WINNING, result={**WON, "who": "b"}), "field result has the unknown field `who`"),
    (record(moves=WINNING, result="b"), "field result of the record is `b`"),
    (record(result=WON), "field result .*after ply 2, a game that goes on: null"),
    (record(values=[[1, 0, 0]]), "field values of the record .* a list of 2"),
    (record(values=[[1, 0], None]), "field values .*three chances"),
    (record(values=[[1, 1, 0], None]), "field values .*three chances"),
    (record(values=[["a", 1, 0], None]), "field values .*three chances"),
    (record(comments=[1, None]), "field comments .*null or text"),
]


@pytest.mark.parametrize(("text", "message"), WRONG, ids=range(len(WRONG)))
def test_a_record_is_refused_by_field_or_ply(text: str, message: str) -> None:
    with pytest.raises(NotationError, match=message):
        read_record(GAME, text)


def test_the_code_of_the_page_runs() -> None:
    text = (Path(__file__).parents[3] / "docs" / "three-player-shogi.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
        exec(compile(block, "docs/three-player-shogi.md", "exec"), {})
