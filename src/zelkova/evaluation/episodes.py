"""How an agent does in an environment: whole episodes, played greedily from fresh seeds."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from zelkova.envs.batch import EnvBatch

Floats = NDArray[np.float32]
FIRST_SEED = 2**31  # episodes of evaluation never share a seed with those of training, which are below
MOST_DECISIONS = 1_000_000  # of an episode


class Chooser(Protocol):
    """Picks an action for each of many observations."""

    def __call__(self, observations: NDArray[Any], to_play: NDArray[np.int8], legal: Any) -> NDArray[Any]:
        """Give actions [B] or [B, D] for observations [B, *shape]; legal is bool[B, A]."""


class EpisodeResult(NamedTuple):
    """What came out of E episodes."""

    returns: Floats  # [E, P] sums of rewards, undiscounted
    lengths: NDArray[np.int64]  # [E] decisions

    @property
    def mean(self) -> float:
        """Mean return of the first player."""
        return float(self.returns[:, 0].mean())

    @property
    def error(self) -> float:
        """Standard error of the mean; 0 for one episode."""
        count = len(self.returns)
        return float(self.returns[:, 0].std(ddof=1) / np.sqrt(count)) if count > 1 else 0.0


def play_episodes(
    envs: EnvBatch,
    choose: Chooser,
    episodes: int,
    seed: int = 0,
    watch: Callable[[int], None] | None = None,
) -> EpisodeResult:
    """Play whole episodes, as many at a time as there are environments.

    Each environment plays its share, so that short episodes are not preferred to long ones.

    Args:
        envs: B of them.
        choose: the agent.
        episodes: E, rounded up to a multiple of B.
        seed: of the environments; 0 and on.
        watch: told how many have ended.
    Raises:
        EnvError: an environment breaks its promises.
    """
    share = -(-episodes // envs.size)
    seeds = FIRST_SEED + seed * 100_000 + np.arange(share * envs.size).reshape(share, envs.size)
    seeds = seeds % 2**32
    now = envs.reset(seeds[0].tolist())
    observations, legal, to_play = now.observations.copy(), now.legal.copy(), now.to_play.copy()
    played = np.zeros(envs.size, np.int64)
    total = np.zeros((envs.size, envs.spec.num_players), np.float32)
    length = np.zeros(envs.size, np.int64)
    returns, lengths = [], []
    while (played < share).any():
        found = envs.step(choose(observations, to_play, legal))
        total += found.rewards
        length += 1
        observations, legal, to_play = found.observations.copy(), found.legal.copy(), found.to_play.copy()
        over = np.flatnonzero(found.terminated | found.truncated | (length >= MOST_DECISIONS)).tolist()
        for row in over:
            if played[row] < share:
                returns.append(total[row].copy())
                lengths.append(int(length[row]))
            played[row] += 1
            total[row], length[row] = 0.0, 0
        if over:
            if watch is not None:
                watch(len(returns))
            again = [int(seeds[min(played[row], share - 1), row]) for row in over]
            first = envs.reset_rows(over, again)
            observations[over], legal[over], to_play[over] = first.observations, first.legal, first.to_play
    return EpisodeResult(np.stack(returns), np.array(lengths, np.int64))
