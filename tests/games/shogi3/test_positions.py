"""The fifty worked positions of the rules' page; the numbers are the page's."""

import pytest

from zelkova import games
from zelkova.errors import IllegalActionError
from zelkova.games.game import Position
from zelkova.games.shogi3.position import (
    hand_to_text,
    material,
    places,
    position_to_text,
    resign,
    text_to_position,
)
from zelkova.games.shogi3.record import replay, result_of

BOARD = "rSrGrKrGrS4/rB3rR4/rPrPrPrPrP1gPgRgS/6gP1gG/6gP1gK/6gP1gG/bPbPbPbPbP1gPgBgS/bR3bB4/bSbGbKbGbS4"
BARE = "2rK6/9/9/9/8gK/9/9/9/2bK6"
ENTRY = "rK8/2bK6/9/9/8gK/9/9/9/9 b -/-/- - 0 own"


def load(text: str) -> Position:
    game = games.load("shogi3", {"capture": text.split()[-1]})
    return Position(game, text_to_position(game, text))


def moves(text: str, left: str = "") -> list[str]:
    return [move for move in load(text).legal_moves() if move.startswith(left)]


@pytest.mark.parametrize(
    ("seat", "board", "lances", "knights"), [("b", 21, 41, 34), ("r", 22, 41, 34), ("g", 24, 42, 37)]
)
def test_1_to_3_start(seat: str, board: int, lances: int, knights: int) -> None:
    found = moves(f"{BOARD} {seat} NL/NL/NL - 0 own")
    drops = [move for move in found if "*" in move]
    assert len(found) == board + lances + knights
    assert len([move for move in drops if move[0] == "L"]) == lances
    assert len([move for move in drops if move[0] == "N"]) == knights
    assert len(found) - len(drops) == board


LISTS = [
    ("7", f"{BARE} b -/-/- - 0 own", {"": "7i6h 7i6i 7i7h 7i8h 7i8i"}),
    (
        "8",
        "2rK6/9/9/9/3bNbL3gK/9/9/9/2bK6 b -/-/- - 0 own",
        {"5e": "5e5a+ 5e5b 5e5b+ 5e5c 5e5c+ 5e5d", "6e": "6e5c 6e5c+ 6e7c 6e7c+"},
    ),
    (
        "9",
        "2rK6/9/9/9/3rNrL3gK/9/9/9/2bK6 r -/-/- - 0 own",
        {"5e": "5e5f 5e5g 5e5g+ 5e5h 5e5h+ 5e5i+", "6e": "6e5g 6e5g+ 6e7g 6e7g+"},
    ),
    (
        "10",
        "2rK6/9/9/5gN3/4gL3gK/9/9/9/2bK6 g -/-/- - 0 own",
        {"5e": "5e6e 5e7e 5e7e+ 5e8e 5e8e+ 5e9e+", "4d": "4d6c 4d6e"},
    ),
    (
        "11",
        "2rK6/1gP7/9/3gS5/2gN5gK/9/9/9/2bK6 g -/-/- - 0 own",
        {"7e": "7e9d+ 7e9f+", "8b": "8b9b+", "6d": "6d5c 6d5e 6d7c 6d7c+ 6d7d 6d7d+"},
    ),
    (
        "12",
        "2rK6/9/4bSbG3/b+R6bN1/8gK/9/9/9/2bK6 b -/-/- - 0 own",
        {
            "5c": "5c4b 5c4b+ 5c4d 5c4d+ 5c5b 5c5b+ 5c6b 5c6b+ 5c6d 5c6d+",
            "4c": "4c3b 4c3c 4c4b 4c4d 4c5b",
            "2d": "2d1b+ 2d3b+",
        },
    ),
    (
        "21",
        "4rR4/9/4rP4/9/4bR3gK/9/9/9/2bK6 b -/2P/- r 0 own",
        {"5e5": "5e5c 5e5c+ 5e5d 5e5f 5e5g 5e5h 5e5i"},
    ),
]


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in LISTS], ids=[case[0] for case in LISTS])
def test_lists_of_moves(text: str, expected: dict[str, str]) -> None:
    for left, listed in expected.items():
        assert sorted(moves(text, left)) == sorted(listed.split())


COUNTS = [
    ("13", f"{BARE} b RBGSNLP/-/- - 0 own", "R78 B78 G78 S78 N61 L70 P70", 518),
    ("14", f"{BARE} g -/-/NLP - 0 own", "N60 P69", None),
    ("15", "2rK6/9/9/6b+P2/8gK/4bP4/9/9/2bK6 b P/-/- - 0 own", "P61", None),
    ("16", "2rK6/9/9/5gP3/8gK/5g+P3/9/9/2bK6 g -/-/P - 0 own", "P60", None),
    ("17", "2rK6/9/9/9/2rR5gK/9/9/9/2bK5gR b -/-/- - 0 own", "", 5),
    ("26", ENTRY, "", 8),
]


@pytest.mark.parametrize(("number", "text", "drops", "total"), COUNTS, ids=[case[0] for case in COUNTS])
def test_numbers_of_moves(number: str, text: str, drops: str, total: int | None) -> None:
    for part in drops.split():
        assert len(moves(text, f"{part[0]}*")) == int(part[1:])
    assert total is None or len(moves(text)) == total


@pytest.mark.parametrize(
    ("text", "move", "is_legal"),
    [
        ("2rK6/9/9/6b+P2/8gK/4bP4/9/9/2bK6 b P/-/- - 0 own", "P*5d", False),
        ("2rK6/9/9/6b+P2/8gK/4bP4/9/9/2bK6 b P/-/- - 0 own", "P*3e", True),
        ("2rK6/9/9/5gP3/8gK/5g+P3/9/9/2bK6 g -/-/P - 0 own", "P*7d", False),
        ("2rK6/9/9/5gP3/8gK/5g+P3/9/9/2bK6 g -/-/P - 0 own", "P*4b", True),
        ("2rK6/9/9/5gP3/8gK/5g+P3/9/9/2bK6 g -/-/P - 0 own", "P*7f", True),
        ("2rK6/9/9/9/2rR5gK/9/9/9/2bK5gR b -/-/- - 0 own", "7i7h", True),
        ("1rGrKrG5/1rS1rS5/2bG6/9/8gK/9/9/9/2bK6 b P/-/- - 0 own", "P*7b", True),
    ],
)
def test_15_to_18_single_moves(text: str, move: str, is_legal: bool) -> None:
    assert (move in moves(text)) is is_legal


PLAYED = [  # position, moves, what holds then: whose turn or who won how, hands, eliminated, ply, material
    ("4", f"{BOARD} b NL/NL/NL - 0 own", "5h3f", "turn r, hands NLP/NL/NL"),
    ("5", f"{BOARD} b NL/NL/NL - 0 share", "5h3f", "turn r, hands NL/NLP/NL"),
    ("6", f"{BOARD} b NL/NL/NL - 0 vanish", "5h3f", "turn r, hands NL/NL/NL"),
    ("17", "2rK6/9/9/9/2rR5gK/9/9/9/2bK5gR b -/-/- - 0 own", "7i7h 7e7h+", "turn g, out b"),
    ("19", "2rK6/9/9/9/2bR5gK/9/9/9/2bK6 b -/-/- - 0 own", "7e7a+", "turn g, out r, hands -/-/-"),
    ("20", "2b+R6/9/9/9/8gK/9/9/9/2bK6 g -/-/- r 1 own", "1e1d", "turn b"),
    ("21", "4rR4/9/4rP4/9/4bR3gK/9/9/9/2bK6 b -/2P/- r 0 own", "5e5c", "turn g, hands P/2P/-"),
    ("22", "4rR4/9/4rP4/9/4bR3gK/9/9/9/2bK6 b -/2P/- r 0 share", "5e5c", "hands -/2P/P"),
    ("23", "4rR4/9/4rP4/9/4bR3gK/9/9/9/2bK6 b -/2P/- r 0 vanish", "5e5c", "hands P/2P/-"),
    ("24", "9/9/7gP1/7bP1/8gK/9/9/9/2bK6 b -/-/- r 0 share", "2d2c", "hands P/-/-"),
    ("25", "9/9/9/9/7bGgK/9/9/9/2bK6 b -/-/- r 0 own", "2e1e", "won b last, turn b"),
    ("26", ENTRY, "7b6a", "won b entry"),
    ("26b", ENTRY, "7b8a", "turn r"),
    ("27", "rK8/2bK6/9/9/3rR4gK/9/9/9/9 b -/-/- - 0 own", "7b6a", "turn r"),
    ("27b", "rK8/2bK6/9/9/3rR4gK/9/9/9/9 b -/-/- - 0 own", "7b6a 9a9b 1e1d 6a5a", "won b entry"),
    ("27c", "rK8/2bK6/9/9/3rR4gK/9/9/9/9 b -/-/- - 0 own", "7b6a 6e5e 1e1d 6a7b", "turn r"),
    ("28", "rK8/2bK6/9/9/2rR5gK/9/9/9/9 b -/-/- - 0 own", "7b7a", "turn r"),
    ("28b", "rK8/2bK6/9/9/2rR5gK/9/9/9/9 b -/-/- - 0 own", "7b6a", "won b entry"),
    ("29", "9/2bK6/9/9/3rR4gK/9/9/9/9 b -/-/- r 0 own", "7b6a", "won b entry"),
    ("30", "rK2rS5/2bK6/9/9/8gK/9/9/9/9 b -/-/- - 0 own", "7b6a", "won b entry, hands S/-/-"),
    ("31", "1rK7/2bK6/9/9/8gK/9/9/9/9 b -/-/- - 0 own", "7b8a", "turn g, out r"),
    ("31b", "1rK7/2bK6/9/9/8gK/9/9/9/9 b -/-/- - 0 own", "7b8a 1e1d 8a9a", "won b entry"),
    ("32", "2rK6/9/9/1gK7/9/9/9/9/2bK6 g -/-/- - 0 own", "8d9d", "won g entry"),
    ("32b", "2rK6/9/9/1gK7/9/9/9/9/2bK6 g -/-/- - 0 own", "8d8c", "turn b"),
    ("33", "9/9/9/9/8gK/9/9/5rK3/2bK6 r -/-/- - 0 own", "4h5i", "won r entry"),
    ("34", "2rK6/9/9/9/1gR6gK/9/4rR4/9/1bK7 r -/-/- - 0 own", "5g5i 8e8i", "turn r, out b"),
    ("35", "9/9/9/9/7bKgK/9/9/9/9 b -/-/- r 0 own", "2e1e", "won b last"),
    ("36", "2rK6/9/9/4rP4/4bP3gK/9/9/9/2bK6 b -/-/- - 0 vanish", "5e5d", "hands -/-/-"),
    ("37", "2rK6/9/9/4r+P4/4bP3gK/9/9/9/2bK6 b -/-/- - 0 vanish", "5e5d", "hands P/-/-"),
    ("38", "9/9/9/4rP4/2rK1bP3gK/9/9/9/2bK6 b -/-/- - 0 vanish", "5e5d", "hands P/-/-"),
    ("39", "9/9/9/2rK1rP4/4bP3gK/9/9/9/2bK6 b -/-/- - 0 vanish", "5e5d", "hands -/-/-"),
    ("40", "2rK6/9/4gK4/4gP4/4bP4/9/9/9/2bK6 b -/-/- - 0 vanish", "5e5d", "hands P/-/-"),
    ("41", "2rK6/9/9/4rP4/4bP3gK/9/9/9/2bK6 b -/3P/- - 0 vanish", "5e5d", "hands P/3P/-"),
    ("42", "2rK6/9/9/4rP4/4bP3gK/9/9/9/2bK6 b -/2P/- - 0 vanish", "5e5d", "hands -/2P/-"),
    ("43", "2rK6/9/9/5r+R3/4bB3gK/9/9/9/2bK6 b -/-/- - 0 share", "5e4d", "hands -/-/R"),
    ("44", "2rK6/9/9/9/8gK/9/4bP4/9/2bK6 b -/-/- - 497 own", "5g5f", "turn r, ply 498"),
    (
        "44b",
        "2rK6/9/9/9/8gK/9/4bP4/9/2bK6 b -/-/- - 497 own",
        "5g5f 7a7b",
        "won b limit, ply 499, material 100/0/0, turn r",
    ),
    (
        "45",
        "2rK1rG4/9/9/9/6gL1gK/9/4bP4/9/2bK6 b G/-/- - 498 own",
        "5g5f",
        "won b limit, material 750/500/300",
    ),
    ("46", "2rK1rP4/9/9/9/6gP1gK/9/9/9/2bK6 b -/-/- - 498 own", "7i7h", "won r limit, material 0/100/100"),
    ("47", "3rRrR4/9/9/4bP4/8gK/9/9/9/2bK6 b -/-/- r 498 own", "7i7h", "won b limit"),
    ("48", f"{BARE} b -/-/- - 0 own", "7i7h 7a7b 1e1d 7h7i 7b7a 1d1e " * 2, "turn b, ply 12"),
    (
        "49",
        "bGbGbKb+Sb+Sb+Sb+Sb+Nb+N/bPbPbPbPbPbPbPbPbP/9/4rK4/9/8gK/9/9/9 b -/-/- - 40 own",
        "",
        "turn r, ply 40",
    ),
    ("50", "2rK6/9/4rP4/9/8gK/9/4bP4/9/2bK6 b -/-/- - 0 own", "resign:g", "turn b, ply 0, out g"),
    ("50b", "2rK6/9/4rP4/9/8gK/9/4bP4/9/2bK6 b -/-/- - 0 own", "resign:g 5g5f", "turn r"),
    (
        "50c",
        "2rK6/9/4rP4/9/8gK/9/4bP4/9/2bK6 b -/-/- - 0 own",
        "resign:g 5g5f resign:r",
        "won b last, out rg",
    ),
]


@pytest.mark.parametrize(("text", "played", "expected"), [c[1:] for c in PLAYED], ids=[c[0] for c in PLAYED])
def test_what_follows_from_moves(text: str, played: str, expected: str) -> None:
    game = games.load("shogi3", {"capture": text.split()[-1]})
    state = replay(game, played.split(), text).states[-1]
    record = game.view_states(state)[0]
    _, turn, hands, out, ply, _ = position_to_text(game, state).split()
    won = result_of(game, state)
    for part in expected.split(", "):
        what, value = part.split(" ", 1)
        if what == "won":
            assert won is not None
            assert f"{won['winner']} {won['how']}" == value
        elif what == "material":
            assert "/".join(map(str, material(game, state))) == value
        else:
            assert {"turn": turn, "hands": hands, "out": out, "ply": ply}[what] == value
        assert what != "turn" or "won" in expected or won is None
    assert hands == "/".join(hand_to_text(record["hands"][seat]) for seat in range(3))


NUMBERS = [
    (f"{BOARD} b NL/NL/NL - 0 own", "7g7f 47, 5h3f 132, L*1i 1781, N*5e 1822"),
    (LISTS[1][1], "5e5a+ 814, 6e5c+ 1561, 6e7c 668"),
    (LISTS[2][1], "6e5g 706, 6e7g+ 1595, 5e5i+ 1210"),
    (LISTS[3][1], "5e9e+ 1332, 4d6c 750, 4d6e 687"),
]


@pytest.mark.parametrize(("text", "listed"), NUMBERS)
def test_action_numbers(text: str, listed: str) -> None:
    position = load(text)
    for part in listed.split(", "):
        move, number = part.split()
        assert position.text_to_action(move) == int(number)
        assert position.action_to_text(int(number)) == move
        assert int(number) in position.legal_actions()


@pytest.mark.parametrize("rule", ["own", "share", "vanish"])
def test_the_start_has_its_text(rule: str) -> None:
    game = games.load("shogi3", {"capture": rule})
    text = f"{BOARD} b NL/NL/NL - 0 {rule}"
    assert position_to_text(game, game.position().state) == text
    assert (text_to_position(game, text) == game.position().state).all()
    assert material(game, game.position().state) == (4845, 4845, 4845)


def test_where_nobody_can_move_material_decides_as_at_the_limit() -> None:
    """Blue and Red fill two ranks each, every piece is shut in by its own, and Green has fallen."""
    blue = "bGbGbKb+Sb+Sb+Sb+Sb+Nb+N/bPbPbPbPbPbPbPbPbP"
    red = "rPrPrPrPrPrPrLrLrL/rGrGrKrGrGr+Sr+Sr+NrB"
    game = games.load("shogi3")
    state = text_to_position(game, f"{blue}/9/9/9/9/9/{red} b -/-/- g 3 own")
    assert material(game, state)[:2] == (4900, 5800)
    assert result_of(game, state) == {"winner": "r", "how": "limit", "plies": 3}
    held = text_to_position(game, f"{blue}/9/9/9/9/9/{red} b R/-/- g 3 own")
    assert result_of(game, held) is None, "a rook in hand can be dropped"


@pytest.mark.parametrize(("who", "turn"), [(0, "r"), (1, "b"), (2, "b")])
def test_a_resignation_passes_the_turn_on_only_where_it_was_the_players(who: int, turn: str) -> None:
    game = games.load("shogi3")
    state = text_to_position(game, f"{BARE} b -/-/- - 7 own")
    after = resign(game, state, who)
    assert position_to_text(game, after).split()[1::3] == [turn, "7"]
    with pytest.raises(IllegalActionError, match="eliminated already"):
        resign(game, after, who)
    over = resign(game, after, (who + 1) % 3)
    left = (who + 2) % 3
    assert result_of(game, over) == {"winner": "brg"[left], "how": "last", "plies": 7}
    assert position_to_text(game, over).split()[1] in {"brg"[left], turn}
    assert places(game, over)[left] == 1
    assert places(game, over)[(who + 1) % 3] == 2, "who fell later stands before who fell first"
    with pytest.raises(IllegalActionError, match="the game is over"):
        resign(game, over, left)


def test_places_of_living_losers() -> None:
    game = games.load("shogi3")
    at_limit = replay(game, ["5g5f"], "2rK1rG4/9/9/9/6gL1gK/9/4bP4/9/2bK6 b G/-/- - 498 own")
    assert places(game, at_limit.states[-1]) == (1, 2, 3)
    entered = replay(game, ["7b6a"], ENTRY)
    assert places(game, entered.states[-1]) == (1, 2, 2)
    with pytest.raises(IllegalActionError, match="known at the end"):
        places(game, entered.states[0])
