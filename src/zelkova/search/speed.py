"""How fast the search is without a network, what memory it takes, and what it adds to a model of yours."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from zelkova.search.batch import BatchSearch, run
from zelkova.search.config import SearchConfig
from zelkova.search.draws import draw_noise
from zelkova.search.models.table_model import Stepwise, TableModel, random_tables
from zelkova.search.planning import Searcher
from zelkova.search.policies import Gumbel, Policy, Puct

SPEED_ROWS = (
    (64, 50, 18), (64, 32, 82), (64, 50, 362), (16, 200, 82), (256, 16, 82), (1, 800, 82), (1, 800, 362),
)  # fmt: skip
"""(trees, simulations, actions) of the tables of speed."""
FROM_PYTHON = (1, 800, 82)  # the one that is also stepped from Python


def tree_speed(
    policy: str, trees: int, simulations: int, actions: int, seconds: float = 1.0, is_native: bool = True
) -> dict[str, Any]:
    """Measure simulations per second of CPU time: select, copy logits from the table, expand, back up.

    Args:
        policy: "puct" or "gumbel" (16 candidates).
        trees, simulations, actions: sizes of the batch.
        seconds: of CPU time to measure for, at least one batch.
        is_native: the compiled loop; False: `select`, `step`, `expand` from Python, all trees in step.
    Returns:
        A record for `zelkova bench search`.
    """
    rng = np.random.default_rng(7)
    config = SearchConfig(policy=policy, num_simulations=simulations)  # type: ignore[arg-type]
    search = BatchSearch(config, trees, actions, num_players=1)
    tables = random_tables(rng, states=1024, actions=actions)
    model = TableModel(tables, rng.integers(0, 1024, trees, dtype=np.int32), simulations + 1)
    noise = draw_noise(config, np.full(trees, actions, np.int32), actions, rng)
    asked: Any = model if is_native else Stepwise(model)
    run(search, asked, noise)
    batches = 0
    start = time.process_time()
    spent = 0.0
    while batches == 0 or spent < seconds:
        run(search, asked, noise)
        batches += 1
        spent = time.process_time() - start
    name = "search/simulations_per_cpu_s" if is_native else "search/simulations_per_s"
    params = {"trees": trees, "simulations": simulations, "actions": actions, "policy": policy}
    return {"name": name, "value": batches * trees * simulations / spent, "params": params}


GROWTH_SIZES = (16, 82)  # trees, actions
SHALLOW, DEEP = 50, 400  # simulations


def cost_growth(policy: str, seconds: float = 1.0) -> dict[str, Any]:
    """Measure what a simulation of a long search costs, in those of a short one.

    1 says that trees cost nothing by growing.

    Args:
        policy: "puct" or "gumbel".
        seconds: of CPU time for each of the two measures.
    Returns:
        A record for `zelkova bench search`.
    """
    trees, actions = GROWTH_SIZES
    short, long = (tree_speed(policy, trees, n, actions, seconds)["value"] for n in (SHALLOW, DEEP))
    params = {"trees": trees, "simulations": DEEP, "to_simulations": SHALLOW, "actions": actions}
    return {"name": "search/cost_growth", "value": short / long, "params": {**params, "policy": policy}}


def thread_gain(policy: str, size: tuple[int, int, int], seconds: float = 1.0) -> dict[str, Any]:
    """Measure how much faster two threads search two halves of a batch than one thread does one half.

    Args:
        policy: "puct" or "gumbel".
        size: (trees, simulations, actions); each thread has half of the trees.
        seconds: of wall time for each of the two measures.
    Returns:
        A record for `zelkova bench search`: the ratio of the rates; 2 is all that two idle cores can give.
    """
    trees, simulations, actions = size
    half = max(trees // 2, 1)

    def rate(threads: int) -> float:
        def search_on(seed: int) -> int:
            rng = np.random.default_rng(seed)
            config = SearchConfig(policy=policy, num_simulations=simulations)  # type: ignore[arg-type]
            search = BatchSearch(config, half, actions, num_players=1)
            model = TableModel(random_tables(rng, 1024, actions), np.zeros(half, np.int32), simulations + 1)
            batches, end = 0, time.perf_counter() + seconds
            while time.perf_counter() < end:
                run(search, model)
                batches += 1
            return batches

        with ThreadPoolExecutor(threads) as pool:
            return float(sum(pool.map(search_on, range(threads))))

    rate(1)
    params = {"trees": trees, "simulations": simulations, "actions": actions, "policy": policy}
    return {"name": "search/two_thread_gain", "value": rate(2) / rate(1), "params": params}


def memory_per_simulation(simulations: int, actions: int, legal: int) -> dict[str, Any]:
    """Count the bytes that one simulation's node, edges and kids take in a tree.

    Args:
        simulations: of the search.
        actions: of the game, A.
        legal: most legal actions of a position, M; edges are held for these alone.
    """
    search = BatchSearch(SearchConfig(policy="puct", num_simulations=simulations), 1, legal, num_players=1)
    shared = ("bits", "explore", "halving", "settings", "scratch")  # the same memory, or one for all trees
    total = sum(array.nbytes for name, array in search.forest._asdict().items() if name not in shared)
    params = {"simulations": simulations, "actions": actions, "legal": legal}
    return {"name": "search/bytes_per_simulation", "value": total / simulations, "params": params}


OVERHEAD_SIZES = (64, 50, 18)  # trees, simulations, actions


def overhead_share(policy: str, seconds: float = 1.0, width: int = 64) -> dict[str, Any]:
    """Measure which share of a search's CPU time is spent outside the model's own functions, in one thread.

    Args:
        policy: "puct" or "gumbel".
        seconds: of CPU time to measure for, at least one search.
        width: of the model's layers, see `random_mlp`.
    Returns:
        A record for `zelkova bench search`.
    """
    from zelkova.search.models.torch_model import random_mlp, single_thread

    trees, simulations, actions = OVERHEAD_SIZES
    inside = 0.0

    def timed(function: Any) -> Any:
        def call(*args: Any) -> Any:
            nonlocal inside
            start = time.process_time()
            answer = function(*args)
            inside += time.process_time() - start
            return answer

        return call

    root, step = random_mlp(width, actions)
    chosen: Policy = (Gumbel if policy == "gumbel" else Puct).named(
        "atari" if policy == "gumbel" else "muzero"
    )
    searcher = Searcher((timed(root), timed(step)), chosen)
    observation = np.random.default_rng(7).standard_normal((trees, width), dtype=np.float32)
    with single_thread():
        searcher.plan(observation, seed=0)
        inside, start, spent = 0.0, time.process_time(), 0.0
        while spent < seconds or not spent:
            searcher.plan(observation, seed=0)
            spent = time.process_time() - start
    params = {"trees": trees, "simulations": simulations, "actions": actions, "policy": policy}
    model = f"MLP of width {width}"
    return {
        "name": "search/overhead_share",
        "value": 1.0 - inside / spent,
        "params": {**params, "model": model},
    }


def other_records(seconds: float) -> Iterator[dict[str, Any]]:
    """Measure what has no peer: steps from Python, two threads, growing trees, the search's share, memory.

    Args:
        seconds: of each figure.
    """
    for policy in ("puct", "gumbel"):
        yield tree_speed(policy, *FROM_PYTHON, seconds, is_native=False)
        yield thread_gain(policy, (16, 200, 82), seconds)
        yield cost_growth(policy, seconds)
        yield overhead_share(policy, seconds)
    for legal in (362, 35):
        yield memory_per_simulation(50, 362, legal)
