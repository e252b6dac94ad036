"""Episodes of one life: the game goes on, and a run that is resumed finds it where it was."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.envs.toys import Toy

from zelkova.envs.batch import GymBatch
from zelkova.envs.config import EnvConfig
from zelkova.envs.lives import LifeEpisodes
from zelkova.envs.make import make_batch
from zelkova.errors import ConfigError


class Lives:
    """What the wrapper asks of an Atari game."""

    def __init__(self) -> None:
        self.left = 0

    def lives(self) -> int:
        return self.left


class Cats(Toy):
    """Three lives; action 1 loses one, and the game is over without any. Counts steps as Toy does."""

    def __init__(self) -> None:
        super().__init__(length=1000)
        self.ale = Lives()
        self.begun: list[int | None] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.ale.left = 3
        self.begun.append(seed)
        return super().reset(seed=seed)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, _, truncated, info = super().step(action)
        self.ale.left -= int(action)
        return observation, reward, self.ale.left == 0, truncated, info


def act(envs: GymBatch, action: int) -> tuple[float, bool]:
    found = envs.step(np.array([action]))
    return float(found.observations[0, 0]), bool(found.terminated[0])


def begin() -> tuple[Cats, GymBatch]:
    game = Cats()
    config = EnvConfig(id="cats", atari=True, episode="life")
    return game, GymBatch([LifeEpisodes(game)], config, is_training=True)


def test_a_lost_life_ends_the_episode_and_the_game_goes_on_with_a_step_that_does_nothing() -> None:
    game, envs = begin()
    envs.reset([5])
    assert not envs.goes_on.any()
    assert act(envs, 0) == (1.0, False)
    assert act(envs, 1) == (2.0, True)
    again = envs.reset_rows([0], [6])
    assert again.observations.tolist() == [[3.0]]
    assert envs.goes_on.tolist() == [True]
    assert act(envs, 1) == (4.0, True)
    envs.reset_rows([0], [7])
    assert act(envs, 1) == (6.0, True)  # the last one: the game is over
    assert envs.reset_rows([0], [8]).observations.tolist() == [[0.0]]
    assert not envs.goes_on.any()
    assert game.begun == [5, 8]
    assert game.taken == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize("actions", [[0, 1], [0, 1, 0], [1, 1, 0, 0]])
def test_a_game_is_played_again_over_the_ends_of_lives(actions: list[int]) -> None:
    _, envs = begin()
    envs.reset([5])
    seen: NDArray[Any] = np.zeros(0)
    for action in actions:
        found = envs.step(np.array([action]))
        seen = found.observations
        if found.terminated[0]:
            seen = envs.reset_rows([0], [9]).observations
    _, other = begin()
    now = other.replay([5], [actions])
    assert now.observations.tolist() == seen.tolist()
    assert not now.terminated.any()


def test_lives_and_colour_are_refused_without_atari() -> None:
    with pytest.raises(ConfigError, match=r"next: set env.atari = true"):
        EnvConfig(id="CartPole-v1", episode="life")
    with pytest.raises(ConfigError, match=r"allowed: game, life"):
        EnvConfig(id="ALE/Pong-v5", atari=True, episode="lives")  # type: ignore[arg-type]


def test_breakout_goes_on_after_a_lost_life_in_training_alone() -> None:
    pytest.importorskip("ale_py")
    pytest.importorskip("cv2")
    config = EnvConfig(
        id="ALE/Breakout-v5", atari=True, grey=False, layout="hwc", frame_stack=2, episode="life"
    )
    lost = {}
    for is_training in (True, False):
        envs = make_batch(config, 1, is_training)
        assert envs.spec.observation_shape == (6, 96, 96)
        envs.reset([3])
        rng = np.random.default_rng(0)
        for step in range(400):
            found = envs.step(np.array([1 if step % 8 == 0 else rng.integers(2, 4)]))  # 1 fires
            if found.terminated[0]:
                break
        lost[is_training] = step
        envs.reset_rows([0], [4])
        assert envs.goes_on.tolist() == [is_training]
        envs.close()
    assert lost[True] < lost[False]
