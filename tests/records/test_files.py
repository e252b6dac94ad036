"""Files of games: what is found and read, and how each broken one is refused, by name and ply."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zelkova import games
from zelkova.errors import NotationError
from zelkova.games.played import replay_moves
from zelkova.play.record import write_moves
from zelkova.records.arrays import play_arrays
from zelkova.records.files import NamedGame, find_files, find_game, read_games
from zelkova.records.positions import read_position

GAME = games.load("tic_tac_toe")
SHOGI = games.load("shogi3")
RECORD = {"game": "shogi3", "capture": "own", "start": None, "moves": ["7g7f", "7c7d"], "result": None}


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_self_play(tmp_path: Path) -> None:
    text = "game 3: b2 a1 b1 a2 b3 ; returns 1 -1\n\ngame 5: a1 b2 a2 b1 c1 b3 ; returns -1 1\n"
    first, second = read_games(GAME, write(tmp_path / "00000001.txt", text))
    assert first.returns is not None
    assert first.returns.tolist() == [1.0, -1.0]
    assert first.origin.endswith("00000001.txt, line 1")
    assert second.actions.tolist() == [6, 4, 3, 7, 8, 1]
    assert np.isnan(second.chances[:-1]).all()
    assert second.chances[-1].tolist() == [0.0, 1.0]


def test_a_game_that_was_saved_at_the_board(tmp_path: Path) -> None:
    position = GAME.position().play("b2").play("a1")
    path = write(tmp_path / "saved.txt", write_moves(position, 0, resigned=0))
    (found,) = read_games(GAME, path)
    assert found.num_moves == 2
    assert found.wins.tolist() == [0.0, 1.0]
    assert find_game(path) == NamedGame("tic_tac_toe", {})
    four = games.load("connect_four", {"height": 5})
    path = write(tmp_path / "four.txt", write_moves(four.position().play("1"), 0))
    named = find_game(path)
    assert named is not None
    assert named.options["height"] == 5
    with pytest.raises(NotationError, match="four.txt was played with `height=5 .*`; allowed: height=6"):
        read_games(games.load("connect_four"), path)
    with pytest.raises(NotationError, match="four.txt is of `connect_four`; allowed: tic_tac_toe"):
        read_games(GAME, path)


@pytest.mark.parametrize("value", ["-" * 100_000 + "1", "1+" * 5_000 + "1j", "{[]:1}", "9" * 10_000])
def test_an_option_that_is_no_value_is_read_as_text(tmp_path: Path, value: str) -> None:
    path = write(tmp_path / "game.txt", f"# game: hex\n# options: size={value}\na1\n")
    assert find_game(path) == NamedGame("hex", {"size": value})


def test_what_other_programs_write_into_text(tmp_path: Path) -> None:
    said = json.dumps({**RECORD, "comments": ["two\u2028lines", None]}, ensure_ascii=False)
    path = write(tmp_path / "games.jsonl", f"\ufeff{said}\n{json.dumps(RECORD)}\n")
    assert [played.num_moves for played in read_games(SHOGI, path)] == [2, 2]


def test_moves_may_be_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "1.txt", "game 0: 4 0 1 3 7 ; returns 1 -1\n")
    assert read_games(GAME, path, is_numbered=True)[0].actions.tolist() == [4, 0, 1, 3, 7]


def test_records_one_a_line_or_one_in_a_file(tmp_path: Path) -> None:
    lines = write(tmp_path / "two.jsonl", json.dumps(RECORD) + "\n\n" + json.dumps(RECORD) + "\n")
    assert [played.origin for played in read_games(SHOGI, lines)] == [f"{lines}, line 1", f"{lines}, line 3"]
    whole = write(tmp_path / "one.json", json.dumps(RECORD, indent=1))
    assert read_games(SHOGI, whole)[0].num_moves == 2
    assert find_game(whole) == NamedGame("shogi3", {"capture": "own", "max_plies": 499})


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.txt",
            "game 0: b2 a1 b1 a2 b3 ; returns -1 1",
            "a.txt, line 1, ply 5: returns `-1 1`; the moves lead",
        ),
        ("a.txt", "game 0: b2 ; returns 1 -1", "line 1, ply 1: returns .* lead to a game that goes on"),
        ("a.txt", "game 0: b2 ; returns 1", "line 1: returns `1`; allowed: 2 numbers from -1 to 1"),
        ("a.txt", "game 0: b2 ; returns nan 1", "line 1: returns `nan 1`"),
        ("a.txt", "\ngame 0: b2 b2", "a.txt, line 2, ply 2: move b2 .* is not legal"),
        ("a.txt", "b2 hello", "a.txt, line 1, ply 2: "),
        ("a.txt", "b2 a1 b1 a2 b3 c3", "a.txt, line 1, ply 6: `c3` comes after the end"),
        ("a.txt", "# a remark alone\n", "a.txt holds no game"),
        ("a.txt", "", "a.txt holds no game"),
        ("a.json", "", "a.json is empty"),
        ("a.json", "{", "a.json: the record is no JSON"),
        ("a.json", "[" * 100_000, "a.json: the record is no JSON"),
        ("a.json", "[1]", "a.json: the record is no object"),
        ("a.json", json.dumps(RECORD), "a.json: the record is of `shogi3`; allowed: tic_tac_toe"),
        ("a.json", '{"game": "tic_tac_toe"}', "a.json: tic_tac_toe has no JSON records"),
    ],
)
def test_what_is_no_game_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(NotationError, match=message) as caught:
        read_games(GAME, write(tmp_path / name, text))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"moves": ["7g7f", "7c7e"]}, "a.json: move 2 of the record .after ply 1.: `7c7e`"),
        (
            {"moves": ["7g7f", "7f7e"]},
            "a.json: move 2 of the record .after ply 1.: `7f7e` is not legal for Red",
        ),
        ({"capture": "share"}, "a.json: field capture of the record is `share`; allowed: own"),
        ({"result": {"winner": "b", "how": "last", "plies": 2}}, "a.json: field result .* after ply 2"),
        ({"start": "9 b"}, "a.json: field start: a position has the fields"),
        ({"values": [[1, 0, 0]]}, "a.json: field values of the record"),
    ],
)
def test_a_broken_record_is_named_by_file_and_ply(tmp_path: Path, changes: Any, message: str) -> None:
    path = write(tmp_path / "a.json", json.dumps({**RECORD, **changes}))
    with pytest.raises(NotationError, match=message) as caught:
        read_games(SHOGI, path)
    assert "\n" not in str(caught.value)


def test_files_are_found(tmp_path: Path) -> None:
    with pytest.raises(NotationError, match="has no games: no .json, .jsonl, .txt, .safetensors in it"):
        find_files([tmp_path])
    with pytest.raises(NotationError, match="no such file or folder: .*missing"):
        find_files([tmp_path / "missing"])
    with pytest.raises(NotationError, match="notes.md is no file of games by its name"):
        find_files([write(tmp_path / "notes.md", "")])
    run = tmp_path / "run"
    (run / "games").mkdir(parents=True)
    write(run / "config.toml", "")
    with pytest.raises(NotationError, match="run has no games"):
        find_files([run])
    text = write(run / "games" / "00000001.txt", "")
    assert find_files([run]) == [text]
    (run / "replay").mkdir()
    chunk = write(run / "replay" / "00000001.safetensors", "")
    assert find_files([run, chunk]) == [chunk]
    binary = tmp_path / "b.txt"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(NotationError, match="b.txt is no text"):
        read_games(GAME, binary)
    with pytest.raises(NotationError, match="the record is of `chess`; allowed: tic_tac_toe"):
        find_game(write(tmp_path / "c.json", '{"game": "chess"}'))


def test_arrays_are_played_again() -> None:
    played = replay_moves(GAME.position(), ["b2", "a1", "b1", "a2", "b3"], "by hand")
    states, actions, returns = played.states[:-1], played.actions, played.returns
    assert returns is not None
    values = np.tile(np.array([0.5, -0.5], np.float32), (5, 1))
    found = play_arrays(GAME, "chunk", states, actions, returns, values)
    assert np.array_equal(found.states, played.states)
    assert found.chances[:5].tolist() == [[0.75, 0.25]] * 5
    with pytest.raises(NotationError, match="chunk, ply 2: action 4 is not legal in tic_tac_toe"):
        play_arrays(GAME, "chunk", states, np.array([4, 4, 7, 3, 1], np.int32), returns)
    with pytest.raises(NotationError, match="chunk, ply 1: the move does not lead to the next position"):
        play_arrays(GAME, "chunk", states, np.array([8, 6, 7, 3, 1], np.int32), returns)
    with pytest.raises(NotationError, match="chunk: positions of 2 words and 3 players; tic_tac_toe has"):
        play_arrays(GAME, "chunk", np.zeros((5, 2), np.uint64), actions, np.zeros(3, np.float32))
    with pytest.raises(NotationError, match=r"ply 5: the file says returns \[-1.0, 1.0\], the moves lead to"):
        play_arrays(GAME, "chunk", states, actions, -returns)
    with pytest.raises(NotationError, match="ply 4: .* the moves lead to a game that goes on"):
        play_arrays(GAME, "chunk", states[:4], actions[:4], returns)


def test_positions_are_read() -> None:
    assert read_position(GAME, "start").legal_moves() == GAME.position().legal_moves()
    assert read_position(GAME, "moves b2 a1").actions_played == [4, 6]
    text = "2rK6/9/9/9/8gK/9/9/9/2bK6 r R/-/- - 7 own"
    assert read_position(SHOGI, text).record["plies"] == 7
    assert len(read_position(SHOGI, "moves 7g7f").actions_played) == 1


def test_a_game_that_begins_with_chance_names_a_first_outcome() -> None:
    with pytest.raises(NotationError, match="such as `moves a4=2`"):
        read_position(games.load("2048"), "nonsense")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "tic_tac_toe has no text for one; allowed: `start`, or `moves`"),
        ("start b2", "has no text for one"),
        ("moves b2 b2", "position, ply 2: move b2 .* is not legal"),
        ("moves z9", "position, ply 1: "),
    ],
)
def test_what_is_no_position_is_refused(text: str, message: str) -> None:
    with pytest.raises(NotationError, match=message) as caught:
        read_position(GAME, text)
    assert "\n" not in str(caught.value)
