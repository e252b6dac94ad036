"""Numbers that were worked out by hand: PUCT and back-up (P), Gumbel (G), halving (H).

P1 to P5 with either reading of the parent's visits, and P18, are in `test_policies.py`, P16, P17 and P19 in
`tests/agents/test_rollouts.py`. G24 counts blocks of a network that is not built, and G25 divides a paper's
budget of simulations by its time: no search computes either.
"""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.search.golden_cases import GOLDEN

from zelkova.search import BatchSearch, SearchConfig, run
from zelkova.search.draws import sharpen
from zelkova.search.kernels.simulate import descend
from zelkova.search.kernels.tree import FULL, GUMBEL, open_edge, refresh_q
from zelkova.search.memory import explore_table
from zelkova.search.models.table_model import TableModel, Tables
from zelkova.search.rules.gumbel import choose_full, halving_visits, improved_policy, most_visited_candidate
from zelkova.search.rules.puct import first_play_value, puct_range, running_mean_q
from zelkova.search.rules.qtransforms import completed_q, fixed_range, mixed_value, soft_range, tree_range

F = np.float32


def bandit(prior: list[float], q: list[float]) -> Tables:
    """One decision: state 0, then an ending a action whose reward is q."""
    n = len(prior)
    count = np.zeros(n + 1, np.int32)
    count[0] = n
    transition = np.tile(np.arange(1, n + 1, dtype=np.int32), (n + 1, 1))
    reward = np.zeros((n + 1, n, 1), F)
    reward[0, :, 0] = q
    discount = np.zeros((n + 1, n), F)
    actions = np.tile(np.arange(n, dtype=np.int32), (n + 1, 1))
    logits = np.tile(np.log(np.array(prior)).astype(F), (n + 1, 1))
    return Tables(transition, reward, discount, actions, count, logits, np.zeros((n + 1, 1), F), count * 0)


def picks(config: SearchConfig, tables: Tables, simulations: int, steps: int) -> list[int]:
    """The first picks at the root, from searches of 1, 2, ... simulations."""
    before = np.zeros(tables.actions.shape[1], np.int32)
    out = []
    for n in range(1, steps + 1):
        search = BatchSearch(replace(config, num_simulations=n), 1, len(before), 1)
        visits = run(search, TableModel(tables, np.zeros(1, np.int32), n + 1)).visit_counts[0]
        out.append(int(np.argmax(visits - before)))
        before = visits
    return out


def node_with(
    config: SearchConfig,
    prior: Any,
    visits: Any,
    q: Any,
    raw: float = 0.0,
    value: float | None = None,
    q_range: tuple[float, float] = (-1.0, 1.0),
) -> Any:
    """A forest whose root has these edges, visits, Q values, raw value and mean value."""
    n = len(prior)
    search = BatchSearch(replace(config, num_simulations=max(2, int(sum(visits)))), 1, n, 1, q_range)
    model = TableModel(bandit(list(prior), list(q)), np.zeros(1, np.int32), 2)
    search.set_roots(model.root())
    forest = search.forest
    root = forest.nodes[0, 0]
    root["num_kids"] = root["kids"] = root["capacity"] = 0
    for a in range(n):
        if visits[a] > 0:
            kid = open_edge(forest, 0, 0, a, F(prior[a]))
            record = forest.kids[0, root["kids"] + kid]
            record["q"], record["visits"], record["prior"] = q[a], visits[a], prior[a]
            record["logit"] = math.log(prior[a])
    forest.heads["candidates"] = root["num_kids"]
    root["visits"] = sum(visits) + 1
    forest.raw[0, 0, 0] = raw
    forest.sums[0, 0, 0] = (raw if value is None else value) * root["visits"]
    return forest


def test_explore_p1() -> None:
    table = explore_table(1.25, 19652.0, 19653) / np.sqrt(np.arange(1, 19654))
    assert table[[0]] == pytest.approx(1.25 + math.log((1 + 1 + 19652) / 19652), abs=1e-6)
    # P1 is at Np = 0, 50, 800, 19652; the table starts at Np = 1
    expected = {49: 1.252592, 799: 1.289950, 19651: 1.943173}
    for s, c in expected.items():
        assert table[s] == pytest.approx(c, abs=2e-6)


def test_bandit_p2_and_first_pick_p4() -> None:
    # the fact takes C = 1.25 and raw q with 0 for unvisited
    config = SearchConfig(policy="puct", rescale="none", c_base=1e12)
    assert picks(config, bandit([0.5, 0.3, 0.2], [0, 0, 1]), 12, 12) == [0, 1, 0] + [2] * 9
    assert picks(config, bandit([0.2, 0.3, 0.5], [0, 0, 0]), 1, 1) == [2]


def test_puct_score_p5() -> None:
    explore = explore_table(1.25, 1e12, 25)
    # with S = 24, sqrt(1 + S) = 5 stands where the fact has sqrt(24)
    assert explore[23] * 0.4 / 4 == pytest.approx(0.612372, abs=1e-6)
    assert 0.55 + explore[23] * 0.4 / 4 == pytest.approx(1.162372, abs=1e-6)


def test_back_up_p6_to_p8() -> None:
    # a chain: rewards 1, 0, 2 into s1, s2, s3, leaf value 4, gamma .9
    n = 4
    tables = Tables(
        transition=np.array([[1], [2], [3], [3]], np.int32),
        reward=np.array([1, 0, 2, 0], F).reshape(n, 1, 1),
        discount=np.full((n, 1), 0.9, F),
        actions=np.zeros((n, 1), np.int32),
        count=np.ones(n, np.int32),
        prior_logits=np.zeros((n, 1), F),
        value=np.array([[0], [0], [0], [4]], F),
        to_play=np.zeros(n, np.int32),
    )
    config = SearchConfig(policy="puct", num_simulations=3)
    search = BatchSearch(config, 1, 1, 1, (-10.0, 10.0))
    model = TableModel(tables, np.zeros(1, np.int32), 4)
    search.set_roots(model.root())
    for _ in range(2):
        search.expand(model.step(*search.select()))
    before = search.forest.sums[0, :, 0].copy()
    search.expand(model.step(*search.select()))
    added = search.forest.sums[0, :, 0] - before
    assert added[:3] == pytest.approx([5.536, 5.04, 5.6], abs=1e-6)
    wrong = [4.0]  # P8: with the leaf's reward at every level
    for _ in range(3):
        wrong.append(2 + 0.9 * wrong[-1])
    assert wrong[:1:-1] == pytest.approx([8.336, 7.04], abs=1e-6)
    assert search.forest.sums[0, 3, 0] == pytest.approx(4)
    only = run(BatchSearch(config, 1, 1, 1), model).q_values[0, 0]
    # Q is 1 + .9 V(s1), V(s1) the mean of 0, 0 and 5.04
    assert only == pytest.approx(1 + 0.9 * 5.04 / 3, abs=1e-6)
    assert added[0] == pytest.approx(1 + 0.9 * 5.04, abs=1e-6)  # P7: the last back-up's share of Q


def test_bounds_p9_and_soft_range_p10() -> None:
    offset, factor = fixed_range(F(-1), F(3))
    assert (2 - offset) * factor == pytest.approx(0.75)
    assert (0 - offset) * factor == pytest.approx(0.25)
    for config in (SearchConfig(policy="puct"), SearchConfig(policy="puct", fpu="loss")):
        forest = node_with(config, [0.6, 0.4], [1, 0], [2.0, 0], q_range=(-1.0, 3.0))
        scale = puct_range(forest, 0, 0)
        assert first_play_value(forest, 0, 0, *scale, F(0)) == 0
    offset, factor = soft_range(F(0.5), F(0.502), F(0.01))
    assert (0.502 - offset) * factor == pytest.approx(0.2, abs=1e-4)
    offset, factor = soft_range(F(0.5), F(0.502), F(1e-8))
    assert (0.502 - offset) * factor == pytest.approx(1, abs=1e-4)
    assert tree_range(F(0.5), F(0.5), F(0.01)) == (F(0), F(1))
    assert tree_range(F(np.inf), F(-np.inf), F(0.01)) == (F(0), F(1))


def test_first_play_reduction_p11() -> None:
    config = SearchConfig(policy="puct", fpu="reduction", fpu_reduction=0.25, rescale="none")
    forest = node_with(config, [0.4, 0.09, 0.51], [1, 1, 0], [0.5, 0.5, 0], value=0.6)
    assert first_play_value(forest, 0, 0, F(0), F(1), F(0)) == pytest.approx(0.425, abs=1e-6)


def test_mean_q_p12() -> None:
    config = SearchConfig(policy="puct", fpu="mean_q")
    forest = node_with(config, [0.5, 0.3, 0.2], [1, 1, 0], [0.5, 0.3, 0])
    assert running_mean_q(forest, 0, 0, F(9)) == pytest.approx(0.4)
    forest = node_with(config, [0.5, 0.3, 0.2], [1, 1, 0], [0.5, 0.3, 0])
    inner = forest._replace(nodes=np.roll(forest.nodes, 1, axis=1))  # the same edges at node 1
    assert running_mean_q(inner, 0, 1, F(0.2)) == pytest.approx(1 / 3)


def test_root_noise_p13() -> None:
    config = SearchConfig(policy="puct", num_simulations=1, dirichlet_fraction=0.25)
    search = BatchSearch(config, 1, 2, 1)
    model = TableModel(bandit([0.2, 0.8], [0, 0]), np.zeros(1, np.int32), 2)
    search.set_roots(model.root(), np.array([[1.0, 0.0]], F))
    assert search.forest.priors[0, :2] == pytest.approx([0.4, 0.6], abs=1e-6)


def test_temperature_p14() -> None:
    visits = np.array([[10, 30, 60]], np.int32)
    expected = {
        1.0: [0.1, 0.3, 0.6],
        0.5: [0.021739, 0.195652, 0.782609],
        0.25: [0.000726, 0.058781, 0.940493],
    }
    for temperature, policy in expected.items():
        weights = sharpen(visits, temperature)[0]
        assert weights / weights.sum() == pytest.approx(policy, abs=1e-6)


@pytest.mark.parametrize(("kind", "q"), [("loss", 0.230769), ("visits", 0.6)])
def test_virtual_loss_p15(kind: Any, q: float) -> None:
    config = SearchConfig(policy="puct", num_simulations=12, virtual_loss=kind)
    search = BatchSearch(config, 1, 1, 1, num_leaves=4)
    tables = bandit([1.0], [0.0])
    tables.count[1] = 1
    tables.discount[:] = 1
    search.set_roots(TableModel(tables, np.zeros(1, np.int32), 13).root())
    forest = search.forest
    assert descend(forest, 0) == 0
    forest.nodes[0, 1]["visits"] = 10
    forest.nodes[0, 1]["discount"] = 1
    forest.sums[0, 1, 0] = 6
    forest.rewards[0, 1, 0] = 0
    forest.kids[0, 0]["visits"] = 13
    refresh_q(forest, 0, 1)
    assert forest.kids[0, 0]["q"] == pytest.approx(q, abs=1e-6)


def test_halving_schedules() -> None:
    assert halving_visits(4, 8) == [0, 0, 0, 0, 1, 1, 2, 2]
    assert halving_visits(3, 12) == [0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4]
    assert halving_visits(16, 2) == [0, 0]
    finals = {
        (2, 2): "1*2", (8, 4): "3*2 1*2", (16, 16): "1*16", (16, 4): "6*2 2*2", (32, 16): "4*4 2*4 1*8",
        (50, 16): "12*2 5*2 2*4 1*8", (50, 18): "12*1 11*1 4*2 2*5 1*9", (200, 16): "49*2 21*2 9*4 3*8",
        (400, 16): "97*2 43*2 18*4 6*8", (800, 16): "191*2 87*2 37*4 12*8",
    }  # fmt: skip
    for (n, m), text in finals.items():
        visits = [0] * m
        for needed in halving_visits(m, n):
            visits[visits.index(needed)] += 1
        expected = [int(v) for part in text.split() for v in [part.split("*")[0]] * int(part.split("*")[1])]
        assert sorted(visits, reverse=True) == expected, (n, m)


def test_planning_with_gumbel_g1_to_g7() -> None:
    prior, value = [0.5, 0.3, 0.2], [0.0, 0.0, 1.0]
    draws = 20_000
    rng = np.random.default_rng(0)
    noise = rng.gumbel(size=(draws, 3)).astype(F)
    config = SearchConfig(num_simulations=2, max_considered=2)
    found = run(
        BatchSearch(config, draws, 3, 1, (0.0, 1.0)),
        TableModel(bandit(prior, value), np.zeros(draws, np.int32), 3),
        noise,
    )
    included = (found.visit_counts > 0).mean(axis=0)
    assert included == pytest.approx([0.839286, 0.675, 0.485714], abs=0.012)
    assert (found.action == 2).mean() == pytest.approx(0.485714, abs=0.012)
    zero = SearchConfig(num_simulations=2, max_considered=2, c_scale=0.0)
    found = run(
        BatchSearch(zero, draws, 3, 1, (0.0, 1.0)),
        TableModel(bandit(prior, value), np.zeros(draws, np.int32), 3),
        noise,
    )
    assert (found.action == 2).mean() == pytest.approx(0.2, abs=0.01)
    silent = run(
        BatchSearch(config, 1, 3, 1, (0.0, 1.0)), TableModel(bandit(prior, value), np.zeros(1, np.int32), 3)
    )
    assert silent.action[0] != 2


def policy_of(forest: Any) -> Any:
    """The improved policy at the root."""
    out = np.zeros((1, forest.noise.shape[1]), F)
    improved_policy(forest, 0, GUMBEL, out)
    return out[0]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"rescale": "none"}, [0.000093, 0.000056, 0.999851]),
        ({"rescale": "node", "rescale_floor": 1e-8, "c_scale": 0.1}, [0.014879, 0.008927, 0.976194]),
    ],
)
def test_unvisited_action_gains_g8_to_g10(options: Any, expected: Any) -> None:
    forest = node_with(SearchConfig(**options), [0.5, 0.3, 0.2], [1, 1, 0], [0.0, 0.0, 0.0], raw=0.6)
    assert completed_q(forest, 0, 0, GUMBEL)[0] == pytest.approx(0.2)
    assert policy_of(forest) == pytest.approx(expected, abs=1e-5)


def test_sigma_and_mixed_value_g11_to_g18() -> None:
    bare = node_with(SearchConfig(rescale="none"), [0.5, 0.3, 0.2], [3, 1, 0], [0.4, 0.2, 0])
    _, offset, factor = completed_q(bare, 0, 0, GUMBEL)
    assert (0.4 - offset) * factor == pytest.approx(21.2, abs=1e-4)
    mixed = mixed_value(F(0.1), 3, F(0.8), F(0.5 * 0.6 + 0.3 * 0.2))
    assert mixed == pytest.approx(0.3625, abs=1e-6)
    assert mixed_value(F(0.1), 0, F(0), F(0)) == F(0.1)
    cases: list[tuple[dict[str, Any], list[float]]] = [
        ({"rescale": "none", "c_scale": 0.1}, [0.839425, 0.062922, 0.097654]),
        ({"rescale": "node", "rescale_floor": 1e-8, "c_scale": 0.1}, [0.978899, 0.003240, 0.017861]),
        ({"rescale": "node", "rescale_floor": 1e-8, "c_scale": 1.0}, [1, 0, 0]),
    ]
    policies = []
    for options, expected in cases:
        forest = node_with(SearchConfig(**options), [0.5, 0.3, 0.2], [2, 1, 0], [0.6, 0.2, 0], raw=0.1)
        assert completed_q(forest, 0, 0, GUMBEL)[0] == pytest.approx(0.3625, abs=1e-6)
        policies.append(policy_of(forest).astype(np.float64))
        assert policies[-1] == pytest.approx(expected, abs=1e-6)
    divergence = (policies[1] * np.log(policies[1] / [0.5, 0.3, 0.2])).sum()
    assert divergence == pytest.approx(0.599825, abs=1e-5)


@pytest.mark.parametrize(
    ("prior", "expected"),
    [([0.5, 0.3, 0.2], [0, 1, 2, 0, 0, 1, 0, 2, 1, 0]), ([0.7, 0.2, 0.1], [0, 1, 0, 0, 2, 0])],
)
def test_interior_rule_g19_g20(prior: list[float], expected: list[int]) -> None:
    # c_scale 0 keeps pi' at the prior; some picks are ties but for rounding, where either action is right
    visits = np.zeros(3, np.int64)
    for wanted in expected:
        forest = node_with(SearchConfig(c_scale=0.0), prior, visits, [0.0] * 3)
        scores = np.array(prior) - visits / (1 + visits.sum())
        tied = np.flatnonzero(scores > scores.max() - 1e-6)
        assert wanted in tied
        assert interior_pick(forest, visits) in tied
        visits[wanted] += 1


def interior_pick(forest: Any, visits: Any) -> int:
    """What the interior rule picks at a root made by `node_with`."""
    root = forest.nodes[0, 0]
    root["best"], root["is_ready"] = -1, 0
    for a, n in enumerate(visits):
        if n > 0:
            forest.priors[0, root["edges"] + a] = -np.inf
    k = choose_full(forest, 0, 0, FULL)
    return int(root["best"] if k < 0 else forest.kids[0, root["kids"] + k]["edge"])


def test_interior_rule_minimises_the_distance_g21() -> None:
    rng = np.random.default_rng(2)
    for _ in range(300):
        n = int(rng.integers(2, 9))
        prior = rng.dirichlet(np.ones(n))
        visits = rng.integers(0, 6, n) * (rng.random(n) < 0.7)
        q = rng.uniform(-1, 1, n) * (visits > 0)
        config = SearchConfig(c_visit=5.0)
        forest = node_with(config, prior, visits, q, raw=float(rng.uniform(-1, 1)))
        target = policy_of(forest).astype(np.float64)
        after = (visits + np.eye(n)) / (1 + visits.sum())
        distance = ((target - after) ** 2).sum(axis=1)
        assert distance[interior_pick(forest, visits)] == pytest.approx(distance.min(), abs=1e-5)


def test_improved_policy_is_never_worse_g22() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        n = int(rng.integers(2, 7))
        prior, value = rng.dirichlet(np.ones(n)), rng.uniform(-1, 1, n)
        visits = rng.integers(0, 3, n)
        config = SearchConfig(completion="raw", rescale="fixed")
        forest = node_with(config, prior, visits, value, raw=float(prior @ value))
        assert policy_of(forest) @ value >= prior @ value - 1e-5


def test_final_choice_g23() -> None:
    config = SearchConfig(rescale="none", c_scale=0.1)
    forest = node_with(config, [0.5, 0.3, 0.2], [2, 2, 0], [0.0, 1.0, 0.5])
    assert most_visited_candidate(forest, 0) == 1
    _, offset, factor = completed_q(forest, 0, 0, GUMBEL)
    scores = np.log([0.5, 0.3, 0.2]) + (np.array([0, 1, 0.5]) - offset) * factor
    assert scores == pytest.approx([-0.693147, 3.996027, 0.990562], abs=1e-5)


def test_q_transforms_of_mctx() -> None:
    variants = {
        "completed_by_mix_value/default": {"c_scale": 0.1, "rescale": "node"},
        "completed_by_mix_value/paper": {"c_scale": 1.0, "rescale": "node"},
        "completed_by_mix_value/no_rescale": {"c_scale": 0.1, "rescale": "none"},
        "completed_by_mix_value/no_mixed": {"c_scale": 0.1, "rescale": "node", "completion": "raw"},
        "completed_by_mix_value/raw_only": {
            "c_visit": 10.0,
            "c_scale": 0.5,
            "rescale": "none",
            "completion": "raw",
        },
    }
    for case in GOLDEN["qtransforms"]:
        visits, q = np.array(case["visit_counts"]), np.array(case["qvalues"])
        logits = np.array(case["prior_logits"], np.float64)
        prior = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        given = (np.maximum(prior, 1e-30), visits, q, case["raw_value"], case["node_value"])
        for name, options in variants.items():
            forest = node_with(SearchConfig(rescale_floor=1e-8, **options), *given)  # type: ignore[arg-type]
            value, offset, factor = completed_q(forest, 0, 0, GUMBEL)
            transformed = (np.where(visits > 0, q, value) - offset) * factor
            np.testing.assert_allclose(transformed, case[name], atol=1e-4, err_msg=name)
        for name, rescale in (("parent_and_siblings", "node"), ("min_max(-1,1)", "fixed")):
            config = SearchConfig(policy="puct", rescale=rescale, rescale_floor=1e-8)  # type: ignore[arg-type]
            forest = node_with(config, *given)
            offset, factor = puct_range(forest, 0, 0)
            unvisited = first_play_value(forest, 0, 0, offset, factor, F(0))
            transformed = np.where(visits > 0, (q - offset) * factor, unvisited)
            np.testing.assert_allclose(transformed, case[name], atol=2e-5, err_msg=name)


def test_example_1_is_enumerated_exactly_g3_to_g5() -> None:
    """E[q] of the acted move over every order of the draws, each with its probability; n = 2 of 3 actions."""
    prior, value = np.array([0.5, 0.3, 0.2]), np.array([0.0, 0.0, 1.0])
    config = SearchConfig(num_simulations=2, max_considered=2)
    model = TableModel(bandit(list(prior), list(value)), np.zeros(1, np.int32), 3)

    def acted(noise: Any, c_scale: float = 1e4) -> int:
        search = BatchSearch(replace(config, c_scale=c_scale), 1, 3, 1, (0.0, 1.0))
        return int(run(search, model, np.array([noise], F)).action[0])

    def expected(c_scale: float) -> float:
        total = 0.0
        for order in itertools.permutations(range(3)):
            first, second, _ = order
            chance = prior[first] * prior[second] / (1 - prior[first])
            scores = np.empty(3)
            scores[list(order)] = [3.0, 2.0, 1.0]
            total += chance * value[acted(scores - np.log(prior), c_scale)]
        return total

    assert expected(1e4) == pytest.approx(0.485714, abs=1e-6)
    assert expected(0.0) == pytest.approx(0.2, abs=1e-6)  # sigma 0: a sample of the prior
    best_of_the_top = value[acted(np.zeros(3))]  # no draws: the two most probable, of which the better
    assert best_of_the_top == 0.0 < prior @ value
