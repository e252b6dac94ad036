"""Learning with few simulations: PUCT with Dirichlet noise against Gumbel, at equal numbers of positions.

    python experiments/small_budgets.py run FOLDER      every run that is not finished; stop and go on freely
    python experiments/small_budgets.py show FOLDER --json FILE --svg FOLDER

Connect four with 2, 4, 8 and 16 simulations a move and 6x6 Othello with 2 and 16, three seeds each; at
connect four also PUCT with the parent's value for unvisited actions (`puct_parent`) in place of 0. All else
is alike: network, games, replay, optimiser steps. Each run is rated five times against the same ladder of
opponents, with 64 simulations a move and without noise.
"""

import argparse
import itertools
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from zelkova.reports.charts import Chart, as_curve, draw_chart

STEPS = 1000  # of 256 samples: 128,000 positions, each trained on twice
SETTINGS = """
seed = {seed}

[game]
name = "{game}"

[network]
channels = 32
blocks = 3

[search]
policy = "{search}"
fpu = "{fpu}"
num_simulations = {simulations}

[selfplay]
games = 128
moves_per_round = 20

[replay]
capacity = 200_000
min_window = 20_000

[learning]
batch_size = 256
samples_per_position = 2.0
schedule = "inverse_sqrt"
decay_steps = 400
ema_decay = 0.99

[rating]
opponents = ["random", "uct:10", "uct:100", "uct:1000"]
games = 100
every_rounds = 12
num_simulations = 64
ladder_games = 200

[checkpoint]
every_rounds = 12
keep = 1
"""
POLICIES = {"connect_four": ("puct", "puct_parent", "gumbel"), "othello_6x6": ("puct", "gumbel")}


class Trial(NamedTuple):
    """One training."""

    game: str
    policy: str
    simulations: int
    seed: int

    @property
    def settings(self) -> dict[str, Any]:
        """What the file of settings is filled with."""
        search, _, fpu = self.policy.partition("_")
        return {**self._asdict(), "search": search, "fpu": fpu or "zero"}

    @property
    def name(self) -> str:
        return f"{self.game}-{self.policy}-{self.simulations}-{self.seed}"


def all_trials() -> list[Trial]:
    """List the trials, one seed of everything before the next."""
    return [
        Trial(game, policy, simulations, seed)
        for seed in range(3)
        for game, budgets in (("connect_four", (2, 4, 8, 16)), ("othello_6x6", (2, 16)))
        for simulations, policy in itertools.product(budgets, POLICIES[game])
    ]


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """Read a run's rounds; a line that a kill cut short is left out."""
    path = folder / "metrics.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def is_finished(folder: Path) -> bool:
    rounds = read_metrics(folder)
    return bool(rounds) and rounds[-1]["step"] >= STEPS and "eval/elo" in rounds[-1]


def run_trials(folder: Path) -> None:
    """Run what is not finished, one after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    for trial in all_trials():
        where = folder / trial.name
        if is_finished(where):
            continue
        command = [sys.executable, "-m", "zelkova", "train", "--steps", str(STEPS)]
        if (where / "config.toml").exists():
            command += ["--resume", str(where)]
        else:
            settings = folder / f"{trial.name}.toml"
            settings.write_text(SETTINGS.format(**trial.settings), encoding="utf-8")
            command += [str(settings), "--out", str(where)]
        print(f"{trial.name} ...", flush=True)
        with (folder / f"{trial.name}.log").open("a", encoding="utf-8") as log:
            subprocess.run(command, stdout=log, stderr=log, check=True)
        print(f"{trial.name} {read_metrics(where)[-1]['eval/elo']:.0f}", flush=True)


def ratings_of(folder: Path, trial: Trial) -> list[tuple[float, float]]:
    """Give (positions, Elo) of each rating of a finished trial."""
    rounds = read_metrics(folder / trial.name)
    return [(float(r["positions"]), float(r["eval/elo"])) for r in rounds if "eval/elo" in r]


def show(folder: Path, pictures: Path | None) -> list[dict[str, Any]]:
    """Print the last ratings, mean and spread over seeds, and draw the curves."""
    done = [trial for trial in all_trials() if is_finished(folder / trial.name)]
    records: list[dict[str, Any]] = []
    for trial in done:
        rounds = read_metrics(folder / trial.name)
        params: dict[str, Any] = trial._asdict()
        for name in ("low", "high"):
            params[name] = rounds[-1][f"eval/elo_{name}"]
        params["score_uct_1000"] = rounds[-1]["eval/score_uct_1000"]
        records.append({"name": "small_budgets/elo", "value": rounds[-1]["eval/elo"], "params": params})
    groups = sorted({trial[:3] for trial in done})
    for group in groups:
        elos = np.array([r["value"] for r in records if tuple(r["params"].values())[:3] == group])
        spread = elos.std(ddof=1) if len(elos) > 1 else 0.0
        where = f"{group[0]:14} {group[1]:11} n = {group[2]:2}"
        print(f"{where}  Elo {elos.mean():5.0f} +- {spread:3.0f} over {len(elos)} of 3 seeds")
    if pictures is not None:
        pictures.mkdir(parents=True, exist_ok=True)
        for game in sorted({trial.game for trial in done}):
            chart = draw_chart(chart_of(folder, game, done), f"budgets-{game}")
            (pictures / f"small-budgets-{game}.svg").write_text(chart + "\n", encoding="utf-8")
    return records


def chart_of(folder: Path, game: str, done: list[Trial]) -> Chart:
    """Make the chart of a game: a curve a policy and budget, the mean of its seeds in a band."""
    curves = []
    for group in sorted({trial[1:3] for trial in done if trial.game == game}):
        seeds = [ratings_of(folder, trial) for trial in done if trial.game == game and trial[1:3] == group]
        shortest = min(len(points) for points in seeds)
        table = np.array([points[:shortest] for points in seeds])
        means = list(zip(table[0, :, 0], table[:, :, 1].mean(0), strict=True))
        curve = as_curve(f"{group[0]} {group[1]}", means)
        low, high = table[:, :, 1].min(0), table[:, :, 1].max(0)
        curves.append(replace(curve, low=low, high=high))
    return Chart(f"{game}: strength by positions", "positions", "Elo (random = 0)", tuple(curves))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--svg", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    if given.what == "run":
        run_trials(given.folder)
        return
    records = show(given.folder, given.svg)
    if given.json is not None:
        given.json.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
