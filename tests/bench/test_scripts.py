"""The scripts of bench/ run to their end at the smallest sizes, and give the documented figures."""

import json
import math
import subprocess
import sys

import pytest
from tests.house.source import ROOT

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
