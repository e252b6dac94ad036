"""Proven wins and losses: facts M16 and M17, and random trees against max^n."""

from typing import Any

import numpy as np
import pytest
from tests.search.game_trees import proven_winner, random_tree

from zelkova.search import BatchSearch, SearchConfig, run
from zelkova.search.kernels.tree import EXACT, OPEN, UNPROVEN
from zelkova.search.models.table_model import Stepwise, TableModel, Tables

F = np.float32


def endings(mover: int, winners: list[int], players: int = 3) -> Tables:
    """One decision of a player; each action ends the game with a winner."""
    n = len(winners)
    reward = np.zeros((n + 1, n, players), F)
    reward[0, np.arange(n), winners] = 1
    count = np.zeros(n + 1, np.int32)
    count[0] = n
    to_play = np.zeros(n + 1, np.int32)
    to_play[0] = mover
    return Tables(
        transition=np.tile(np.arange(1, n + 1, dtype=np.int32), (n + 1, 1)),
        reward=reward,
        discount=np.zeros((n + 1, n), F),
        actions=np.tile(np.arange(n, dtype=np.int32), (n + 1, 1)),
        count=count,
        prior_logits=np.zeros((n + 1, n), F),
        value=np.full((n + 1, players), 1 / players, F),
        to_play=to_play,
    )


def solve(tables: Tables, policy: Any, simulations: int, **options: Any) -> tuple[BatchSearch, Any]:
    config = SearchConfig(policy=policy, num_simulations=simulations, solve=True, **options)
    players = tables.value.shape[1]
    search = BatchSearch(config, 1, tables.actions.shape[1], players, (0.0, 1.0))
    return search, run(search, TableModel(tables, np.zeros(1, np.int32), simulations + 1))


@pytest.mark.parametrize("policy", ["puct", "gumbel", "mpo", "trpo"])
def test_a_win_among_the_children_m16(policy: str) -> None:
    search, found = solve(endings(1, [0, 0, 1]), policy, 16)
    assert search.forest.nodes[0, 0]["proven"] == EXACT
    assert search.forest.raw[0, 0].tolist() == [0, 1, 0]
    assert found.action[0] == 2
    assert found.action_weights[0].tolist() == [0, 0, 1]
    assert found.improved_value[0].tolist() == [0, 1, 0]
    assert search.forest.heads[0]["num_nodes"] <= 4  # it stopped once the root was proven


@pytest.mark.parametrize("policy", ["puct", "gumbel"])
def test_lost_with_an_open_winner_m17(policy: str) -> None:
    search, _ = solve(endings(1, [0, 2]), policy, 16)
    assert search.forest.nodes[0, 0]["proven"] == OPEN
    assert search.forest.raw[0, 0].tolist() == [0.5, 0, 0.5]


def test_lost_candidates_leave_the_others_m17() -> None:
    """All that Sequential Halving considered is lost; an action that nobody looked at is not."""
    tables = endings(0, [1, 1, 0, 1], players=2)
    tables.prior_logits[0] = [3, 2, 1, 0]
    search, found = solve(tables, "gumbel", 12, max_considered=2)
    assert search.forest.nodes[0, 0]["proven"] == UNPROVEN
    assert found.action[0] == 2
    assert found.visit_counts[0, 2] == 0
    _, seen = solve(tables, "gumbel", 12, max_considered=3)
    assert seen.action_weights[0].tolist() == [0, 0, 1, 0]


def test_nothing_is_proven_unless_asked() -> None:
    tables = endings(1, [0, 0, 1])
    search = BatchSearch(SearchConfig(num_simulations=8), 1, 3, 3, (0.0, 1.0))
    run(search, TableModel(tables, np.zeros(1, np.int32), 9))
    assert (search.forest.nodes["proven"][0, :4] == UNPROVEN).all()


@pytest.mark.parametrize("policy", ["puct", "gumbel", "trpo", "mpo"])
@pytest.mark.parametrize("players", [2, 3])
def test_what_is_proven_is_true(policy: str, players: int) -> None:
    rng = np.random.default_rng(11)
    proven = 0
    for _ in range(60):
        tables = random_tree(rng, depth=4, width=3, players=players)
        if tables.count[0] == 0:
            continue
        search, found = solve(tables, policy, 300, fpu="parent", max_considered=3)
        model = TableModel(tables, np.zeros(1, np.int32), 301)
        slow = run(search, Stepwise(model))
        assert slow.action[0] == found.action[0]
        for node in range(int(search.forest.heads[0]["num_nodes"])):
            record = search.forest.nodes[0, node]
            if record["num_edges"] == 0 or record["proven"] == UNPROVEN:
                continue
            proven += 1
            winner = proven_winner(tables, int(model.states[0, node]))
            vector = search.forest.raw[0, node]
            assert vector.sum() == pytest.approx(1, abs=1e-5)
            if winner is None:
                assert record["proven"] == OPEN
                assert vector[record["to_play"]] < 1
            elif record["proven"] == EXACT:
                assert vector[winner] == 1
        root = search.forest.nodes[0, 0]
        # with two players each proven node is a win or a loss, and 300 simulations settle such a tree
        assert players > 2 or root["proven"] != UNPROVEN
        if root["proven"] != UNPROVEN and proven_winner(tables, 0) == tables.to_play[0]:
            column = list(tables.actions[0]).index(int(found.action[0]))
            child = int(tables.transition[0, column])
            ends = tables.count[child] == 0
            after = tables.reward[0, column].argmax() if ends else proven_winner(tables, child)
            assert after == tables.to_play[0]
    assert proven > 200


def test_a_proven_loss_is_not_entered_again() -> None:
    # action 0 loses at once and has nearly all of the prior; action 1 leads on to an open game
    tables = endings(0, [1, 0], players=2)
    tables.prior_logits[0] = [6, 0]
    tables.reward[0, 1], tables.discount[0, 1] = 0, 1
    tables.count[2], tables.transition[2] = 2, [2, 2]
    tables.discount[2], tables.reward[2] = 1, 0
    for policy in ("puct", "gumbel"):
        _, found = solve(tables, policy, 20)
        assert found.action[0] == 1
        assert found.visit_counts[0].tolist() == [1, 19]
