"""Max^n and paranoid search on trees worked by hand, and on random ones beside a slow form."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from tests.search.classic.forest import Forest
from tests.search.classic.slow import Slow

from zelkova.agents.reference.classic import ClassicAgent, rules_for
from zelkova.games import Game
from zelkova.search.classic import ClassicConfig, solve

Reading = Literal["maxn", "paranoid"]

TREE_1 = [[(0.5, 0.3, 0.2), (0.2, 0.4, 0.4)], [(0.4, 0.5, 0.1), (0.3, 0.2, 0.5)]]
TREE_2 = [[(0.7, 0.2, 0.1), (0.0, 0.1, 0.9)], [(0.3, 0.4, 0.3), (0.2, 0.3, 0.5)]]
NETS, PLIES = 24, 6


@pytest.fixture(scope="module")
def forests(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Game]:
    """Give a game of trees for two and one for three; the latter begins with the two trees above."""
    folder: Path = tmp_path_factory.mktemp("forests")
    found = {}
    for players in (2, 3):
        forest = Forest(players, 3)
        rng = np.random.default_rng(players)
        if players == 3:
            forest.roots = [forest.add_tree(tree, (0, 1)) for tree in (TREE_1, TREE_2)]
        forest.roots += [forest.add_net(rng, PLIES, 7) for _ in range(NETS)]
        found[players] = forest.load(folder)
    return found


def root(game: Game, number: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    return game.initial_states(np.array([number], np.uint64))


@pytest.mark.parametrize(
    ("number", "reading", "children", "action"),
    [  # facts M5 to M7: each child's value, then the choice
        (0, "maxn", [(0.2, 0.4, 0.4), (0.4, 0.5, 0.1)], 1),
        (0, "paranoid", [0.2, 0.3], 1),
        (1, "maxn", [(0.7, 0.2, 0.1), (0.3, 0.4, 0.3)], 0),
        (1, "paranoid", [0.0, 0.2], 1),
    ],
)
def test_trees_worked_by_hand(
    forests: dict[int, Game], number: int, reading: Reading, children: list[Any], action: int
) -> None:
    agent = ClassicAgent(forests[3], ClassicConfig(reading, depth=2))
    found = agent.search(root(forests[3], number))
    assert found.actions[0] == action
    assert found.settled[0]
    assert found.line(0)[0] == action
    best = children[action]
    if reading == "maxn":
        np.testing.assert_allclose(found.values[0], best, rtol=1e-6)
        exact = solve(rules_for(forests[3]), root(forests[3], number))
        np.testing.assert_allclose(exact.action_values[:2], children, rtol=1e-6)
        assert np.isnan(exact.action_values[2]).all()
        assert exact.action == action
    else:
        assert found.values[0, 0] == pytest.approx(best)
        slow = Slow(forests[3])
        values = [slow.value(child, 1, seat=0)[0] for _, child in slow.children(root(forests[3], number))]
        assert values == pytest.approx(children)


@pytest.mark.parametrize("players", [2, 3])
def test_maxn_is_what_the_slow_form_says(forests: dict[int, Game], players: int) -> None:
    game = forests[players]
    slow = Slow(game)
    states = game.initial_states(np.arange(NETS, dtype=np.uint64))
    for depth in range(1, PLIES + 2):
        for table_size, first_depth in ((2**10, 1), (0, 1), (4, 1), (2**10, depth), (0, depth)):
            config = ClassicConfig("maxn", depth, first_depth=first_depth, table_size=table_size)
            found = ClassicAgent(game, config).search(states)
            for row in range(NETS):
                state, reached = states[row : row + 1], int(found.depths[row])
                assert reached == depth or (found.settled[row] and first_depth == 1)
                np.testing.assert_array_equal(found.values[row], slow.value(state, reached))
                assert found.actions[row] == slow.best_actions(state, reached)[0]
                if found.settled[row]:
                    mover = slow.mover(state)
                    assert found.values[row, mover] == slow.value(state, PLIES + 1)[mover]


@pytest.mark.parametrize("players", [2, 3])
def test_paranoid_is_what_the_slow_form_says(forests: dict[int, Game], players: int) -> None:
    game = forests[players]
    slow = Slow(game)
    states = game.initial_states(np.arange(NETS, dtype=np.uint64))
    for depth in range(1, PLIES + 2):
        for table_size, first_depth in ((2**10, 1), (0, 1), (4, 1), (2**10, depth), (0, depth)):
            config = ClassicConfig("paranoid", depth, first_depth=first_depth, table_size=table_size)
            found = ClassicAgent(game, config).search(states)
            for row in range(NETS):
                state = states[row : row + 1]
                seat = slow.mover(state)
                expected = slow.value(state, depth, seat)[seat]
                assert found.values[row, seat] == expected
                if not found.settled[row]:
                    assert found.depths[row] == depth
                assert found.actions[row] in slow.best_actions(state, int(found.depths[row]), seat)
                if players == 2:  # paranoid is max^n between two whose values sum to 0
                    assert found.values[row, seat] == slow.value(state, depth)[seat]
                    assert found.values[row].sum() == 0


def test_the_best_line_leads_to_the_value(forests: dict[int, Game]) -> None:
    game = forests[3]
    slow = Slow(game)
    states = game.initial_states(np.arange(NETS, dtype=np.uint64))
    for reading in ("maxn", "paranoid"):
        found = ClassicAgent(game, ClassicConfig(reading, depth=4, table_size=0)).search(states)
        for row in range(NETS):
            state = states[row : row + 1]
            for action in found.line(row):
                state = slow.below(state, action)
            np.testing.assert_array_equal(slow.leaf(state), found.values[row])


@pytest.mark.parametrize("players", [2, 3])
def test_the_solver_is_what_the_slow_form_says(forests: dict[int, Game], players: int) -> None:
    game = forests[players]
    slow, rules = Slow(game), rules_for(game)
    for number in range(NETS):
        state = root(game, number)
        exact = solve(rules, state)
        np.testing.assert_array_equal(exact.value, slow.value(state, PLIES + 1))
        for action, child in slow.children(state):
            np.testing.assert_array_equal(exact.action_values[action], slow.value(child, PLIES))
        assert exact.action == slow.best_actions(state, PLIES + 1)[0]
