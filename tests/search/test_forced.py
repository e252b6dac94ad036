"""Forced playouts and target pruning: facts M18 and A21, and what they leave alone."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.search.slow_search import random_game
from tests.search.test_facts import node_with

from zelkova.errors import ConfigError
from zelkova.search import BatchSearch, Puct, SearchConfig, draw_noise, run
from zelkova.search.kernels.tree import DENSE
from zelkova.search.models.table_model import TableModel
from zelkova.search.rules.puct import (
    first_play_value,
    forced_kid,
    forced_visits,
    prune_visits,
)

F = np.float32


def noisy_root(config: SearchConfig, prior: Any, visits: Any, q: Any) -> Any:
    """A root with noise whose edges have these priors, visits and Q values."""
    forest = node_with(config, prior, visits, q)
    forest.nodes[0, 0]["is_ready"] = DENSE
    return forest


def test_forced_visits_m18() -> None:
    prior, config = [0.4, 0.3, 0.2, 0.1], SearchConfig(policy="puct", forced_playouts=2.0)
    visits = [0, 7, 90, 3]
    forest = noisy_root(config, prior, visits, [0.0] * 4)
    owed = [float(forced_visits(forest, F(p), 100)) for p in prior]
    assert owed == pytest.approx([8.944272, 7.745967, 6.324555, 4.472136], abs=1e-6)
    # action 0 was never visited and is owed nothing; 1 and 3 lie below, the lower action comes first
    assert forest.kids[0, int(forest.nodes[0, 0]["kids"]) + forced_kid(forest, 0)]["edge"] == 1
    for enough in ([0, 8, 87, 5], [0, 0, 100, 0]):
        assert forced_kid(noisy_root(config, prior, enough, [0.0] * 4), 0) == -1


def test_target_pruning_a21() -> None:
    config = SearchConfig(
        policy="puct", forced_playouts=2.0, c_init=1.1, c_base=1e12, parent_count="sum", rescale="none"
    )
    visits, prior, q = np.array([60, 25, 15]), [0.5, 0.2, 0.1, 0.2], [0.6, 0.55, 0.3, 0.0]
    forest = noisy_root(config, prior, [*visits, 0], q)
    factor = float(forest.explore[100])
    assert 0.6 + factor * 0.5 / 61 == pytest.approx(0.690164, abs=1e-6)
    assert [int(forced_visits(forest, F(p), 100)) for p in prior[1:3]] == [6, 4]
    weights = np.array([[60, 25, 15, 0]], F)
    assert prune_visits(forest, 0, weights) == 90
    assert weights[0].tolist() == [60, 19, 11, 0]
    # a visit is kept where its score without it would not stay below: .689 + 1.1 .2 10 / n is never below
    forest = noisy_root(config, prior, [*visits, 0], [0.6, 0.689, 0.3, 0.0])
    assert prune_visits(forest, 0, weights) == 96
    assert weights[0].tolist() == [60, 25, 11, 0]
    # a single visit that is left is lost: 3 - 2 and 1
    forest = noisy_root(config, [0.6, 0.05, 0.35], [96, 3, 1], [0.6, 0.0, 0.0])
    weights = np.zeros((1, 3), F)
    prune_visits(forest, 0, weights)
    assert weights[0].tolist() == [96, 0, 0]


def searches(players: int, config: SearchConfig, with_noise: bool = True) -> Any:
    """Answers for 6 roots of a random game."""
    rng = np.random.default_rng([players, 6])
    tables = random_game(rng, states=40, actions=9, players=players)
    roots = np.flatnonzero(tables.count)[:6].astype(np.int32)
    noise = draw_noise(config, tables.count[roots], 9, rng) if with_noise else None
    q_range = (0.0, 1.0) if players == 3 else (-1.0, 1.0)
    search = BatchSearch(config, len(roots), 9, players, q_range)
    return search, run(search, TableModel(tables, roots, config.num_simulations + 1), noise)


@pytest.mark.parametrize("players", [1, 2, 3])
def test_visited_actions_get_what_they_are_owed(players: int) -> None:
    config = SearchConfig(policy="puct", num_simulations=200, forced_playouts=2.0)
    search, found = searches(players, config)
    forest, differs = search.forest, 0
    for b in range(search.num_trees):
        root = forest.nodes[b, 0]
        kids = forest.kids[b, root["kids"] : root["kids"] + root["num_kids"]]
        owed = np.sqrt(2 * kids["prior"] * 200)
        assert (kids["visits"] > owed - 1).all()  # all are brought up to it, one at a time
        kept = found.action_weights[b] * 200
        differs += int((np.abs(kept / kept.sum() - found.visit_counts[b] / 200) > 1e-3).any())
        assert found.action_weights[b].sum() == pytest.approx(1, abs=1e-6)
        assert found.action_weights[b].argmax() == found.visit_counts[b].argmax()
        assert (found.action_weights[b][found.visit_counts[b] == 0] == 0).all()
    assert differs >= 3  # the target leaves something out


@pytest.mark.parametrize("players", [1, 2, 3])
def test_without_noise_nothing_is_forced(players: int) -> None:
    plain, forced = (SearchConfig(policy="puct", num_simulations=60, forced_playouts=k) for k in (0.0, 2.0))
    for first, second in zip(
        *(searches(players, c, with_noise=False)[1] for c in (plain, forced)), strict=True
    ):
        np.testing.assert_array_equal(first, second)
    silent = searches(players, replace(forced, dirichlet_fraction=0.0))[
        1
    ]  # noise is given, and no share of it
    np.testing.assert_array_equal(silent.action_weights, searches(players, plain, False)[1].action_weights)
    _, noisy = searches(players, forced)
    assert (noisy.visit_counts != searches(players, plain)[1].visit_counts).any()


OFF = [0, 37, 1, 1, 0, 3, 13, 5, 0]


def test_off_is_what_it_was() -> None:
    """Visits and weights that the search gave before there were forced playouts."""
    _, found = searches(2, SearchConfig(policy="puct", num_simulations=60))
    assert found.visit_counts[0].tolist() == OFF
    np.testing.assert_array_equal(found.action_weights[0], np.array(OFF, F) / F(60))


def test_several_leaves_at_a_time_are_forced_too() -> None:
    tables = random_game(np.random.default_rng(4), states=40, actions=9, players=2)
    config = SearchConfig(policy="puct", num_simulations=200, forced_playouts=2.0)
    search = BatchSearch(config, 1, 9, 2, num_leaves=4)
    noise = draw_noise(config, tables.count[:1], 9, np.random.default_rng(5))
    found = run(search, TableModel(tables, np.zeros(1, np.int32), 201, num_leaves=4), noise)
    assert found.visit_counts[0].sum() == 200
    seen = found.visit_counts[0] > 0
    root = search.forest.nodes[0, 0]
    kids = search.forest.kids[0, root["kids"] : root["kids"] + root["num_kids"]]
    assert seen.sum() == len(kids)
    assert (kids["visits"] > np.sqrt(2 * kids["prior"] * 200) - 4).all()


@pytest.mark.parametrize(("q_range", "value", "expected"), [((0.0, 1.0), 0.5, 0.3), ((0.0, 1.0), 0.1, 0.0)])
def test_unvisited_actions_are_worth_less_than_their_node(
    q_range: Any, value: float, expected: float
) -> None:
    """The rule of a public three-player program: max(0, Q of the node - 0.2)."""
    config = SearchConfig(policy="puct", fpu="lowered", fpu_reduction=0.2, rescale="none")
    forest = node_with(config, [0.6, 0.4], [1, 0], [0.5, 0.0], value=value, q_range=q_range)
    assert first_play_value(forest, 0, 0, F(0), F(1), F(0)) == pytest.approx(expected, abs=1e-6)


def test_the_floor_is_the_lowest_return() -> None:
    config = SearchConfig(policy="puct", fpu="lowered", fpu_reduction=0.2, rescale="none")
    for value, expected in ((0.1, -0.1), (-0.9, -1.0)):
        forest = node_with(config, [0.6, 0.4], [1, 0], [0.5, 0.0], value=value, q_range=(-1.0, 1.0))
        assert first_play_value(forest, 0, 0, F(0), F(1), F(0)) == pytest.approx(expected, abs=1e-6)


def test_settings() -> None:
    assert Puct(forced_playouts=2.0).config().forced_playouts == 2.0
    for options, text in (
        ({"policy": "gumbel", "forced_playouts": 2.0}, "policy = 'puct'"),
        ({"policy": "puct", "forced_playouts": -1.0}, "from 0.0 to"),
    ):
        with pytest.raises(ConfigError, match=text):
            SearchConfig(**options)  # type: ignore[arg-type]
