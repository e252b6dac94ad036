"""How fast is a batched search over a learned model?

    python bench/learned_search.py [--seconds 5] [--batches 8 32 128 256] [--json FILE]

The network of a preset with fresh weights, 25 simulations, random observations of CartPole's shape. On a GPU
where there is one, in wall time; else on one thread of the CPU, in CPU seconds, so that a busy neighbour
does not count.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from records import Record, finish, rate, record
from zelkova.agents.learned.agent import LearnedAgent
from zelkova.config import load_config
from zelkova.networks.inference import resolve_device
from zelkova.networks.learned.network import ModelSizes, build_learned

PRESET = "gumbel-muzero-cartpole"
SIZES = ModelSizes((4,), 2, 0, 1)


def searches(batches: list[int], seconds: float) -> Iterator[Record]:
    """Measure searches a second for each batch size."""
    config = load_config(PRESET, [])
    device = str(resolve_device("auto")[0])
    network = build_learned(config.latent, SIZES).to(device)
    agent = LearnedAgent(network, config.search, config.planning, discount=config.unroll.discount)
    rng = np.random.default_rng(0)
    clock, unit = (time.process_time, "cpu_s") if device == "cpu" else (time.perf_counter, "s")
    for batch in batches:
        seen = rng.standard_normal((batch, 4), dtype=np.float32)
        to_play, legal = np.zeros(batch, np.int8), np.ones((batch, 2), np.bool_)

        def search(seen: np.ndarray = seen, to_play: np.ndarray = to_play, legal: np.ndarray = legal) -> int:
            agent.search(seen, to_play, legal, seed=rng)
            return len(seen)

        where = {"batch": batch, "simulations": config.search.num_simulations, "device": device}
        found = rate(search, seconds, device, clock)
        yield record(f"search/searches_per_{unit}", found, **where)
        yield record(f"search/simulations_per_{unit}", found * config.search.num_simulations, **where)


def main() -> int:
    """Measure; give the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="for each batch size")
    parser.add_argument("--batches", type=int, nargs="+", default=[8, 32, 128, 256], help="sizes")
    parser.add_argument("--json", type=Path, help="write the records to this file too")
    given = parser.parse_args()
    torch.set_num_threads(1)
    return finish([searches(given.batches, given.seconds)], given.json, [])


if __name__ == "__main__":
    sys.exit(main())
