"""Episodes as an agent plays them, with what its search added to the prior at every decision."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zelkova.agents.learned.agent import LearnedAgent, Plan
from zelkova.envs.batch import EnvBatch, Transition
from zelkova.evaluation.episodes import FIRST_SEED

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Record:
    """One episode of T decisions, or its beginning."""

    seed: int  # of the environment
    observations: NDArray[Any]  # [T + 1, *shape]
    actions: NDArray[Any]  # int32[T], or float32[T, D]
    rewards: Floats  # [T, P] absolute players
    to_play: NDArray[np.int8]  # [T + 1]
    gains: "Gains"  # [T] each
    terminated: bool  # ended by its own rules
    is_cut: bool  # by the limit of decisions, not by the environment

    def __len__(self) -> int:
        """T, the number of decisions."""
        return len(self.actions)


class Gains(NamedTuple):
    """What the search added to the prior, in value of who is to move, by the search's completed Q."""

    policy: Floats  # [B] sum over a of (action_weights - prior) * q
    choice: Floats  # [B] q of the chosen action less sum over a of prior * q
    is_changed: NDArray[np.bool_]  # [B] the prior likes another action better than the chosen one


def measure_gains(plan: Plan, to_play: NDArray[np.int8]) -> Gains:
    """Compare what a search found with the prior it began from.

    An action without visits has the value v_mix of the root in the place of its Q.

    Args:
        plan: of B searches.
        to_play: [B].
    Source: Gumbel MuZero (Danihelka et al. 2022), Eq. 10 and Eq. 33.
    """
    rows = np.arange(len(to_play))
    prior, q = plan.prior.astype(np.float64), plan.q_values.astype(np.float64)
    is_visited = plan.visit_counts > 0
    visits = plan.visit_counts.sum(axis=1)
    share = (prior * is_visited).sum(axis=1)
    raw = plan.raw_value[rows, to_play].astype(np.float64)
    mean = (prior * q * is_visited).sum(axis=1) / np.where(share > 0, share, 1.0)
    mixed = np.where(share > 0, (raw + visits * mean) / (1 + visits), raw)
    completed = np.where(is_visited, q, mixed[:, None])
    base = (prior * completed).sum(axis=1)
    return Gains(
        policy=(plan.action_weights * completed).sum(axis=1) - base,
        choice=completed[rows, plan.index] - base,
        is_changed=plan.prior[rows, plan.index] < plan.prior.max(axis=1),
    )


class _Open:
    """An episode in play."""

    def __init__(self, seed: int, now: Transition, row: int) -> None:
        self.seed = seed
        self.observations = [now.observations[row].copy()]
        self.to_play = [int(now.to_play[row])]
        self.actions: list[Any] = []
        self.rewards: list[Any] = []
        self.gains: list[tuple[float, float, bool]] = []

    def add(self, action: Any, gain: tuple[float, float, bool], found: Transition, row: int) -> None:
        self.actions.append(action.copy())
        self.gains.append(gain)
        self.rewards.append(found.rewards[row].copy())
        self.observations.append(found.observations[row].copy())
        self.to_play.append(int(found.to_play[row]))

    def finish(self, *, terminated: bool, is_cut: bool) -> Record:
        policy, choice, changed = zip(*self.gains, strict=True)
        return Record(
            self.seed,
            np.stack(self.observations),
            np.stack(self.actions),
            np.stack(self.rewards).astype(np.float64),
            np.array(self.to_play, np.int8),
            Gains(np.array(policy), np.array(choice), np.array(changed, np.bool_)),
            terminated,
            is_cut,
        )


def play_records(
    envs: EnvBatch,
    agent: LearnedAgent,
    most: int,
    is_enough: Callable[[int], bool],
    warm: int = 0,
) -> list[Record]:
    """Play one episode in each environment from fixed seeds, without noise, and keep all of it.

    Args:
        envs: B of them.
        agent: of the same observations and actions.
        most: decisions after which an episode is cut, 1 or more.
        is_enough: told how many decisions were made in each; True cuts what is still in play.
        warm: first decisions that are drawn in proportion to the visits, where all episodes begin alike.
    Raises:
        EnvError: an environment breaks its promises.
        SearchError: an answer of the network is no finite number.
    """
    seeds = [(FIRST_SEED + row) % 2**32 for row in range(envs.size)]
    now = envs.reset(seeds)
    episodes = [_Open(seed, now, row) for row, seed in enumerate(seeds)]
    records: list[Record | None] = [None] * envs.size
    observations, legal, to_play = now.observations.copy(), now.legal.copy(), now.to_play.copy()
    done = 0
    while any(record is None for record in records):
        draws = [row * 1_000_003 + done for row in range(envs.size)]
        heat = 1.0 if done < warm else 0.0
        plan = agent.search(observations, to_play, legal, seed=draws, temperature=heat, is_noisy=False)
        gains = measure_gains(plan, to_play)
        found = envs.step(plan.action)
        done += 1
        is_cut = is_enough(done) or done >= most
        over = found.terminated | found.truncated
        for row, episode in enumerate(episodes):
            if records[row] is not None:
                continue
            gain = (float(gains.policy[row]), float(gains.choice[row]), bool(gains.is_changed[row]))
            episode.add(plan.action[row], gain, found, row)
            if over[row] or is_cut:
                records[row] = episode.finish(
                    terminated=bool(found.terminated[row]), is_cut=is_cut and not bool(over[row])
                )
        observations, legal, to_play = found.observations.copy(), found.legal.copy(), found.to_play.copy()
        again = np.flatnonzero(over).tolist()
        if again:  # what such a row does from here on is not kept
            first = envs.reset_rows(again, [seeds[row] for row in again])
            observations[again], legal[again], to_play[again] = first.observations, first.legal, first.to_play
    return [record for record in records if record is not None]


def mean_by_decision(records: list[Record]) -> dict[str, Floats]:
    """Give the mean gains of each decision over the episodes that got so far, `policy` and `choice` [T]."""
    longest = max(len(record) for record in records)

    def mean(name: str) -> Floats:
        table = np.full((len(records), longest), np.nan)
        for row, record in enumerate(records):
            table[row, : len(record)] = getattr(record.gains, name)
        found: Floats = np.nanmean(table, axis=0)
        return found

    return {name: mean(name) for name in ("policy", "choice")}


def summarise_records(records: list[Record]) -> dict[str, float]:
    """Give the figures of some episodes, named as metrics (docs/metrics.md)."""
    gains = Gains(
        *(np.concatenate(parts) for parts in zip(*(record.gains for record in records), strict=True))
    )
    return {
        "diagnosis/episodes": float(len(records)),
        "diagnosis/decisions": float(sum(len(record) for record in records)),
        "diagnosis/cut_episodes": float(sum(record.is_cut for record in records)),
        "diagnosis/return": float(np.mean([record.rewards[:, 0].sum() for record in records])),
        "diagnosis/search_gain": float(gains.policy.mean()),
        "diagnosis/choice_gain": float(gains.choice.mean()),
        "diagnosis/changed_choices": float(gains.is_changed.mean()),
    }
