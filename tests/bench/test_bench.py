"""Every part runs at quick sizes and gives the documented figures, finite and positive."""

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.house.source import ROOT

from zelkova import bench
from zelkova.bench import BenchConfig, Figure, Rival
from zelkova.cli.bench import NAMES, as_markdown, as_text, to_rows
from zelkova.errors import ConfigError
from zelkova.selfplay.selfplay import SelfPlay

QUICK = BenchConfig(seconds=0.02, rounds=1, is_quick=True)
FIGURES = {
    "rules": {"rules/moves_per_s": {"game"}, "uct/simulations_per_s": {"game", "simulations"}},
    "search": {
        "search/simulations_per_cpu_s": {"trees", "simulations", "actions", "policy"},
        "search/simulations_per_s": {"trees", "simulations", "actions", "policy"},
        "search/two_thread_gain": {"trees", "simulations", "actions", "policy"},
        "search/cost_growth": {"trees", "simulations", "to_simulations", "actions", "policy"},
        "search/overhead_share": {"trees", "simulations", "actions", "policy", "model"},
        "search/bytes_per_simulation": {"simulations", "actions", "legal"},
    },
    "selfplay": {
        "selfplay/network_share": {"game", "network", "engine", "batch", "groups", "simulations"},
        "selfplay/evaluations_per_s": {"network", "engine"},
        "selfplay/positions_per_s": {"network", "engine"},
    },
    "network": {
        "network/evaluations_per_s": {"channels", "blocks", "batch", "engine", "is_chosen"},
        "network/load_s": {"engine"},
        "network/policy_error": {"engine"},
        "network/gemm_tflops": {"threads"},
    },
}
"""Names of each part's figures, and the parameters that a reader may count on."""


def ignore(text: str) -> None:
    """Take a line that this test does not read."""


@pytest.mark.parametrize("part", NAMES)
def test_every_part_gives_its_figures(part: str) -> None:
    said: list[str] = []
    found = list(bench.bench(part, QUICK, said.append))
    assert {figure.name for figure in found} == set(FIGURES[part])
    for figure in found:
        assert FIGURES[part][figure.name] <= set(figure.params), figure.name
        for record in figure.records():
            assert math.isfinite(record["value"]), record
            assert record["value"] > 0, record
    assert any(figure.rivals for figure in found)
    assert len(said) == (1 if bench.PEERS[part] else 0)


def test_the_search_rows_are_those_of_the_documents() -> None:
    found = [f for f in bench.bench("search", QUICK, ignore) if f.name == "search/simulations_per_cpu_s"]
    rows = [(f.params["trees"], f.params["simulations"], f.params["actions"]) for f in found]
    assert set(rows) == {
        (1, 800, 82), (1, 800, 362), (16, 200, 82), (64, 32, 82), (64, 50, 18), (64, 50, 362), (256, 16, 82)
    }  # fmt: skip
    assert len(rows) == 14
    gumbel = [f for f in found if f.params["policy"] == "gumbel"]
    for figure, puct in zip(gumbel, (f for f in found if f.params["policy"] == "puct"), strict=True):
        assert [r.value for r in figure.rivals if r.kind == "own"] == [puct.value]


def test_selfplay_runs_without_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    honest = SelfPlay

    def watched(*arguments: Any, **named: Any) -> SelfPlay:
        play = honest(*arguments, **named)
        seen.append(play.config.cache_positions)
        return play

    monkeypatch.setattr(bench, "SelfPlay", watched)
    share = next(f for f in bench.bench("selfplay", QUICK, ignore) if f.name == "selfplay/network_share")
    assert seen == [0]
    assert 0 < share.value <= 1


PEER = """
import json, sys
{greeting}
for line in sys.stdin:
    task = json.loads(line)
    known = task["params"].get("game") == "connect_four"
    print(json.dumps({{"value": 1000.0 if known else None, "settings": "asleep"}}), flush=True)
"""


def pretend(folder: Path, monkeypatch: pytest.MonkeyPatch, greeting: str) -> Path:
    """Make an environment whose Python is ours, and scripts of which one answers."""
    (folder / "venv" / "bin").mkdir(parents=True)
    (folder / "venv" / "bin" / "python").symlink_to(sys.executable)
    (folder / "bench" / "peers").mkdir(parents=True)
    (folder / "bench" / "peers" / "peer_open_spiel.py").write_text(PEER.format(greeting=greeting))
    monkeypatch.chdir(folder)
    monkeypatch.setattr(bench, "__file__", str(folder / "src" / "zelkova" / "bench.py"))
    return folder / "venv"


def test_peers_take_turns_and_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    greeting = "print(json.dumps({'peer': 'sleeper', 'version': '1'}), flush=True)"
    venv = pretend(tmp_path, monkeypatch, greeting)
    said: list[str] = []
    config = BenchConfig(seconds=0.01, rounds=2, peers=venv, is_quick=True)
    with bench.open_peers("rules", config, said.append) as peers:
        assert [peer.name for peer in peers] == ["sleeper 1"]
        name, turns = "rules/moves_per_s", []
        ours = lambda seconds: turns.append(seconds) or 5000.0  # type: ignore[func-returns-value] # noqa: E731
        found = bench.compare(ours, name, {"game": "connect_four"}, peers, config)
        other = bench.compare(ours, name, {"game": "hex"}, peers, config)
    assert turns == [0.01] * 4
    assert found.rivals == (Rival("sleeper 1", "peer", 1000.0, "asleep"),)
    assert other.rivals == ()
    ratio = found.records()[1]
    assert (ratio["name"], ratio["value"]) == ("rules/ratio", 5.0)
    assert ratio["params"]["to"] == "sleeper 1"
    assert len(said) == 1
    assert "pgx" in said[0]


@pytest.mark.parametrize("greeting", ["sys.exit(1)", "print('no JSON', flush=True)"])
def test_a_peer_that_fails_is_left_out(
    greeting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv = pretend(tmp_path, monkeypatch, greeting)
    said: list[str] = []
    with bench.open_peers("rules", BenchConfig(peers=venv), said.append) as peers:
        assert peers == []
    assert "open_spiel" in said[0]


def test_what_is_asked_for_and_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no .*bin/python; `make bench`"):
        list(bench.bench("rules", BenchConfig(peers=tmp_path), ignore))
    with pytest.raises(ConfigError, match="did you mean `rules`"):
        list(bench.bench("rule", QUICK, ignore))
    done = subprocess.run(
        [sys.executable, "-m", "zelkova", "bench", "serach"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert "did you mean `search`" in done.stderr


def test_tables_hold_every_figure_and_rival() -> None:
    found = [
        Figure("a/b", 6.0, {"n": 1}, (Rival("x", "peer", 2.0), Rival("y", "limit", 12.0))),
        Figure("a/c", 1, {}),
    ]
    rows = to_rows(found)
    assert [row[0] for row in rows] == ["a/b", "", "a/c"]
    assert [row[5] for row in rows] == ["3", "0.5", ""]
    text = list(as_text(rows))
    assert len({line.index("x") for line in text if " x " in line}) == 1
    lines = list(as_markdown(rows))
    assert len(lines) == 5
    assert {line.count("|") for line in lines} == {7}


def test_the_command_writes_its_records(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, "-m", "zelkova", "bench", "search", "--quick", "--markdown", "--json", str(path)],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("| figure | at | value |")
    records = json.loads(path.read_text())
    assert {"search/simulations_per_cpu_s", "search/ratio"} <= {record["name"] for record in records}


def run_gpu_script(*arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(
        [sys.executable, str(ROOT / "bench" / "gpu.py"), *arguments],
        env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def test_the_gpu_script_runs_to_its_end_at_tiny_sizes(tmp_path: Path) -> None:
    path = tmp_path / "gpu.json"
    done = run_gpu_script("--tiny", "--json", str(path))
    assert done.returncode == 0, done.stderr
    records = json.loads(done.stdout)
    assert records == json.loads(path.read_text())
    assert {record["name"] for record in records} == {
        "network/load_s", "network/policy_error", "network/evaluations_per_s", "network/graph_to_eager",
        "network/tflops", "selfplay/network_share", "selfplay/evaluations_per_s", "selfplay/positions_per_s",
        "learn/samples_per_s",
    }  # fmt: skip
    played = {r["params"]["game"] for r in records if r["name"] == "selfplay/positions_per_s"}
    assert played == {"connect_four", "othello"}
    assert all(math.isfinite(record["value"]) and record["value"] >= 0 for record in records)


def test_the_gpu_script_says_that_there_is_no_gpu() -> None:
    done = run_gpu_script()
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.search(r"sees no GPU; run it on a machine with one, or with --tiny", done.stderr)
