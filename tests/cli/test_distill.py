"""`zelkova distill`: the teacher's positions are played, and self-play goes on from there."""

from pathlib import Path

import pytest

from zelkova.cli.main import main
from zelkova.config import load_config
from zelkova.train import Run

SETS = ["size=tiny", "selfplay.games=16", "selfplay.moves_per_round=20", "learning.batch_size=64"]


def leave(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in arguments])
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    return int(left.value.code or 0), said.out, said.err


def distill_600(capsys: pytest.CaptureFixture[str], run: Path, *more: str) -> tuple[int, str, str]:
    sets = [word for text in (*SETS, *more) for word in ("--set", text)]
    words = ["distill", "connect_four_3p", "--teacher", "scaffold:4", "--positions", "600"]
    return leave(capsys, *words, "--out", run, *sets)


def test_the_teacher_plays_its_positions_and_the_run_goes_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    code, out, err = distill_600(capsys, run, "rating.every_rounds=0")
    assert code == 0
    assert f"{run}: the teacher is through" in out
    assert (out + err).count("--resume") == 1
    assert f"go on with: zelkova train --resume {run}; play it" in err
    again = Run(load_config(str(run / "config.toml")), run)
    again.resume()
    assert again.wheel.buffer.total_added >= 600
    assert not again.wheel.is_taught
    again.turn()
    assert again.wheel.teacher is None  # type: ignore[attr-defined]
    again.wheel.close()


def test_a_stop_on_the_way_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zelkova.train.train", lambda *_: None)  # as if stopped before the first round
    run = tmp_path / "a run"
    code, out, err = distill_600(capsys, run)
    assert code == 0
    assert f"{run}: the teacher played 0 of 600 positions" in out
    assert (out + err).count("--resume") == 1
    assert f"go on with: zelkova train --resume '{run}' --steps {600 // 64}; play it" in err


def test_a_stop_at_once_is_told_the_teachers_end(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("zelkova.train.train", stop)
    run = tmp_path / "run"
    code, out, err = distill_600(capsys, run)
    assert code == 130
    assert (out + err).count("--resume") == 1
    assert f"go on from round 0 with: zelkova train --resume {run} --steps {600 // 64}\n" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["connect_four", "--teacher", "uct:100"], "no weights"),
        (["tic_tac_toe", "--teacher", "scaffold:10"], "has no evaluate"),
        (["connect_four", "--teacher", "nowhere"], "`nowhere` does not exist"),
        (["connect_four", "--teacher", "scaffold:10", "--positions", "0"], "positions"),
        (["connect_four"], "--teacher"),
        (["muzero-tictactoe", "--teacher", "scaffold:10"], "knows the rules"),
    ],
)
def test_what_is_no_teacher(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str], message: str
) -> None:
    code, _, err = leave(capsys, "distill", *words, "--out", tmp_path / "run", "--set", "size=tiny")
    assert code == 2
    assert message in err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "setting", ["teacher.player=random", "teacher.player=", "teacher.positions=5", " teacher.positions =0"]
)
def test_what_is_an_option_is_no_setting_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, setting: str
) -> None:
    run = tmp_path / "run"
    code, _, err = leave(
        capsys, "distill", "connect_four_3p", "--teacher", "scaffold:2", "--out", run, "--set", setting
    )
    option = "--teacher" if "player" in setting else "--positions"
    assert code == 2
    assert f"beside {option}; next: {option} alone" in err
    assert not run.exists()
