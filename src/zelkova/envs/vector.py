"""True transitions of a vector environment of Gymnasium, however it resets itself.

After an episode's end a vector environment goes on in one of three ways, which it announces in its metadata
as "autoreset_mode": in NEXT_STEP the call after an end ignores the action and only resets; in SAME_STEP the
call that ends resets at once, and the last observation stands in the infos; in DISABLED the caller resets.
"""

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from zelkova.errors import ConfigError, EnvError


class VectorTransition(NamedTuple):
    """One step of one environment, within one episode."""

    row: int  # which of the environments
    observation: Any
    action: Any
    reward: float
    next_observation: Any  # of an ended episode the final one
    terminated: bool
    truncated: bool


def autoreset_mode(vector_env: Any) -> Any:
    """Give the gymnasium.vector.AutoresetMode that a vector environment announces.

    Raises:
        ConfigError: it announces none, or one that is not known here.
    """
    from gymnasium.vector import AutoresetMode

    told = (vector_env.metadata or {}).get("autoreset_mode")
    try:
        return AutoresetMode(told)
    except ValueError as error:
        raise ConfigError(
            f"{vector_env} announces the autoreset mode {told!r};"
            f" allowed: {', '.join(AutoresetMode.__members__)};"
            ' next: set metadata["autoreset_mode"] to what it does'
        ) from error


def transitions(
    vector_env: Any, choose: Callable[[Any], Any], steps: int, seed: int | None = None
) -> Iterator[VectorTransition]:
    """Reset a vector environment, step it, and give what truly happened: no step crosses an episode's end.

    Args:
        vector_env: a gymnasium.vector.VectorEnv.
        choose: gives batched actions for batched observations.
        steps: calls of vector_env.step.
        seed: of the environments.
    Raises:
        ConfigError: how it resets itself is not known.
        EnvError: a reward is not finite, or a final observation is missing.
    """
    return _walk(vector_env, autoreset_mode(vector_env), choose, steps, seed)


def _walk(
    vector_env: Any, mode: Any, choose: Callable[[Any], Any], steps: int, seed: int | None
) -> Iterator[VectorTransition]:
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import iterate

    before = copy.deepcopy(vector_env.reset(seed=seed)[0])
    over = np.zeros(vector_env.num_envs, np.bool_)
    for _ in range(steps):
        if mode is AutoresetMode.DISABLED and over.any():
            before = copy.deepcopy(vector_env.reset(options={"reset_mask": over})[0])
        actions = choose(before)
        after, rewards, terminated, truncated, infos = vector_env.step(actions)
        after = copy.deepcopy(after)  # some environments write every step into one buffer
        ended = np.logical_or(terminated, truncated)
        skipped = over if mode is AutoresetMode.NEXT_STEP else np.zeros_like(over)
        rows = zip(
            iterate(vector_env.observation_space, before),
            iterate(vector_env.action_space, actions),
            iterate(vector_env.observation_space, after),
            strict=True,
        )
        for row, (observation, action, following) in enumerate(rows):
            if skipped[row]:
                continue
            if ended[row] and mode is AutoresetMode.SAME_STEP:
                following = _final_observation(vector_env, infos, row)
            reward = float(rewards[row])
            if not np.isfinite(reward):
                raise EnvError(
                    f"{vector_env}, environment {row}: it gives the reward {reward}; allowed: finite numbers"
                )
            is_end = bool(terminated[row])
            yield VectorTransition(
                row, observation, action, reward, following, is_end, bool(truncated[row]) and not is_end
            )
        before, over = after, ended


def _final_observation(vector_env: Any, infos: Mapping[str, Any], row: int) -> Any:
    """Give the last observation of the episode that ended in a row."""
    final = infos.get("final_obs")
    found = None if final is None else _row_of(final, row)
    if found is None:
        raise EnvError(
            f'{vector_env}, environment {row}: its episode ended and info["final_obs"] has no observation;'
            " next: make it with the autoreset mode NEXT_STEP"
        )
    return copy.deepcopy(found)


def _row_of(batched: Any, row: int) -> Any:
    """Take one row of infos, which are dictionaries of arrays where observations are dictionaries."""
    if isinstance(batched, Mapping):
        return {key: _row_of(part, row) for key, part in batched.items() if not key.startswith("_")}
    return batched[row]
