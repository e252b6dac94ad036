"""`zelkova analyze` as a user meets it."""

import json
from pathlib import Path

import pytest
from tests.training import begin

from zelkova.cli.main import main

GAMES = "game 0: b2 a1 b1 a2 b3 ; returns 1 -1\ngame 1: a1 b2 a2 b1 c1 b3 ; returns -1 1\n"


def run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as left:
        main(["analyze", *map(str, arguments)])
    return int(left.value.code or 0)


def refuse(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """Run what must be refused; give the one line that says why."""
    assert run(*arguments) == 2
    out, error = capsys.readouterr()
    assert "Traceback" not in error
    assert "analysis:" not in out
    (line,) = error.strip().splitlines()
    assert line.startswith("error: ")
    return line


def test_games_of_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records, page, figures = (tmp_path / name for name in ("games.txt", "page.html", "figures.json"))
    records.write_text(GAMES)
    assert run("random", records, "--game", "tic_tac_toe", "--out", page, "--json", figures) == 0
    shown = capsys.readouterr().out
    assert "2 games of tic_tac_toe, 11 moves; chances: the records tell none" in shown
    assert "Results by seat" in shown
    found = json.loads(figures.read_text())
    won = [one for one in found if one["name"] == "analyze/results_won"]
    assert [(one["value"], one["params"]["seat"], one["params"]["count"]) for one in won] == [
        (0.5, "player 1", 2),
        (0.5, "player 2", 2),
    ]
    assert won[0]["params"]["low"] == pytest.approx(0.0945, abs=1e-4)  # Wilson of 1 in 2
    html = page.read_text()
    assert "default-src 'none'" in html
    assert "Openings by seat" in html
    assert "<script" not in html


def test_games_that_are_left_out_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = tmp_path / "games.txt"
    records.write_text(GAMES)
    asked: list[str | Path] = ["random", records, "--game", "tic_tac_toe"]
    asked += ["--out", tmp_path / "page.html", "--games"]
    assert run(*asked, "1") == 0
    assert "the last 1 games are looked at; --games N takes more" in capsys.readouterr().err
    assert run(*asked, "2") == 0
    assert "are looked at" not in capsys.readouterr().err


def test_a_run_and_its_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    begin(folder, rounds=2).wheel.close()
    assert list((folder / "replay").glob("*.safetensors"))
    assert run(folder, "--out", tmp_path / "page.html") == 0
    shown = capsys.readouterr().out
    assert "chances: the records' own" in shown
    assert "Chance against result: the records' own" in shown
    assert "<svg" in (tmp_path / "page.html").read_text()
    text = tmp_path / "games.txt"
    text.write_text(GAMES)
    assert run(folder, text, "--out", tmp_path / "page.html") == 0
    assert f"chances: the network of {folder} alone, without search" in capsys.readouterr().out
    other = tmp_path / "other.json"
    other.write_text('{"game": "shogi3", "capture": "own", "start": null, "moves": [], "result": null}')
    assert "other.json: the record is of `shogi3`; allowed: tic_tac_toe" in refuse(capsys, folder, other)
    chunk = tmp_path / "chunk.safetensors"
    chunk.write_bytes(next((folder / "replay").glob("*.safetensors")).read_bytes())
    assert "lies in no run" in refuse(capsys, folder, chunk)
    damaged = folder / "replay" / "99999999.safetensors"
    damaged.write_bytes(b"nothing")
    assert "99999999.safetensors" in refuse(capsys, folder)


def test_one_position(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, figures = tmp_path / "page.html", tmp_path / "figures.json"
    asked = ["alphabeta:9", "--game", "tic_tac_toe", "--position", "moves b2 a1 b1 a2"]
    assert run(*asked, "--out", page, "--json", figures) == 0
    shown = capsys.readouterr().out
    assert "to move: player 1; alphabeta:9 plays b3" in shown
    found = {(one["name"], one["params"].get("move"), one["params"].get("player")): one["value"]
             for one in json.loads(figures.read_text())}  # fmt: skip
    assert found["analyze/chances_chance", None, "player 1"] == 100.0
    assert found["analyze/candidates_player_1", "b3", None] == 100.0
    assert found["analyze/candidates_player_1_change", "b3", None] == 0.0
    assert "Best lines" in page.read_text()


def test_what_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    text = tmp_path / "games.txt"
    text.write_text(GAMES)
    named = ["--game", "tic_tac_toe"]
    assert "empty has no games" in refuse(capsys, "random", empty, *named)
    assert "no such file or folder" in refuse(capsys, "random", tmp_path / "missing", *named)
    assert "random has no games of its own" in refuse(capsys, "random", *named)
    assert "does not tell the game; next: name it with --game" in refuse(capsys, "random", text)
    own = tmp_path / "own.txt"
    own.write_text("# game: mine/nim.py\n# seed: 0\na1 b2\n")
    assert (
        "own.txt is of mine/nim.py, a file whose code is run only where you name it; next: --game"
        in refuse(capsys, "random", own)
    )
    own.write_text("# game: conect_four\n# seed: 0\n1 2\n")
    assert "did you mean `connect_four`" in refuse(capsys, "random", own)
    both = tmp_path / "both.html"
    assert "--out and --json are both" in refuse(
        capsys, "random", text, *named, "--out", both, "--json", both
    )
    assert "unknown player `nobody`" in refuse(capsys, "nobody", text, *named)
    assert "unknown game" in refuse(capsys, "random", text, "--game", "chess")
    assert "leave out the records" in refuse(capsys, "random", text, *named, "--position", "start")
    assert "position, ply 2" in refuse(capsys, "random", *named, "--position", "moves b2 b2")
    over = "moves b2 a1 b1 a2 b3"
    assert "the game is over, nobody chooses" in refuse(capsys, "random", *named, "--position", over)
    text.write_text("game 0: b2 a1 b2 ; returns 1 -1\n")
    assert "games.txt, line 1, ply 3: move b2" in refuse(capsys, "random", text, *named)
    assert not list(tmp_path.glob("*.html"))


def test_positions_and_records_of_another_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    share = tmp_path / "share.jsonl"
    record = {"game": "shogi3", "capture": "share", "start": None, "moves": ["7g7f"], "result": None}
    share.write_text(json.dumps(record) + "\n" + json.dumps({**record, "capture": "own"}) + "\n")
    shown = refuse(capsys, "random", share)
    assert "share.jsonl, line 2: field capture of the record is `own`; allowed: share" in shown
    asked = ["random", "--game", "shogi3", "--position", "2rK6/9/9/9/8gK/9/9/9/2bK6 b -/-/- - 0 share"]
    assert "field rule is `share`; allowed: own" in refuse(capsys, *asked)
    assert run(*asked, "--set", "game.capture=share") == 0
    assert "field board" in refuse(capsys, "random", "--game", "shogi3", "--position", "9/9 b -/-/- - 0 own")
    assert "a position has the fields" in refuse(capsys, "random", "--game", "shogi3", "--position", "hello")


@pytest.mark.parametrize("given", ["\x1b[2J", "\u202e", "\x9b31m", "a\nb", "a\r\nb", "\u2028"])
def test_no_word_of_a_stranger_steers_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: str
) -> None:
    record: dict[str, object] = {"game": "shogi3", "capture": "own", "start": None, "moves": []}
    record["result"] = None
    path, page = tmp_path / "game.json", tmp_path / "page.html"
    for field in ("game", "capture", "start", "moves", "result", "values", "other"):
        path.write_text(json.dumps({**record, field: given} if field != "other" else {**record, given: 1}))
        shown = given.encode("unicode_escape").decode()
        told = refuse(capsys, "random", path, "--out", page)
        assert shown in told
        assert told.isprintable()
    assert refuse(capsys, "random", "--game", "hex", "--position", given, "--out", page).isprintable()
    assert refuse(capsys, "random", "--game", "hex", "--position", f"moves x{given}x").isprintable()


def test_a_files_name_steers_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records, page = tmp_path / "game.txt", tmp_path / "a\x1b[31m.html"
    records.write_text(GAMES)
    assert run("random", records, "--game", "tic_tac_toe", "--out", page) == 0
    assert "a\\x1b[31m.html" in capsys.readouterr().out
    assert page.is_file()


@pytest.mark.parametrize("option", ["--out", "--json"])
def test_nothing_but_an_older_answer_is_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    records, place = tmp_path / "games.txt", tmp_path / "place"
    records.write_text(GAMES)
    asked: list[str | Path] = ["random", records, "--game", "tic_tac_toe", "--out", tmp_path / "page.html"]
    told = refuse(capsys, *asked, option, records)
    assert f"{records} is there and " in told
    assert "allowed: a new file, or " in told
    assert records.read_text() == GAMES
    assert not (tmp_path / "page.html").exists()
    for _ in range(2):
        assert run(*asked, option, place) == 0
        capsys.readouterr()
