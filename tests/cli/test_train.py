"""`zelkova train` as its users meet it: signals, kills, wrong words, two at a time."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.training import TINY, assert_same_run, begin, newest, resume, start, train_arguments

from zelkova import games
from zelkova.cli import main
from zelkova.cli.train import open_run
from zelkova.errors import CheckpointError

SETS = [word for text in TINY for word in ("--set", text)]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Program":
    monkeypatch.chdir(tmp_path)
    return Program(capsys)


class Program:
    """Runs the program in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *arguments: str | Path | float) -> tuple[int, str, str]:
        """Give the exit code, what came to stdout, and what to stderr."""
        with pytest.raises(SystemExit) as left:
            main.main([str(word) for word in arguments])
        out, err = self.capsys.readouterr()
        assert "Traceback" not in err
        return (0 if left.value.code is None else int(left.value.code)), out, err


def wait_for(process: "subprocess.Popen[str]", path: Path, seconds: float = 300.0) -> None:
    """Wait until a file is there, written by a process that lives."""
    end = time.monotonic() + seconds
    while not path.exists():
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.01)


def checkpoint(folder: Path, number: int) -> Path:
    return folder / "checkpoints" / f"{number:08d}.safetensors"


@pytest.fixture
def _handlers() -> Iterator[None]:
    """Put this process's handling of signals back, which a stopped training leaves deaf."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def signal_after(path: Path, *numbers: int) -> threading.Thread:
    """Send signals to this process once a file is there, 0.2 s apart."""

    def send() -> None:
        end = time.monotonic() + 300.0
        while not path.exists() and time.monotonic() < end:
            time.sleep(0.005)
        for number in numbers:
            os.kill(os.getpid(), number)
            time.sleep(0.2)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


@pytest.mark.usefixtures("_handlers")
def test_public_checkpoint_1_interrupted_twice_terminated_and_killed(run: "Program", tmp_path: Path) -> None:
    """One run is told to stop, stopped at once and killed, and loses nothing by it."""
    folder = tmp_path / "run"
    sender = signal_after(checkpoint(folder, 2), signal.SIGTERM)
    code, out, err = run(*train_arguments(folder))
    sender.join()
    assert code == 0
    assert f"go on with: zelkova train --resume {folder}" in err
    assert out.startswith(f"{folder}: round ")
    first = newest(folder)
    assert f"round {first.number}," in out

    sender = signal_after(checkpoint(folder, first.number // 2 * 2 + 2), signal.SIGINT, signal.SIGINT)
    code, out, err = run("train", "--resume", folder)
    sender.join()
    second = newest(folder)
    if code == 130:  # else the round was over before the second one came
        assert f"zelkova train --resume {folder}" in err
        assert "interrupted" in err
        assert out == ""
    else:
        assert code == 0
    assert f"going on at round {first.number}, step {first.learner.steps}" in err
    assert second.number > first.number

    process = start("train", "--resume", folder)
    wait_for(process, checkpoint(folder, second.number // 2 * 2 + 2))
    with pytest.raises(CheckpointError, match=rf"another run \(process {process.pid}\) works in"):  # noqa: SIM117
        with open_run(None, folder, None, []):
            pass
    time.sleep(0.05 * (os.getpid() % 10))
    process.kill()
    process.communicate(timeout=60)
    third = newest(folder)
    assert third.number > second.number

    again, refused = resume(folder)
    assert (again.wheel.round, again.wheel.learner.steps, refused) == (third.number, third.learner.steps, [])
    assert len(again.wheel.buffer) > 0
    again.save()
    again.wheel.close()
    begin(tmp_path / "straight", rounds=third.number).save()
    assert_same_run(tmp_path / "straight", folder)


def test_twice_leaves_at_once(tmp_path: Path) -> None:
    """A round of minutes is left within seconds, and the run can go on."""
    folder = tmp_path / "run"
    process = start(*train_arguments(folder, "selfplay.moves_per_round=100000"))
    wait_for(process, checkpoint(folder, 0))
    while "compiling" not in (line := process.stderr.readline() if process.stderr else "compiling"):
        assert line, "it ended early"
    time.sleep(3.0)
    process.send_signal(signal.SIGINT)
    time.sleep(1.0)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert time.monotonic() - began < 20.0
    assert process.returncode == 130
    assert "interrupted" in err
    resume(folder, "selfplay.moves_per_round=4")[0].wheel.close()
    assert not list(folder.glob("*/.*.tmp"))


def test_a_run_from_begin_to_end(run: Program, tmp_path: Path) -> None:
    figures = tmp_path / "f.json"
    code, out, err = run(
        "train", "connect_four", *SETS, "--set", "game.height=5", "--steps", 3, "--json", figures, "--seed", 4
    )
    assert code == 0
    folder = Path("runs/alphazero-connect-four")
    assert out.startswith(f"{folder}: round ")
    assert "connect_four on cpu (" in err
    config = (folder / "config.toml").read_text()
    assert "height = 5" in config
    assert "seed = 4" in config
    records = {record["name"]: record for record in json.loads(figures.read_text())}
    assert 0.0 <= records["selfplay/network_share"]["value"] <= 1.0
    assert records["train/step"]["value"] >= 3
    assert records["train/step"]["params"] == {"run": str(folder)}
    assert {path.name for path in folder.iterdir()} == {
        "config.toml", "metrics.jsonl", "checkpoints", "replay", "games", "run.lock",
    }  # fmt: skip
    assert list((folder / "games").glob("*.txt"))

    code, _, err = run("train", "connect_four", "--out", folder)
    assert code == 2
    assert f"{folder} holds a run already; next: zelkova train --resume {folder}, or another --out" in err
    code, out, err = run("train", "--resume", folder, "--minutes", 0)
    assert code == 0
    assert "going on at round" in err
    code, _, err = run("train", "--resume", folder, "--set", "game.height=6")
    assert code == 2
    assert "`game.height` was 5 when this run was trained and is 6 now" in err


def test_a_general_preset_names_its_runs_after_the_game(run: Program, tmp_path: Path) -> None:
    rules = Path(games.__file__).parent / "tic_tac_toe" / "rules.py"
    Path("mine.py").write_text(rules.read_text())
    for name in ("mine", "mine-2"):
        assert run("train", "mine.py", *SETS, "--minutes", 0)[0] == 0
        assert (tmp_path / "runs" / name / "config.toml").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give either a preset, game or file to begin with, or --resume RUN"),
        (["tic_tac_toe", "--resume", "x"], "give either a preset"),
        (["--resume", "x", "--out", "y"], "--out names the folder of a new run"),
        (["--resume", "."], "is no run: it has no config.toml"),
        (["--resume", "nowhere"], "nowhere is no run"),
        (["conect_four"], "did you mean `connect_four`"),
        (["gone.py"], "no such game file: gone.py"),
        (["gone.toml"], "gone.toml can't be read"),
        (["tic_tac_toe", "--set", "search.num_simulatons=4"], "did you mean `num_simulations`"),
        (["tic_tac_toe", "--set", "learning.learning-rate=4"], "learning_rate"),
        (["tic_tac_toe", "--set", "learning_rate=4"], "did you mean `learning_rate` in [learning]?"),
        (
            ["tic_tac_toe", "--set", "search.num_simulations=many"],
            "search.num_simulations must be a whole number",
        ),
        (["tic_tac_toe", "--set", "search.num_simulations=0"], "search.num_simulations = 0 is not"),
        (["tic_tac_toe", "--set", "game.height=4"], "tic_tac_toe has no options"),
        (["connect_four", "--set", "game.hight=4"], "did you mean `height`"),
        (["tic_tac_toe", "--device", "cuda"], "device `cuda` was asked for"),
        (["tic_tac_toe", "--device", "gpu"], "unknown device `gpu`"),
        (["tic_tac_toe", "--minutes", "nan"], "equal to 0"),
        (["tic_tac_toe", "--out", "/proc/nothing/run"], "can't be made"),
        (["tic_tac_toe", "--json", "/nowhere/f.json"], "--json /nowhere/f.json can't be written"),
        (["broken.toml"], "line 1, column"),
        (["unknown.toml"], "did you mean `num_simulations`"),
        (["misplaced.toml"], "did you mean `learning_rate`"),
    ],
)
def test_wrong_words_are_one_message_and_leave_nothing(
    run: Program, arguments: list[str], message: str, tmp_path: Path
) -> None:
    """public-cli-1 and a few more: exit code 2 before any work, the nearest word named."""
    files = {
        "broken.toml": "train = [1, 2",
        "unknown.toml": "[search]\nsimulatons = 400",
        "misplaced.toml": "learning_rate = 0.01",
    }
    for name, text in files.items():
        Path(name).write_text(text)
    code, out, err = run("train", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert not list(tmp_path.rglob("run.lock"))


def test_a_folder_that_is_not_ours_is_one_message(run: Program) -> None:
    Path("file").write_text("")
    for place in ("file", "file/run"):
        code, _, err = run("train", "tic_tac_toe", *SETS, "--out", place)
        assert code == 2
        assert "can't be made" in err


def test_the_program_imports_only_what_training_needs() -> None:
    """Three seconds to the first game is not much: nothing is imported that only reports or exports want."""
    code = (
        "import sys, zelkova.train, zelkova.wheel, zelkova.cli.train; from tests.training import tiny;"
        "zelkova.wheel.make_wheel(tiny()).warm_up();"
        "print(*[name for name in ('matplotlib', 'onnxruntime', 'torch._dynamo', 'torch.onnx', 'sympy')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
