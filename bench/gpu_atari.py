"""What one large GPU gives at Atari: acting, learning, then the whole wheel, within ten minutes.

    python bench/gpu_atari.py [--preset efficientzero-atari-100k] [--id ALE/Breakout-v5] [--json FILE]
    python bench/gpu_atari.py --size tiny --seconds 30     on a CPU too; the figures mean nothing

Acting goes over many environments at once, Reanalyse over a whole batch, the network is in bfloat16 and
channels-last on a GPU, and latents stay there: the search copies actions, values and logits alone. Frames are
those of the game, four a decision. Every section has a share of the seconds. It ends with 1 where a number is
not finite, or the loss of a batch that is learnt again and again does not fall.
"""

import argparse
import copy
import dataclasses
import math
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from records import Record, finish, rate, record, refuse_without_gpu, resident_mb, say
from zelkova.config import RunConfig, load_config
from zelkova.learning.config import Precision
from zelkova.learning.learner import Learner
from zelkova.learning.unroll_loss import UnrollObjective
from zelkova.train import Run
from zelkova.wheel.learned import LearnedWheel, prefix_reset

FRAMES = 4  # of a decision
SHARES = {"acting": 0.1, "learning": 0.15, "wheel": 0.5}  # of the seconds; the rest: start and last return
BATCHES = (64, 256, 512)  # environments at once, on a GPU
PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16")
ON_A_GPU = (
    "selfplay.games=256", "selfplay.moves_per_round=25", "unroll.segment=100", "learning.precision=bfloat16",
    "rating.games=16", "checkpoint.every_rounds=1000", "env.max_episode_steps=8000",
)  # fmt: skip
ON_A_CPU = ("unroll.segment=10", "rating.games=1", "env.max_episode_steps=400")


def settle(given: argparse.Namespace) -> RunConfig:
    """Give the preset at a size that fits the machine; ratings are made here, at the end."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    own = [f"env.id={given.id}"] if given.id else []
    sizes = ON_A_GPU if device == "cuda" else ON_A_CPU
    fixed = (f"size={given.size}", f"device={device}", *sizes, "rating.every_rounds=0")
    return load_config(given.preset, [*fixed, *own, *given.set])


def acting(wheel: LearnedWheel, seconds: float) -> Iterator[Record]:
    """Searches a second for several batch sizes, over the screens that are seen now."""
    seen = np.stack([episode.observations[-1] for episode in wheel.selfplay.episodes])
    is_gpu = wheel.device.type != "cpu"
    batches = BATCHES if is_gpu else (len(seen),)
    legal = np.ones((1, wheel.sizes.num_actions), np.bool_)
    for batch in batches:
        rows = np.resize(np.arange(len(seen)), batch)

        def search(rows: np.ndarray = rows, batch: int = batch) -> int:
            wheel.agent.search(
                seen[rows], np.zeros(batch, np.int8), np.repeat(legal, batch, axis=0), seed=wheel.rng
            )
            return batch

        found = rate(search, seconds / len(batches) / 2, str(wheel.device))
        simulations = wheel.config.search.num_simulations
        where = {"batch": batch, "simulations": simulations, "device": str(wheel.device)}
        yield record("atari/searches_per_s", found, **where)
        yield record("atari/search_frames_per_s", FRAMES * found, **where)


def fill(wheel: LearnedWheel) -> None:
    """Play until the replay has something, with the fresh network."""
    before = wheel.selfplay.moves, wheel.selfplay.seconds
    while not len(wheel.buffer):
        for episode in wheel.selfplay.play_round():
            wheel.buffer.add(episode)
    moves, seconds = wheel.selfplay.moves - before[0], wheel.selfplay.seconds - before[1]
    say(f"replay: {len(wheel.buffer)} decisions at {FRAMES * moves / seconds:.4g} frames/s")


def learning(wheel: LearnedWheel, seconds: float, wrong: list[str]) -> Iterator[Record]:
    """Updates a second on one batch in each precision, and batches a second that Reanalyse makes."""
    fill(wheel)
    device = str(wheel.device)
    where = {"batch": wheel.config.learning.batch_size, "device": device}
    made = rate(lambda: len(wheel.draw_batch()[0].rows), seconds / 3, device)
    yield record("atari/batches_per_s", made / where["batch"], **where)
    batch = wheel.draw_batch()[1]
    for precision in PRECISIONS if device != "cpu" else PRECISIONS[:1]:
        config = dataclasses.replace(wheel.config.learning, precision=precision, warmup_steps=1)
        network = copy.deepcopy(wheel.learner.network)
        objective = UnrollObjective(wheel.config.loss, prefix_reset(wheel.config))
        learner = Learner(network, config, objective, device)
        losses: list[float] = []

        def step(learner: Learner = learner, losses: list[float] = losses) -> int:
            losses.append(learner.step(batch)[0]["loss"])
            return 1

        found = rate(step, seconds / 3, device)
        yield record("atari/updates_per_s", found, **where, precision=precision)
        if len(losses) > 2 and not losses[-1] < losses[0]:
            wrong.append(f"{precision}: the loss of one batch went from {losses[0]:.4g} to {losses[-1]:.4g}")


def turning(run: Run, seconds: float, wrong: list[str]) -> Iterator[Record]:
    """The whole wheel for the rest of the time: frames, updates, loss, memory, and the last return."""
    wheel = run.wheel
    run.begin()
    start, lost, memory = time.monotonic(), [], [resident_mb()]
    moves, steps = wheel.selfplay.moves, wheel.learner.steps
    while time.monotonic() - start < seconds or not lost:
        figures = run.turn()
        memory.append(resident_mb())
        if "learn/loss" in figures:
            lost.append(figures["learn/loss"])
    spent = time.monotonic() - start
    where = {"rounds": wheel.round, "seconds": round(spent), "device": str(wheel.device)}
    yield record("atari/frames_per_s", FRAMES * (wheel.selfplay.moves - moves) / spent, **where)
    yield record("atari/wheel_updates_per_s", (wheel.learner.steps - steps) / spent, **where)
    yield record("atari/first_loss", lost[0], **where)
    yield record("atari/last_loss", lost[-1], **where)
    yield record("atari/resident_mb", memory[-1], **where, first=round(memory[0]))
    if wheel.device.type != "cpu":
        yield record("atari/device_mb", torch.cuda.max_memory_allocated() / 2**20, **where)
    result = wheel.rate()
    yield record(
        "atari/return",
        result["eval/return"],
        **where,
        games=wheel.config.rating.games,
        frames_at_most=wheel.config.env.max_episode_steps,
    )
    if not all(map(math.isfinite, [*lost, result["eval/return"]])):
        wrong.append(f"a loss or return is not finite: {lost[-1]}, {result['eval/return']}")


def sections(config: RunConfig, seconds: float, folder: Path, wrong: list[str]) -> Iterator[Iterator[Record]]:
    """Give the sections, which share one wheel."""
    run = Run(config, folder)
    assert isinstance(run.wheel, LearnedWheel)
    try:
        yield acting(run.wheel, seconds * SHARES["acting"])
        yield learning(run.wheel, seconds * SHARES["learning"], wrong)
        yield turning(run, seconds * SHARES["wheel"], wrong)
    finally:
        run.wheel.close()


def main() -> int:
    """Run every section; give the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--preset", default="efficientzero-atari-100k")
    parser.add_argument("--id", default="", help="another game, as ALE/Breakout-v5")
    parser.add_argument("--size", default="base", help="tiny on a CPU")
    parser.add_argument("--seconds", type=float, default=540.0, help="of the whole run, about")
    parser.add_argument("--set", action="append", default=[], help="further settings, as for zelkova train")
    parser.add_argument("--json", type=Path, help="write the records to this file too")
    given = parser.parse_args()
    if given.size == "base" and refuse_without_gpu("--size tiny"):
        return 2
    if not torch.cuda.is_available():
        torch.set_num_threads(1)
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        return finish(sections(settle(given), given.seconds, Path(folder), wrong), given.json, wrong)


if __name__ == "__main__":
    sys.exit(main())
