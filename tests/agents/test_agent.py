"""An agent: the same answer alone, in a batch, with a cache, and in another process."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from tests.agents.counting import FakeNetwork, Floats, positions, stack

from zelkova import games
from zelkova.agents.agent import Agent
from zelkova.errors import ShapeError
from zelkova.games import Game
from zelkova.search.config import SearchConfig


class CountingNetwork(FakeNetwork):
    """Keeps the size of every call."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self.sizes: list[int] = []

    def evaluate(self, planes: Floats) -> tuple[Floats, Floats]:
        self.sizes.append(len(planes))
        return super().evaluate(planes)


@pytest.fixture(scope="module", params=["tic_tac_toe", "connect_four_3p"])
def game(request: pytest.FixtureRequest) -> Game:
    return games.load(request.param)


CONFIGS = [SearchConfig(num_simulations=12), SearchConfig(policy="puct", num_simulations=12)]


@pytest.mark.parametrize("config", CONFIGS, ids=["gumbel", "puct"])
@pytest.mark.parametrize("cache", [0, 4096])
def test_a_root_does_not_see_its_neighbours(game: Game, config: SearchConfig, cache: int) -> None:
    states = stack(positions(game, 7, seed=1))
    alone = Agent(game, FakeNetwork(game), config, batch=1)
    many = Agent(game, FakeNetwork(game), config, batch=3, cache=cache)
    one, all_at_once = alone.act(states), many.act(states)  # 7 rows in batches of 3: the last is padded
    assert len(all_at_once.action) == 7
    for name, field in one._asdict().items():
        np.testing.assert_array_equal(field, getattr(all_at_once, name), err_msg=name)
    backwards = many.act(np.ascontiguousarray(states[::-1]))
    np.testing.assert_array_equal(backwards.visit_counts[::-1], one.visit_counts)
    np.testing.assert_array_equal(backwards.action_weights[::-1], one.action_weights)


def test_the_cache_saves_evaluations_within_a_search() -> None:
    game = games.load("tic_tac_toe")
    states = np.repeat(stack([game.position()]), 4, axis=0)
    plain, cached = FakeNetwork(game), FakeNetwork(game)
    rng = [np.random.default_rng(3), np.random.default_rng(3)]
    one = Agent(game, plain, CONFIGS[0], batch=4).act(states, rng[0])
    other = Agent(game, cached, CONFIGS[0], batch=4, cache=1024).act(states, rng[1])
    np.testing.assert_array_equal(one.visit_counts, other.visit_counts)
    assert cached.rows < plain.rows / 1.5


def test_legal_moves_alone_are_played_and_weights_sum_to_one(game: Game) -> None:
    starts = positions(game, 6, seed=2)
    result = Agent(game, FakeNetwork(game), CONFIGS[0], batch=4).act(stack(starts), np.random.default_rng(0))
    for row, start in enumerate(starts):
        legal = start.legal_actions().tolist()
        assert result.action[row] in legal
        assert result.actions[row, : result.count[row]].tolist() == legal
        assert result.action_weights[row].sum() == pytest.approx(1.0, abs=1e-5)
        assert result.visit_counts[row].sum() == 12
        low, high = game.return_range
        assert (low - 1e-5 <= result.value[row]).all()
        assert (result.value[row] <= high + 1e-5).all()


@pytest.mark.parametrize("config", CONFIGS, ids=["gumbel", "puct"])
def test_several_leaves_of_a_tree_share_a_call_and_no_simulation_is_lost(
    game: Game, config: SearchConfig
) -> None:
    config = dataclasses.replace(config, num_simulations=64, gumbel_scale=0.0)
    starts = positions(game, 5, seed=2)
    calls = []
    for leaves in (1, 4):
        network = CountingNetwork(game)
        result = Agent(game, network, config, batch=1, num_leaves=leaves).act(stack(starts))
        calls.append(network.sizes)
        for row, start in enumerate(starts):
            assert result.action[row] in start.legal_actions()
            assert result.visit_counts[row].sum() == 64
            assert result.action_weights[row].sum() == pytest.approx(1.0, abs=1e-5)
    assert max(calls[0]) == 1
    assert max(calls[1]) == 4
    assert len(calls[1]) < 0.6 * len(calls[0])


@pytest.mark.parametrize("config", CONFIGS, ids=["gumbel", "puct"])
def test_several_leaves_find_the_winning_move(config: SearchConfig) -> None:
    game = games.load("tic_tac_toe")
    config = dataclasses.replace(config, num_simulations=64, gumbel_scale=0.0)
    network = FakeNetwork(game)
    network.policy[:] = network.outcome[:] = 0.0  # no opinion: the rules' endings alone tell
    agent = Agent(game, network, config, batch=1, num_leaves=4)
    for played, wins in (((0, 3, 1, 4), 2), ((4, 0, 2, 1), 6), ((8, 3, 0, 4, 1), 5)):
        position = game.position()
        for action in played:
            position.play(action)
        assert agent.act(position.state).action.tolist() == [wins]


def test_no_position_is_refused() -> None:
    game = games.load("tic_tac_toe")
    agent = Agent(game, FakeNetwork(game), CONFIGS[0], batch=2)
    with pytest.raises(ShapeError, match="no position"):
        agent.act(game.new_states(0))


SEARCH = """
import numpy as np
from tests.agents.counting import FakeNetwork
from zelkova import games
from zelkova.agents.agent import Agent
from zelkova.search.config import SearchConfig

def visits(seed):
    game = games.load("tic_tac_toe")
    agent = Agent(game, FakeNetwork(game), SearchConfig(num_simulations=64), batch=2)
    result = agent.act(game.initial_states(np.zeros(2, np.uint64)), np.random.default_rng(seed))
    return result.visit_counts.tolist(), result.action.tolist()
"""


def test_public_search_3_one_seed_one_search() -> None:
    """Equal seeds give equal visits in one process and in two, another seed differs; nothing is global."""
    scope: dict[str, object] = {}
    exec(SEARCH, scope)
    visits = scope["visits"]
    assert callable(visits)
    np.random.seed(99)  # noqa: NPY002 - the point is that it does nothing
    here = visits(7)
    np.random.seed(1)  # noqa: NPY002
    assert visits(7) == here
    assert visits(8) != here
    done = subprocess.run(
        [sys.executable, "-c", SEARCH + "print(visits(7))"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(here)
