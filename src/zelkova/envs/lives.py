"""Atari games whose episodes, in training, are lives: the game goes on in the next episode."""

from typing import Any

import gymnasium

from zelkova.envs.config import GOES_ON

NO_OP = 0


class LifeEpisodes(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Ends an episode with each life that is lost; only a game that is over begins anew.

    Source: the wrapper of episodic lives around DQN (Mnih et al. 2015), Methods, Training details.
    """

    def __init__(self, env: Any) -> None:
        """Wrap an environment of the Arcade Learning Environment."""
        super().__init__(env)
        self._lives = 0
        self._goes_on = False  # a life was lost and the game is not over

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Go on with the next life, by a step that does nothing, or begin a game where it is over."""
        if self._goes_on:
            self._goes_on = False
            observation, _, terminated, truncated, info = self.env.step(NO_OP)
            self._lives = self._count()
            if not (terminated or truncated):
                return observation, {**info, GOES_ON: True}
        observation, info = self.env.reset(seed=seed, options=options)
        self._lives = self._count()
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Act; a lost life counts as terminated."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        before, self._lives = self._lives, self._count()
        self._goes_on = 0 < self._lives < before and not (terminated or truncated)
        return observation, reward, terminated or self._goes_on, truncated, info

    def _count(self) -> int:
        """Give the lives left; 0 in games that have none."""
        game: Any = self.env.unwrapped
        return int(game.ale.lives())
