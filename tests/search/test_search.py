"""What a search promises: several leaves, bad input, odd roots, reproducible noise, vector values, depth."""

import copy
from typing import Any

import numpy as np
import pytest
from tests.search.slow_search import random_game

from zelkova.errors import ConfigError, SearchError, ShapeError
from zelkova.search import BatchSearch, Model, SearchConfig, draw_noise, run
from zelkova.search.models.table_model import (
    Stepwise,
    TableModel,
    Tables,
    blank_evaluation,
    random_tables,
)  # fmt: skip
from zelkova.search.speed import SPEED_ROWS, memory_per_simulation, thread_gain, tree_speed

F = np.float32
POLICIES = ["puct", "gumbel"]


def small(policy: Any = "puct", **options: Any) -> tuple[BatchSearch, TableModel]:
    """Two trees of five actions."""
    config = SearchConfig(policy=policy, num_simulations=10, **options)
    tables = random_tables(np.random.default_rng(0), 20, 5)
    return BatchSearch(config, 2, 5, 1), TableModel(tables, np.arange(2, dtype=np.int32), 11)


def assert_sound(search: BatchSearch) -> None:
    """Counts and sums of every tree fit together and nothing is pending."""
    forest = search.forest
    for b in range(search.num_trees):
        used = int(forest.heads["num_nodes"][b])
        assert forest.nodes[b, 0]["visits"] == search.num_simulations + 1
        seen = set()
        for node in range(used):
            record = forest.nodes[b, node]
            assert record["pending"] == 0
            kids = forest.kids[b, record["kids"] : record["kids"] + record["num_kids"]]
            visited = kids[kids["visits"] > 0]
            below = visited["visits"].sum()
            if record["num_edges"] > 0:
                assert record["visits"] == 1 + below
            assert len(set(kids["edge"].tolist())) == len(kids)
            for kid in visited:
                child = int(kid["child"])
                assert child not in seen
                seen.add(child)
                below_record = forest.nodes[b, child]
                assert below_record["visits"] == kid["visits"]
                mover = record["to_play"]
                mean = forest.sums[b, child, mover] / below_record["visits"]
                q = forest.rewards[b, child, mover] + below_record["discount"] * mean
                assert kid["q"] == pytest.approx(q, abs=1e-5)
        assert seen == set(range(1, used))


@pytest.mark.parametrize("kind", ["loss", "visits"])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("leaves", "count"), [(2, 1), (4, 3), (8, 1)])
def test_several_leaves(policy: Any, leaves: int, count: int, kind: Any) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        tables = random_game(rng, 40, 6, 2)
        config = SearchConfig(policy=policy, num_simulations=61, virtual_loss=kind, virtual_visits=count)
        search = BatchSearch(config, 3, 6, 2, num_leaves=leaves)
        model = TableModel(tables, np.arange(3, dtype=np.int32), 62, leaves)
        noise = draw_noise(config, tables.count[:3], 6, rng)
        search.set_roots(model.root(), noise)
        rounds = 0
        while not search.is_done:
            parent, action, node = search.select()
            for b in range(3):
                mine = slice(b * leaves, (b + 1) * leaves)
                new = node[mine][node[mine] >= 0]
                assert len(set(new.tolist())) == len(new)
                edges = set(zip(parent[mine].tolist(), action[mine].tolist(), strict=True))
                assert len(edges - {(-1, -1)}) == len(new)
            search.expand(model.step(parent, action, node))
            rounds += 1
        assert rounds <= 61  # each round evaluates at least one new leaf
        assert_sound(search)
        found = search.result()
        assert (found.visit_counts.sum(axis=1) == 61).all()
        assert found.action_weights.sum(axis=1) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("policy", POLICIES)
def test_one_legal_action_and_one_simulation(policy: Any) -> None:
    config = SearchConfig(policy=policy, num_simulations=1)
    root = blank_evaluation(1, 5, 1)
    root.actions[0, 0], root.count[0] = 3, 1
    search = BatchSearch(config, 1, 5, 1)
    search.set_roots(root, draw_noise(config, root.count, 5, np.random.default_rng(0)))
    leaf = blank_evaluation(1, 5, 1)
    leaf.actions[0, :2], leaf.count[0] = [0, 1], 2
    search.select()
    search.expand(leaf)
    found = search.result()
    assert found.action[0] == 3
    assert found.action_weights[0].tolist() == [1, 0, 0, 0, 0]
    assert found.actions[0].tolist() == [3, -1, -1, -1, -1]


@pytest.mark.parametrize(
    ("logits", "prior"),
    [([0.0, 0.0, 0.0], [1 / 3] * 3), ([-80.0, -81.0, -82.0], [0.6652, 0.2447, 0.09])],
)
def test_priors_over_legal_actions_only(logits: list[float], prior: list[float]) -> None:
    """Published case: all of a network's mass on illegal moves became NaN and action -1."""
    root = blank_evaluation(1, 5, 1)
    root.actions[0, :3], root.count[0], root.prior_logits[0, :3] = [2, 3, 4], 3, logits
    root.prior_logits[0, 3:] = [80, 79]  # beyond count: not read
    config = SearchConfig(policy="gumbel", num_simulations=1, gumbel_scale=0.0, c_scale=0.0)
    search = BatchSearch(config, 1, 5, 1)
    search.set_roots(root)
    leaf = blank_evaluation(1, 5, 1)
    leaf.count[0] = 1
    search.select()
    search.expand(leaf)
    found = search.result()
    assert found.action_weights[0, :3] == pytest.approx(prior, abs=1e-4)
    assert found.action[0] == 2
    noise = np.zeros((1, 5), F)
    noise[0, :3] = 1 / 3
    puct = BatchSearch(SearchConfig(policy="puct", dirichlet_fraction=1e-6), 1, 5, 1)
    puct.set_roots(root, noise)
    assert puct.forest.priors[0, :3] == pytest.approx(prior, abs=1e-4)


def test_root_noise_stays_on_legal_actions() -> None:
    """Published case: noise spread over 82 actions where 3 were legal."""
    config = SearchConfig(policy="puct", num_simulations=5)
    root = blank_evaluation(1, 82, 1)
    root.actions[0, :3], root.count[0] = [10, 40, 81], 3
    root.prior_logits[0, :3] = np.log([0.5, 0.3, 0.2])
    search = BatchSearch(config, 1, 82, 1)
    rng = np.random.default_rng(7)
    spread = []
    for _ in range(1000):
        noise = draw_noise(config, root.count, 82, rng)
        assert (noise[0, 3:] == 0).all()
        assert noise[0].sum() == pytest.approx(1, abs=1e-5)
        search.set_roots(root, noise)
        mixed = search.forest.priors[0, :3]
        assert mixed.sum() == pytest.approx(1, abs=1e-5)
        assert mixed == pytest.approx(0.75 * np.array([0.5, 0.3, 0.2]) + 0.25 * noise[0, :3], abs=1e-6)
        spread.append(noise[0, 0])
    # alpha = 10.83 / 3: variance of one share is (1/3)(2/3) / (3 alpha + 1)
    assert np.var(spread) == pytest.approx(2 / 9 / 11.83, rel=0.15)


@pytest.mark.parametrize("policy", POLICIES)
def test_equal_seeds_give_equal_searches(policy: Any) -> None:
    config = SearchConfig(policy=policy, num_simulations=64)
    tables = random_tables(np.random.default_rng(0), 200, 9)
    counts = []
    for seed in (7, 7, 8):
        np.random.seed(seed * 3)  # noqa: NPY002 (other code's global state makes no difference)
        search = BatchSearch(config, 4, 9, 1)
        rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(4)]
        noise = draw_noise(config, np.full(4, 9, np.int32), 9, rngs)
        counts.append(run(search, TableModel(tables, np.arange(4, dtype=np.int32), 65), noise).visit_counts)
    assert (counts[0] == counts[1]).all()
    assert (counts[0] != counts[2]).any()


@pytest.mark.parametrize(("movers", "expected"), [((0, 1, 2), (0.2, 0.7)), ((0, 2, 0), (0.2, 0.1))])
def test_each_edge_reads_its_movers_component(movers: tuple[int, ...], expected: tuple[float, float]) -> None:
    """Published case: three players, the second game without player 1."""
    tables = Tables(
        transition=np.array([[1], [2], [2]], np.int32),
        reward=np.zeros((3, 1, 3), F),
        discount=np.ones((3, 1), F),
        actions=np.zeros((3, 1), np.int32),
        count=np.ones(3, np.int32),
        prior_logits=np.zeros((3, 1), F),
        value=np.array([[0.2, 0.7, 0.1]] * 3, F),
        to_play=np.array(movers, np.int32),
    )
    search = BatchSearch(SearchConfig(policy="puct", num_simulations=2), 1, 1, 3, (0.0, 1.0))
    run(search, TableModel(tables, np.zeros(1, np.int32), 3))
    kids = search.forest.kids[0]
    first, second = search.forest.nodes[0, 0]["kids"], search.forest.nodes[0, 1]["kids"]
    assert (kids[first]["q"], kids[second]["q"]) == pytest.approx(expected)


def test_known_endings_count_as_simulations() -> None:
    # action 0 wins at once, action 1 loses at once
    tables = Tables(
        transition=np.array([[1, 2], [0, 0], [0, 0]], np.int32),
        reward=np.array([[[1], [-1]], [[0], [0]], [[0], [0]]], F),
        discount=np.zeros((3, 2), F),
        actions=np.array([[0, 1]] * 3, np.int32),
        count=np.array([2, 0, 0], np.int32),
        prior_logits=np.zeros((3, 2), F),
        value=np.zeros((3, 1), F),
        to_play=np.zeros(3, np.int32),
    )
    search = BatchSearch(SearchConfig(policy="puct", num_simulations=50), 1, 2, 1)
    found = run(search, Stepwise(TableModel(tables, np.zeros(1, np.int32), 51)))
    assert found.action[0] == 0
    assert found.visit_counts[0].sum() == 50
    assert search.forest.heads["num_nodes"][0] == 3
    assert found.q_values[0].tolist() == [1, -1]


def test_temperature_draws_in_proportion() -> None:
    config = SearchConfig(policy="puct", num_simulations=30)
    tables = random_tables(np.random.default_rng(1), 20, 4)
    search = BatchSearch(config, 1000, 4, 1)
    model = TableModel(tables, np.zeros(1000, np.int32), 31)
    run(search, model)
    uniform = (np.arange(1000) + 0.5) / 1000
    found = search.result(1.0, uniform.astype(F))
    share = np.bincount(found.action, minlength=4) / 1000
    assert share == pytest.approx(found.visit_counts[0] / 30, abs=0.002)
    with pytest.raises(ShapeError, match="uniform"):
        search.result(1.0)


BAD = [
    ("prior_logits", np.nan, "prior_logits = nan for action 0"),
    ("prior_logits", np.inf, "prior_logits = inf for action 0"),
    ("value", np.nan, r"value = \[nan\]; allowed: finite"),
    ("reward", np.inf, r"reward = \[inf\]"),
    ("discount", np.nan, "discount = nan"),
    ("count", 0, "no legal action.*next"),
    ("count", 6, "count = 6; allowed: 0 to 5 "),
    ("count", -1, "count = -1; allowed: 0 to 5 "),
    ("to_play", 1, "to_play = 1; allowed: 0 to 0,"),
    ("to_play", -2, "to_play = -2; allowed: 0 to 0,"),
]


@pytest.mark.parametrize(("name", "bad", "text"), BAD)
def test_bad_numbers_name_the_tree(name: str, bad: float, text: str) -> None:
    search, model = small()
    for row in (0, 1):
        root = model.root()
        getattr(root, name)[row] = bad
        with pytest.raises(SearchError, match=rf"tree {row} (?=.*root).*{text}"):
            search.set_roots(root)
        with pytest.raises(SearchError, match="set_roots"):
            search.select()
        search.set_roots(model.root())
        answer = copy.deepcopy(model.step(*search.select()))
        getattr(answer, name)[row] = bad
        with pytest.raises(SearchError, match=rf"tree {row} .*step\(\) gives .*{text}"):
            search.expand(answer)


def test_bad_noise_is_refused() -> None:
    search, model = small()
    noise = np.full((2, 5), 0.2, F)
    noise[1, 2] = np.nan
    with pytest.raises(SearchError, match=r"tree 1 .*noise"):
        search.set_roots(model.root(), noise)
    with pytest.raises(SearchError, match=r"tree 0 .*sum to 1"):
        search.set_roots(model.root(), np.zeros((2, 5), F))
    with pytest.raises(ShapeError, match="noise has shape"):
        search.set_roots(model.root(), noise[:, :4])


def test_bad_shapes_and_order_of_calls() -> None:
    search, model = small()
    with pytest.raises(SearchError, match="set_roots"):
        search.select()
    root = model.root()
    for wrong in (root._replace(value=root.value[:1]), root._replace(actions=root.actions.astype(np.int64))):
        with pytest.raises(ShapeError, match=r"evaluation\.\w+ has shape"):
            search.set_roots(wrong)
    search.set_roots(root)
    with pytest.raises(SearchError, match="before the search is done"):
        search.result()
    selection = search.select()
    with pytest.raises(SearchError, match="twice"):
        search.select()
    strided = np.asfortranarray(np.zeros((2, 5), F))
    with pytest.raises(ShapeError, match="contiguous"):
        search.expand(model.step(*selection)._replace(prior_logits=strided))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"policy": "pucct"}, "did you mean `puct`"),
        ({"num_simulations": 0}, r"search.num_simulations = 0 .*from 1"),
        ({"num_simulations": 2.5}, "whole number"),
        ({"c_init": float("nan")}, "search.c_init"),
        ({"c_init": "1"}, "search.c_init"),
        ({"dirichlet_alpha": -1}, "search.dirichlet_alpha"),
        ({"dirichlet_fraction": 1.5}, "from 0.0 to 1.0"),
        ({"rescale_illegal": 1}, "true or false"),
        ({"gumbel_scale": True}, "search.gumbel_scale"),
    ],
)
def test_bad_settings(options: Any, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        SearchConfig(**options)


def test_bad_sizes() -> None:
    config = SearchConfig()
    for sizes, text in [((0, 5, 1), "num_trees"), ((1, 0, 1), "max_actions"), ((1, 5, 0), "num_players")]:
        with pytest.raises(ConfigError, match=text):
            BatchSearch(config, *sizes)
    with pytest.raises(ConfigError, match="q_range"):
        BatchSearch(config, 1, 5, 1, (1.0, 1.0))
    with pytest.raises(ConfigError, match="mean_q"):
        BatchSearch(SearchConfig(policy="puct", fpu="mean_q"), 1, 5, 2)
    with pytest.raises(ConfigError, match="2\\*\\*31"):
        BatchSearch(SearchConfig(num_simulations=1_000_000), 1, 5000, 1)


def test_a_million_simulations_in_one_tree() -> None:
    tables = random_tables(np.random.default_rng(0), 500, 4)
    search = BatchSearch(SearchConfig(policy="puct", num_simulations=1_000_000), 1, 4, 1)
    allocated = [(array.ctypes.data, array.nbytes) for array in search.forest]
    found = run(search, TableModel(tables, np.zeros(1, np.int32), 1_000_001))
    assert found.visit_counts.sum() == 1_000_000
    assert np.isfinite(found.value).all()
    assert [(array.ctypes.data, array.nbytes) for array in search.forest] == allocated
    assert search.forest.heads["num_nodes"][0] <= search.forest.nodes.shape[1]


@pytest.mark.parametrize("policy", [*POLICIES, "trpo", "mpo"])
def test_ties_go_to_the_lowest_action(policy: Any) -> None:
    """Actions that nothing tells apart are visited and played in their order, in every tree alike."""
    tables = random_tables(np.random.default_rng(0), 1, 5)
    tables.prior_logits[:], tables.reward[:], tables.value[:], tables.discount[:] = 0, 0, 0, 0
    for spent in range(1, 6):
        config = SearchConfig(policy=policy, num_simulations=spent, rescale="none")
        found = run(BatchSearch(config, 3, 5, 1), TableModel(tables, np.zeros(3, np.int32), spent + 1))
        assert found.visit_counts.tolist() == [[1] * spent + [0] * (5 - spent)] * 3
        assert found.action.tolist() == [0, 0, 0]


def test_a_chain_as_deep_as_the_search() -> None:
    tables = random_tables(np.random.default_rng(0), 3, 1)
    search = BatchSearch(SearchConfig(policy="puct", num_simulations=3000), 1, 1, 1)
    run(search, TableModel(tables, np.zeros(1, np.int32), 3001))
    assert_sound(search)


def test_table_model_is_a_model_and_speed_gives_records() -> None:
    assert isinstance(small()[1], Model)
    assert len(SPEED_ROWS) == 7
    for is_native in (True, False):
        record = tree_speed("gumbel", 2, 10, 5, seconds=0.0, is_native=is_native)
        assert record["value"] > 0
        assert record["name"].startswith("search/")
        assert record["params"] == {"trees": 2, "simulations": 10, "actions": 5, "policy": "gumbel"}


def test_speed_of_threads_and_memory_are_records() -> None:
    assert thread_gain("puct", (4, 8, 5), seconds=0.02)["value"] > 0
    full, few = (memory_per_simulation(50, 362, legal)["value"] for legal in (362, 35))
    # mctx holds 24 bytes for each of 362 actions of a node
    assert full < 24 * 362
    assert few < 24 * 362 / 4
