"""`zelkova check`: a sound game passes, a broken one is named by function and line, with exit code 2."""

from pathlib import Path

import pytest

from zelkova.cli.main import main

RULES = Path(__file__).parents[2] / "src" / "zelkova" / "games" / "tic_tac_toe" / "rules.py"


def check(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(["check", *arguments])
    return int(str(left.value.code or 0))


def test_a_sound_game_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert check("connect_four", "--set", "game.height=4", "--games", "1") == 0
    assert "connect_four keeps the contract" in capsys.readouterr().out


def test_a_broken_file_is_named_by_function_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = RULES.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("def is_terminal"))
    lines[start + 1 : start + 1] = ["    waste = np.zeros(9)", "    if waste[0] > 0: return True"]
    mine = tmp_path / "mine.py"
    mine.write_text("\n".join(lines), encoding="utf-8")
    assert check(str(mine)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert all(word in said.err for word in ("is_terminal", "allocates memory"))
    assert f"line {start + 2}" in said.err


def test_an_unknown_game_or_option_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert check("tic_tac_to") == 2
    assert "did you mean `tic_tac_toe`" in capsys.readouterr().err
    assert check("connect_four", "--set", "game.heigth=4") == 2
    assert "did you mean `height`" in capsys.readouterr().err
