"""A run that is as small as a run can be, and what two runs are compared by."""

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from zelkova.cli import main
from zelkova.config import RunConfig, load_config
from zelkova.learning.checkpoint import Checkpoint, load_checkpoint
from zelkova.train import Run

TINY = (
    "network.channels=8",
    "network.blocks=1",
    "selfplay.games=8",
    "selfplay.moves_per_round=6",
    "search.num_simulations=4",
    "learning.batch_size=16",
    "learning.samples_per_position=2",
    "learning.schedule=constant",
    "learning.ema_decay=0.99",
    "replay.capacity=200",
    "checkpoint.every_rounds=2",
    "rating.every_rounds=0",
)
CLOCKED = ("seconds", "_per_s", "network_share")  # figures that a clock decides


def tiny(*overrides: str, source: str = "tic_tac_toe") -> RunConfig:
    return load_config(source, [*TINY, *overrides])


def begin(folder: Path, *overrides: str, rounds: int = 0, source: str = "tic_tac_toe") -> Run:
    """Begin a run in a new folder and turn the wheel some times."""
    folder.mkdir(parents=True, exist_ok=True)
    run = Run(tiny(*overrides, source=source), folder)
    run.begin()
    return turn(run, rounds)


def resume(folder: Path, *overrides: str) -> tuple[Run, list[str]]:
    """Go on with a run; give it and what was passed over."""
    run = Run(load_config(str(folder / "config.toml"), overrides), folder)
    return run, run.resume()


def turn(run: Run, rounds: int) -> Run:
    for _ in range(rounds):
        run.turn()
    return run


def newest(folder: Path) -> Checkpoint:
    return load_checkpoint(max((folder / "checkpoints").glob("*.safetensors")))


def metrics(folder: Path) -> list[dict[str, Any]]:
    """Read the figures of each round, but for those that a clock decides."""
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [
        {name: value for name, value in json.loads(line).items() if not name.endswith(CLOCKED)}
        for line in lines
    ]


def assert_same_run(one: Path, other: Path) -> None:
    """Hold two folders to the same weights, optimiser, games in play, generators, replay and figures."""
    a, b = newest(one), newest(other)
    assert (a.number, a.learner.steps, a.learner.samples) == (b.number, b.learner.steps, b.learner.samples)
    assert a.learner.tensors.keys() == b.learner.tensors.keys()
    for name, tensor in a.learner.tensors.items():
        assert torch.equal(tensor, b.learner.tensors[name]), name
    assert a.arrays.keys() == b.arrays.keys()
    for name, array in a.arrays.items():
        assert array.tobytes() == b.arrays[name].tobytes(), name
    for name, generator in a.generators.items():
        assert generator.bit_generator.state == b.generators[name].bit_generator.state
    assert a.extra["selfplay"] == b.extra["selfplay"]
    assert (a.replay_first, a.replay_total) == (b.replay_first, b.replay_total)
    assert metrics(one) == metrics(other)
    replays = [resume(folder)[0].wheel for folder in (one, other)]
    for left, right in zip(*[wheel.buffer.window_rows() for wheel in replays], strict=True):
        assert left.tobytes() == right.tobytes()
    for wheel in replays:
        wheel.close()


class Done(NamedTuple):
    """What a call of the program left."""

    returncode: int
    stdout: str
    stderr: str


def call(*arguments: str | Path) -> Done:
    """Run the program to its end in this process, which has PyTorch and compiled code ready."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as left:
        main.main([str(word) for word in arguments])
    return Done(int(left.value.code or 0), out.getvalue(), err.getvalue())


def train_arguments(folder: Path, *overrides: str) -> list[str]:
    """Give the command line of a tiny run without an end."""
    sets = [word for text in (*TINY, *overrides) for word in ("--set", text)]
    return ["train", "tic_tac_toe", "--out", str(folder), *sets]


def start(*arguments: str | Path) -> "subprocess.Popen[str]":
    """Start the program and leave it running."""
    return subprocess.Popen(
        [sys.executable, "-m", "zelkova", *map(str, arguments)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
