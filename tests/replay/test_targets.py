import numpy as np
import pytest
from numpy.typing import NDArray
from tests.replay.games import WIDTH, WORDS, make_episode

from zelkova.errors import ConfigError, GameError, ShapeError
from zelkova.replay.buffer import ReplayBuffer
from zelkova.replay.config import ReplayConfig
from zelkova.replay.symmetry import Symmetries
from zelkova.replay.targets import OutcomeSpec, make_targets, outcome_target, to_view


def rows(*values: list[float]) -> NDArray[np.float32]:
    return np.array(values, np.float32)


def test_two_players_win_lose_or_draw() -> None:
    spec = OutcomeSpec(2, (-1.0, 1.0))
    got = outcome_target(rows([1, -1], [-1, 1], [0, 0]), spec)
    np.testing.assert_array_equal(got, rows([1, 0, 0], [0, 1, 0], [0, 0, 1]))


def test_three_players_share() -> None:
    third = 1 / 3
    returns = rows([0, 1, 0], [0.5, 0, 0.5], [third, third, third])
    got = outcome_target(returns, OutcomeSpec(3, (0.0, 1.0)))
    np.testing.assert_allclose(got, rows([0, 1, 0, 0], [0.5, 0, 0.5, 0], [0, 0, 0, 1]), atol=1e-6)
    without = outcome_target(returns, OutcomeSpec(3, (0.0, 1.0), has_draws=False))
    np.testing.assert_allclose(without[2], [third, third, third, 0], atol=1e-6)


def test_one_player_reaches_a_share_of_the_range() -> None:
    got = outcome_target(rows([0], [50], [200]), OutcomeSpec(1, (0.0, 200.0)))
    np.testing.assert_allclose(got, rows([0, 1], [0.25, 0.75], [1, 0]))


@pytest.mark.parametrize(
    ("spec", "returns", "said"),
    [
        (OutcomeSpec(2, (-1.0, 1.0), has_draws=False), [0, 0], "HAS_DRAWS = False"),
        (OutcomeSpec(2, (-1.0, 1.0)), [3, -3], "outside the game's RETURN_RANGE"),
        (OutcomeSpec(2, (-1.0, 1.0)), [float("nan"), 0], "outside the game's RETURN_RANGE"),
        (OutcomeSpec(3, (0.0, 1.0)), [1, 1, 0], "do not share out 1"),
    ],
)
def test_returns_that_no_game_may_give_are_refused(
    spec: OutcomeSpec, returns: list[float], said: str
) -> None:
    with pytest.raises(GameError, match=said):
        outcome_target(rows(returns), spec)


def test_wrong_shapes_and_views_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"allowed: \[B, 3\]"):
        outcome_target(rows([1, -1]), OutcomeSpec(3, (0.0, 1.0)))
    with pytest.raises(ShapeError, match="to_play"):
        to_view(rows([1, -1]), np.zeros(2, np.int8))
    with pytest.raises(ConfigError, match="view `movr`"):
        OutcomeSpec(2, (-1.0, 1.0), view="movr")


def test_the_view_begins_with_the_mover() -> None:
    got = to_view(rows([10, 11, 12], [10, 11, 12], [10, 11, 12]), np.array([0, 1, 2], np.int8))
    np.testing.assert_array_equal(got, rows([10, 11, 12], [11, 12, 10], [12, 10, 11]))


@pytest.mark.parametrize("players", [1, 2, 3])
@pytest.mark.parametrize("view", ["mover", "absolute"])
def test_targets_row_by_row(players: int, view: str) -> None:
    buffer = ReplayBuffer(ReplayConfig(), WORDS, WIDTH, players)
    for seed in range(4):
        buffer.add(make_episode(seed, players=players))
    batch = buffer.sample(50, np.random.default_rng(1))
    low = -1.0 if players == 2 else 0.0
    alive = np.random.default_rng(2).random((50, players)) < 0.7
    targets = make_targets(batch, OutcomeSpec(players, (low, 1.0), view), alive)
    assert targets.alive is not None
    for row in range(50):
        turn = int(batch.to_play[row]) if view == "mover" else 0
        seats = [(turn + k) % players for k in range(players)]
        np.testing.assert_array_equal(targets.root_values[row], batch.root_values[row][seats])
        np.testing.assert_array_equal(targets.alive[row], alive[row][seats])
        won = (batch.returns[row][seats] == 1.0).astype(np.float32)
        np.testing.assert_array_equal(targets.outcome[row][:players], won)
    np.testing.assert_array_equal(targets.policy, batch.policy)


def test_a_symmetry_turns_planes_and_actions_alike() -> None:
    """Quarter turns of a 3x3 board whose action a is cell a."""
    cells = np.arange(9, dtype=np.int32).reshape(3, 3)
    maps = [(np.rot90(cells, turn).reshape(-1).copy(),) * 2 for turn in range(4)]
    legal = np.tile(np.array([1, 3, 8, -1], np.int32), (64, 1))
    planes = np.zeros((64, 2, 3, 3), np.float32)
    for action, value in ((1, 0.1), (3, 0.3), (8, 0.8)):  # each legal cell is marked with its own value
        planes[:, 1].reshape(64, 9)[:, action] = value
    turned, actions = Symmetries(maps).apply(planes, legal, np.random.default_rng(0))
    found = np.take_along_axis(turned[:, 1].reshape(64, 9), np.maximum(actions, 0), axis=1)
    np.testing.assert_array_equal(found[:, :3], np.tile(np.array([0.1, 0.3, 0.8], np.float32), (64, 1)))
    assert (actions[:, 3] == -1).all()
    assert (turned[:, 0] == 0).all()
    assert len({tuple(row) for row in actions.tolist()}) == 4


def test_a_symmetry_follows_the_contract_for_policies() -> None:
    """An action map that is not its own inverse: new_policy[a] = policy[action_map[a]]."""
    identity, cycle = np.arange(3, dtype=np.int32), np.array([1, 2, 0], np.int32)
    policy = np.array([0.5, 0.3, 0.2], np.float32)
    planes = np.arange(3, dtype=np.float32).reshape(1, 1, 1, 3).repeat(32, 0)
    legal = np.tile(identity, (32, 1))
    turned, actions = Symmetries([(identity, identity), (cycle, cycle)]).apply(
        planes, legal, np.random.default_rng(0)
    )
    for row in range(32):
        new_policy = np.zeros(3, np.float32)
        new_policy[actions[row]] = policy
        moved = turned[row, 0, 0, 0] == 1.0
        np.testing.assert_array_equal(new_policy, policy[cycle] if moved else policy)
    assert {row[0, 0, 0] for row in turned} == {0.0, 1.0}


def test_no_symmetry_draws_nothing_and_another_board_is_refused() -> None:
    rng, planes, legal = (
        np.random.default_rng(0),
        np.zeros((1, 1, 2, 2), np.float32),
        np.zeros((1, 1), np.int32),
    )
    before = rng.bit_generator.state
    assert Symmetries([]).apply(planes, legal, rng)[0] is planes
    assert rng.bit_generator.state == before
    nine = np.arange(9, dtype=np.int32)
    with pytest.raises(ShapeError, match="2 x 2 cells"):
        Symmetries([(nine, nine), (nine[::-1].copy(), nine)]).apply(planes, legal, rng)
