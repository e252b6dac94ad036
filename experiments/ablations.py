"""What single settings do: a study changes one thing at a time in a preset and measures all variants alike.

    python experiments/ablations.py cartpole run FOLDER   what is not finished; stop and go on freely
    python experiments/ablations.py cartpole show FOLDER --json FILE

* `cartpole`: what EfficientZero adds, in `gumbel-muzero-cartpole` with 8 simulations a decision; measured are
  the mean return of 50 greedy episodes and of the episodes played while learning.
* `three`: what was tried for games of three, in `alphazero-connect-four-3p` at size small; measured are the
  score as one seat against two of `uct:200` (a third is even), and how many winners of finished games the
  network foresees, in positions that it learns from and in new ones.

All variants of a study get the same number of positions and optimiser steps, and several seeds each.
"""

import argparse
import dataclasses
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

LAST = 10  # rounds whose accuracies are averaged
PREFIX = ("latent.value_prefix=true", "unroll.value_prefix=true")
CORRECTION = ("unroll.correction=true", "unroll.correction_span=3000")
PRIORITIES = ("replay.priority_alpha=0.6", "replay.priority_beta=0.4")
TAUGHT = ("teacher.player=scaffold:100", "teacher.positions=75000")
PUCT = ("search.policy=puct", "search.num_simulations=32")


@dataclasses.dataclass(frozen=True)
class Study:
    """One preset, and what each variant changes in it."""

    preset: str
    steps: int  # optimiser steps of a run
    base: tuple[str, ...]  # settings of all runs
    variants: Mapping[str, tuple[str, ...]]
    arena: tuple[str, ...]  # what measures a run at its end
    seeds: int = 3
    size: str = "base"


STUDIES = {
    "cartpole": Study(
        "gumbel-muzero-cartpole",
        1500,  # of 128 unrolls: 3,000 decisions, each drawn 64 times as a beginning
        ("rating.every_rounds=0", "search.num_simulations=8"),
        {
            "preset": (),
            "no consistency": ("loss.consistency_weight=0",),
            "value prefix": PREFIX,
            "values as stored": ("reanalyse.values=stored",),
            "policies reanalysed 50 %": ("reanalyse.policy_share=0.5",),
            "policies reanalysed 100 %": ("reanalyse.policy_share=1.0",),
            "correction": CORRECTION,
            "priorities": PRIORITIES,
            "all of EfficientZero": (*PREFIX, *CORRECTION, *PRIORITIES, "reanalyse.policy_share=1.0"),
        },
        ("--games", "50"),
    ),
    "three": Study(
        "alphazero-connect-four-3p",
        600,
        ("rating.every_rounds=0",),
        {
            "preset": (),
            "who won alone": ("learning.value_mix=0",),
            "the root's value alone": ("learning.value_mix=1",),
            "taught first": TAUGHT,
            "taught first, then a ramp": (
                *TAUGHT,
                "learning.ramp_begin=290",
                "learning.ramp_start=290",
                "learning.ramp_steps=150",
            ),
            "a quarter with past networks": ("selfplay.past_share=0.25", "selfplay.past_rounds=5"),
            "no random openings": ("selfplay.random_opening=0",),
            "a tenth from lopsided positions": ("selfplay.restart_share=0.1",),
            "a quarter of moves at full search": ("selfplay.fast_simulations=4",),
            "two auxiliary heads": ("heads.rank=0.15", "heads.plies_left=0.15"),
            "pooling blocks": ("network.pooling_every=2",),
            "PUCT": PUCT,
            "PUCT, forced playouts": (*PUCT, "search.forced_playouts=2"),
        },
        ("uct:200", "--games", "300", "--simulations", "32"),
        seeds=2,
        size="small",
    ),
}


def folder_of(base: Path, variant: str, seed: int) -> Path:
    """Give a run's folder."""
    word = "".join(sign for sign in variant.replace(" ", "-") if sign.isalnum() or sign == "-")
    return base / f"{word}-{seed}"


def read_rounds(where: Path) -> list[dict[str, Any]]:
    """Read a run's rounds; a line that a kill cut short is left out."""
    path = where / "metrics.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def run_trials(study: Study, base: Path, seeds: list[int]) -> None:
    """Run what is not finished of some seeds, one seed of everything before the next."""
    base.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        for variant, changes in study.variants.items():
            where = folder_of(base, variant, seed)
            measured = where.with_suffix(".json")
            if measured.exists():
                continue
            with where.with_suffix(".log").open("a", encoding="utf-8") as log:

                def call(*words: str, log: Any = log) -> None:
                    command = [sys.executable, "-m", "zelkova", *words]
                    subprocess.run(command, stdout=log, stderr=log, check=True)

                steps = ("--steps", str(study.steps))
                if (where / "config.toml").exists():
                    call("train", "--resume", str(where), *steps)
                else:
                    sets = [f"seed={seed}", *study.base, *changes]
                    flags = [word for one in sets for word in ("--set", one)]
                    call("train", study.preset, "--size", study.size, *steps, "--out", str(where), *flags)
                call("arena", str(where), *study.arena, "--json", str(measured))
            print(f"{where.name} done", flush=True)


def measure(base: Path, variant: str, seed: int) -> dict[str, float] | None:
    """Give a finished run's figures, or None."""
    where = folder_of(base, variant, seed)
    measured = where.with_suffix(".json")
    if not measured.exists():
        return None
    rows = json.loads(measured.read_text(encoding="utf-8"))
    figures = {
        row["name"].partition("/")[2]: float(row["value"])
        for row in rows
        if row["name"] in ("arena/return", "arena/score")
    }
    rounds = read_rounds(where)
    returns = [(r["games"], r["selfplay/episode_return"]) for r in rounds if "selfplay/episode_return" in r]
    if returns:
        counts = np.diff([0, *(games for games, _ in returns)])
        figures["while learning"] = float(np.average([value for _, value in returns], weights=counts))
    for name in ("seen", "unseen"):
        found = [r[f"learn/{name}_accuracy"] for r in rounds if f"learn/{name}_accuracy" in r]
        if found:
            figures[name] = float(np.mean(found[-LAST:]))
    figures |= {"positions": float(rounds[-1]["positions"]), "minutes": float(rounds[-1]["seconds"]) / 60.0}
    return figures


def told(number: float) -> str:
    """Give a figure of three places, or a whole number where it is a large one."""
    return f"{number:,.0f}" if number >= 1000.0 else f"{number:.3g}"


def show(study: Study, base: Path) -> list[dict[str, Any]]:
    """Print a table: the first figure of each seed, and means; give the figures as records."""
    records: list[dict[str, Any]] = []
    names: list[str] = []
    for variant in study.variants:
        done = [(seed, measure(base, variant, seed)) for seed in range(study.seeds)]
        found = {seed: figures for seed, figures in done if figures is not None}
        for seed, figures in found.items():
            records += [
                {"name": f"ablations/{name}", "value": value, "params": {"variant": variant, "seed": seed}}
                for name, value in figures.items()
            ]
        if not found:
            continue
        if not names:
            names = list(next(iter(found.values())))
            print(f"| variant | {names[0]} of each seed | {' | '.join(names)} |")
            print("|---|---|" + "---|" * len(names))
        each = ", ".join(told(figures[names[0]]) for figures in found.values())
        means = [told(np.mean([figures[name] for figures in found.values()])) for name in names]
        print(f"| {variant} | {each} | {' | '.join(means)} |")
    return records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", help="of `run`; all of the study by default")
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    study = STUDIES[given.study]
    if given.what == "run":
        run_trials(study, given.folder, given.seeds or list(range(study.seeds)))
        return
    records = show(study, given.folder)
    if given.json is not None:
        given.json.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
