"""The mean-variance constrained evaluator: facts Z1 to Z5 and Z11."""

from typing import Any

import numpy as np
import pytest

from zelkova.errors import ConfigError, SearchError
from zelkova.search import BatchSearch, SearchConfig, run
from zelkova.search.models.table_model import TableModel, Tables
from zelkova.search.mvc import Spread, evaluate_by_variance, variance_scores, weigh

F = np.float32
GAMMA = 0.997


def star(rewards: list[float], value: float, leaf_value: float) -> Tables:
    """A root with three actions to leaves of three actions each; every edge is discounted."""
    size = 4
    reward = np.zeros((size, 3, 1), F)
    reward[0, :, 0] = rewards
    values = np.full((size, 1), leaf_value, F)
    values[0] = value
    return Tables(
        transition=np.tile(np.array([1, 2, 3], np.int32), (size, 1)),
        reward=reward,
        discount=np.full((size, 3), GAMMA, F),
        actions=np.tile(np.arange(3, dtype=np.int32), (size, 1)),
        count=np.full(size, 3, np.int32),
        prior_logits=np.tile(np.log(np.array([0.5, 0.3, 0.2])).astype(F), (size, 1)),
        value=values,
        to_play=np.zeros(size, np.int32),
    )


def grown(tables: Tables, simulations: int) -> BatchSearch:
    """Search so that each root action is expanded once, by flat Sequential Halving."""
    search = BatchSearch(SearchConfig(num_simulations=simulations), 1, 3, 1)
    run(search, TableModel(tables, np.zeros(1, np.int32), simulations + 1))
    return search


def test_an_unexpanded_leaf_z1() -> None:
    # the leaf stands at the root of a tree of one simulation; only its own entry and three unexpanded count
    search = grown(star([0, 0, 0], 0.5, 0.5), 3)
    leaf = evaluate_by_variance(search, 0.25, GAMMA)
    parts = 3 * [1 / GAMMA**2] + [np.exp(0.125)]
    policy = np.array(parts) / sum(parts)
    assert policy == pytest.approx([0.242344] * 3 + [0.272967], abs=1e-6)
    q = GAMMA * policy[3] * 0.5
    variance = GAMMA**2 * (policy[3] ** 2 + 3 * policy[0] ** 2 * GAMMA**2)
    assert (q, variance) == (pytest.approx(0.136074, abs=1e-6), pytest.approx(0.248152, abs=1e-6))
    # the children of the root are such leaves: the root's value and weights follow from q and variance
    weight = np.exp(0.25 * q) / variance
    own = np.exp(0.125)
    expected = (own * 0.5 + 3 * weight * q) / (own + 3 * weight)
    assert leaf.value[0, 0] == pytest.approx(expected, abs=1e-6)
    assert leaf.action_weights[0] == pytest.approx([1 / 3] * 3, abs=1e-6)


def test_a_plain_leaf_z2() -> None:
    search = grown(star([0, 0, 0], 0.5, 0.5), 3)
    plain = evaluate_by_variance(search, 0.0, GAMMA, counts_unexpanded=False)
    # beta 0: weights 1 (self) and 1 / .994009 (each child), q .5 and .4985
    weight = 1 / 0.994009
    assert plain.value[0, 0] == pytest.approx((0.5 + 3 * weight * 0.4985) / (1 + 3 * weight), abs=1e-6)


def test_a_parent_z3_z4() -> None:
    # leaf q .136074 plus rewards 0, .3, -.2; the parent's own value .4
    search = grown(star([0, 0.3, -0.2], 0.4, 0.5), 3)
    found = evaluate_by_variance(search, 0.25, GAMMA)
    assert found.action_weights[0] == pytest.approx([0.330130, 0.355841, 0.314029], abs=1e-6)
    # Z3's Q .197129 and variance .076144 have one more discount: here the root's own is 1
    assert found.value[0, 0] * GAMMA == pytest.approx(0.197129, abs=1e-6)
    assert found.variance[0] * GAMMA**2 == pytest.approx(0.076144, abs=1e-6)


def test_scores_z5() -> None:
    # Z5: C 1.5, priors .5 .3 .2, the parent of Z3; equal scaled values leave the exploration term
    variance = np.full(3, 0.248152)
    scores = variance_scores(np.zeros(3), np.array([0.5, 0.3, 0.2]), variance, 0.076144, 1.5)
    assert scores == pytest.approx([0.540375, 0.324225, 0.216150], abs=2e-6)


def test_certainty_alone_z11() -> None:
    forest = grown(star([0, 0, 0], 0.5, 0.5), 3).forest
    kids = forest.kids[0, forest.nodes[0, 0]["kids"] :][:3]
    variance = np.ones(4)
    variance[kids["child"]] = 1 / np.array([1.0, 2.0, 4.0])
    t = Spread(
        forest.heads, forest.nodes, forest.kids, forest.raw, forest.rewards, np.zeros((4, 1)), variance
    )  # fmt: skip
    weights = np.array([weigh(t, 0, 0, k, 0.0, 0.0) for k in range(3)])
    assert weights / weights.sum() == pytest.approx([0.142857, 0.285714, 0.571429], abs=1e-6)


def test_large_returns_stay_finite() -> None:
    """beta times a return of hundreds overflows an exponential, or leaves nothing of it."""
    for scale in (-2000.0, 2000.0):
        search = grown(star([scale, 0.9 * scale, scale], scale, 0.0), 3)
        for counts in (True, False):
            found = evaluate_by_variance(search, 2.0, GAMMA, counts)
            best = 0.9 * scale if scale < 0 else scale
            assert found.action_weights[0] == pytest.approx(
                [0, 1, 0] if scale < 0 else [0.5, 0, 0.5], abs=1e-6
            )
            assert found.value[0, 0] == pytest.approx(best, rel=1e-3)


def test_trees_at_rest_are_needed() -> None:
    search = BatchSearch(SearchConfig(num_simulations=3), 1, 3, 1)
    with pytest.raises(SearchError, match="set_roots"):
        evaluate_by_variance(search, 1.0)
    search.set_roots(TableModel(star([0, 0, 0], 0.4, 0.5), np.zeros(1, np.int32), 4).root())
    assert evaluate_by_variance(search, 1.0).action_weights[0] == pytest.approx([1 / 3] * 3)
    with pytest.raises(SearchError, match="without an expanded action"):
        evaluate_by_variance(search, 1.0, counts_unexpanded=False)


@pytest.mark.parametrize("bad", [{"beta": -1.0}, {"beta": float("nan")}, {"beta": 1.0, "discount": 2.0}])
def test_bad_numbers_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="beta"):
        evaluate_by_variance(grown(star([0, 0, 0], 0.5, 0.5), 3), **bad)
