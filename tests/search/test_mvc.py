"""The mean-variance constrained evaluator: facts Z1 to Z5 and Z11."""

from typing import Any

import numpy as np
import pytest

from zelkova.errors import ConfigError, SearchError
from zelkova.search import BatchSearch, SearchConfig, run
from zelkova.search.models.table_model import TableModel, Tables
from zelkova.search.mvc import Spread, evaluate_by_variance, settle_node, variance_scores, weigh

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


@pytest.mark.parametrize(
    ("open_variance", "q", "variance"),
    [(GAMMA**2, 0.136074, 0.248152), (-1.0, 0.4985, 0.994009)],
    ids=["three unexpanded children, z1", "a plain leaf, z2"],
)
def test_a_leaf_z1_z2(open_variance: float, q: float, variance: float) -> None:
    forest = grown(star([0, 0, 0], 0.5, 0.5), 3).forest
    t = Spread(
        forest.heads, forest.nodes, forest.kids, forest.raw, forest.rewards, np.zeros((4, 1)), np.ones(4)
    )  # fmt: skip
    leaf = 2  # a child of the root, not expanded
    assert forest.nodes[0, leaf]["num_kids"] == 0
    settle_node(t, 0, leaf, 0.25, open_variance)
    assert t.mean[leaf, 0] == pytest.approx(q, abs=1e-6)
    assert t.variance[leaf] == pytest.approx(variance, abs=1e-6)


def test_the_whole_tree_follows_from_its_leaves() -> None:
    found = evaluate_by_variance(grown(star([0, 0, 0], 0.5, 0.5), 3), 0.25, GAMMA)
    weight, own = np.exp(0.25 * 0.136074) / 0.248152, np.exp(0.125)
    assert found.value[0, 0] == pytest.approx(
        (own * 0.5 + 3 * weight * 0.136074) / (own + 3 * weight), abs=1e-5
    )
    assert found.action_weights[0] == pytest.approx([1 / 3] * 3, abs=1e-6)


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
