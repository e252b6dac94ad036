"""What each of EfficientZero's additions does on CartPole-v1: consistency, prefix, reanalyse, correction, ...

    python experiments/ablations.py run FOLDER      every run that is not finished; stop and go on freely
    python experiments/ablations.py show FOLDER --json FILE

Each variant changes one thing in the preset `gumbel-muzero-cartpole`, which searches 8 times a decision here;
the last has everything at once. All get the same decisions and optimiser steps, three seeds each. Measured
are 50 greedy episodes at the end, and the mean return of the episodes that were played while learning.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

STEPS = 1500  # of 128 unrolls: 3,000 decisions, each drawn 64 times as a beginning
SEEDS = 3
BASE = ("rating.every_rounds=0", "search.num_simulations=8")  # of all runs
EPISODES = 50
PREFIX = ("latent.value_prefix=true", "unroll.value_prefix=true")
CORRECTION = ("unroll.correction=true", "unroll.correction_span=3000")
PRIORITIES = ("replay.priority_alpha=0.6", "replay.priority_beta=0.4")
VARIANTS = {
    "preset": (),
    "no consistency": ("loss.consistency_weight=0",),
    "value prefix": PREFIX,
    "values as stored": ("reanalyse.values=stored",),
    "policies reanalysed 50 %": ("reanalyse.policy_share=0.5",),
    "policies reanalysed 100 %": ("reanalyse.policy_share=1.0",),
    "correction": CORRECTION,
    "priorities": PRIORITIES,
    "all of EfficientZero": (*PREFIX, *CORRECTION, *PRIORITIES, "reanalyse.policy_share=1.0"),
}
"""What each changes in the preset, which has consistency 2 and values of the target network."""


def folder_of(base: Path, variant: str, seed: int) -> Path:
    """Give a run's folder."""
    word = "".join(sign for sign in variant.replace(" ", "-") if sign.isalnum() or sign == "-")
    return base / f"{word}-{seed}"


def read_rounds(where: Path) -> list[dict[str, Any]]:
    """Read a run's rounds; a line that a kill cut short is left out."""
    path = where / "metrics.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def run_trials(base: Path, seeds: list[int]) -> None:
    """Run what is not finished of some seeds, one seed of everything before the next."""
    base.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        for variant, changes in VARIANTS.items():
            where = folder_of(base, variant, seed)
            measured = where.with_suffix(".json")
            if measured.exists():
                continue
            with where.with_suffix(".log").open("a", encoding="utf-8") as log:

                def call(*words: str, log: Any = log) -> None:
                    command = [sys.executable, "-m", "zelkova", *words]
                    subprocess.run(command, stdout=log, stderr=log, check=True)

                steps = ("--steps", str(STEPS))
                if (where / "config.toml").exists():
                    call("train", "--resume", str(where), *steps)
                else:
                    sets = [f"seed={seed}", *BASE, *changes]
                    flags = [word for one in sets for word in ("--set", one)]
                    call("train", "gumbel-muzero-cartpole", *steps, "--out", str(where), *flags)
                call("arena", str(where), "--games", str(EPISODES), "--json", str(measured))
            print(f"{where.name} done", flush=True)


def measure(base: Path, variant: str, seed: int) -> dict[str, float] | None:
    """Give a finished run's figures, or None."""
    where = folder_of(base, variant, seed)
    measured = where.with_suffix(".json")
    if not measured.exists():
        return None
    figures = {row["name"]: float(row["value"]) for row in json.loads(measured.read_text(encoding="utf-8"))}
    rounds = read_rounds(where)
    returns = [(r["games"], r["selfplay/episode_return"]) for r in rounds if "selfplay/episode_return" in r]
    counts = np.diff([0, *(games for games, _ in returns)])
    return {
        "greedy": figures["arena/return"],
        "while learning": float(np.average([value for _, value in returns], weights=counts)),
        "decisions": float(rounds[-1]["positions"]),
        "seconds": float(rounds[-1]["seconds"]),
    }


def show(base: Path) -> list[dict[str, Any]]:
    """Print a table, and give the figures as records."""
    records: list[dict[str, Any]] = []
    print("| variant | greedy return, each seed | mean | while learning, mean | minutes a run |")
    print("|---|---|---|---|---|")
    for variant in VARIANTS:
        found = {seed: measure(base, variant, seed) for seed in range(SEEDS)}
        done = {seed: figures for seed, figures in found.items() if figures is not None}
        for seed, figures in done.items():
            records += [
                {"name": f"ablations/{name}", "value": value, "params": {"variant": variant, "seed": seed}}
                for name, value in figures.items()
            ]
        if done:
            means = {
                name: np.mean([row[name] for row in done.values()]) for name in next(iter(done.values()))
            }
            each = ", ".join(f"{row['greedy']:.0f}" for row in done.values())
            print(
                f"| {variant} | {each} | {means['greedy']:.0f} | {means['while learning']:.0f} |"
                f" {means['seconds'] / 60:.1f} |"
            )
    return records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(SEEDS)), help="of the runs")
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    if given.what == "run":
        run_trials(given.folder, given.seeds)
        return
    records = show(given.folder)
    if given.json is not None:
        given.json.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
