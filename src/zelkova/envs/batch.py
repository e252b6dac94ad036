"""B environments in lockstep. Nothing resets by itself, so final observations are never lost."""

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from zelkova.envs.config import GOES_ON, EnvConfig
from zelkova.envs.spaces import ActionMap, ObservationMap, action_map
from zelkova.errors import EnvError, ZelkovaError, word_failure


class EnvSpec(NamedTuple):
    """What an agent must know of an environment."""

    name: str
    observation_shape: tuple[int, ...]
    observation_dtype: Any  # float32 or uint8
    num_actions: int  # A; 0: continuous
    action_dim: int  # D; 0: numbered actions
    num_players: int  # P


class Transition(NamedTuple):
    """What B environments answer."""

    observations: NDArray[Any]  # [B, *shape]; of ended episodes the final ones
    rewards: NDArray[np.float32]  # [B, P]
    terminated: NDArray[np.bool_]  # [B] ended by its own rules
    truncated: NDArray[np.bool_]  # [B] cut by a time limit, and not ended
    legal: NDArray[np.bool_]  # [B, A]; of an ended episode it may be empty
    to_play: NDArray[np.int8]  # [B]


class EnvBatch(Protocol):
    """B environments, Gymnasium's or games."""

    spec: EnvSpec
    size: int  # B
    goes_on: NDArray[np.bool_]  # [B] the last reset of a row went on with its game, whatever the seed

    def reset(self, seeds: Sequence[int]) -> Transition:
        """Begin an episode in each, from seeds."""

    def reset_rows(self, rows: Sequence[int], seeds: Sequence[int]) -> Transition:
        """Begin episodes in some; the answer has as many rows."""

    def step(self, actions: NDArray[Any]) -> Transition:
        """Act: int32[B] indices, or float32[B, D] in -1..1. A row that ended waits for reset_rows."""

    def replay(self, seeds: Sequence[int], actions: Sequence[Sequence[Any]]) -> Transition:
        """Begin games and act them again, over the ends of lives; gives where they are then."""

    def close(self) -> None:
        """Let the environments go."""


class GymBatch:
    """Environments of Gymnasium."""

    def __init__(self, envs: Sequence[Any], config: EnvConfig, is_training: bool) -> None:
        """Take environments over.

        Args:
            envs: B of one kind, as gymnasium.make gives them.
            config: how they are seen.
            is_training: rewards as config.reward_clip says, else as they are; and the environments end
                episodes as config.episode says.
        Raises:
            ConfigError: a space that no agent here can act in or see.
        """
        self.envs, self.size = list(envs), len(envs)
        name = config.id
        self._map: ActionMap = action_map(envs[0].action_space, config, name)
        self._see = ObservationMap(envs[0].observation_space, config, self._map.num_actions, name)
        self._is_sign = is_training and config.reward_clip == "sign"
        self._has_lives = is_training and config.episode == "life"
        self._steps = np.zeros(self.size, np.int64)
        self.goes_on = np.zeros(self.size, np.bool_)
        self._is_over = np.ones(self.size, np.bool_)  # an environment that was never reset has ended, too
        self.spec = EnvSpec(
            name, self._see.shape, self._see.dtype, self._map.num_actions, self._map.action_dim, 1
        )

    def reset(self, seeds: Sequence[int]) -> Transition:
        """Begin an episode in each; see EnvBatch."""
        return self.reset_rows(range(self.size), seeds)

    def reset_rows(self, rows: Sequence[int], seeds: Sequence[int]) -> Transition:
        """Begin episodes in some; see EnvBatch."""
        seen = []
        for row, seed in zip(rows, seeds, strict=True):
            seen.append(self._guard(row, lambda row=row, seed=seed: self._reset_one(row, int(seed))))
        count = len(seen)
        return self._pack(
            seen, np.zeros((count, 1), np.float32), np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        )

    def step(self, actions: NDArray[Any]) -> Transition:
        """Act in each; see EnvBatch.

        Raises:
            EnvError: an environment raises, gives what it did not announce, or was not reset since its end.
        """
        if len(actions) != self.size:
            raise EnvError(f"{self.spec.name}: {len(actions)} actions; allowed: {self.size}")
        seen, rewards = [], np.zeros((self.size, 1), np.float32)
        terminated, truncated = np.zeros(self.size, np.bool_), np.zeros(self.size, np.bool_)
        for row in range(self.size):
            found = self._guard(row, lambda row=row: self._step_one(row, actions[row]))
            seen.append(found[0])
            rewards[row, 0], terminated[row], truncated[row] = found[1:]
        return self._pack(seen, rewards, terminated, truncated & ~terminated)

    def _reset_one(self, row: int, seed: int) -> Any:
        self._steps[row], self._is_over[row] = 0, False
        observation, info = self.envs[row].reset(seed=seed)
        self.goes_on[row] = bool(info.get(GOES_ON, False))
        return self._see(observation, info)

    def _step_one(self, row: int, action: Any) -> tuple[Any, float, bool, bool]:
        if self._is_over[row]:
            raise EnvError("its episode is over or has not begun; next: reset_rows")
        self._steps[row] += 1
        observation, reward, terminated, truncated, info = self.envs[row].step(self._map(action))
        over, cut = _read_flag("terminated", terminated), _read_flag("truncated", truncated)
        self._is_over[row] = over or cut
        if isinstance(reward, str | bytes):
            raise EnvError(f"it gives the reward {reward!r:.60}; allowed: finite numbers of 32 bits")
        reward = float(reward)
        with np.errstate(over="ignore"):  # what is too large becomes infinite
            if not np.isfinite(np.float32(reward)):
                raise EnvError(f"it gives the reward {reward}; allowed: finite numbers of 32 bits")
        return (
            self._see(observation, info, is_final=bool(self._is_over[row])),
            float(np.sign(reward)) if self._is_sign else reward,
            over,
            cut,
        )

    def _guard(self, row: int, call: Any) -> Any:
        """Make every failure of an environment one message that names it; what it prints goes to stderr."""
        try:
            with redirect_stdout(sys.stderr):
                return call()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if isinstance(error, ZelkovaError) and not isinstance(error, EnvError):
                raise
            what = str(error) if isinstance(error, EnvError) else f"it raises {word_failure(error)}"
            where = f"{self.spec.name}, environment {row}, step {int(self._steps[row])}"
            raise EnvError(f"{where}: {what}") from error

    def _pack(
        self,
        seen: list[Any],
        rewards: NDArray[np.float32],
        terminated: NDArray[np.bool_],
        truncated: NDArray[np.bool_],
    ) -> Transition:
        observations, legal = (np.stack(parts) for parts in zip(*seen, strict=True))
        return Transition(observations, rewards, terminated, truncated, legal, np.zeros(len(seen), np.int8))

    def replay(self, seeds: Sequence[int], actions: Sequence[Sequence[Any]]) -> Transition:
        """Begin episodes and act them again; see EnvBatch."""
        first = self.reset(seeds)
        seen = list(zip(first.observations, first.legal, strict=True))
        rewards, terminated, truncated = first.rewards, first.terminated, first.truncated
        for row, moves in enumerate(actions):
            for action in moves:
                found = self._guard(row, lambda row=row, action=action: self._step_one(row, action))
                seen[row] = found[0]
                rewards[row, 0], terminated[row], truncated[row] = found[1:]
                if self._is_over[row] and self._has_lives:  # the game went on
                    seen[row] = self._guard(row, lambda row=row: self._reset_one(row, int(seeds[row])))
                    rewards[row, 0], terminated[row], truncated[row] = 0.0, False, False
        return self._pack(seen, rewards, terminated, truncated & ~terminated)

    @property
    def can_draw(self) -> bool:
        """Say whether environments of this kind give pictures when made with `render_mode = "rgb_array"`."""
        return "rgb_array" in (self.envs[0].metadata or {}).get("render_modes", ())

    def draw(self, row: int) -> NDArray[np.uint8]:
        """Give a picture [H, W, 3] of one environment, made with `render_mode = "rgb_array"`.

        Raises:
            EnvError: it can't be drawn, or what comes is no picture.
        """
        found = self._guard(row, self.envs[row].render)
        picture = np.asarray(found)
        if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or not picture.size:
            raise EnvError(
                f"{self.spec.name}: render() gives {type(found).__name__} of {picture.dtype}"
                f"{list(picture.shape)}; allowed: bytes [H, W, 3]; next: make it with render_mode = rgb_array"
            )
        return picture

    def close(self) -> None:
        """Let the environments go."""
        close_all(self.envs)


def close_all(envs: Sequence[Any]) -> None:
    """Let environments go; nothing is asked of them any more, so one that fails in it does no harm."""
    with redirect_stdout(sys.stderr):
        for env in envs:
            try:
                env.close()
            except KeyboardInterrupt:
                raise
            except BaseException:
                continue


def _read_flag(name: str, value: Any) -> bool:
    """Read `terminated` or `truncated`.

    Raises:
        EnvError: it is neither true nor false.
    """
    flag = np.asarray(value)
    if flag.size != 1 or flag.dtype.kind not in "biuf" or flag.item() not in (0, 1):
        raise EnvError(f"it gives {name} = {value!r:.60}; allowed: true or false")
    return bool(flag.item())
