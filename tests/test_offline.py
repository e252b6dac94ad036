"""A run over a fixed data set: it goes on exactly, keeps its data, and refuses what is none."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.training import call, metrics, newest

from zelkova.cli.train import OFFLINE
from zelkova.config import load_config
from zelkova.errors import ConfigError, ShapeError
from zelkova.train import Run
from zelkova.wheel.dataset import read_data
from zelkova.wheel.learned import LearnedWheel

TINY = ("size=tiny", "selfplay.moves_per_round=40", "checkpoint.every_rounds=1", "unroll.segment=20")
SETS = (*OFFLINE, "replay.offline_steps=3", "replay.priority_alpha=0.6", "replay.capacity=20")


@pytest.fixture(scope="module")
def behaviour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that acted."""
    run = Run(load_config("muzero-cartpole", TINY), tmp_path_factory.mktemp("cartpole"))
    run.begin()
    for _ in range(3):
        run.turn()
    run.wheel.close()
    return run.folder


def begin(folder: Path, data: Path, *overrides: str) -> Run:
    folder.mkdir()
    run = Run(load_config("muzero-cartpole", [*TINY, *SETS, *overrides]), folder)
    assert isinstance(run.wheel, LearnedWheel)
    run.begin(read_data([data], run.wheel.trajectory_spec, run.config.reanalyse)[0])
    return run


def test_stop_and_resume_without_the_files_is_no_stop(behaviour: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(behaviour, data)
    straight, stopped = begin(tmp_path / "straight", data), begin(tmp_path / "stopped", data)
    shutil.rmtree(data)
    stopped.turn()
    stopped.wheel.close()
    resumed = Run(load_config(str(tmp_path / "stopped" / "config.toml")), tmp_path / "stopped")
    assert resumed.resume() == []
    assert (
        len(resumed.wheel.buffer) == len(straight.wheel.buffer) > 20
    )  # more than the window of a run that acts
    resumed.turn()
    for _ in range(2):
        straight.turn()
    for run in (straight, resumed):
        run.wheel.close()
    one, other = newest(tmp_path / "straight"), newest(tmp_path / "stopped")
    assert one.learner.steps == other.learner.steps == 6
    for key, tensor in one.learner.tensors.items():
        assert torch.equal(tensor, other.learner.tensors[key]), key
    for key, array in one.arrays.items():
        assert array.tobytes() == other.arrays[key].tobytes(), key
    assert len(np.unique(one.arrays["wheel/priorities"])) > 3  # draws by priority are alive
    figures = metrics(tmp_path / "straight")
    assert figures == metrics(tmp_path / "stopped")
    assert not any(name.startswith("selfplay/") for line in figures for name in line)


def test_what_is_no_offline_run_is_refused(behaviour: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--offline FILES"):
        Run(load_config("muzero-cartpole", [*TINY, *SETS]), tmp_path).begin()
    with pytest.raises(ConfigError, match="--offline FILES"):
        begin(tmp_path / "b", behaviour, "replay.offline_steps=0")
    with pytest.raises(ConfigError, match="learned model"):
        load_config("alphazero", OFFLINE)
    run = begin(tmp_path / "c", behaviour)
    run.wheel.close()
    run = Run(load_config(str(run.folder / "config.toml"), ["replay.offline_steps=0"]), run.folder)
    with pytest.raises(ConfigError, match=r"replay\.offline_steps"):
        run.resume()
    run.wheel.close()


def test_a_replay_of_another_configuration_is_named(behaviour: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(behaviour, folder)
    config = load_config(str(folder / "config.toml"))
    (tmp_path / "other").mkdir()
    other = Run(load_config("muzero-tictactoe", [*TINY, "unroll.segment=0"]), tmp_path / "other")
    other.begin()
    for _ in range(2):
        other.turn()
    other.wheel.close()
    for path in (tmp_path / "other" / "replay").iterdir():
        shutil.copy(path, folder / "replay" / path.name)
    run = Run(config, folder)
    words = (
        r"0000000\d.safetensors is of another run: .*observation_shape is \(.*\), here \(4,\).*num_players"
    )
    with pytest.raises(ShapeError, match=words):
        run.resume()
    run.wheel.close()


def test_the_program_learns_from_runs_and_own_files(behaviour: Path, tmp_path: Path) -> None:
    own: dict[str, Any] = {
        "observations": np.zeros((6, 4)), "actions": np.array([0, 1, 0, 1, 0]), "rewards": np.ones(5),
        "terminated": np.array([0, 0, 0, 0, 1]), "truncated": np.zeros(5),
    }  # fmt: skip
    np.savez(tmp_path / "own.npz", **own)
    words = ("train", "muzero-cartpole", "--size", "tiny", "--steps", "2", "--set", "replay.offline_steps=2")
    data = ("--offline", behaviour, "--offline", tmp_path / "own.npz")
    rated = ("--set", "rating.every_rounds=1", "--set", "rating.games=2")
    done = call(*words, *data, *rated, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "data set: " in done.stderr
    line = json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[0])
    assert line["step"] == 2
    assert line["eval/return"] >= 1.0
    done = call("train", "--resume", tmp_path / "run", "--offline", behaviour)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--resume without it" in done.stderr
    own["actions"][3] = 2
    np.savez(tmp_path / "own.npz", **own)
    done = call(*words, *data, "--out", tmp_path / "broken")
    assert (done.returncode, done.stdout) == (2, "")
    assert "own.npz: trajectory 0, decision 3: action 2; allowed: 0 to 1" in done.stderr
    assert "Traceback" not in done.stderr
