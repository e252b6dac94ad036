"""Vector environments give true transitions, however they reset themselves."""

import functools
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from tests.envs.toys import Toy

from zelkova.envs.vector import VectorTransition, transitions
from zelkova.errors import ConfigError, EnvError

MODES = list(AutoresetMode)


class Parts(Toy):
    """Its observation is a dictionary."""

    def __init__(self, length: int) -> None:
        super().__init__(
            length, observation_space=spaces.Dict({"count": spaces.Box(0.0, 9.0, (1,), np.float32)})
        )

    def see(self) -> Any:
        return {"count": super().see()}


def counters(mode: Any, kind: Any = Toy, copy: bool = True) -> Any:
    makers: list[Any] = [functools.partial(kind, length) for length in (3, 5)]
    return SyncVectorEnv(makers, autoreset_mode=mode, copy=copy)


def walk(envs: Any, steps: int = 8) -> list[VectorTransition]:
    return list(transitions(envs, lambda seen: np.zeros(2, np.int64), steps, seed=0))


@pytest.mark.parametrize(
    ("mode", "stored"),
    [
        (AutoresetMode.NEXT_STEP, [6, 7]),
        (AutoresetMode.SAME_STEP, [8, 8]),
        (AutoresetMode.DISABLED, [8, 8]),
    ],
)
def test_reset_rows_are_skipped_and_final_observations_kept(mode: Any, stored: list[int]) -> None:
    found = walk(counters(mode))  # public case pub-env-2
    assert [sum(step.row == row for step in found) for row in range(2)] == stored
    for step in found:
        assert step.next_observation[0] == step.observation[0] + 1 == step.reward
        assert step.terminated == (step.reward == (3, 5)[step.row])
    assert {float(step.next_observation[0]) for step in found if step.terminated} == {3, 5}


@pytest.mark.parametrize("mode", MODES)
def test_dictionaries_and_reused_buffers_keep_their_values(mode: Any) -> None:
    plain = walk(counters(mode))
    for other in (walk(counters(mode, copy=False)), walk(counters(mode, Parts, copy=False))):
        assert len(other) == len(plain)
        for one, two in zip(plain, other, strict=True):
            seen = (
                two.next_observation["count"]
                if isinstance(two.next_observation, dict)
                else two.next_observation
            )
            assert one.next_observation == seen
            assert one[3:4] + one[5:] == two[3:4] + two[5:]


@pytest.mark.parametrize("told", [None, "Sometimes", {"autoreset_mode": None}])
def test_an_unknown_way_to_reset_is_refused_before_the_first_step(told: Any) -> None:
    envs = counters(AutoresetMode.NEXT_STEP)
    envs.metadata = told if isinstance(told, dict) else {"autoreset_mode": told} if told else {}
    with pytest.raises(ConfigError, match="allowed: NEXT_STEP, SAME_STEP, DISABLED"):
        transitions(envs, lambda seen: np.zeros(2, np.int64), 8)


def test_a_missing_final_observation_is_named() -> None:
    envs = counters(AutoresetMode.SAME_STEP)
    step = envs.step
    envs.step = lambda actions: (*step(actions)[:4], {})
    with pytest.raises(EnvError, match="environment 0: its episode ended and info"):
        walk(envs)


def test_a_reward_that_is_none_is_named() -> None:
    envs = counters(AutoresetMode.NEXT_STEP)
    step = envs.step
    envs.step = lambda actions: (step(actions)[0], np.array([0.0, np.nan]), *step(actions)[2:])
    with pytest.raises(EnvError, match="environment 1: it gives the reward nan"):
        walk(envs)
