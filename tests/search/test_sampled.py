"""Sampled MuZero: the facts S1 to S5, the model that shows drawn actions, and its place in a search."""

import math
from typing import Any

import numpy as np
import pytest
from tests.search.slow_search import random_game

from zelkova.errors import ConfigError, ShapeError
from zelkova.search import BatchSearch, SampledModel, SearchConfig, run, sampled_policy_loss
from zelkova.search.models.sampled import draw_counts, log_proposal, sample_rows, sampled_prior
from zelkova.search.models.table_model import Stepwise, TableModel, blank_evaluation

PRIOR = np.array([0.5, 0.3, 0.2])
DRAWS = np.bincount([0, 0, 1, 2])


def test_draws_s1_and_their_own_prior_s2() -> None:
    assert (DRAWS / 4).tolist() == [0.5, 0.25, 0.25]
    np.testing.assert_allclose(sampled_prior(DRAWS, PRIOR, PRIOR), [0.5, 0.25, 0.25])


def test_uniform_proposal_s3() -> None:
    uniform = np.full(3, 1 / 3)
    np.testing.assert_allclose(DRAWS / 4 / uniform * PRIOR, [0.75, 0.225, 0.15])
    np.testing.assert_allclose(sampled_prior(DRAWS, PRIOR, uniform), [2 / 3, 0.2, 0.133333], atol=1e-6)
    beta = np.exp(log_proposal(np.log(PRIOR)[None], math.inf))[0]
    np.testing.assert_allclose(beta, uniform)


def test_flattened_proposal_s4() -> None:
    beta = np.exp(log_proposal(np.log(PRIOR)[None], 2.0))[0]
    np.testing.assert_allclose(beta, [0.415446, 0.321803, 0.262751], atol=1e-6)
    np.testing.assert_allclose(sampled_prior(DRAWS, PRIOR, beta), [0.587018, 0.227351, 0.185631], atol=1e-6)


def test_loss_s5() -> None:
    assert sampled_policy_loss([30, 15, 5], np.log(PRIOR)) == pytest.approx(0.938024, abs=1e-6)


def test_draws_follow_their_probabilities() -> None:
    rng = np.random.default_rng(0)
    probability = np.array([[0.5, 0.3, 0.2, 0.0], [0.0, 0.0, 1.0, 0.0]])
    counts = draw_counts(probability, rng.random((2, 20_000)))
    np.testing.assert_allclose(counts / 20_000, probability, atol=0.01)
    edges = draw_counts(probability, np.array([[0.0, np.nextafter(1, 0)]] * 2))
    assert edges.tolist() == [[1, 0, 1, 0], [0, 0, 2, 0]]


def rows(logits: list[list[float]], counts: list[int]) -> Any:
    out = blank_evaluation(len(logits), len(logits[0]), 1)
    out.prior_logits[:], out.count[:] = logits, counts
    out.actions[:] = np.arange(len(logits[0])) * 2
    return out


def test_rows_keep_drawn_actions_only() -> None:
    log_prior = np.log(PRIOR).tolist()
    given = rows([[*log_prior, 50.0]] * 4, [3, 3, 0, 3])
    given.prior_logits[3, 1] = np.nan
    uniform = np.array([[0.1, 0.2, 0.6, 0.61]] * 4)
    chosen = np.array([True, False, False, True])
    found = sample_rows(given, uniform, chosen, 1.0)
    assert found.count.tolist() == [2, 3, 0, 3]
    assert found.actions[0].tolist() == [0, 2, 0, 0]
    weight = np.exp(found.prior_logits[0, :2])
    np.testing.assert_allclose(weight / weight.sum(), [0.5, 0.5], atol=1e-6)
    np.testing.assert_array_equal(found.prior_logits[1:], given.prior_logits[1:])
    assert given.count.tolist() == [3, 3, 0, 3]


def test_a_search_over_drawn_actions() -> None:
    rng = np.random.default_rng(3)
    tables = random_game(rng, states=40, actions=9, players=2)
    roots = np.flatnonzero(tables.count >= 4)[:6].astype(np.int32)
    config = SearchConfig(policy="puct", num_simulations=30)

    def searched(kept: Any, seeds: Any, leaves: int = 1) -> Any:
        search = BatchSearch(config, len(kept), 9, 2, num_leaves=leaves)
        model = TableModel(tables, kept, 31, leaves)
        rngs = [np.random.default_rng(s) for s in seeds]
        return run(search, SampledModel(model, 31, 3, rngs, tau=2.0))

    many = searched(roots, range(6))
    assert (many.count <= 3).all()
    assert (many.visit_counts.sum(axis=1) == 30).all()
    for b in range(6):
        legal = tables.actions[roots[b], : tables.count[roots[b]]]
        assert set(many.actions[b, : many.count[b]]) <= set(legal)
        one = searched(roots[b : b + 1], [b])
        for name in one._fields:
            np.testing.assert_array_equal(getattr(one, name)[0], getattr(many, name)[b])
    several = searched(roots, range(6), leaves=3)
    assert (several.visit_counts.sum(axis=1) == 30).all()


def test_many_draws_give_the_whole_search() -> None:
    rng = np.random.default_rng(4)
    tables = random_game(rng, states=20, actions=4, players=1)
    root = np.flatnonzero(tables.count >= 3)[:1].astype(np.int32)
    config = SearchConfig(policy="puct", num_simulations=40)
    search = BatchSearch(config, 1, 4, 1)
    whole = run(search, Stepwise(TableModel(tables, root, 41)))
    drawn = run(search, SampledModel(TableModel(tables, root, 41), 41, 40_000, np.random.default_rng(0)))
    np.testing.assert_allclose(drawn.action_weights, whole.action_weights, atol=0.06)
    np.testing.assert_allclose(drawn.value, whole.value, atol=0.06)


def test_bad_calls() -> None:
    tables = random_game(np.random.default_rng(0), states=5, actions=3, players=1)
    model = TableModel(tables, np.zeros(1, np.int32), 3)
    with pytest.raises(ConfigError, match="num_samples = 0"):
        SampledModel(model, 3, 0, np.random.default_rng(0))
    with pytest.raises(ConfigError, match="tau = 0"):
        SampledModel(model, 3, 2, np.random.default_rng(0), tau=0)
    fresh = SampledModel(model, 3, 2, np.random.default_rng(0))
    node = np.ones(1, np.int32)
    with pytest.raises(ShapeError, match="root"):
        fresh.step(node, node, node)
