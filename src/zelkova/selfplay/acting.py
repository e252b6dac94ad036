"""Acting without rules: a batch of environments in lockstep, whose trajectories enter the replay.

Everything follows from the group's generator: seeds of episodes, seeds of searches. Environments can't be
saved in general, so a resumed run plays the episodes in play again from their seeds and actions.
"""

import json
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zelkova.agents.learned.agent import LearnedAgent, Plan
from zelkova.envs.batch import EnvBatch, Transition
from zelkova.errors import LARGEST_SEED, CheckpointError
from zelkova.replay.config import UnrollConfig
from zelkova.replay.trajectory import Trajectory
from zelkova.selfplay.config import SelfPlayConfig

STEP_FIELDS = ("actions", "rewards", "legal", "policy", "candidates", "values", "to_play")


class Episode:
    """One episode in play: what a trajectory is made of."""

    def __init__(self, seed: int, observation: NDArray[Any], legal: NDArray[np.bool_], to_play: int) -> None:
        """Begin with the first observation."""
        self.seed = seed
        self.dropped = 0  # decisions handed on in earlier parts, of which nothing is kept here
        self.observations = [observation]
        self.legal, self.to_play = legal, to_play  # of the position to act in
        self.steps: dict[str, list[Any]] = {name: [] for name in STEP_FIELDS}

    def __len__(self) -> int:
        """Decisions that are kept here."""
        return len(self.steps["actions"])

    @property
    def age(self) -> int:
        """Decisions since the episode began."""
        return self.dropped + len(self)

    def drop(self, count: int) -> None:
        """Forget the first decisions, and what was seen at them."""
        self.dropped += count
        del self.observations[:count]
        for values in self.steps.values():
            del values[:count]


class Seen(NamedTuple):
    """What B environments show: what a search begins from."""

    observations: NDArray[Any]  # [B, *shape]
    to_play: NDArray[np.int8]  # [B]
    legal: NDArray[np.bool_]  # [B, A]


class Actors:
    """B environments and the agent that acts in all of them; the wheel's `Play`."""

    def __init__(
        self, envs: EnvBatch, agent: LearnedAgent, config: SelfPlayConfig, unroll: UnrollConfig, seed: int
    ) -> None:
        """Begin B episodes.

        Args:
            envs: B = config.games environments.
            agent: acts; its weights may change between rounds.
            config: how to act.
            unroll: its `segment` says after how many decisions an episode in play is handed on as a part,
                which also carries those behind it that its targets reach.
            seed: of the run.
        """
        self.envs, self.agent, self.config = envs, agent, config
        self.cut, self.overlap = unroll.segment, unroll.td_steps + unroll.unroll_steps
        self.rng = np.random.default_rng(np.random.SeedSequence([seed, 1]))
        self.seconds = self.busy_seconds = 0.0
        self.moves = self.evaluated = 0
        self.is_abandoned = False
        self.next_number = 0
        self.first_seed = int(self.rng.integers(LARGEST_SEED // 2))
        self.episodes: list[Episode] = []
        self.played: list[list[Any]] = [[] for _ in range(config.games)]  # actions of each game so far
        self.begun = [0] * config.games  # number of the episode with which each game began
        self._begin_all()

    def _begin_all(self) -> None:
        numbers = [self._number() for _ in range(self.config.games)]
        first = self.envs.reset([self._env_seed(number) for number in numbers])
        self.begun = list(numbers)
        self.episodes = [
            Episode(number, first.observations[row], first.legal[row], int(first.to_play[row]))
            for row, number in enumerate(numbers)
        ]

    def _number(self) -> int:
        self.next_number += 1
        return self.next_number - 1

    def _env_seed(self, number: int) -> int:
        """Give the seed of an episode's environment."""
        return (self.first_seed + number) % 2**31

    def play_round(self) -> list[Trajectory]:
        """Let every environment make `moves_per_round` decisions; give what ended, by number.

        Raises:
            EnvError: an environment breaks its promises.
        """
        start = time.perf_counter()
        ended: list[Trajectory] = []
        for _ in range(self.config.moves_per_round):
            if self.is_abandoned:
                break
            ended += self._tick()
        self.seconds += time.perf_counter() - start
        return sorted(ended, key=lambda trajectory: trajectory.seed)

    def seen(self) -> Seen:
        """Give what the environments show now."""
        episodes = self.episodes
        return Seen(
            np.stack([episode.observations[-1] for episode in episodes]),
            np.array([episode.to_play for episode in episodes], np.int8),
            np.stack([episode.legal for episode in episodes]),
        )

    def _tick(self) -> list[Trajectory]:
        """Search, act, and hand on what ended."""
        episodes, rows = self.episodes, len(self.episodes)
        start = time.perf_counter()
        plan = self.agent.search(*self.seen(), seed=self.rng, temperature=self._temperatures())
        self.busy_seconds += time.perf_counter() - start
        self.moves += rows
        self.evaluated += rows * (self.agent.policy.num_simulations + 1)
        found = self.envs.step(plan.action)
        for row, episode in enumerate(episodes):
            self._record(episode, row, plan, found)
            self.played[row].append(plan.action[row].copy())
        return self._hand_on(found)

    def _temperatures(self) -> NDArray[np.float32]:
        """Give each episode's temperature: above 0 in its first decisions."""
        ages = np.array([episode.age for episode in self.episodes])
        is_warm = ages < self.config.exploration_moves
        return np.where(is_warm, self.config.temperature, 0.0).astype(np.float32)

    def _record(self, episode: Episode, row: int, plan: Plan, found: Transition) -> None:
        steps = episode.steps
        steps["actions"].append(plan.action[row].copy())
        steps["rewards"].append(found.rewards[row].copy())
        steps["legal"].append(episode.legal if plan.sampled_actions is None else plan.legal[row].copy())
        steps["policy"].append(plan.action_weights[row].copy())
        if plan.sampled_actions is not None:
            steps["candidates"].append(plan.sampled_actions[row].copy())
        steps["values"].append(plan.value[row].copy())
        steps["to_play"].append(episode.to_play)
        episode.observations.append(found.observations[row].copy())
        episode.legal, episode.to_play = found.legal[row].copy(), int(found.to_play[row])

    def _hand_on(self, found: Transition) -> list[Trajectory]:
        """Turn what ended, or grew to a segment's length, into trajectories; begin anew where it ended."""
        over = found.terminated | found.truncated
        long = np.array(
            [bool(self.cut) and len(episode) >= self.cut + self.overlap for episode in self.episodes]
        )
        rows = np.flatnonzero(over | long).tolist()
        if not rows:
            return []
        final = np.stack([self.episodes[row].observations[-1] for row in rows])
        to_play = np.array([self.episodes[row].to_play for row in rows], np.int8)
        bootstrap = self.agent.values(final, to_play)
        ended = []
        for index, row in enumerate(rows):
            is_terminal = bool(found.terminated[row])
            value = np.zeros_like(bootstrap[index]) if is_terminal else bootstrap[index]
            recorded = -1 if over[row] else self.cut
            ended.append(gather(self.episodes[row], value, is_terminal, recorded))
        fresh = np.flatnonzero(over).tolist()
        if fresh:
            numbers = [self._number() for _ in fresh]
            first = self.envs.reset_rows(fresh, [self._env_seed(number) for number in numbers])
            for index, (row, number) in enumerate(zip(fresh, numbers, strict=True)):
                if not self.envs.goes_on[row]:
                    self.played[row], self.begun[row] = [], number
                self.episodes[row] = Episode(
                    number, first.observations[index], first.legal[index], int(first.to_play[index])
                )
        for row in rows:
            if not over[row]:
                self.episodes[row].drop(self.cut)
        return ended

    def state(self) -> tuple[dict[str, NDArray[Any]], list[str]]:
        """Give the whole state: arrays by name, and the rest as JSON text."""
        arrays: dict[str, NDArray[Any]] = {}
        for row, episode in enumerate(self.episodes):
            arrays[f"{row}/observations"] = np.stack(episode.observations)
            for name, values in episode.steps.items():
                if values:
                    arrays[f"{row}/{name}"] = np.stack(values)
            if self.played[row]:
                arrays[f"{row}/played"] = np.stack(self.played[row])
        rest = {
            "rng": self.rng.bit_generator.state,
            "next_number": self.next_number,
            "numbers": [episode.seed for episode in self.episodes],
            "begun": self.begun,
            "dropped": [episode.dropped for episode in self.episodes],
        }
        return arrays, [json.dumps(rest)]

    def set_state(self, arrays: dict[str, NDArray[Any]], texts: list[str]) -> None:
        """Go on from a state that `state` gave: environments are played again from their seeds.

        Raises:
            CheckpointError: it is of another number of environments, or an environment does not do the same
                again from its seed.
        """
        rest = json.loads(texts[0])
        numbers = rest["numbers"]
        dropped = rest.get("dropped", [0] * len(numbers))  # older versions did not count them
        if len(numbers) != self.config.games:
            raise CheckpointError(
                f"the state is of {len(numbers)} environments, this run has {self.config.games};"
                " resume with the settings that the run was started with"
            )
        self.rng.bit_generator.state = rest["rng"]
        self.next_number = int(rest["next_number"])
        self.played = [list(arrays.get(f"{row}/played", ())) for row in range(len(numbers))]
        self.begun = list(rest["begun"])
        now = self.envs.replay([self._env_seed(number) for number in self.begun], self.played)
        for row, number in enumerate(numbers):
            seen = arrays[f"{row}/observations"]
            if not np.array_equal(seen[-1], now.observations[row]):
                raise CheckpointError(
                    f"environment {row} ({self.envs.spec.name}) is not where it was: from equal seeds and"
                    " actions it does different things; next: begin a new run, or another environment"
                )
            episode = Episode(int(number), seen[0], now.legal[row], int(now.to_play[row]))
            episode.observations, episode.dropped = list(seen), int(dropped[row])
            episode.steps = {name: list(arrays.get(f"{row}/{name}", ())) for name in STEP_FIELDS}
            self.episodes[row] = episode

    def abandon(self) -> None:
        """Leave at the next move; the episodes in play are lost."""
        self.is_abandoned = True

    def forget(self) -> None:
        """Do nothing: no evaluation outlives a search."""

    def counts(self) -> tuple[int, int]:
        """Give how many positions were asked of the network, and how many it evaluated."""
        return self.evaluated, self.evaluated

    def close(self) -> None:
        """Close the environments."""
        self.envs.close()


def gather(episode: Episode, value: NDArray[np.float32], is_terminal: bool, recorded: int) -> Trajectory:
    """Make a trajectory of an episode, or of its part since the last cut.

    Args:
        episode: one decision or more.
        value: [P] of the last observation.
        is_terminal: whether the episode ended there; else it was cut, by a limit or into segments.
        recorded: decisions to train on; those behind them come again in the next part. -1: all.
    """
    steps = episode.steps
    candidates = np.stack(steps["candidates"]) if steps["candidates"] else None
    return Trajectory(
        seed=episode.seed,
        observations=np.stack(episode.observations),
        actions=np.stack(steps["actions"]),
        rewards=np.stack(steps["rewards"]),
        legal=np.stack(steps["legal"]),
        policy=np.stack(steps["policy"]),
        candidates=candidates,
        root_values=np.concatenate([np.stack(steps["values"]), value[None]]),
        to_play=np.array([*steps["to_play"], episode.to_play], np.int8),
        terminated=is_terminal,
        recorded=recorded,
    )
