"""With one of three players out, a three-player search is the two-player search, visit for visit."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.search.game_trees import random_tree

from zelkova.search import BatchSearch, SearchConfig, run
from zelkova.search.models.table_model import TableModel, Tables

SIMULATIONS = 200
PAIRS = [(0, 1), (1, 2), (2, 0), (2, 1)]  # who is left, in the place of the first and the second of two


def two_player_tree(seed: int) -> Tables:
    """Make a random tree whose values and results are v for player 0 and -v for player 1."""
    rng = np.random.default_rng(seed)
    tables = random_tree(rng, depth=5, width=4, players=2)
    ends = tables.discount == 0
    for vectors, where in ((tables.reward, ends), (tables.value, tables.count > 0)):
        scores = rng.uniform(-1, 1, int(where.sum())).astype(np.float32)
        vectors[where] = np.stack([scores, -scores], axis=1)
    return tables


def seat(tables: Tables, left: tuple[int, int], *, as_chances: bool) -> Tables:
    """Seat a tree's two players among three; as chances, -1 to 1 becomes 0 to 1, and who is out has 0."""

    def embed(vectors: NDArray[np.float32], where: NDArray[np.bool_]) -> NDArray[np.float32]:
        wide = np.zeros((*vectors.shape[:-1], 3), np.float32)
        wide[..., list(left)] = (vectors + 1) / 2 if as_chances else vectors
        wide[~where] = 0
        return wide

    return tables._replace(
        reward=embed(tables.reward, tables.discount == 0),
        value=embed(tables.value, tables.count > 0),
        to_play=np.array(left, np.int32)[tables.to_play],
    )


def searched(tables: Tables, config: SearchConfig, lowest: float) -> Any:
    search = BatchSearch(config, 1, tables.actions.shape[1], tables.value.shape[1], (lowest, 1.0))
    return run(search, TableModel(tables, np.zeros(1, np.int32), SIMULATIONS + 1))


def config_of(policy: Any, **options: Any) -> SearchConfig:
    return SearchConfig(policy=policy, num_simulations=SIMULATIONS, **options)


class Negamax:
    """PUCT for two players with one number a position, whose sign turns with the mover; plain Python."""

    def __init__(self, tables: Tables, config: SearchConfig) -> None:
        self.tables, self.config = tables, config
        self.visits: dict[int, int] = {}  # by state: it is a tree
        self.totals: dict[int, float] = {}  # for the state's mover

    def score(self, state: int, column: int) -> float:
        """Give Q of a column from -1 to 1, for the state's mover."""
        t = self.tables
        child, mover = int(t.transition[state, column]), int(t.to_play[state])
        if t.count[child] == 0:
            return float(t.reward[state, column, mover])
        sign = 1 if t.to_play[child] == mover else -1
        return sign * self.totals[child] / self.visits[child]

    def choose(self, state: int) -> int:
        t, c = self.tables, self.config
        columns = range(int(t.count[state]))
        prior = np.exp(t.prior_logits[state, : len(columns)].astype(np.float64))
        prior /= prior.sum()
        seen = [self.visits.get(int(t.transition[state, k]), 0) for k in columns]
        here = self.totals[state] / self.visits[state]
        parent = 1 + sum(seen)
        explore = (math.log((1 + parent + c.c_base) / c.c_base) + c.c_init) * math.sqrt(parent)
        scores = [
            ((self.score(state, k) if seen[k] else here) + 1) / 2 + explore * prior[k] / (1 + seen[k])
            for k in columns
        ]
        return int(np.argmax(scores))

    def simulate(self, state: int) -> float:
        """Walk once from a state; give the result for its mover."""
        t = self.tables
        mover = int(t.to_play[state])
        if state not in self.visits:
            self.visits[state], self.totals[state] = 0, 0.0
            found = float(t.value[state, mover])
        else:
            column = self.choose(state)
            child = int(t.transition[state, column])
            if t.count[child] == 0:
                self.visits[child] = self.visits.get(child, 0) + 1
                found = float(t.reward[state, column, mover])
            else:
                below = self.simulate(child)
                found = below if t.to_play[child] == mover else -below
        self.visits[state] += 1
        self.totals[state] += found
        return found

    def search(self) -> list[int]:
        """Give the visits of the root's columns."""
        for _ in range(1 + SIMULATIONS):
            self.simulate(0)
        return [
            self.visits.get(int(self.tables.transition[0, k]), 0) for k in range(int(self.tables.count[0]))
        ]


@pytest.mark.parametrize("seed", range(12))
def test_a_search_with_a_sign_for_two_is_the_search_for_three(seed: int) -> None:
    tables = two_player_tree(seed)
    config = config_of("puct", fpu="parent")
    expected = Negamax(tables, config).search()
    assert sum(expected) == SIMULATIONS
    assert min(expected) < max(expected) or len(expected) == 1
    two = searched(tables, config, -1.0)
    three = searched(seat(tables, PAIRS[seed % 4], as_chances=True), config, 0.0)
    assert two.visit_counts[0, : len(expected)].tolist() == expected
    assert three.visit_counts[0, : len(expected)].tolist() == expected


@pytest.mark.parametrize("policy", ["puct", "gumbel", "trpo", "mpo"])
@pytest.mark.parametrize("rescale", ["fixed", "tree", "node"])
def test_an_empty_seat_changes_no_bit(policy: str, rescale: str) -> None:
    """The same numbers for the two that are left, and nothing for the third: all is equal, bit for bit."""
    config = config_of(policy, rescale=rescale)
    for seed, left in enumerate(PAIRS):
        tables = two_player_tree(20 + seed)
        two = searched(tables, config, -1.0)
        three = searched(seat(tables, left, as_chances=False), config, -1.0)
        assert (three.visit_counts == two.visit_counts).all()
        assert three.action[0] == two.action[0]
        assert (three.action_weights == two.action_weights).all()
        assert (three.q_values == two.q_values).all()
        assert (three.value[0, list(left)] == two.value[0]).all()
        assert three.value[0, 3 - sum(left)] == 0


@pytest.mark.parametrize("policy", ["puct", "gumbel", "trpo", "mpo"])
def test_chances_of_two_among_three_are_searched_as_wins_and_losses(policy: str) -> None:
    config = config_of(policy)
    for seed in range(12):
        tables = two_player_tree(40 + seed)
        left = PAIRS[seed % 4]
        two = searched(tables, config, -1.0)
        three = searched(seat(tables, left, as_chances=True), config, 0.0)
        assert (three.visit_counts == two.visit_counts).all()
        assert three.value[0, list(left)] == pytest.approx((two.value[0] + 1) / 2, abs=1e-5)
        assert three.value[0].sum() == pytest.approx(1, abs=1e-5)
