"""LightZero: its C++ trees of MuZero and Gumbel MuZero, with a table as model.

The compiled trees are loaded from their files: the package itself wants a whole reinforcement-learning stack.
Its trees take and give Python lists; the logits' lists are made before, so that no conversion counts.
"""

import importlib.machinery
import importlib.util
from importlib.metadata import distribution, version
from types import ModuleType
from typing import Any

import dialogue

dialogue.keep_to_one_core()

import numpy as np  # noqa: E402
import tables  # noqa: E402

CONSTANTS = (19652.0, 1.25)  # pb_c_base, pb_c_init


def load_tree(name: str) -> ModuleType:
    """Load one compiled module of the package without the package."""
    files = [f for f in distribution("LightZero").files or [] if f.name.startswith(name + ".cpython")]
    loader = importlib.machinery.ExtensionFileLoader(name, str(files[0].locate()))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def prepare_search(params: dialogue.Params) -> dialogue.Job | None:
    """Count simulations of a batch of searches."""
    trees, count, actions = int(params["trees"]), int(params["simulations"]), int(params["actions"])
    logits, values, transition = tables.make_tables(actions)
    rows, worth = logits.tolist(), values.tolist()
    is_gumbel = params["policy"] == "gumbel"
    tree: Any = load_tree("gmz_tree" if is_gumbel else "mz_tree")
    legal = [list(range(actions)) for _ in range(trees)]
    zeros, nobody = [0.0] * trees, [-1] * trees

    def work() -> int:
        states = np.zeros((count + 1, trees), np.int64)
        states[0] = np.arange(trees)
        roots = tree.Roots(trees, legal)
        root_rows = [rows[s] for s in states[0]]
        if is_gumbel:
            roots.prepare_no_noise(zeros, [worth[s] for s in states[0]], root_rows, nobody)
        else:
            roots.prepare_no_noise(zeros, root_rows, nobody)
        ranges = tree.MinMaxStatsList(trees)
        ranges.set_delta(0.01)
        for simulation in range(1, count + 1):
            results = tree.ResultsWrapper(trees)
            if is_gumbel:
                found = tree.batch_traverse(roots, count, 16, 1.0, results, list(nobody))
            else:
                found = tree.batch_traverse(roots, *CONSTANTS, 1.0, ranges, results, list(nobody))
            states[simulation] = transition[states[found[0], found[1]], found[2]]
            priors = [rows[s] for s in states[simulation]]
            leaves = [worth[s] for s in states[simulation]]
            if is_gumbel:
                tree.batch_back_propagate(simulation, 1.0, zeros, leaves, priors, ranges, results, nobody)
            else:
                tree.batch_backpropagate(simulation, 1.0, zeros, leaves, priors, ranges, results, nobody)
        return trees * count

    return dialogue.Job(work, "C++ tree, lists of logits made before")


if __name__ == "__main__":
    dialogue.main(
        dialogue.Peer(
            "LightZero",
            version("LightZero"),
            {"search/simulations_per_cpu_s": prepare_search},
            [
                (
                    "search/simulations_per_cpu_s",
                    {"trees": b, "simulations": n, "actions": a, "policy": policy},
                )
                for b, n, a in tables.ROWS
                for policy in ("puct", "gumbel")
            ],
        )
    )
