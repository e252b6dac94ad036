"""UCT does what its page says: compared with a second, plain form of it, and with games of known outcome."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from zelkova import games
from zelkova.agents.reference.uct import UctSearch
from zelkova.agents.reference.uct_tree import new_tree, tree_bytes
from zelkova.errors import ConfigError, GameError, ShapeError
from zelkova.games.playout import random_below

Found = dict[int, tuple[int, list[float]]]


class Node:
    """One node of the plain form."""

    def __init__(self, record: Any) -> None:
        self.record = record
        self.visits = 0
        self.untried: list[int] | None = None
        self.edges: list[list[Any]] = []  # action, visits, mean, node below, sum of all players' returns


class PlainUct:
    """UCT with objects and recursion; shares only the rules and the generator with the kernel."""

    def __init__(self, game: games.Game, seed: int) -> None:
        self.game, self.rules = game, game.functions
        self.counter = np.array([seed], np.uint64)

    def legal(self, record: Any) -> list[int]:
        out = np.zeros(self.game.max_legal_actions, np.int32)
        return [int(a) for a in out[: self.rules["legal_actions"](record, out)]]

    def below(self, record: Any, action: int) -> Any:
        copy = np.array([record])[0]
        self.rules["step"](copy, action)
        return copy

    def outcome(self, record: Any) -> NDArray[np.float64]:
        out = np.zeros(self.game.num_players, np.float32)
        self.rules["returns"](record, out)
        low, high = self.game.return_range
        return (out.astype(np.float64) - (low + high) / 2) / ((high - low) / 2)

    def rollout(self, record: Any) -> NDArray[np.float64]:
        while not self.rules["is_terminal"](record):
            legal = self.legal(record)
            record = self.below(record, legal[random_below(self.counter, len(legal))])
        return self.outcome(record)

    def simulate(self, node: Node) -> NDArray[np.float64]:
        node.visits += 1
        if self.rules["is_terminal"](node.record):
            return self.outcome(node.record)
        if node.untried is None:
            node.untried = self.legal(node.record)
        mover = int(node.record["to_play"])
        if node.untried:
            k = random_below(self.counter, len(node.untried))
            node.untried[0], node.untried[k] = node.untried[k], node.untried[0]
            action = node.untried.pop(0)
            child = Node(self.below(node.record, action))
            child.visits = 1
            edge: list[Any] = [action, 0, 0.0, child, 0.0]
            node.edges.append(edge)
            returns = self.rollout(child.record)
        else:
            log = math.sqrt(math.log(node.visits - 1))
            edge = max(node.edges, key=lambda e: e[2] + log * (1 / math.sqrt(e[1])))
            returns = self.simulate(edge[3])
        edge[1] += 1
        edge[2] += (returns[mover] - edge[2]) / edge[1]
        edge[4] = edge[4] + returns
        return returns

    def search(self, record: Any, simulations: int) -> Found:
        root = Node(record)
        for _ in range(simulations):
            self.simulate(root)
        low, high = self.game.return_range
        middle, half = (low + high) / 2, (high - low) / 2
        return {edge[0]: (edge[1], list(edge[4] / edge[1] * half + middle)) for edge in root.edges}


@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four", "connect_four_3p"])
@pytest.mark.parametrize("seed", [0, 7])
def test_the_kernel_is_the_plain_form(name: str, seed: int) -> None:
    game = games.load(name)
    position = game.position()
    for _ in range(3):
        position.play(int(position.legal_actions()[seed % 3]))
    found = UctSearch(game, 200).search(position.state, np.array([seed], np.uint64))
    expected = PlainUct(game, seed).search(position.record, 200)
    assert found.visit_counts.sum() == 200
    for action, (visits, values) in enumerate(zip(found.visit_counts[0], found.values[0], strict=True)):
        count, means = expected.get(action, (0, [0.0] * game.num_players))
        assert visits == count
        assert values == pytest.approx(means, abs=1e-6)


def test_a_win_in_one_is_taken_and_a_threat_is_blocked() -> None:
    game = games.load("connect_four")
    rows, expected = [], []
    for moves, action in (("112233", 3), ("12131", 0), ("414141", 3)):
        position = game.position()
        for move in moves:
            position.play(move)
        rows.append(position.state[0])
        expected.append(action)
    states = np.repeat(np.array(rows), 8, axis=0)
    found = UctSearch(game, 2000).search(states, np.arange(len(states), dtype=np.uint64))
    assert found.actions.tolist() == np.repeat(expected, 8).tolist()


def test_a_row_depends_on_its_state_and_seed_only() -> None:
    game = games.load("connect_four")
    states = game.initial_states(np.zeros(9, np.uint64))
    seeds = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5], np.uint64)
    whole = UctSearch(game, 100).search(states, seeds)
    threads = UctSearch(game, 100, threads=2).search(states, seeds)
    single = UctSearch(game, 100)
    rows = [single.search(states[k : k + 1], seeds[k : k + 1]) for k in range(9)]
    assert np.array_equal(whole.visit_counts, threads.visit_counts)
    assert np.array_equal(whole.visit_counts, np.concatenate([row.visit_counts for row in rows]))
    assert np.array_equal(whole.actions, np.concatenate([row.actions for row in rows]))
    assert np.array_equal(whole.visit_counts[1], whole.visit_counts[3])
    assert not np.array_equal(whole.visit_counts[0], whole.visit_counts[1])


def test_the_most_visited_action_is_played_and_ties_fall_at_random() -> None:
    game = games.load("tic_tac_toe")
    states = game.initial_states(np.zeros(300, np.uint64))
    seeds = np.arange(300, dtype=np.uint64)
    found = UctSearch(game, 300).search(states, seeds)
    assert (found.visit_counts[np.arange(300), found.actions] == found.visit_counts.max(axis=1)).all()
    tied = UctSearch(game, 9).search(states, seeds)  # every action once
    assert (tied.visit_counts == 1).all()
    assert np.bincount(tied.actions, minlength=9).min() > 10


def test_values_are_in_the_return_range() -> None:
    game = games.load("connect_four_3p")
    position = game.position()
    for move in ("1", "4", "8", "1", "4", "8", "2", "4", "8", "2"):
        position.play(move)
    assert position.to_play == 1  # wins at 4
    found = UctSearch(game, 400).search(position.state, np.zeros(1, np.uint64))
    assert found.actions[0] == 3
    assert found.values[0, 3].tolist() == [0.0, 1.0, 0.0]
    assert found.values.min() >= 0.0


def test_wrong_numbers_are_refused() -> None:
    game = games.load("tic_tac_toe")
    with pytest.raises(ConfigError, match="1 or more"):
        UctSearch(game, 0)
    with pytest.raises(ShapeError, match="seeds"):
        UctSearch(game, 10).search(game.initial_states(np.zeros(2, np.uint64)), np.zeros(1, np.uint64))


def test_a_position_without_actions_is_an_error() -> None:
    game = games.load("tic_tac_toe")
    position = game.position()
    for cell in (0, 3, 1, 4, 2):
        position.play(cell)
    with pytest.raises(GameError, match="zelkova check"):
        UctSearch(game, 10).search(position.state, np.zeros(1, np.uint64))


def test_trees_that_no_memory_holds_are_refused_with_their_size() -> None:
    with pytest.raises(ConfigError, match=r"10000000 simulations of gomoku on 64 threads needs [0-9.]+ GB"):
        UctSearch(games.load("gomoku"), 10_000_000, threads=64)


def test_the_size_that_is_refused_is_that_of_the_trees() -> None:
    game = games.load("connect_four")
    tree, _ = new_tree(game, 1000)
    held = sum(field.nbytes for field in tree)
    assert tree_bytes(game, 1000) == pytest.approx(held, rel=0.01)
