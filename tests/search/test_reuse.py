"""A subtree that becomes the tree: nothing is lost, nothing else is left, the search goes on as it would."""

import itertools
from typing import Any

import numpy as np
import pytest
from tests.search.slow_search import Node, Slow, random_game
from tests.search.test_against_slow import KERNELS

from zelkova.errors import ConfigError, SearchError, ShapeError
from zelkova.search import BatchSearch, SearchConfig, batch, draw_noise
from zelkova.search.batch import run_until
from zelkova.search.kernels import reuse
from zelkova.search.models.table_model import TableModel, Tables, blank_evaluation, random_tables
from zelkova.search.view.branches import find_child, read_priors


def subtree(search: BatchSearch, node: int) -> dict[str, Any]:
    """Write a subtree down by actions, without the numbers of nodes, edges and kids."""
    forest = search.forest
    record = forest.nodes[0, node]
    start, first = int(record["edges"]), int(record["kids"])
    edges = slice(start, start + int(record["num_edges"]))
    kept = [
        "visits",
        "num_edges",
        "num_kids",
        "capacity",
        "best",
        "to_play",
        "proven",
        "is_ready",
        "discount",
    ]
    kept += ["best_weight"] if record["best"] >= 0 else []
    kept += ["mass", "reference"] if record["is_ready"] == 1 else []
    kids = forest.kids[0, first : first + int(record["num_kids"])]
    return {
        "record": {name: record[name].item() for name in kept if name != "discount" or node},
        "sums": forest.sums[0, node].tolist(),
        "raw": forest.raw[0, node].tolist(),
        "actions": forest.actions[0, edges].tolist(),
        "priors": forest.priors[0, edges].tolist(),
        "kids": [
            (
                *(kid[name].item() for name in ("q", "prior", "logit", "visits", "edge")),
                forest.rewards[0, int(kid["child"])].tolist(),
                subtree(search, int(kid["child"])),
            )
            for kid in kids
        ],
    }


def assert_sound(search: BatchSearch) -> None:
    """Counts fit together, links point back, slices and blocks do not overlap."""
    forest = search.forest
    head = forest.heads[0]
    nodes = forest.nodes[0, : head["num_nodes"]]
    blocks, slices, reached = [], [], {0}
    assert nodes[0]["parent"] == -1
    for node, record in enumerate(nodes):
        kids = forest.kids[0, record["kids"] : record["kids"] + record["num_kids"]]
        assert record["pending"] == 0
        assert record["visits"] == 1 + kids["visits"].sum() or record["num_edges"] == 0
        assert record["num_kids"] <= record["capacity"] or record["capacity"] == 0
        for place, kid in enumerate(kids):
            child = nodes[kid["child"]]
            assert (child["parent"], child["parent_kid"], child["visits"]) == (node, place, kid["visits"])
            reached.add(int(kid["child"]))
            assert forest.priors[0, record["edges"] + kid["edge"]] == -np.inf
        unvisited = forest.priors[0, record["edges"] : record["edges"] + record["num_edges"]] > -np.inf
        assert unvisited.sum() == record["num_edges"] - len(kids)
        if record["capacity"]:
            blocks.append((int(record["kids"]), int(record["kids"] + record["capacity"])))
        if record["num_edges"]:
            slices.append((int(record["edges"]), int(record["edges"] + record["num_edges"])))
    assert reached == set(range(len(nodes)))
    for spans, used in ((sorted(blocks), head["num_kids"]), (sorted(slices), head["num_edges"])):
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
        assert not spans or spans[-1][1] <= used
    assert head["num_kids"] <= forest.kids.shape[1]


def grown(
    config: SearchConfig, tables: Tables, leaves: int = 1, used: int = 60
) -> tuple[BatchSearch, TableModel]:
    players = tables.value.shape[1]
    search = BatchSearch(config, 1, tables.actions.shape[1], players, num_leaves=leaves)
    model = TableModel(tables, np.zeros(1, np.int32), config.num_simulations + 1, leaves)
    search.set_roots(model.root(), num_simulations=used)
    finish(search, model)
    return search, model


def finish(search: BatchSearch, model: TableModel) -> None:
    while not search.is_done:
        search.expand(model.step(*search.select()))


def inner_kids(search: BatchSearch) -> list[tuple[int, int]]:
    """Actions and nodes below the root that can be roots, most visited first."""
    forest = search.forest
    root = forest.nodes[0, 0]
    kids = forest.kids[0, root["kids"] : root["kids"] + root["num_kids"]]
    found = [
        (int(forest.actions[0, root["edges"] + kid["edge"]]), int(kid["child"]))
        for kid in kids[np.argsort(-kids["visits"], kind="stable")]
    ]
    return [(action, node) for action, node in found if forest.nodes[0, node]["num_edges"] > 0]


def move_states(model: TableModel, moved: Any) -> None:
    old = np.flatnonzero(moved >= 0)
    model.states[0, moved[old]] = model.states[0, old]


@pytest.mark.parametrize("players", [1, 2, 3])
@pytest.mark.parametrize("leaves", [1, 4])
def test_many_moves_on_one_tree(players: int, leaves: int) -> None:
    rng = np.random.default_rng([players, leaves])
    for rescale in ("fixed", "tree"):
        tables = random_game(rng, 60, 7, players)
        config = SearchConfig(policy="puct", num_simulations=90, rescale=rescale)
        search, model = grown(config, tables, leaves)
        for _ in range(25):
            below = inner_kids(search)
            if not below:
                break
            action, node = below[int(rng.integers(min(3, len(below))))]
            assert find_child(search, action) == node
            state, before = model.states[0, node], subtree(search, node)
            moved = search.keep(node)
            move_states(model, moved)
            before["record"].pop("discount")
            assert subtree(search, 0) == before
            assert model.states[0, 0] == state
            assert_sound(search)
            assert int(np.count_nonzero(moved >= 0)) == search.forest.heads["num_nodes"][0]
            assert search.is_done
            if search.room:
                search.extend(int(rng.integers(1, search.room + 1)))
                finish(search, model)
            assert_sound(search)
            assert search.forest.nodes[0, 0]["visits"] <= config.num_simulations + 1


def assert_same(search: BatchSearch, node: int, slow: Node) -> None:
    forest = search.forest
    record = forest.nodes[0, node]
    assert record["visits"] == slow.visits
    np.testing.assert_allclose(forest.sums[0, node] / slow.visits, slow.value, atol=2e-5)
    kids = {
        int(kid["edge"]): kid for kid in forest.kids[0, record["kids"] : record["kids"] + record["num_kids"]]
    }
    assert kids.keys() == slow.children.keys()
    for column, child in slow.children.items():
        assert_same(search, int(kids[column]["child"]), child)


def see_again(slow: Slow, node: Node, players: int) -> None:
    """Set the slow search's bounds to the Q values that a tree has now."""
    slow.bounds = [[np.inf, -np.inf] for _ in range(players)]

    def walk(at: Node) -> None:
        for child in at.children.values():
            q = child.reward + child.discount * child.value
            for p, bound in enumerate(slow.bounds):
                bound[0], bound[1] = min(bound[0], q[p]), max(bound[1], q[p])
            walk(child)

    walk(node)


@pytest.mark.parametrize("has_noise", [False, True])
@pytest.mark.parametrize(
    "options", [{}, {"rescale": "tree"}, {"fpu": "reduction"}, {"rescale": "node", "fpu": "parent"}]
)
def test_it_goes_on_as_a_slow_search_does(options: dict[str, Any], has_noise: bool) -> None:
    for seed in range(6):
        players = 1 + seed % 3
        rng = np.random.default_rng([seed, has_noise])
        tables = random_game(rng, 40, 6, players)
        config = SearchConfig(policy="puct", num_simulations=200, **options)
        search, model = grown(config, tables, used=40)
        slow = Slow(SearchConfig(policy="puct", num_simulations=40, **options), tables, (-1.0, 1.0))
        root = slow.search(0)
        assert_same(search, 0, root)
        _, node = inner_kids(search)[0]
        record = search.forest.nodes[0, int(search.forest.nodes[0, node]["parent"])]
        kid = search.forest.kids[0, record["kids"] + search.forest.nodes[0, node]["parent_kid"]]
        below = root.children[int(kid["edge"])]
        noise = draw_noise(config, np.array([len(below.logits)], np.int32), 6, rng)[0] if has_noise else None
        move_states(model, search.keep(node, noise))
        priors = read_priors(search)
        assert priors.sum() == pytest.approx(1, abs=1e-5)
        slow.noise = noise
        see_again(slow, below, players)
        search.extend(50)
        finish(search, model)
        for _ in range(50):
            slow.simulate(below, None)
        assert_same(search, 0, below)


def test_compiled_is_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = random_game(np.random.default_rng(8), 40, 6, 2)
    config = SearchConfig(policy="puct", num_simulations=60, rescale="tree")

    def keep_and_go_on() -> Any:
        search, model = grown(config, tables, used=30)
        node = inner_kids(search)[0][1]
        count = int(search.forest.nodes[0, node]["num_edges"])
        noise = np.zeros(6, np.float32)
        noise[:count] = np.arange(1, count + 1) / np.arange(1, count + 1).sum()
        move_states(model, search.keep(node, noise))
        search.extend(20)
        finish(search, model)
        return subtree(search, 0)

    compiled = keep_and_go_on()
    for module in (*KERNELS, reuse):
        for name, value in list(vars(module).items()):
            if hasattr(value, "py_func"):
                monkeypatch.setattr(module, name, value.py_func)
    assert not hasattr(vars(batch)["keep_subtree"], "py_func")
    assert keep_and_go_on() == compiled


def test_a_new_root_is_noised_again() -> None:
    tables = random_tables(np.random.default_rng(0), 50, 5)
    search, model = grown(SearchConfig(policy="puct", num_simulations=80), tables)
    before = read_priors(search, inner_kids(search)[0][1])
    noise = np.array([0.5, 0.2, 0.1, 0.1, 0.1], np.float32)
    move_states(model, search.keep(inner_kids(search)[0][1], noise))
    assert read_priors(search) == pytest.approx(0.75 * before + 0.25 * noise, abs=1e-6)
    assert search.forest.noise[0].tolist() == noise.tolist()


def test_what_can_not_be_kept_is_refused() -> None:
    tables = random_tables(np.random.default_rng(0), 50, 5)
    search, _ = grown(SearchConfig(policy="puct", num_simulations=80), tables)
    _, node = inner_kids(search)[0]
    for wrong in (0, -1, 61, 10_000):
        with pytest.raises(SearchError, match="no node below the root"):
            search.keep(wrong)
    with pytest.raises(SearchError, match="doesn't sum to 1"):
        search.keep(node, np.full(5, 0.5, np.float32))
    with pytest.raises(ShapeError, match="noise"):
        search.keep(node, np.full(4, 0.25, np.float32))
    with pytest.raises(ConfigError, match="room for 1 to 20"):
        search.extend(21)
    search.extend(5)
    search.select()
    for call in (lambda: search.keep(node), search.result_so_far, lambda: search.extend(1)):
        with pytest.raises(SearchError, match="expand"):
            call()
    with pytest.raises(SearchError, match="set_roots"):
        BatchSearch(SearchConfig(policy="puct"), 1, 5, 1).keep(1)
    gumbel, _ = grown(SearchConfig(policy="gumbel", num_simulations=80), tables)
    with pytest.raises(SearchError, match="without visits"):
        gumbel.keep(1)
    with pytest.raises(SearchError, match="schedule"):
        gumbel.extend(1)


@pytest.mark.parametrize("policy", ["trpo", "mpo"])
def test_regularised_roots_are_kept(policy: Any) -> None:
    """The policy of a kept root is that of its node; noise is not looked at; PUCT nodes hold no logits."""
    tables = random_tables(np.random.default_rng(0), 50, 5)
    search, model = grown(SearchConfig(policy=policy, num_simulations=80), tables)
    assert search.can_keep
    _, node = inner_kids(search)[0]
    held = int(search.forest.nodes[0, node]["visits"])
    move_states(model, search.keep(node, np.zeros(5, np.float32)))
    found = search.result_so_far()
    assert found.action_weights[0].sum() == pytest.approx(1, abs=1e-5)
    search.extend(20)
    finish(search, model)
    assert search.result().visit_counts[0].sum() == held - 1 + 20
    other, _ = grown(SearchConfig(policy=policy, interior="puct", num_simulations=80), tables)
    assert not other.can_keep
    with pytest.raises(SearchError, match="above PUCT nodes"):
        other.keep(inner_kids(other)[0][1])


def test_an_ending_is_no_root() -> None:
    tables = random_tables(np.random.default_rng(0), 3, 2)
    tables.count[1:] = 0
    tables.transition[:] = 1
    tables.discount[:] = 0
    tables.value[1:] = 0
    search, _ = grown(SearchConfig(policy="puct", num_simulations=80), tables)
    with pytest.raises(SearchError, match="ending"):
        search.keep(find_child(search, 0))


def test_fewer_simulations_than_allocated() -> None:
    """A schedule of its own, as if no more had been allocated."""
    tables = random_tables(np.random.default_rng(1), 60, 9)
    for policy in ("puct", "gumbel"):
        large = SearchConfig(policy=policy, num_simulations=90)
        small = SearchConfig(policy=policy, num_simulations=33)
        answers = [grown(config, tables, used=33)[0].result() for config in (large, small)]
        for one, two in zip(*answers, strict=True):
            np.testing.assert_array_equal(one, two)
    search, model = grown(SearchConfig(num_simulations=90), tables, used=90)
    search.set_roots(model.root())
    finish(search, model)
    assert search.result().visit_counts.sum() == 90
    with pytest.raises(ConfigError, match="room for 1 to 90"):
        search.set_roots(model.root(), num_simulations=91)


def test_an_answer_at_every_moment() -> None:
    rng = np.random.default_rng(2)
    tables = random_tables(rng, 60, 9)
    for policy in ("puct", "gumbel"):
        config = SearchConfig(policy=policy, num_simulations=50)
        search = BatchSearch(config, 1, 9, 1)
        model = TableModel(tables, np.zeros(1, np.int32), 51)
        noise = draw_noise(config, np.array([9], np.int32), 9, rng)
        search.set_roots(model.root(), noise)
        first = search.result_so_far()
        assert first.action_weights.sum() == pytest.approx(1, abs=1e-5)
        prior = read_priors(search)
        if policy == "puct":
            assert first.action_weights[0] == pytest.approx(prior, abs=1e-6)
        best = prior if policy == "puct" else np.log(prior) + noise[0]
        assert first.action[0] == np.argmax(best)
        while not search.is_done:
            search.expand(model.step(*search.select()))
            found = search.result_so_far()
            assert found.action[0] in range(9)
            assert found.action_weights.sum() == pytest.approx(1, abs=1e-5)
        assert search.result().action[0] == search.result_so_far().action[0]


def test_an_early_gumbel_answer_is_of_those_still_considered() -> None:
    """The second phase's first round has visited one of two: the other, no worse, can still be played."""
    config = SearchConfig(num_simulations=16, max_considered=4, c_visit=0.0, c_scale=0.01)
    root = blank_evaluation(1, 4, 1)
    root.actions[0], root.count[0], root.prior_logits[0] = np.arange(4), 4, [3.0, 2.0, 1.0, 0.0]
    search = BatchSearch(config, 1, 4, 1)
    search.set_roots(root)
    leaf = blank_evaluation(1, 4, 1)
    leaf.actions[0], leaf.count[0] = np.arange(4), 4
    visits = []
    for _ in range(16):
        search.select()
        search.expand(leaf)
        visits.append(search.result_so_far().visit_counts[0].tolist())
        assert search.result_so_far().action[0] == 0
    assert visits[4] == [2, 1, 1, 1]
    assert visits[8] == [3, 2, 2, 2]


def test_a_search_can_pause() -> None:
    tables = random_tables(np.random.default_rng(3), 60, 9)
    for policy in ("puct", "gumbel"):
        config = SearchConfig(policy=policy, num_simulations=50)
        search, model = grown(config, tables, used=50)
        whole = search.result()
        search.begin_again(model.root())
        for stop in (1, 17, 17, 49, 50):
            run_until(search, model, stop)
            assert search.forest.heads["done"][0] == stop
            assert search.is_done == (stop == 50)
        for one, two in zip(whole, search.result(), strict=True):
            np.testing.assert_array_equal(one, two)
