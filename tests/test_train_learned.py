"""A run over a learned model goes on exactly where it was stopped."""

import multiprocessing
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.training import metrics, newest

from zelkova.config import load_config
from zelkova.errors import ConfigError
from zelkova.train import Run
from zelkova.wheel.learned import LearnedWheel

TINY = ("size=tiny", "selfplay.moves_per_round=15", "checkpoint.every_rounds=1")
RUNS = {
    "environment": ("gumbel-muzero-cartpole", ()),
    "priorities and reanalyse": (
        "muzero-cartpole",
        ("replay.priority_alpha=0.6", "reanalyse.policy_share=0.5", "reanalyse.values=search"),
    ),
    "value prefix and correction": (
        "gumbel-muzero-cartpole",
        (
            "latent.value_prefix=true", "unroll.value_prefix=true", "unroll.correction=true",
            "unroll.segment=10",
        ),
    ),
    "continuous": ("sampled-pendulum", ("unroll.segment=20", "reanalyse.policy_share=0.5")),
    "game": ("muzero-tictactoe", ()),
    "acting in bfloat16": ("muzero-tictactoe", ("planning.precision=bfloat16",)),
    "convolutions": ("muzero-connect-four", ()),
    "changed images": (
        "muzero-connect-four",
        ("loss.shift_pixels=1", "loss.intensity=0.05", "loss.consistency_weight=1.0"),
    ),
}  # fmt: skip


def begin(folder: Path, source: str, overrides: tuple[str, ...], rounds: int) -> Run:
    folder.mkdir(parents=True, exist_ok=True)
    run = Run(load_config(source, [*TINY, *overrides]), folder)
    run.begin()
    for _ in range(rounds):
        run.turn()
    return run


def resume_exactly(name: str, tmp_path: Path) -> None:
    source, overrides = RUNS[name]
    begin(tmp_path / "straight", source, overrides, 5).wheel.close()
    begin(tmp_path / "stopped", source, overrides, 3).wheel.close()
    run = Run(load_config(str(tmp_path / "stopped" / "config.toml")), tmp_path / "stopped")
    assert run.resume() == []
    for _ in range(2):
        run.turn()
    assert run.wheel.learner.steps > 0
    run.wheel.close()
    one, other = newest(tmp_path / "straight"), newest(tmp_path / "stopped")
    assert (one.number, one.learner.steps) == (other.number, other.learner.steps)
    for key, tensor in one.learner.tensors.items():
        assert torch.equal(tensor, other.learner.tensors[key]), key
    assert one.arrays.keys() == other.arrays.keys()
    for key, array in one.arrays.items():
        assert array.tobytes() == other.arrays[key].tobytes(), key
    assert metrics(tmp_path / "straight") == metrics(tmp_path / "stopped")


@pytest.mark.parametrize("name", RUNS)
def test_stop_and_resume_is_no_stop(name: str, tmp_path: Path) -> None:
    """In a process of its own, as runs are: what a long one has left in memory moves last bits."""
    child = multiprocessing.get_context("spawn").Process(target=resume_exactly, args=(name, tmp_path))
    child.start()
    child.join()
    assert child.exitcode == 0


def test_a_damaged_target_network_is_refused(tmp_path: Path) -> None:
    run = begin(tmp_path, "gumbel-muzero-cartpole", (), 1)
    arrays: dict[str, Any] = run.wheel.extra_arrays()
    arrays.pop("targeted")
    with pytest.raises(ValueError, match="lacks parts of a learned model"):
        run.wheel.load_extra_arrays(arrays)
    run.wheel.close()


def test_the_two_settings_of_the_value_prefix_go_together() -> None:
    with pytest.raises(ConfigError, match="both alike"):
        load_config("gumbel-muzero-cartpole", ["latent.value_prefix=true"])


def test_an_environment_has_no_known_rules() -> None:
    with pytest.raises(ConfigError, match="model = learned"):
        load_config("gumbel-muzero-cartpole", ["model=rules"])


def test_an_environment_is_a_source() -> None:
    config = load_config("MountainCar-v0")
    assert (config.model, config.env.id, config.preset) == ("learned", "MountainCar-v0", "gumbel-muzero")


def test_only_images_can_be_shifted() -> None:
    with pytest.raises(ConfigError, match=r"CartPole-v1 is seen as \(4,\); next: leave both at 0"):
        LearnedWheel(load_config("muzero-cartpole", [*TINY, "loss.shift_pixels=4"]))
