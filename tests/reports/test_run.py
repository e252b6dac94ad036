import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zelkova import games
from zelkova.errors import ConfigError
from zelkova.reports.run import Run, read_run
from zelkova.reports.summary import summarise

CONFIG = '[game]\nname = "connect_four"\n'


def make_run(folder: Path, lines: list[Any], config: str = CONFIG, games: str | None = None) -> Path:
    """Write a run's folder; a line that is no text is written as JSON."""
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(config, encoding="utf-8")
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (folder / "metrics.jsonl").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    if games is not None:
        (folder / "games").mkdir(exist_ok=True)
        (folder / "games" / "00000001.txt").write_text(games, encoding="utf-8")
    return folder


def rounds(folder: Path, *lines: Any) -> Run:
    return read_run(make_run(folder, list(lines)))


def test_a_resumed_run_counts_each_round_once_and_the_last_line_holds(tmp_path: Path) -> None:
    lines = [{"round": number, "step": 10 * number} for number in (1, 2, 3, 4)]
    again = [{"round": number, "step": 11 * number} for number in (3, 4, 5)]
    run = rounds(tmp_path, *lines, *again)
    assert [figures["step"] for figures in run.rounds] == [10, 20, 33, 44, 55]


def test_a_line_that_a_kill_cut_short_is_left_out_and_said(tmp_path: Path) -> None:
    run = rounds(tmp_path, {"round": 1, "step": 7}, '{"round": 2, "st')
    assert [figures["step"] for figures in run.rounds] == [7]
    assert run.remarks == ["metrics.jsonl: damaged lines were left out: 2"]


@pytest.mark.parametrize(
    "line", ["[1]", "null", "1", '"x"', "[" * 100_000, "\0\0", "{'round': 1}", "9" * 5000]
)
def test_a_foreign_line_is_left_out(line: str, tmp_path: Path) -> None:
    run = rounds(tmp_path, {"round": 1, "games": 3}, line, {"round": 2, "games": 4})
    assert [figures["games"] for figures in run.rounds] == [3, 4]
    assert len(run.remarks) == 1


def test_values_that_are_no_finite_numbers_are_missing(tmp_path: Path) -> None:
    text = (
        '{"round": 1, "a": NaN, "b": Infinity, "c": "x", "d": true, "e": null, "f": [1], "g": 1e400, "h": 2}'
    )
    run = rounds(tmp_path, text, '{"round": 2, "big": 1' + "0" * 400 + "}")
    assert run.rounds == [{"round": 1.0, "h": 2.0}, {"round": 2.0}]


def test_an_empty_run_says_so(tmp_path: Path) -> None:
    assert summarise(rounds(tmp_path)) == ["connect_four: no figures yet"]


def test_no_run_at_all_names_the_nearest(tmp_path: Path) -> None:
    make_run(tmp_path / "first", [])
    with pytest.raises(ConfigError, match="did you mean"):
        read_run(tmp_path / "frist")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"neither config\.toml nor metrics\.jsonl"):
        read_run(tmp_path / "empty")


def test_a_broken_config_is_remarked_upon(tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path, [{"round": 1}], config="[game\nname="))
    assert run.game == "unknown game"
    assert run.remarks[0].startswith("config.toml can't be read: ")


def test_the_sample_game_is_replayed(tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path, [], games="# a remark\n\n4 4 3\n1 1\n"))
    assert run.sample is not None
    assert run.sample.moves == ("4", "4", "3")
    assert run.sample.position.actions_played == [3, 3, 2]


@pytest.mark.parametrize("games", ["", "# nothing\n", "9\n", "4 x\n", "1-0\n", "\0\n"])
def test_a_sample_that_is_no_game_is_left_out(games: str, tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path, [], games=games))
    assert run.sample is None
    assert len(run.remarks) == (1 if games.strip() and games[0] != "#" else 0)


def test_code_that_came_with_the_folder_is_not_run(tmp_path: Path) -> None:
    evil = tmp_path / "evil.py"
    evil.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    for name in (str(evil), "evil.py", f"{tmp_path}/games/../evil.py"):
        read_run(make_run(tmp_path, [], config=f"[game]\nname = {json.dumps(name)}\n", games="a1\n"))
        assert not (tmp_path / "ran").exists()


def test_strength_is_said_in_words(tmp_path: Path) -> None:
    first = {
        "round": 1,
        "eval/score_uct_1000": 0.125,
        "eval/elo": 10,
        "eval/elo_low": -5.4,
        "eval/elo_high": 25,
    }
    last = {**first, "round": 9, "eval/score_uct_1000": 0.9, "eval/elo": 1234, "games": 26000, "seconds": 480}
    assert summarise(rounds(tmp_path, first, last)) == [
        "connect_four: 2 rounds, 26,000 games, 8 min",
        "score against uct:1000: 12.5 % at first, 90.0 % at last",
        "Elo: 10 at first, 1234 at last (-5 to 25)",
    ]


def test_the_games_that_a_run_writes_are_read_back(tmp_path: Path) -> None:
    game = games.load("connect_four")
    rng = np.random.default_rng(0)
    position, moves = game.position(), []
    while not position.is_terminal:
        action = int(rng.choice(position.legal_actions()))
        moves.append(position.action_to_text(action))
        position.play(action)
    text = f"game 77: {' '.join(moves)} ; returns 1 -1\n"
    run = read_run(make_run(tmp_path, [{"round": 1}], games=text))
    assert run.remarks == []
    assert run.sample is not None
    assert run.sample.moves == tuple(moves)
    assert run.sample.position.is_terminal


def test_a_config_of_endless_tables_is_remarked_upon(tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path / "deep", [{"round": 1}], config=".".join("a" * 3000) + " = 1\n"))
    assert run.config == {}
    assert run.remarks == ["config.toml can't be read: its tables are nested deeper than 20"]
    kept = read_run(make_run(tmp_path / "kept", [{"round": 1}], config=".".join("a" * 21) + " = 1\n"))
    assert kept.config["a"]
    assert kept.remarks == []


@pytest.mark.parametrize("config", ["seed = " + "9" * 5000, '[game]\nname = "a\\u0000.py"\n'])
def test_a_config_of_a_stranger_never_stops_a_report(config: str, tmp_path: Path) -> None:
    assert read_run(make_run(tmp_path, [{"round": 1}], config, "game 1: 4 ; returns 1 -1\n")).sample is None
