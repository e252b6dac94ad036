"""Does memory stay flat? A long CartPole run through the whole wheel, its resident memory read every round.

    python bench/soak.py [--decisions 100000] [--capacity 10000] [--json FILE]

Acting, a replay that is soon full, priorities, Reanalyse, learning, checkpoints. It ends
with 1 where the memory of the run's last fifth is above that of its second fifth by more than the tolerance.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from records import Record, finish, record, resident_mb, say
from zelkova.config import load_config
from zelkova.train import Run

SETTINGS = (
    "size=tiny", "selfplay.games=32", "replay.priority_alpha=0.6", "replay.priority_beta=0.4",
    "reanalyse.policy_share=0.5", "reanalyse.target_steps=50", "learning.batch_size=32",
    "learning.samples_per_position=0.5", "checkpoint.every_rounds=5", "rating.every_rounds=0",
)  # fmt: skip


def soak(decisions: int, capacity: int, tolerance: float, wrong: list[str]) -> Iterator[Record]:
    """Run, and compare the memory of the last fifth with that of the second."""
    sizes = (f"replay.capacity={capacity}", f"replay.min_window={capacity}")
    config = load_config("gumbel-muzero-cartpole", [*SETTINGS, *sizes])
    each = config.selfplay.games * config.selfplay.moves_per_round
    samples: list[float] = []
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run = Run(config, Path(folder))
        try:
            run.begin()
            for number in range(-(-decisions // each)):
                run.turn()
                samples.append(resident_mb())
                if number % 16 == 0:
                    say(f"decision {(number + 1) * each}: {samples[-1]:.1f} MB")
            steps, held = run.wheel.learner.steps, len(run.wheel.buffer)
        finally:
            run.wheel.close()
    seconds = time.perf_counter() - start
    fifth = max(len(samples) // 5, 1)
    early, late = samples[fifth : 2 * fifth] or samples[:fifth], samples[-fifth:]
    before, after = statistics.median(early), statistics.median(late)
    where = {"decisions": len(samples) * each, "steps": steps, "replay": held, "capacity": capacity}
    yield record("soak/decisions_per_s", where["decisions"] / seconds, **where)
    yield record("soak/first_mb", samples[0], **where)
    yield record("soak/early_mb", before, **where)
    yield record("soak/late_mb", after, **where)
    yield record("soak/most_mb", max(samples), **where)
    yield record("soak/growth", after / before - 1.0, **where, tolerance=tolerance)
    if after > before * (1.0 + tolerance):
        wrong.append(f"memory grew from {before:.1f} to {after:.1f} MB; allowed: {tolerance:.0%} more")
    if held > capacity:
        wrong.append(f"the replay holds {held} decisions; allowed: {capacity}")


def main() -> int:
    """Run it; give the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--decisions", type=int, default=100_000, help="of all environments together")
    parser.add_argument("--capacity", type=int, default=10_000, help="decisions that the replay holds")
    parser.add_argument("--tolerance", type=float, default=0.03, help="share by which memory may grow")
    parser.add_argument("--json", type=Path, help="write the records to this file too")
    given = parser.parse_args()
    wrong: list[str] = []
    return finish([soak(given.decisions, given.capacity, given.tolerance, wrong)], given.json, wrong)


if __name__ == "__main__":
    sys.exit(main())
