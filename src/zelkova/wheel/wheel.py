"""One turn of the wheel, whatever the model is: play and learn at the same time, then hand weights on."""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from zelkova.config import RunConfig
from zelkova.learning.chunks import Packing
from zelkova.learning.learner import Learner, use_one_thread
from zelkova.learning.schedule import Pace

Metrics = dict[str, float]


class Play(Protocol):
    """What the wheel asks of self-play, be it games or environments."""

    seconds: float  # spent in rounds
    busy_seconds: float  # of these, at least one evaluation was running

    def play_round(self) -> list[Any]:
        """Play a round; give the finished episodes in the order of their numbers."""

    def abandon(self) -> None:
        """Leave at the next move."""

    def forget(self) -> None:
        """Empty every evaluation cache."""

    def counts(self) -> tuple[int, int]:
        """Give how many positions were asked of the network so far, and how many it evaluated."""

    def state(self) -> tuple[dict[str, NDArray[Any]], list[str]]:
        """Give the whole state: arrays by name, and texts."""

    def set_state(self, arrays: dict[str, NDArray[Any]], texts: list[str]) -> None:
        """Go on from a state that `state` gave."""

    def close(self) -> None:
        """Let the threads go."""


class Wheel(ABC):
    """All stages of a run and what turns from one to the next; its kinds differ in what the model is."""

    learner: Learner
    buffer: Any  # ReplayBuffer or TrajectoryBuffer
    selfplay: Any  # see Play
    rng: np.random.Generator  # draws batches
    device: Any  # torch.device
    device_reason: str
    title: str  # the game or environment
    engine_name: str  # what computes the network
    packing: Packing  # how episodes are written

    def __init__(self, config: RunConfig) -> None:
        """Begin at round 0; a kind of wheel then sets its stages up."""
        self.config = config
        self.round = 0
        self.games = 0
        begins_taught = config.teacher.positions > 0
        self.pace = Pace(config.samples_per_position(begins_taught), config.learning.batch_size)
        self.is_abandoned = False
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="learning")

    @abstractmethod
    def learn_once(self) -> Metrics:
        """Take one optimiser step on a batch from the replay; give its figures."""

    @abstractmethod
    def load_engines(self) -> None:
        """Hand the learner's acting weights to self-play.

        Raises:
            CheckpointError: their answers are no finite numbers.
        """

    @abstractmethod
    def new_buffer(self) -> Any:
        """Make an empty replay."""

    @abstractmethod
    def warm_up(self) -> None:
        """Compile what is not in the cache yet, by a search whose result is thrown away."""

    @abstractmethod
    def describe(self) -> dict[str, str]:
        """Say in words what an agent of this run's checkpoints is made of."""

    @abstractmethod
    def describe_episodes(self, episodes: Sequence[Any]) -> Metrics:
        """Give figures of finished episodes."""

    @abstractmethod
    def write_samples(self, episodes: Sequence[Any]) -> str:
        """Write a few episodes as text."""

    @abstractmethod
    def rate(self) -> Metrics:
        """Measure the newest weights; draws nothing from the run's streams."""

    def find_alarms(self, learned: Metrics) -> Metrics:
        """Give `alarm/` figures, 0 or 1, of what a round's learning says."""
        return {}

    @property
    def is_taught(self) -> bool:
        """Does a teacher play the next round."""
        return False

    def begin_round(self) -> None:
        """Make ready for a round, while nothing plays and nothing learns."""
        return None

    def judge_unseen(self, episodes: Sequence[Any]) -> Metrics:
        """Give figures of episodes that the network has not learnt from yet."""
        return {}

    def extra_arrays(self) -> dict[str, NDArray[Any]]:
        """Give what a kind of wheel keeps beside weights, self-play and episodes."""
        return {}

    def load_extra_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `extra_arrays` gave, once buffer and learner are filled."""
        assert not arrays

    @property
    def steps_due(self) -> int:
        """Optimiser steps that the positions so far pay for, less those taken; from a data set, those set."""
        if self.config.replay.offline_steps:
            return self.config.replay.offline_steps
        return self.pace.steps_due(self.buffer.total_added, self.learner.steps)

    def turn(self) -> tuple[Metrics, list[Any]]:
        """Turn once: play a round and learn from the rounds before at the same time; then hand weights on.

        Learning has a thread of its own and computes in that one alone, as each group of self-play does: on a
        CPU, threads that wait for each other inside one network call are stalled by any busy neighbour.

        Returns:
            figures of the round (docs/metrics.md) and its finished games.
        Raises:
            ZelkovaError: a game breaks its promises, or learning diverged. Whatever is raised, the threads
                leave within a move and an optimiser step, and the wheel is of no more use.
        """
        self.begin_round()
        ratio = self.config.samples_per_position(self.is_taught), self.config.learning.batch_size
        self.pace = self.pace.go_on(*ratio, self.buffer.total_added, self.learner.steps)
        asked, evaluated = self.selfplay.counts()
        seconds, busy = self.selfplay.seconds, self.selfplay.busy_seconds
        learning = self._pool.submit(self._learn)
        try:
            episodes = self.selfplay.play_round()
            learned, steps = learning.result()
        except BaseException:
            self.is_abandoned = True
            self.selfplay.abandon()
            raise
        unseen = self.judge_unseen(episodes)
        for episode in episodes:
            self.buffer.add(episode)
        self.games += len(episodes)
        if steps:
            self.load_engines()
        else:  # a resumed run begins its next round with empty caches, too
            self.selfplay.forget()
        self.round += 1
        now_asked, now_evaluated = self.selfplay.counts()
        playing = self._describe_playing(
            len(episodes),
            self.selfplay.seconds - seconds,
            self.selfplay.busy_seconds - busy,
            (now_asked - asked, now_evaluated - evaluated),
        )
        metrics: Metrics = {
            **playing,
            "replay/positions": float(len(self.buffer)),
            **self.describe_episodes(episodes),
            **learned,
            **self.find_alarms(learned),
            **unseen,
        }
        return metrics, episodes

    def _describe_playing(
        self, episodes: int, played: float, busy: float, counts: tuple[int, int]
    ) -> Metrics:
        """Give a round's speeds; none where nothing was played.

        Args:
            episodes: that ended.
            played, busy: seconds.
            counts: positions asked for and evaluated.
        """
        if played == 0.0:
            return {}
        asked, evaluated = counts
        selfplay = self.config.selfplay
        return {
            "selfplay/seconds": played,
            "selfplay/games_per_s": episodes / played,
            "selfplay/positions_per_s": selfplay.games * selfplay.moves_per_round / played,
            "selfplay/evaluations_per_s": evaluated / played,
            "selfplay/network_share": busy / played,
            "selfplay/cache_hits": 1.0 - evaluated / max(asked, 1),
        }

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown()
        self.selfplay.close()

    def _learn(self) -> tuple[Metrics, int]:
        """Take the optimiser steps that are due; give their mean figures and how many there were."""
        start = time.perf_counter()
        use_one_thread()
        steps = self.steps_due if len(self.buffer) else 0
        sums: Metrics = {}
        for _ in range(steps):
            if self.is_abandoned:
                break
            for name, value in self.learn_once().items():
                sums[name] = sums.get(name, 0.0) + value
        spent = time.perf_counter() - start
        return {
            **{f"learn/{name}": total / steps for name, total in sums.items()},
            "learn/seconds": spent,
            "learn/samples_per_s": steps * self.config.learning.batch_size / spent,
        }, steps
