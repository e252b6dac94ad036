"""Small environments with one habit each."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from zelkova.envs.batch import GymBatch
from zelkova.envs.config import EnvConfig


class Toy(gymnasium.Env[Any, Any]):
    """Counts steps: the observation and the reward are the step's number; ends after `length` steps."""

    def __init__(self, length: int = 3, action_space: Any = None, observation_space: Any = None) -> None:
        self.length, self.count = length, 0
        self.action_space = action_space or spaces.Discrete(2)
        self.observation_space = observation_space or spaces.Box(0.0, 1000.0, (1,), np.float32)
        self.taken: list[Any] = []

    def see(self) -> Any:
        return np.array([self.count], np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.count = 0
        return self.see(), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), action
        self.taken.append(action)
        self.count += 1
        return self.see(), float(self.count), self.count >= self.length, False, {}


def batch(*envs: Any, **settings: Any) -> GymBatch:
    return GymBatch(envs, EnvConfig(id="toy", **settings), is_training=True)
