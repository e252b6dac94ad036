"""A model's unrolls beside what really came: values, rewards and latents by depth."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zelkova.agents.learned.agent import LearnedAgent, Unrolled
from zelkova.evaluation.diagnosis.records import Floats, Record

MOST_STARTS = 256  # decisions that an unroll begins at
ROWS = 64  # of them at a time


class _Reality(NamedTuple):
    """What came after R decisions, beside unrolls of S steps; in the value of who moved at the start."""

    observations: NDArray[Any]  # [R, S + 1, *shape]
    to_play: NDArray[np.int8]  # [R]
    actions: NDArray[Any]  # [R, S] or [R, S, D]; the last one again beyond an end
    rewards: Floats  # [R, S]
    returns: Floats  # [R, S + 1] discounted, to the episode's end
    ahead: NDArray[np.int64]  # [R] decisions from the start to the end, 1 or more


def returns_to_go(rewards: Floats, discount: float, last: Floats) -> Floats:
    """Give the discounted sums of what follows each of T + 1 observations, [T + 1, P].

    Args:
        rewards: [T, P].
        discount: of a step.
        last: [P] of what follows the final observation: 0 where the episode terminated.
    """
    found = np.empty((len(rewards) + 1, rewards.shape[1]))
    found[-1] = last
    for step in range(len(rewards) - 1, -1, -1):
        found[step] = rewards[step] + discount * found[step + 1]
    return found


def compare_depths(
    agent: LearnedAgent, records: list[Record], depth: int
) -> tuple[dict[str, Floats], dict[str, float]]:
    """Unroll the model along the actions that were taken, and compare it with what came, by depth.

    A real value is the discounted sum of all rewards to the episode's end, and of the network's value of the
    final observation where the episode was truncated or cut. Values of observations that ended an episode are
    left out. Distances of latents are relative to the mean distance of unrelated observations.

    Args:
        agent: that played.
        records: one or more.
        depth: S, 1 or more.
    Returns:
        by name, [S + 1] of depths 0..S, NaN where nothing is to compare:
        value_predicted, value_real, value_error (mean absolute), value_spread (error of always saying the
        mean); the same of the reward on the way to a depth; drift (distance), drift_angle (1 - cosine),
        drift_still (distance of a latent that stayed where it began), and count; and the figure
        diagnosis/latent_distance, the distance of unrelated observations, 0 where all latents are alike.
    """
    returns = [_returns_of(agent, record) for record in records]
    starts = [(index, at) for index, record in enumerate(records) for at in range(len(record))]
    picks = np.unique(np.linspace(0, len(starts) - 1, min(len(starts), MOST_STARTS)).astype(int))
    chosen = [starts[pick] for pick in picks.tolist()]
    parts: list[dict[str, Floats]] = []
    first = []
    for begin in range(0, len(chosen), ROWS):
        real = _look_ahead(records, returns, chosen[begin : begin + ROWS], depth)
        model = agent.unroll(real.observations[:, 0], real.to_play, real.actions)
        flat = real.observations.reshape(-1, *real.observations.shape[2:])
        seen = agent.represent(flat).reshape(*real.observations.shape[:2], -1)
        parts.append(_compare(real, model, seen))
        first.append(seen[:, 0])
    pairs = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    distance, angle = _unrelated(np.concatenate(first))
    pairs["drift"] /= distance or np.nan
    pairs["drift_still"] /= distance or np.nan
    pairs["drift_angle"] /= angle or np.nan
    return _by_depth(pairs), {"diagnosis/latent_distance": distance}


def _returns_of(agent: LearnedAgent, record: Record) -> Floats:
    last = np.zeros(record.rewards.shape[1])
    if not record.terminated:
        last = agent.values(record.observations[-1:], record.to_play[-1:])[0].astype(np.float64)
    return returns_to_go(record.rewards, agent.model.discount, last)


def _look_ahead(
    records: list[Record], returns: list[Floats], chosen: list[tuple[int, int]], depth: int
) -> _Reality:
    """Gather what came after some decisions."""
    rows: list[tuple[Any, ...]] = []
    for index, at in chosen:
        record, steps = records[index], np.arange(at, at + depth)
        mover, last = int(record.to_play[at]), len(record)
        states = np.minimum(np.arange(at, at + depth + 1), last)
        moves = np.minimum(steps, last - 1)
        rows.append(
            (
                record.observations[states], record.to_play[at], record.actions[moves],
                record.rewards[moves, mover], returns[index][states, mover], last - at,
            )
        )  # fmt: skip
    return _Reality(*(np.array(column) for column in zip(*rows, strict=True)))


def _compare(real: _Reality, model: Unrolled, seen: NDArray[np.float32]) -> dict[str, Floats]:
    """Give predicted and real numbers and distances [R, S + 1]; NaN where there is nothing real."""
    rows, steps = np.arange(len(real.to_play)), np.arange(model.values.shape[1])
    acted = steps < real.ahead[:, None]  # an action follows there
    came = steps <= real.ahead[:, None]
    rewarded = came & (steps > 0)
    none = np.zeros((len(rows), 1))
    reward = np.hstack([none, model.rewards[rows, :, real.to_play]])

    def where(mask: NDArray[np.bool_], numbers: NDArray[Any]) -> Floats:
        return np.where(mask, numbers, np.nan).astype(np.float64)

    still = np.linalg.norm(seen[:, :1] - seen, axis=-1)
    return {
        "value_predicted": where(acted, model.values[rows, :, real.to_play]),
        "value_real": where(acted, real.returns),
        "reward_predicted": where(rewarded, reward),
        "reward_real": where(rewarded, np.hstack([none, real.rewards])),
        "drift": where(came, np.linalg.norm(model.latents - seen, axis=-1)),
        "drift_angle": where(came, 1.0 - _cosine(model.latents, seen)),
        "drift_still": where(came, still),
    }


def _cosine(one: NDArray[Any], other: NDArray[Any]) -> Floats:
    """Give the cosine of vectors [..., L]; 1 for two that are zero."""
    lengths = np.linalg.norm(one, axis=-1) * np.linalg.norm(other, axis=-1)
    found: Floats = np.where(
        lengths > 0, (one * other).sum(axis=-1) / np.where(lengths > 0, lengths, 1.0), 1.0
    )
    return found


def _unrelated(latents: NDArray[np.float32]) -> tuple[float, float]:
    """Give the mean distance and 1 - cosine of latents [R, L] that are half of all starts apart."""
    others = np.roll(latents, len(latents) // 2, axis=0)
    distance = float(np.linalg.norm(latents - others, axis=-1).mean())
    return distance, float((1.0 - _cosine(latents, others)).mean())


def _by_depth(pairs: dict[str, Floats]) -> dict[str, Floats]:
    """Take means over the starts, where there is something at a depth."""
    found = {name: _mean(table) for name, table in pairs.items()}
    for what in ("value", "reward"):
        real = pairs[f"{what}_real"]
        found[f"{what}_error"] = _mean(np.abs(pairs[f"{what}_predicted"] - real))
        found[f"{what}_spread"] = _mean(np.abs(real - found[f"{what}_real"]))
    found["count"] = np.isfinite(pairs["value_real"]).sum(axis=0).astype(np.float64)
    return found


def _mean(table: Floats) -> Floats:
    """Give the mean of each column [R, S], without what is NaN; NaN where all of it is."""
    there = np.isfinite(table)
    count = there.sum(axis=0)
    total = np.where(there, table, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
