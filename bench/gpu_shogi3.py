"""What one GPU gives at three-player shogi: self-play, then learning, within ten minutes.

    python bench/gpu_shogi3.py [--preset alphazero-shogi3-gpu] [--json FILE]
    python bench/gpu_shogi3.py --size tiny --seconds 20     on a CPU too; the figures mean nothing

Self-play searches as the preset does, full and fast moves mixed, from positions up to 40 random plies into
the game, with fresh weights; a position is one that the network evaluated. Learning takes steps on one batch
of such positions with made-up results, auxiliary heads included. It ends with 1 where its loss does not fall.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from records import Record, finish, rate, record, refuse_without_gpu
from zelkova.config import RunConfig, load_config
from zelkova.learning.config import Precision
from zelkova.learning.losses import OutcomeBatch
from zelkova.replay.choices.rows import Choices, pad_rows
from zelkova.wheel.known import KnownWheel

SHARES = {"selfplay": 0.6, "learning": 0.4}  # of the seconds
GAMES = (256, 1024)  # at once, on a GPU
PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16")
OPENING = ("selfplay.random_opening=1.0", "teacher.player=", "teacher.positions=0")


def settle(given: argparse.Namespace, *more: str) -> RunConfig:
    """Give the preset's settings without its teacher, on the device that is there."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return load_config(given.preset, [f"size={given.size}", f"device={device}", *OPENING, *given.set, *more])


def playing(given: argparse.Namespace) -> Iterator[Record]:
    """Positions that the network evaluates a second, and moves a second, for several numbers of games."""
    counts = GAMES if torch.cuda.is_available() else (settle(given).selfplay.games,)
    for games in counts:
        wheel = KnownWheel(settle(given, f"selfplay.games={games}", "selfplay.moves_per_round=4"))
        played = wheel.selfplay
        played.play_round()  # compiles
        before, moves, seconds, busy = played.counts()[1], played.moves, played.seconds, played.busy_seconds
        while played.seconds - seconds < given.seconds * SHARES["selfplay"] / len(counts):
            played.play_round()
        spent = played.seconds - seconds
        where = {
            "games": games, "simulations": wheel.config.search.num_simulations,
            "fast": wheel.config.selfplay.fast_simulations, "device": str(wheel.device),
            "network_share": round((played.busy_seconds - busy) / spent, 3),
        }  # fmt: skip
        yield record("shogi3/positions_per_s", (played.counts()[1] - before) / spent, **where)
        yield record("shogi3/moves_per_s", (played.moves - moves) / spent, **where)
        wheel.close()


def make_batch(wheel: KnownWheel) -> OutcomeBatch:
    """Make a batch of positions in play, with the policies of their searches and made-up results."""
    rng, size = np.random.default_rng(0), wheel.config.learning.batch_size
    ticks = [tick for group in wheel.selfplay.groups for tick in group.past]
    found = {
        name: np.concatenate([getattr(tick, name) for tick in ticks])
        for name in ("states", "values", *Choices._fields)
    }
    choices = Choices(*(found[name] for name in Choices._fields))
    legal, policy = pad_rows(choices, wheel.game.max_legal_actions)
    states, legal, policy, values = (
        np.resize(rows, (size, rows.shape[1])) for rows in (found["states"], legal, policy, found["values"])
    )
    places = rng.permuted(np.tile(np.arange(1, 4), (size, 1)), axis=1)
    rest = [rng.integers(0, 4, (size, 1)), rng.dirichlet(np.ones(3), size), rng.integers(1, 200, (size, 1))]
    return OutcomeBatch(
        planes=wheel.observe(states),
        legal=legal,
        policy=policy,
        outcome=np.pad(places == 1, ((0, 0), (0, 1))).astype(np.float32),
        root_values=values,
        aftermath=np.concatenate([places, *rest], axis=1).astype(np.float32),
    )


def learning(given: argparse.Namespace, wrong: list[str]) -> Iterator[Record]:
    """Optimiser steps a second on one batch, in each precision."""
    precisions = PRECISIONS if torch.cuda.is_available() else PRECISIONS[:1]
    for precision in precisions:
        fixed = (f"learning.precision={precision}", "learning.ramp_steps=0", "selfplay.moves_per_round=1")
        wheel = KnownWheel(settle(given, "learning.learning_rate=0.01", "learning.warmup_steps=1", *fixed))
        wheel.selfplay.play_round()
        batch, losses = make_batch(wheel), list[float]()

        def step(wheel: KnownWheel = wheel, batch: OutcomeBatch = batch, lost: list[float] = losses) -> int:
            lost.append(wheel.learner.step(batch)[0]["loss"])
            return 1

        found = rate(step, given.seconds * SHARES["learning"] / len(precisions), str(wheel.device))
        size = wheel.config.learning.batch_size
        where = {"batch": size, "precision": precision, "device": str(wheel.device)}
        yield record("shogi3/updates_per_s", found, **where)
        yield record("shogi3/samples_per_s", found * size, **where)
        if len(losses) > 2 and not losses[-1] < losses[0]:
            wrong.append(f"{precision}: the loss of one batch went from {losses[0]:.4g} to {losses[-1]:.4g}")
        wheel.close()


def main() -> int:
    """Run both sections; give the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--preset", default="alphazero-shogi3-gpu")
    parser.add_argument("--size", default="base", help="tiny on a CPU")
    parser.add_argument(
        "--seconds",
        type=float,
        default=300.0,
        help="of both sections; compiling and whole rounds come on top",
    )
    parser.add_argument("--set", action="append", default=[], help="further settings, as for zelkova train")
    parser.add_argument("--json", type=Path, help="write the records to this file too")
    given = parser.parse_args()
    if given.size == "base" and refuse_without_gpu("--size tiny"):
        return 2
    if not torch.cuda.is_available():
        torch.set_num_threads(1)
    wrong: list[str] = []
    return finish([playing(given), learning(given, wrong)], given.json, wrong)


if __name__ == "__main__":
    sys.exit(main())
