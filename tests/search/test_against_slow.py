"""The kernels against a slow search written apart; one row against many; compiled against interpreted."""

import itertools
from typing import Any

import numpy as np
import pytest
from tests.search.slow_search import Node, Slow, random_game

from zelkova.search import BatchSearch, SearchConfig, batch, draw_noise, run
from zelkova.search.kernels import answer, native, simulate, tree
from zelkova.search.models import table_model
from zelkova.search.models.table_model import Stepwise, TableModel
from zelkova.search.rules import gumbel, proven, puct, qtransforms, regularised

PUCT: list[dict[str, Any]] = [
    {"policy": "puct", "rescale": rescale, "fpu": fpu}
    for rescale, fpu in itertools.product(
        ("fixed", "tree", "node", "none"), ("zero", "parent", "reduction", "loss", "lowered")
    )
]
GUMBEL: list[dict[str, Any]] = [
    {
        "policy": "gumbel",
        "rescale": rescale,
        "completion": completion,
        "interior": interior,
        "max_considered": m,
    }
    for rescale, completion, interior, m in [
        ("fixed", "mixed", "full", 4),
        ("fixed", "raw", "full", 16),
        ("fixed", "mixed", "puct", 5),
        ("tree", "mixed", "full", 7),
        ("node", "mixed", "full", 3),
        ("node", "raw", "puct", 1),
        ("none", "mixed", "full", 4),
    ]
]
OTHER: list[dict[str, Any]] = [
    {"policy": "puct", "max_depth": 2},
    {"policy": "puct", "parent_count": "sum", "rescale": "tree", "fpu": "parent"},
    {"policy": "gumbel", "max_depth": 3, "c_scale": 0.1},
    {"policy": "puct", "c_base": 20.0, "c_init": 2.5, "dirichlet_fraction": 0.5},
    {"policy": "puct", "forced_playouts": 2.0, "fpu": "lowered"},
    {"policy": "puct", "forced_playouts": 2.0, "rescale": "node", "parent_count": "sum"},
    {"policy": "puct", "forced_playouts": 8.0, "rescale": "tree", "dirichlet_alpha": 0.3},
]


def assert_same(search: BatchSearch, b: int, node: int, slow: Node) -> None:
    """Compare a subtree with the slow one's."""
    forest = search.forest
    record = forest.nodes[b, node]
    assert record["visits"] == slow.visits
    np.testing.assert_allclose(forest.sums[b, node] / slow.visits, slow.value, atol=2e-5)
    kids = forest.kids[b, record["kids"] : record["kids"] + record["num_kids"]]
    visited = {int(kid["edge"]): kid for kid in kids if kid["visits"] > 0}
    assert visited.keys() == slow.children.keys()
    for column, child in slow.children.items():
        assert visited[column]["visits"] == child.visits
        assert_same(search, b, int(visited[column]["child"]), child)


@pytest.mark.parametrize("players", [1, 2, 3])
@pytest.mark.parametrize("options", PUCT + GUMBEL + OTHER, ids=lambda o: "-".join(map(str, o.values())))
def test_same_tree_as_slow_search(options: dict[str, Any], players: int) -> None:
    q_range = (-1.0, 1.0) if players < 3 else (0.0, 1.0)
    for seed in range(3):
        rng = np.random.default_rng([seed, players])
        tables = random_game(rng, states=25, actions=7, players=players)
        config = SearchConfig(num_simulations=int(rng.integers(1, 60)), **options)
        roots = np.arange(3, dtype=np.int32)
        noise = draw_noise(config, tables.count[roots], 7, rng) if seed else None
        search = BatchSearch(config, 3, 7, players, q_range)
        model = TableModel(tables, roots, config.num_simulations + 1)
        found = run(search, model if seed == 1 else Stepwise(model), noise)
        for b in range(3):
            slow = Slow(config, tables, q_range, None if noise is None else noise[b])
            root = slow.search(b)
            assert_same(search, b, 0, root)
            column, policy = slow.answer(root)
            assert found.action[b] == tables.actions[b, column], f"seed {seed}"
            np.testing.assert_allclose(found.action_weights[b], policy, atol=2e-5)


def test_running_mean_of_efficient_zero() -> None:
    rng = np.random.default_rng(5)
    tables = random_game(rng, states=25, actions=7, players=1)
    config = SearchConfig(policy="puct", fpu="mean_q", rescale="tree", num_simulations=60)
    search = BatchSearch(config, 1, 7, 1)
    run(search, TableModel(tables, np.zeros(1, np.int32), 61))
    assert_same(search, 0, 0, Slow(config, tables, (-1.0, 1.0)).search(0))


@pytest.mark.parametrize(("policy", "forced"), [("puct", 0.0), ("puct", 2.0), ("gumbel", 0.0)])
def test_a_row_does_not_depend_on_its_neighbours(policy: Any, forced: float) -> None:
    rng = np.random.default_rng(1)
    tables = random_game(rng, states=40, actions=9, players=2)
    roots = np.flatnonzero(tables.count)[:12].astype(np.int32)
    config = SearchConfig(policy=policy, num_simulations=40, forced_playouts=forced)
    noise = draw_noise(config, tables.count[roots], 9, [np.random.default_rng(int(r)) for r in roots])
    search = BatchSearch(config, 12, 9, 2)
    many = run(search, TableModel(tables, roots, 41), noise)
    alone = BatchSearch(config, 1, 9, 2)
    for b in range(12):
        one = run(alone, Stepwise(TableModel(tables, roots[b : b + 1], 41)), noise[b : b + 1])
        for name in one._fields:
            np.testing.assert_array_equal(getattr(one, name)[0], getattr(many, name)[b], err_msg=name)


KERNELS = [
    native, qtransforms, tree, proven, gumbel, puct, regularised, simulate, answer, table_model, batch
]  # fmt: skip


def interpret(modules: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace every kernel of the modules by its Python function."""
    for module in modules:
        for name, value in list(vars(module).items()):
            if hasattr(value, "py_func"):
                monkeypatch.setattr(module, name, value.py_func)


@pytest.mark.parametrize("policy", ["puct", "gumbel", "trpo", "mpo"])
def test_compiled_is_interpreted(policy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    tables = random_game(rng, states=25, actions=7, players=2)
    config = SearchConfig(
        policy=policy,
        num_simulations=24,
        interior="trpo" if policy == "trpo" else "full",
        solve=True,
        forced_playouts=2.0 if policy == "puct" else 0.0,
    )
    noise = draw_noise(config, tables.count[:2], 7, rng)
    roots = np.arange(2, dtype=np.int32)

    def search_once() -> Any:
        search = BatchSearch(config, 2, 7, 2, num_leaves=2)
        return run(search, Stepwise(TableModel(tables, roots, 25, num_leaves=2)), noise)

    compiled = search_once()
    interpret(KERNELS, monkeypatch)
    assert not hasattr(simulate.descend, "py_func")
    plain = search_once()
    for name in plain._fields:
        np.testing.assert_array_equal(getattr(compiled, name), getattr(plain, name), err_msg=name)
