"""Environments in lockstep: nothing is lost at an end, and what breaks a promise is named."""

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from tests.envs.toys import Toy, batch

from zelkova.errors import EnvError

ACT = np.array([1])


class Masked(Toy):
    """Nothing is legal at its end, or earlier."""

    def __init__(self, empty_at: int = 3) -> None:
        parts = {"count": spaces.Box(0.0, 9.0, (1,), np.float32), "action_mask": spaces.MultiBinary(2)}
        super().__init__(3, observation_space=spaces.Dict(parts))
        self.empty_at = empty_at

    def see(self) -> Any:
        mask = np.zeros(2, np.int8) if self.count == self.empty_at else np.array([0, 1], np.int8)
        return {"count": super().see(), "action_mask": mask}


class Bad(Toy):
    """Gives something wrong at its second step."""

    def __init__(self, observation: Any = None, reward: Any = 0.0, error: Exception | None = None) -> None:
        super().__init__()
        self.bad, self.reward, self.error = observation, reward, error

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        right = super().step(action)
        if self.count < 2:
            return right
        if self.error is not None:
            raise self.error
        return right[0] if self.bad is None else self.bad, self.reward, *right[2:]


@pytest.mark.parametrize(
    ("env", "what"),
    [
        (Bad(np.array([np.nan])), r"observation \[nan\]; allowed: finite numbers"),
        (Bad(np.array([1e300])), r"observation \[inf\]; allowed: finite numbers"),
        (Bad(reward=np.inf), "reward inf; allowed: finite numbers"),
        (Bad(reward=None), "raises TypeError"),
        (Bad(np.zeros(2)), r"observation of shape \(2,\); its space says \(1,\)"),
        (Bad(np.zeros((1, 1))), r"observation of shape \(1, 1\); its space says \(1,\)"),
        (Bad(error=RuntimeError("the motor is stuck")), "raises RuntimeError: the motor is stuck"),
        (Masked(empty_at=2), "mask `action_mask` allows 0 of 2 actions"),
    ],
)
def test_a_broken_promise_is_named(env: Any, what: str) -> None:
    envs = batch(Masked() if isinstance(env, Masked) else Toy(), env)
    envs.reset([0, 1])
    envs.step(np.array([1, 1]))
    with pytest.raises(EnvError, match=f"^toy, environment 1, step 2: .*{what}"):
        envs.step(np.array([1, 1]))


def test_a_reset_that_raises_is_named() -> None:
    class Broken(Toy):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            raise OSError("no such level")

    with pytest.raises(EnvError, match="^toy, environment 0, step 0: it raises OSError: no such level"):
        batch(Broken()).reset([0])


def test_final_observations_are_never_lost() -> None:
    envs = batch(Toy(length=3), Toy(length=5))
    seen: list[list[float]] = [[0.0], [0.0]]
    envs.reset([0, 1])
    for _ in range(8):
        found = envs.step(np.array([0, 1]))
        for row in range(2):
            seen[row].append(float(found.observations[row, 0]))
        over = np.flatnonzero(found.terminated).tolist()
        if over:
            first = envs.reset_rows(over, over)
            assert first.observations.tolist() == [[0.0]] * len(over)
    assert seen == [[0, 1, 2, 3, 1, 2, 3, 1, 2], [0, 1, 2, 3, 4, 5, 1, 2, 3]]


def test_an_environment_may_write_into_one_buffer() -> None:
    class Reused(Toy):
        buffer = np.zeros(1, np.float32)

        def see(self) -> Any:
            self.buffer[0] = self.count
            return self.buffer

    envs = batch(Reused())
    first = envs.reset([0])
    envs.step(ACT)
    assert first.observations.tolist() == [[0.0]]


def test_at_an_end_nothing_need_be_legal() -> None:
    envs = batch(Masked())
    assert envs.reset([0]).legal.tolist() == [[False, True]]
    for _ in range(3):
        found = envs.step(ACT)
    assert found.terminated.all()
    assert not found.legal.any()


def test_an_ended_episode_takes_no_step_before_its_reset() -> None:
    envs = batch(Toy(length=1))
    with pytest.raises(EnvError, match="has not begun; next: reset_rows"):
        envs.step(ACT)
    envs.reset([0])
    envs.step(ACT)
    with pytest.raises(EnvError, match="is over"):
        envs.step(ACT)
    envs.reset_rows([0], [1])
    envs.step(ACT)


def test_what_ended_by_its_rules_was_not_cut() -> None:
    class Both(Toy):
        def step(self, action: Any) -> Any:
            return *super().step(action)[:2], self.count == 2, True, {}

    envs = batch(Both(), Both())
    envs.reset([0, 0])
    envs.envs[1].count = 1
    found = envs.step(np.array([0, 0]))
    assert found.terminated.tolist() == [False, True]
    assert found.truncated.tolist() == [True, False]


def test_rewards_are_clipped_in_training_alone() -> None:
    envs = batch(Toy(), reward_clip="sign")
    envs.reset([0])
    assert [float(envs.step(ACT).rewards[0, 0]) for _ in range(3)] == [1, 1, 1]


def test_actions_for_another_number_of_environments_are_refused() -> None:
    envs = batch(Toy())
    envs.reset([0])
    with pytest.raises(EnvError, match="2 actions; allowed: 1"):
        envs.step(np.array([0, 1]))


def test_replay_leads_to_the_same_state() -> None:
    class Walk(Toy):
        """A random walk."""

        def see(self) -> Any:
            return self.np_random.random(1, np.float32)

    envs = batch(Walk(9), Walk(9))
    envs.reset([3, 4])
    for _ in range(2):
        found = envs.step(np.array([0, 1]))
    again = batch(Walk(9), Walk(9))
    now = again.replay([3, 4], [[0, 0], [1, 1]])
    for one, other in zip(found, now, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(envs.step(np.array([0, 1]))[0], again.step(np.array([0, 1]))[0])
    assert batch(Toy(2), Toy(9)).replay([0, 0], [[0, 0], []]).terminated.tolist() == [True, False]
