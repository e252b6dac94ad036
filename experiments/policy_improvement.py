"""Does acting with a search improve on the policy that it started from? Random bandits, exact values.

    python experiments/policy_improvement.py --json FILE

Each bandit has 2 to 64 actions, logits N(0, 2), rewards U(0, 1) that a visit reveals exactly, and the exact
value of its prior as the model's value. The figure is the mean reward of the acted move minus that of the
prior. Where there are 4 actions or fewer, Gumbel's figure is also enumerated exactly: over all orders in
which the actions can be drawn, each with its probability, for a sigma that outweighs every draw.
"""

import argparse
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from zelkova.search import BatchSearch, SearchConfig, draw_noise, run
from zelkova.search.models.table_model import TableModel, Tables
from zelkova.search.mvc import evaluate_by_variance

SIMULATIONS = (1, 2, 4, 8, 16, 32)
POLICIES: dict[str, dict[str, Any]] = {
    "gumbel": {"policy": "gumbel"},
    "gumbel, raw value": {"policy": "gumbel", "completion": "raw"},
    "puct": {"policy": "puct"},
    "puct, dirichlet": {"policy": "puct"},
    "replacement": {"policy": "gumbel", "candidates": "replacement"},
    "trpo": {"policy": "trpo"},
    "mpo": {"policy": "mpo"},
    "trpo, not completed": {"policy": "trpo", "completion": "raw"},
    "mpo, not completed": {"policy": "mpo", "completion": "raw"},
    "puct, mean and variance": {"policy": "puct"},
}
BETA = 8.0  # of the reading by mean and variance, for rewards of 0..1
DETERMINISTIC = {name for name in POLICIES if name.startswith(("trpo", "mpo"))}
DETERMINISTIC |= {"puct", "puct, mean and variance"}
"""Their gain on a bandit is an expectation, or always the same: below 0 it is worse than the prior."""


class Bandits(NamedTuple):
    """Some bandits with up to 64 actions; unused columns hold 0."""

    count: Any  # [B] actions
    logits: Any  # [B, A]
    prior: Any  # [B, A]
    q: Any  # [B, A] rewards in 0..1


def draw_bandits(number: int, seed: int) -> Bandits:
    rng = np.random.default_rng(seed)
    count = rng.integers(2, 65, number).astype(np.int32)
    used = np.arange(64) < count[:, None]
    logits = np.where(used, rng.normal(0, 2, (number, 64)), 0).astype(np.float32)
    weights = np.where(used, np.exp(logits.astype(float)), 0)
    prior = weights / weights.sum(axis=1, keepdims=True)
    return Bandits(count, logits, prior, np.where(used, rng.random((number, 64)), 0))


def tables_of(bandits: Bandits, has_value: bool) -> Tables:
    """Make one state a bandit, and an ending behind all of them."""
    size, width = len(bandits.count) + 1, bandits.q.shape[1]
    reward = np.zeros((size, width, 1), np.float32)
    reward[:-1, :, 0] = bandits.q
    value = np.zeros((size, 1), np.float32)
    if has_value:
        value[:-1, 0] = (bandits.prior * bandits.q).sum(axis=1)
    logits = np.zeros((size, width), np.float32)
    logits[:-1] = bandits.logits
    return Tables(
        transition=np.full((size, width), size - 1, np.int32),
        reward=reward,
        discount=np.zeros((size, width), np.float32),
        actions=np.tile(np.arange(width, dtype=np.int32), (size, 1)),
        count=np.append(bandits.count, 0).astype(np.int32),
        prior_logits=logits,
        value=value,
        to_play=np.zeros(size, np.int32),
    )


def improvements(bandits: Bandits, name: str, simulations: int, seed: int) -> Any:
    """Give each bandit's gain over its prior, expected where the policy acts by sampling."""
    settings = POLICIES[name]
    config = SearchConfig(num_simulations=simulations, max_considered=64, **settings)
    trees = len(bandits.count)
    tables = tables_of(bandits, has_value="not completed" not in name)
    search = BatchSearch(config, trees, 64, 1, q_range=(0.0, 1.0))
    noise = None
    if settings["policy"] == "gumbel" or "dirichlet" in name:
        noise = draw_noise(config, bandits.count, 64, np.random.default_rng(seed))
    found = run(search, TableModel(tables, np.arange(trees, dtype=np.int32), simulations + 1), noise)
    before = (bandits.prior * bandits.q).sum(axis=1)
    if "variance" in name:
        read = evaluate_by_variance(search, BETA, counts_unexpanded=False)
        return (read.action_weights * bandits.q).sum(axis=1) - before
    if settings["policy"] in ("trpo", "mpo"):
        return (found.action_weights * bandits.q).sum(axis=1) - before
    return bandits.q[np.arange(trees), found.action] - before


def gumbel_exactly(bandits: Bandits, simulations: int) -> Any:
    """Enumerate the gain of Gumbel over all orders of the draws, sigma outweighing them all."""
    trees, most = len(bandits.count), int(bandits.count.max())
    config = SearchConfig(num_simulations=simulations, max_considered=most, c_scale=1e5)
    search = BatchSearch(config, trees, 64, 1, q_range=(0.0, 1.0))
    model = TableModel(tables_of(bandits, True), np.arange(trees, dtype=np.int32), simulations + 1)
    total = np.zeros(trees)
    for order in itertools.permutations(range(most)):
        chance = np.ones(trees)
        rest = np.ones(trees)
        noise = np.zeros((trees, 64), np.float32)
        place = np.zeros(trees, int)
        for action in order:
            used = action < bandits.count
            chance = np.where(used, chance * bandits.prior[:, action] / np.maximum(rest, 1e-300), chance)
            rest = np.where(used, rest - bandits.prior[:, action], rest)
            noise[:, action] = np.where(used, -place - bandits.logits[:, action], 0)
            place += used
        doubled = np.array([np.prod(np.arange(n + 1, most + 1)) for n in bandits.count])
        acted = run(search, model, noise).action
        total += chance / doubled * bandits.q[np.arange(trees), acted]
    return total - (bandits.prior * bandits.q).sum(axis=1)


def measure(number: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield a record for each policy and number of simulations."""
    parts = [draw_bandits(min(2000, number - at), seed + at) for at in range(0, number, 2000)]
    small = [Bandits(*(field[part.count <= 4] for field in part)) for part in parts]
    for name, simulations in itertools.product(POLICIES, SIMULATIONS):
        gains = np.concatenate([improvements(p, name, simulations, seed + i) for i, p in enumerate(parts)])
        error = float(gains.std() / np.sqrt(len(gains)))
        params = {"policy": name, "simulations": simulations, "standard_error": error, "bandits": len(gains)}
        if name in DETERMINISTIC:
            params["worse"] = float((gains < -0.001).mean())
        yield {"name": "search/policy_improvement", "value": float(gains.mean()), "params": params}
        if name == "gumbel":
            exact = np.concatenate([gumbel_exactly(part, simulations) for part in small])
            params = {"policy": name, "simulations": simulations, "bandits": len(exact)}
            params["least"] = float(exact.min())
            yield {"name": "search/policy_improvement_exact", "value": float(exact.mean()), "params": params}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--bandits", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    records = []
    for record in measure(given.bandits, given.seed):
        records.append(record)
        params = record["params"]
        spread = f" +- {params['standard_error']:.4f}" if "standard_error" in params else " exact"
        if "worse" in params:
            spread += f", worse than the prior on {params['worse']:.1%}"
        print(
            f"{params['policy']:22} n = {params['simulations']:2}  {record['value']:+.4f}{spread}", flush=True
        )
    if given.json is not None:
        given.json.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
