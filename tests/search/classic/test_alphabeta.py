"""Alpha-beta on the games that come with the package: values, budgets, independence of the rows."""

from typing import Any

import numpy as np
import pytest
from tests.search.classic.slow import Slow, random_states

from zelkova import games
from zelkova.agents.reference.classic import ClassicAgent
from zelkova.errors import ConfigError, GameError, ShapeError
from zelkova.search.classic import ClassicConfig

GAMES = [("connect_four", 4, (0, 30)), ("othello_6x6", 3, (0, 26)), ("connect_four_3p", 3, (0, 36))]


@pytest.mark.parametrize(("name", "depth", "plies"), GAMES)
def test_pruning_keeps_the_value_of_the_whole_tree(name: str, depth: int, plies: tuple[int, int]) -> None:
    game = games.load(name)
    states, slow = random_states(game, 6, plies, seed=1), Slow(game)
    for table_size in (2**12, 0):
        agent = ClassicAgent(game, ClassicConfig("paranoid", depth, table_size=table_size))
        maxn = ClassicAgent(game, ClassicConfig("maxn", depth - 1, table_size=table_size))
        found, wide = agent.search(states), maxn.search(states)
        for row in range(len(states)):
            state = states[row : row + 1]
            seat = slow.mover(state)
            assert found.values[row, seat] == slow.value(state, depth, seat)[seat]
            assert found.actions[row] in slow.best_actions(state, int(found.depths[row]), seat)
            reached = int(wide.depths[row])
            np.testing.assert_array_equal(wide.values[row], slow.value(state, reached))
            assert wide.actions[row] == slow.best_actions(state, reached)[0]


@pytest.mark.parametrize(("name", "depth"), [("connect_four", 8), ("othello_6x6", 6), ("hex", 2)])
def test_table_and_deepening_change_the_work_and_not_the_value(name: str, depth: int) -> None:
    game = games.load(name)
    states = random_states(game, 4, (0, 12), seed=2)
    values, visited = [], []
    for first_depth, table_size in ((1, 2**16), (1, 2), (1, 0), (depth, 2**16), (depth, 0)):
        config = ClassicConfig("paranoid", depth, first_depth=first_depth, table_size=table_size)
        found = ClassicAgent(game, config).search(states)
        values.append(found.values)
        visited.append(int(found.visited.sum()))
    for other in values[1:]:
        np.testing.assert_array_equal(values[0], other)
    if name != "hex":
        assert visited[0] < visited[2] * 0.8
        assert visited[0] < visited[3] * 1.5


def test_a_limit_of_positions_stops_the_search_with_the_best_it_has() -> None:
    game = games.load("connect_four")
    states = random_states(game, 5, (0, 12), seed=3)
    for reading in ("paranoid", "maxn"):
        for nodes in (1, 50, 3000, 20_000):
            found = ClassicAgent(game, ClassicConfig(reading, nodes=nodes)).search(states)
            depth = int(found.depths.min())
            assert depth >= 1
            for row in range(len(states)):
                assert found.visited[row] == nodes or (nodes == 1 and found.depths[row] == 1)
                full = ClassicAgent(game, ClassicConfig(reading, int(found.depths[row])))
                deeper = ClassicAgent(game, ClassicConfig(reading, int(found.depths[row]) + 1))
                state = states[row : row + 1]
                assert full.search(state).visited[0] <= found.visited[row] < deeper.search(state).visited[0]
    both = ClassicAgent(game, ClassicConfig("paranoid", depth=3, nodes=10**6)).search(states)
    assert (both.depths == 3).all()


def test_a_partial_iteration_still_starts_from_the_last_best_action() -> None:
    """A win that the deeper iteration refutes at once may be left, never an action that was not searched."""
    game = games.load("connect_four")
    state = random_states(game, 1, (8, 12), seed=5)
    slow = Slow(game)
    for nodes in range(8, 400, 7):
        found = ClassicAgent(game, ClassicConfig("paranoid", nodes=nodes)).search(state)
        assert found.actions[0] in slow.rules.legal_actions(state)
        assert len(found.line(0)) >= 1
        assert found.line(0)[0] == found.actions[0]


@pytest.mark.parametrize(
    ("moves", "line", "reached", "value"),
    [
        ("112233", [3], 1, 1.0),  # three in a row: the fourth, and no deeper iteration
        ("1717176", [6], 1, -1.0),  # the first player did not block
        ("4455", [2, 2, 1], 3, 1.0),  # three in a row with both ends free
        ("17171", [0], 8, None),  # three in a column: it must be blocked
    ],
)
def test_wins_are_taken_and_threats_met(
    moves: str, line: list[int], reached: int, value: float | None
) -> None:
    position = games.load("connect_four").position()
    for move in moves:
        position.play(move)
    found = ClassicAgent(position.game, ClassicConfig("paranoid", depth=8)).search(position.state)
    assert found.line(0)[: len(line)] == line
    assert found.depths[0] == reached
    assert found.settled[0] == (value is not None)
    if value is not None:
        assert found.values[0].tolist() == [value, -value]


def test_rows_answer_alone_and_on_threads_as_together() -> None:
    game = games.load("connect_four_3p")
    states = random_states(game, 9, (0, 24), seed=4)
    for reading in ("paranoid", "maxn"):
        config = ClassicConfig(reading, depth=4, nodes=2500, table_size=2**8)
        together = ClassicAgent(game, config).search(states)
        threads = ClassicAgent(game, config, threads=3).search(states)
        agent = ClassicAgent(game, config)
        for row in reversed(range(len(states))):
            alone = agent.search(states[row : row + 1])
            for field in ("actions", "values", "depths", "visited", "settled", "lines"):
                np.testing.assert_array_equal(getattr(alone, field)[0], getattr(together, field)[row])
        for field in ("actions", "values", "visited", "lines"):
            np.testing.assert_array_equal(getattr(threads, field), getattr(together, field))


def test_no_positions_no_answers() -> None:
    game = games.load("tic_tac_toe")
    agent = ClassicAgent(game, ClassicConfig("maxn", depth=2))
    assert agent.choose(game.new_states(0)).shape == (0,)


def test_what_can_not_be_searched_is_refused() -> None:
    game = games.load("tic_tac_toe")
    agent = ClassicAgent(game, ClassicConfig("maxn", depth=2), threads=2)
    with pytest.raises(ShapeError, match="allowed"):
        agent.search(np.zeros((1, 9), np.uint64))
    over = game.position()
    for action in (0, 3, 1, 4, 2):
        over.play(action)
    both = np.concatenate([game.position().state, over.state])
    with pytest.raises(GameError, match="row 1 is an ending"):
        agent.search(both)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"reading": "minmax", "depth": 1}, "did you mean `maxn`"),
        ({"reading": "maxn"}, "without an end"),
        ({"reading": "maxn", "depth": 0}, "classic.depth"),
        ({"reading": "maxn", "depth": 501}, "1 to 500"),
        ({"reading": "maxn", "depth": True}, "whole number"),
        ({"reading": "maxn", "nodes": 0}, "classic.nodes"),
        ({"reading": "maxn", "depth": 2, "table_size": -1}, "classic.table_size"),
        ({"reading": "maxn", "depth": 2, "first_depth": 3}, "classic.first_depth"),
        ({"reading": "maxn", "depth": 4, "first_depth": 3, "nodes": 10}, "1 with a limit"),
    ],
)
def test_settings_out_of_range_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        ClassicConfig(**options)


def test_a_table_too_large_for_the_machine_is_refused() -> None:
    with pytest.raises(ConfigError, match="GiB"):
        ClassicAgent(
            games.load("tic_tac_toe"), ClassicConfig("maxn", depth=2, table_size=2**28), threads=1000
        )
