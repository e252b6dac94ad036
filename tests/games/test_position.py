"""The friendly position, notation, drawings, playthroughs and games from a user's file."""

import dataclasses
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from zelkova import games
from zelkova.errors import GameError, IllegalActionError, NotationError
from zelkova.games.playthrough import playthrough

GOLDEN = Path(__file__).parents[1] / "golden" / "playthroughs"
NIM = Path(__file__).parents[2] / "examples" / "nim.py"


@pytest.mark.parametrize("name", games.names())
def test_playthrough_is_as_recorded(name: str) -> None:
    assert playthrough(games.load(name)) == (GOLDEN / f"{name}.txt").read_text()


def test_playthrough_is_a_command() -> None:
    command = [sys.executable, "-m", "zelkova.games.playthrough", "tic_tac_toe"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == (GOLDEN / "tic_tac_toe.txt").read_text(), done.stderr
    wrong = subprocess.run([*command[:-1], "tic_tac_to"], capture_output=True, text=True, timeout=120)
    assert wrong.returncode != 0
    assert "did you mean `tic_tac_toe`" in wrong.stderr
    assert "Traceback" not in wrong.stderr


def test_play_undo_and_copy() -> None:
    position = games.load("tic_tac_toe").position()
    position.play("b2").play(0)
    assert position.actions_played == [4, 0]
    twin = position.copy()
    twin.play("c1")
    assert position.actions_played == [4, 0]
    twin.undo().undo().undo()
    assert twin.legal_actions().tolist() == list(range(9))
    with pytest.raises(IllegalActionError, match="no move to undo"):
        twin.undo()
    assert position.to_play == 0
    assert len(position.legal_moves()) == 7
    assert position.observe().sum() == 2


def test_an_illegal_move_names_the_notation_and_the_position() -> None:
    position = games.load("othello").position().play("d3")
    with pytest.raises(IllegalActionError) as error:
        position.play("d3")
    message = str(error.value)
    assert "move d3 (action 19) is not legal" in message
    assert "c3 e3 c5" in message
    assert "4 . . . X X . . ." in message
    with pytest.raises(IllegalActionError, match="action 99"):
        position.play(99)
    with pytest.raises(IllegalActionError, match="action -1"):
        position.play(-1)
    assert position.actions_played == [19], "a refused move leaves the position as it was"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("othello", "z9", "a1 to h8"),
        ("othello", "", "or pass"),
        ("gomoku", "a16", "a1 to o15"),
        ("hex", "swap", "option `swap`"),
        ("hex", "l1", "a1 to k11"),
        ("breakthrough", "a2", "two cells"),
        ("breakthrough", "a2-a4", "one row ahead"),
        ("breakthrough", "a2-z3", "a1 to h8"),
        ("connect_four", "8", "1 to 7"),
        ("connect_four", "²", "1 to 7"),
        ("tic_tac_toe", "d1", "a1 to c3"),
    ],
)
def test_text_that_is_no_move_says_what_is(name: str, text: str, message: str) -> None:
    with pytest.raises(NotationError, match=message):
        games.load(name).position().play(text)


def test_players_are_found_by_number_and_by_name() -> None:
    shogi, others = games.load("shogi3"), games.load("connect_four_3p")
    assert [shogi.find_seat(word) for word in ("1", "Red", "green", "player 1", "4", "")] == [
        0, 1, 2, None, None, None,
    ]  # fmt: skip
    assert [others.find_seat(word) for word in ("3", "red", "0")] == [2, None, None]
    assert (shogi.own_seat_names, others.own_seat_names) == (["Blue", "Red", "Green"], [])


@pytest.mark.parametrize("names", [2, "ab", ("one",), ("one", "two", "three"), None])
def test_names_that_do_not_fit_are_left_out(names: object) -> None:
    notation: Any = SimpleNamespace(PLAYERS=names)
    game = dataclasses.replace(games.load("tic_tac_toe"), notation=notation)
    assert game.seat_names == ["player 1", "player 2"]
    assert game.find_seat("one") is None


def test_moves_are_read_as_people_write_them() -> None:
    assert games.load("othello").position().play(" D3 ").actions_played == [19]
    for text in ("a2-a3", "a2a3", "A2-A3"):
        assert games.load("breakthrough").position().text_to_action(text) == 3 * 48 + 1
    for text in ("7g7f", " 7G7F", "l*1I", "L*1i"):
        assert games.load("shogi3").position().text_to_action(text) == (47 if "7" in text else 1781)


@pytest.mark.parametrize("name", games.names())
def test_drawings_are_readable_without_colour_and_without_unicode(name: str) -> None:
    position = games.load(name).position().roll(np.random.default_rng(0))
    position.play(int(position.legal_actions()[0]))
    plain = position.draw(unicode=False)
    assert plain.isascii()
    assert {"2048": "2", "shogi3": "bK"}.get(name, "X") in plain
    assert "\x1b[" in position.draw(colour=True)
    assert "\x1b" not in position.draw()
    svg = position._repr_svg_()
    assert svg is not None
    assert svg.startswith("<svg")


def test_a_users_file_is_a_game() -> None:
    game = games.load(str(NIM))
    assert game.name == "nim"
    position = game.position().play("c7").play("b4").play("a2")
    assert position.legal_moves() == ["a1", "b1"]
    assert str(position) == "a |\nb |\nc "
    position.play("a1").play("b1")
    assert position.is_terminal
    assert position.returns.tolist() == [1.0, -1.0]


def write_nim(path: Path, first: int) -> None:
    path.write_text(NIM.read_text().replace("HEAPS = (3, 5, 7)", f"HEAPS = ({first}, 5, 7)"))


def first_heap(path: Path) -> int:
    position = games.load(str(path)).position()
    return int(position.record["heaps"][0])


def test_an_edited_file_is_not_served_old_code(tmp_path: Path) -> None:
    """The same size and within a second: neither Python's nor Numba's cache may answer for the old text."""
    path = tmp_path / "mygame.py"
    for first in (3, 4, 2):
        write_nim(path, first)
        assert first_heap(path) == first
        time.sleep(0.02)
    assert list(tmp_path.rglob("*.nbi")) or os.environ.get("NUMBA_CACHE_DIR")


def test_code_of_a_file_edited_after_it_was_read_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "mygame.py"
    write_nim(path, 3)
    old = games.load(str(path))
    time.sleep(0.02)
    write_nim(path, 4)
    assert old.position().record["heaps"][0] == 3, "the game as it was read"
    assert first_heap(path) == 4, "the game as it is now"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def init(:\n", "mygame.py, line 1"),
        ("import numpy\n\nraise RuntimeError('no')\n", "mygame.py, line 3, raised RuntimeError: no"),
        ("\0", "mygame.py"),
        ("x = 1\n", "constant STATE is missing"),
    ],
)
def test_a_file_that_is_no_game_says_why(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mygame.py"
    path.write_text(text)
    with pytest.raises(GameError, match=message):
        games.load(str(path))


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(GameError, match="no such game file"):
        games.load(str(tmp_path / "nothing.py"))


def test_initial_states_of_many_seeds_are_alike_for_games_without_chance() -> None:
    game = games.load("hex")
    states = game.initial_states(np.arange(5, dtype=np.uint64))
    assert (states == states[0]).all()


REASONS = [
    ("tic_tac_toe", "b2", "b2", "b2 is taken"),
    ("gomoku", "h8", "h8", "h8 is taken"),
    ("hex", "f6", "f6", "f6 is taken"),
    ("connect_four", "4 4 4 4 4 4", "4", "column 4 is full"),
    ("connect_four_3p", "8 8 8 8 8 8", "8", "column 8 is full"),
    ("othello", "d3", "d3", "d3 is taken"),
    ("othello", "d3", "a1", "a1 turns no disc over"),
    ("othello", "d3", "pass", "who can turn a disc over may not pass"),
    ("breakthrough", "", "a3-a4", "a3 is empty"),
    ("breakthrough", "a2-a3 h7-h6", "a1-b2", "b2 has a piece of one's own"),
    ("breakthrough", "a2-a3 a7-a6 a3-a4 a6-a5", "a4-a5", "a5 is taken, and pieces capture aslant alone"),
    ("breakthrough", "a2-a3 a7-a6", "a6-a7", "the piece on a6 is player 2's, and player 1 is to move"),
    ("shogi3", "", "7g7f+", "neither 7g nor 7f is in Blue's promotion zone"),
    ("shogi3", "", "9h5h", "5h has a piece of Blue's own"),
    ("shogi3", "", "7g7e", "Blue's P on 7g does not move like that"),
    ("shogi3", "", "3c3d", "3c has Green's P, and Blue is to move"),
    ("shogi3", "", "P*5e", "Blue has no P in hand"),
    ("shogi3", "", "L*5g", "5g is taken, and a drop needs an empty cell"),
    ("shogi3", "", "N*1b", "Blue's N could never move from 1b"),
]


@pytest.mark.parametrize(("name", "moves", "move", "reason"), REASONS)
def test_an_illegal_move_is_told_its_reason(name: str, moves: str, move: str, reason: str) -> None:
    position = games.load(name).position()
    for played in moves.split():
        position.play(played)
    assert position.explain_illegal(position.text_to_action(move)) == reason
    with pytest.raises(IllegalActionError) as error:
        position.play(move)
    assert f"is not legal: {reason}; legal: " in str(error.value)


SHOGI_REASONS = [
    (
        "9/2bP6/9/9/rK8/8gK/9/9/2bK6 b P/-/- - 0 own",
        "7b7a",
        "could never move again from 7a, and must promote: 7b7a+",
    ),
    (
        "9/9/9/2bP6/rK8/8gK/9/9/2bK6 b P/-/- - 0 own",
        "P*7f",
        "Blue has an unpromoted pawn on that file already",
    ),
    (
        "9/9/9/4gP4/rK8/8gK/9/9/2bK6 g -/-/P - 0 own",
        "P*8d",
        "Green has an unpromoted pawn on that rank already",
    ),
    ("9/2bG6/9/9/rK8/8gK/9/9/2bK6 b -/-/- - 0 own", "7b7a+", "Blue's G on 7b can't be promoted"),
    ("9/2b+P6/9/9/rK8/8gK/9/9/2bK6 b -/-/- - 0 own", "7b7a+", "Blue's +P on 7b can't be promoted"),
    ("9/2bK6/9/9/rK8/8gK/9/9/9 b -/-/- - 0 own", "7b7a+", "Blue's K on 7b can't be promoted"),
    ("9/9/9/9/rK8/8gK/4gN4/9/2bK6 g -/-/- - 0 own", "5g7g", "Green's N on 5g does not move like that"),
]


@pytest.mark.parametrize(("text", "move", "reason"), SHOGI_REASONS)
def test_reasons_in_three_player_shogi(text: str, move: str, reason: str) -> None:
    from zelkova.games.shogi3.position import text_to_position

    game = games.load("shogi3")
    position = games.Position(game, text_to_position(game, text))
    with pytest.raises((IllegalActionError, NotationError)) as error:
        position.play(move)
    assert reason in str(error.value).partition("\n")[0]


@pytest.mark.parametrize("name", games.names())
def test_every_illegal_action_has_a_reason(name: str) -> None:
    rng = np.random.default_rng(11)
    position = games.load(name).position(1)
    for _ in range(30):
        position.roll(rng)
        if position.is_terminal:
            break
        legal = set(position.legal_actions().tolist())
        illegal = [action for action in range(position.game.num_actions) if action not in legal]
        for action in rng.permutation(illegal)[:20].tolist():
            reason = position.explain_illegal(action)
            assert reason, (name, action)
            assert reason.isprintable()
        position.play(int(rng.choice(sorted(legal))))
    assert position.explain_illegal(-1) == ""
    assert position.explain_illegal(position.game.num_actions) == ""
