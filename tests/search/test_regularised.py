"""Regularised policies: facts R1 to R6, and searches against a slow solution."""

from typing import Any

import numpy as np
import pytest
from tests.search.test_facts import bandit, node_with

from zelkova.errors import ConfigError
from zelkova.search import BatchSearch, SearchConfig, draw_noise, run
from zelkova.search.kernels.tree import MPO
from zelkova.search.models.table_model import TableModel
from zelkova.search.rules.gumbel import improved_policy
from zelkova.search.rules.qtransforms import penalty

PRIOR, VALUE = [0.5, 0.3, 0.2], [0.0, 0.0, 1.0]


def constant_for(lam: float, spent: int, edges: int) -> float:
    """Give the c with lambda_N = lam."""
    return lam * (edges + spent) / float(np.sqrt(spent))


def search_bandit(policy: Any, prior: list[float], q: list[float], lam: float, spent: int = 60) -> Any:
    config = SearchConfig(
        policy=policy, num_simulations=spent, rescale="none", c_init=constant_for(lam, spent, len(prior))
    )
    search = BatchSearch(config, 1, len(prior), 1)
    return run(search, TableModel(bandit(prior, q), np.zeros(1, np.int32), spent + 1))


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("trpo", [0.216804, 0.130083, 0.653113]), ("mpo", [0.219509, 0.131705, 0.648786])],
)
def test_policies_r1_to_r3(policy: str, expected: list[float]) -> None:
    found = search_bandit(policy, PRIOR, VALUE, 0.5)
    assert (found.visit_counts[0] > 0).all()
    assert found.action_weights[0] == pytest.approx(expected, abs=2e-6)
    assert found.improved_value[0, 0] == pytest.approx(expected[2], abs=2e-6)
    # the visits follow the policy: Eq. 14 with y in place of pi'
    assert found.visit_counts[0] / 60 == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize(
    ("spent", "edges", "expected"),
    [(2, 3, 0.353553), (16, 82, 0.051020), (50, 18, 0.129983), (200, 82, 0.062687)],
)
def test_penalty_r4(spent: int, edges: int, expected: float) -> None:
    visits = np.zeros(edges, int)
    visits[0] = spent
    forest = node_with(SearchConfig(policy="mpo"), np.full(edges, 1 / edges), visits, np.zeros(edges))
    assert penalty(forest, 0, 0) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("policy", ["trpo", "mpo"])
def test_equal_values_return_the_prior_r5(policy: str) -> None:
    found = search_bandit(policy, PRIOR, [0.4, 0.4, 0.4], 0.5)
    assert found.action_weights[0] == pytest.approx(PRIOR, abs=1e-6)


@pytest.mark.parametrize(("stand_in", "expected"), [(0.51, 0.526937), (0.0, 0.409386)])
def test_completed_values_are_needed_r6(stand_in: float, expected: float) -> None:
    q = np.array([0.5, 0.6, 0.4])
    config = SearchConfig(policy="mpo", rescale="none", completion="raw", c_init=constant_for(0.1, 1, 3))
    forest = node_with(config, PRIOR, [0, 0, 1], q, raw=stand_in)
    out = np.zeros((1, 3), np.float32)
    improved_policy(forest, 0, MPO, out)
    assert out[0] @ q == pytest.approx(expected, abs=2e-6)
    assert np.array(PRIOR) @ q == pytest.approx(0.51)


@pytest.mark.parametrize("policy", ["trpo", "mpo"])
def test_random_bandits_solve_their_equation(policy: Any) -> None:
    rng = np.random.default_rng(5)
    for _ in range(100):
        actions = int(rng.integers(2, 12))
        prior = rng.dirichlet(np.ones(actions))
        q = rng.uniform(-1, 1, actions)
        spent = int(rng.integers(1, 40))
        config = SearchConfig(policy=policy, num_simulations=spent, rescale="fixed")
        search = BatchSearch(config, 1, actions, 1)
        found = run(search, TableModel(bandit(list(prior), list(q)), np.zeros(1, np.int32), spent + 1))
        visited = found.visit_counts[0] > 0
        raw, weight = 0.0, prior[visited].sum()
        mixed = (raw + spent * (prior[visited] @ q[visited]) / weight) / (1 + spent)
        scaled = (np.where(visited, q, mixed) + 1) / 2
        lam = 1.25 * np.sqrt(spent) / (actions + spent)
        y = found.action_weights[0].astype(float)
        assert y.sum() == pytest.approx(1, abs=1e-4)
        if policy == "mpo":
            expected = prior * np.exp((scaled - scaled.max()) / lam)
            assert y == pytest.approx(expected / expected.sum(), abs=1e-4)
        else:
            level = scaled + lam * prior / y  # alpha: the same at every action
            assert level == pytest.approx(np.full(actions, level.mean()), abs=2e-3)


@pytest.mark.parametrize("interior", ["puct", "full", "trpo", "mpo"])
@pytest.mark.parametrize("policy", ["gumbel", "trpo", "mpo"])
def test_every_composition_prefers_the_better_action(policy: Any, interior: Any) -> None:
    config = SearchConfig(policy=policy, interior=interior, num_simulations=64)
    found = run(
        BatchSearch(config, 1, 3, 1),
        TableModel(bandit(PRIOR, [-0.5, 0.2, 0.9]), np.zeros(1, np.int32), 65),
    )
    assert found.action[0] == 2
    assert found.visit_counts[0].sum() == 64
    assert found.action_weights[0, 2] > 0.2


@pytest.mark.parametrize("gap", [10.0, 41.0, 80.0, 200.0])
@pytest.mark.parametrize("policy", ["trpo", "mpo"])
def test_priors_of_very_different_sizes(policy: Any, gap: float) -> None:
    """A prior of exp(-41) beside an alpha near 1 must not be lost in rounding, nor one of 0 divide 0 by 0."""
    tables = bandit([0.5, 0.5], [-0.6, 0.4])
    tables.prior_logits[0] = [0, -gap]
    for raw in (-1.0, 1.0):  # 1: the completed Q of the unlikely action is the largest
        tables.value[0] = raw
        for spent in (1, 2, 40):
            config = SearchConfig(policy=policy, num_simulations=spent)
            found = run(BatchSearch(config, 1, 2, 1), TableModel(tables, np.zeros(1, np.int32), spent + 1))
            weights = found.action_weights[0].astype(float)
            assert weights.sum() == pytest.approx(1, abs=1e-5)
            assert (weights >= 0).all()


@pytest.mark.parametrize("policy", ["trpo", "mpo"])
def test_it_acts_by_its_solution(policy: Any) -> None:
    """TRPO and MPO MuZero act by sampling y, not the visits."""
    trees = 4000
    config = SearchConfig(policy=policy, num_simulations=3, rescale="none", c_init=2.0)
    search = BatchSearch(config, trees, 3, 1)
    found = run(search, TableModel(bandit(PRIOR, VALUE), np.zeros(trees, np.int32), 4))
    uniform = np.random.default_rng(0).random(trees).astype(np.float32)
    for heat in (1.0, 0.5):
        drawn = np.bincount(search.result(heat, uniform).action, minlength=3) / trees
        expected = found.action_weights[0] ** (1 / heat)
        assert drawn == pytest.approx(expected / expected.sum(), abs=0.03)
    assert found.action_weights[0] != pytest.approx(found.visit_counts[0] / 3, abs=0.05)


@pytest.mark.parametrize(
    "options",
    [
        {"policy": "puct", "candidates": "replacement"},
        {"policy": "trpo", "target": "acted"},
        {"policy": "mpo", "c_init": 0.0},
        {"interior": "trpo", "c_init": 0.0},
    ],
)
def test_settings_that_do_not_fit_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"search\.(candidates|target|c_init) = .*(next|allowed): "):
        SearchConfig(**options)


def test_simple_loss_target_is_the_acted_move() -> None:
    config = SearchConfig(num_simulations=8, target="acted")
    found = run(BatchSearch(config, 1, 3, 1), TableModel(bandit(PRIOR, VALUE), np.zeros(1, np.int32), 9))
    assert found.action_weights[0].tolist() == [0, 0, 1]
    assert found.improved_value[0, 0] == 1


def test_replacement_draws_its_candidates_g7() -> None:
    """Two draws with replacement of Example 1 find the good action with probability 1 - .8 ** 2 = .36."""
    config = SearchConfig(num_simulations=2, max_considered=2, candidates="replacement", c_scale=1e4)
    trees = 20_000
    search = BatchSearch(config, trees, 3, 1, (0.0, 1.0))
    noise = draw_noise(config, np.full(trees, 3, np.int32), 3, np.random.default_rng(0))
    found = run(search, TableModel(bandit(PRIOR, VALUE), np.zeros(trees, np.int32), 3), noise)
    assert (found.action == 2).mean() == pytest.approx(0.36, abs=0.01)
    np.testing.assert_array_equal(found.actions, np.tile(np.arange(3), (trees, 1)))
    assert found.action_weights.sum(axis=1) == pytest.approx(np.ones(trees), abs=1e-5)
    assert (found.action_weights[found.visit_counts == 0] == 0).all()
