"""A game as an environment agrees with the game played move by move."""

from typing import Any

import numpy as np
import pytest

from zelkova import games
from zelkova.config import load_config
from zelkova.envs.game_env import GameBatch
from zelkova.errors import ConfigError, EnvError, IllegalActionError
from zelkova.games.playout import roll_states

SEEDS = [11, 12, 13]


def compare(envs: GameBatch, found: Any, row: int, position: games.Position) -> None:
    """See that a row shows a position."""
    game, is_over = envs.game, position.is_terminal
    np.testing.assert_array_equal(found.observations[row], position.observe())
    assert np.flatnonzero(found.legal[row]).tolist() == ([] if is_over else position.legal_actions().tolist())
    assert found.terminated[row] == is_over
    expected = position.returns if is_over else np.zeros(game.num_players, np.float32)
    np.testing.assert_array_equal(found.rewards[row], expected)
    if not is_over:
        assert found.to_play[row] == position.to_play


class Shadow:
    """One row's game, played with Position; nature is asked for what the row's own generator gives."""

    def __init__(self, game: games.Game, seed: int) -> None:
        self.counter = np.random.SeedSequence(seed).generate_state(1, np.uint64).astype(np.uint64)
        self.position = self.roll(game.position(seed))

    def roll(self, position: games.Position) -> games.Position:
        state, game = position.state, position.game
        if game.has_chance:
            roll_states(game.native.step, game.native.chance, state, self.counter, *game.new_scratch())
        return games.Position(game, state)

    def play(self, action: int) -> None:
        self.position = self.roll(self.position.play(action))


@pytest.mark.parametrize("name", games.names())
def test_a_batch_agrees_with_positions_on_random_games(name: str) -> None:
    game = games.load(name)
    envs, rng = GameBatch(game, len(SEEDS)), np.random.default_rng(1)
    found = envs.reset(SEEDS)
    shadows = [Shadow(game, seed) for seed in SEEDS]
    ended, fresh = 0, 100
    while ended < 3:
        for row, shadow in enumerate(shadows):
            compare(envs, found, row, shadow.position)
        assert not found.truncated.any()
        over = np.flatnonzero(found.terminated).tolist()
        legal = found.legal.copy()
        for row in over:
            ended, fresh = ended + 1, fresh + 1
            first = envs.reset_rows([row], [fresh])
            shadows[row] = Shadow(game, fresh)
            compare(envs, first, 0, shadows[row].position)
            legal[row] = first.legal[0]
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in legal])
        for shadow, action in zip(shadows, actions, strict=True):
            shadow.play(int(action))
        found = envs.step(actions)


def test_what_an_agent_must_know_is_told() -> None:
    spec = GameBatch(games.load("connect_four_3p"), 2).spec
    assert spec[:1] + spec[3:] == ("connect_four_3p", 8, 0, 3)
    assert spec.observation_shape == games.load("connect_four_3p").observation_shape


@pytest.mark.parametrize("name", ["2048", "tic_tac_toe"])
def test_replay_leads_to_the_same_state(name: str) -> None:
    game = games.load(name)
    envs, again, rng = GameBatch(game, 2), GameBatch(game, 2), np.random.default_rng(0)
    found = envs.reset([5, 6])
    played: list[list[int]] = [[], []]
    for _ in range(4):
        actions = [int(rng.choice(np.flatnonzero(mask))) for mask in found.legal]
        for row in range(2):
            played[row].append(actions[row])
        found = envs.step(np.array(actions))
    for other in (again.replay([5, 6], played), envs.replay([5, 6], played)):
        for one, two in zip(found, other, strict=True):
            np.testing.assert_array_equal(one, two)
    chosen = np.array([np.flatnonzero(mask)[0] for mask in found.legal])
    np.testing.assert_array_equal(envs.step(chosen)[0], again.step(chosen)[0])


def test_replay_takes_games_of_different_lengths_and_ended_ones() -> None:
    envs = GameBatch(games.load("tic_tac_toe"), 2)
    now = envs.replay([0, 0], [[0, 3, 1, 4, 2], []])
    assert now.terminated.tolist() == [True, False]
    assert now.rewards.tolist() == [[1, -1], [0, 0]]
    assert not envs.replay([0, 0], [[], []]).terminated.any()


def test_chance_depends_on_the_row_s_seed_alone() -> None:
    game = games.load("2048")
    wide, narrow = GameBatch(game, 3), GameBatch(game, 1)
    one, other = wide.reset([1, 2, 3]), narrow.reset([2])
    for _ in range(10):
        np.testing.assert_array_equal(one.observations[1], other.observations[0])
        actions = np.array([np.flatnonzero(mask)[0] for mask in one.legal])
        one, other = wide.step(actions), narrow.step(actions[1:2])


@pytest.mark.parametrize("action", [0, 9, -1])
def test_an_illegal_action_is_named_and_nothing_is_played(action: int) -> None:
    envs = GameBatch(games.load("tic_tac_toe"), 2)
    envs.reset([0, 0])
    before = envs.step(np.array([1, 0]))
    with pytest.raises(
        IllegalActionError, match=rf"^tic_tac_toe, environment 1, step 2: .*action {action}\b"
    ):
        envs.step(np.array([0, action]))
    after = envs.step(np.array([0, 1]))
    assert (before.observations != after.observations).any()
    assert after.legal.sum(axis=1).tolist() == [7, 7]


@pytest.mark.parametrize("actions", [[0], [0.0, 0.0], [[0], [0]]])
def test_what_is_no_action_is_refused(actions: Any) -> None:
    envs = GameBatch(games.load("tic_tac_toe"), 2)
    envs.reset([0, 0])
    with pytest.raises(EnvError, match="tic_tac_toe: the actions have shape .* allowed: 2 whole numbers"):
        envs.step(np.array(actions))


def test_a_game_that_is_over_or_has_not_begun_takes_no_action() -> None:
    envs = GameBatch(games.load("tic_tac_toe"), 1)
    with pytest.raises(EnvError, match="has not begun; next: reset_rows"):
        envs.step(np.array([0]))
    envs.replay([0], [[0, 3, 1, 4, 2]])
    with pytest.raises(EnvError, match="step 6: its game is over"):
        envs.step(np.array([5]))


@pytest.mark.parametrize("seeds", [[0], [0, -1], [0, 2**64]])
def test_seeds_that_are_none_are_refused(seeds: list[int]) -> None:
    with pytest.raises(EnvError, match="allowed: one whole number"):
        GameBatch(games.load("tic_tac_toe"), 2).reset(seeds)


def test_random_openings_differ_by_seed_come_again_and_never_end_the_game() -> None:
    game = games.load("tic_tac_toe")
    plain = GameBatch(game, 1)
    envs = GameBatch(game, 200, (0.5, 8))
    found = envs.reset(range(200))
    stones = (found.observations.reshape(200, -1)[:, :18] != 0).sum(axis=1)  # both players' planes
    assert not found.terminated.any()
    assert stones.min() == 0
    assert 5 <= stones.max() <= 8
    assert 60 < (stones == 0).sum() < 140  # half, and what had to be cut down to nothing
    again = envs.reset_rows([7, 3], [3, 7])
    np.testing.assert_array_equal(again.observations, found.observations[[3, 7]])
    np.testing.assert_array_equal(plain.reset([0]).observations[0], game.position().observe())


def test_an_environment_has_no_random_opening() -> None:
    with pytest.raises(ConfigError, match=r"random_opening.*CartPole-v1"):
        load_config("CartPole-v1", ["selfplay.random_opening=0.5"])
