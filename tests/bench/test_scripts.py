"""The scripts of bench/ and an experiment run to their end at small sizes and give the documented figures."""

import json
import math
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from tests.house.source import ROOT

from zelkova.config import load_config

ATARI = {
    "atari/searches_per_s", "atari/search_frames_per_s", "atari/batches_per_s", "atari/updates_per_s",
    "atari/frames_per_s", "atari/wheel_updates_per_s", "atari/first_loss", "atari/last_loss",
    "atari/resident_mb", "atari/return",
}  # fmt: skip
SOAK = {
    "soak/decisions_per_s", "soak/first_mb", "soak/early_mb", "soak/late_mb", "soak/most_mb", "soak/growth",
}  # fmt: skip


def records(script: str, *options: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench" / script), *options], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return {found["name"]: found["value"] for found in json.loads(done.stdout)}


@pytest.mark.slow
def test_atari_runs_on_a_cpu() -> None:
    pytest.importorskip("ale_py")
    pytest.importorskip("cv2")
    found = records("gpu_atari.py", "--size", "tiny", "--seconds", "2", "--set", "env.max_episode_steps=80")
    assert set(found) == ATARI
    assert all(map(math.isfinite, found.values()))


def test_a_soak_of_a_few_rounds_ends() -> None:
    found = records("soak.py", "--decisions", "1300", "--capacity", "200", "--tolerance", "1")
    assert set(found) == SOAK


def test_a_batched_search_gives_its_rates() -> None:
    found = records("learned_search.py", "--seconds", "0.01", "--batches", "2", "8")
    assert min(found.values()) > 0


@pytest.mark.slow
def test_three_player_shogi_runs_on_a_cpu() -> None:
    found = records("gpu_shogi3.py", "--size", "tiny", "--seconds", "2")
    assert set(found) == {f"shogi3/{name}_per_s" for name in ("positions", "moves", "updates", "samples")}
    assert all(value > 0 for value in found.values())


def test_acting_with_gumbel_never_loses_to_the_prior(tmp_path: Path) -> None:
    """The paper's claim on a few bandits; experiments.md has the figures of 10,000."""
    script, figures = ROOT / "experiments" / "policy_improvement.py", tmp_path / "figures.json"
    command = [sys.executable, str(script), "--bandits", "60", "--json", str(figures)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(figures.read_text(encoding="utf-8"))
    gumbel = [record for record in found if record["params"]["policy"] == "gumbel"]
    assert {record["params"]["simulations"] for record in gumbel} == {1, 2, 4, 8, 16, 32}
    for record in gumbel:
        gain, params = record["value"], record["params"]
        if record["name"] == "search/policy_improvement":
            assert gain > -2 * params["standard_error"]
        elif params["simulations"] == 1:  # enumerated: a sample of the prior, on every bandit
            assert gain == pytest.approx(0, abs=1e-9)
            assert params["least"] == pytest.approx(0, abs=1e-9)
        else:
            assert params["least"] > 0


def test_the_trials_of_small_budgets_can_be_trained(tmp_path: Path) -> None:
    script = runpy.run_path(str(ROOT / "experiments" / "small_budgets.py"))
    trials = script["all_trials"]()
    assert len(trials) == 48
    for trial in trials:
        path = tmp_path / f"{trial.name}.toml"
        path.write_text(script["SETTINGS"].format(**trial.settings), encoding="utf-8")
        config = load_config(str(path))
        assert config.game.name == trial.game
        assert config.search.policy == trial.policy.partition("_")[0]
        assert config.search.num_simulations == trial.simulations
    for game in {trial.game for trial in trials}:
        assert (ROOT / "docs" / "pictures" / f"small-budgets-{game}.svg").exists()
