"""Trajectories for the tests of replay and learning: by hand, or random of the right shapes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zelkova.replay.config import ReplayConfig
from zelkova.replay.trajectories import Picks, TrajectoryBuffer
from zelkova.replay.trajectory import Trajectory

ACTIONS = 3


def column(numbers: Sequence[float]) -> NDArray[np.float32]:
    return np.array(numbers, np.float32)[:, None]


def make_trajectory(
    rewards: Sequence[float], values: Sequence[float], terminated: bool, /, **others: Any
) -> Trajectory:
    """One player; observation t is (t, 10 t), action t is t modulo 3, and policies are all on it."""
    moves = len(rewards)
    actions = (np.arange(moves) % ACTIONS).astype(np.int32)
    fields: dict[str, Any] = {
        "seed": 0,
        "observations": np.stack([np.arange(moves + 1), 10 * np.arange(moves + 1)], 1).astype(np.float32),
        "actions": actions,
        "rewards": column(rewards),
        "legal": np.ones((moves, ACTIONS), np.bool_),
        "policy": np.eye(ACTIONS, dtype=np.float32)[actions],
        "candidates": None,
        "root_values": column(values),
        "to_play": np.zeros(moves + 1, np.int8),
        "terminated": terminated,
    }
    return Trajectory(**fields | others)


def random_trajectory(seed: int, moves: int = 6, terminated: bool = True, dims: int = 0) -> Trajectory:
    """Random content; `dims` above 0: continuous actions with 4 candidates each."""
    rng = np.random.default_rng([5, seed])
    width = 4 if dims else ACTIONS
    policy = rng.random((moves, width)).astype(np.float32)
    values = rng.normal(size=moves + 1).astype(np.float32)
    if terminated:
        values[-1] = 0.0
    return make_trajectory(
        rng.normal(size=moves).astype(np.float32).tolist(),
        values.tolist(),
        terminated,
        seed=seed,
        observations=rng.normal(size=(moves + 1, 2)).astype(np.float32),
        actions=rng.uniform(-1, 1, (moves, dims)).astype(np.float32)
        if dims
        else rng.integers(0, ACTIONS, moves).astype(np.int32),
        legal=np.ones((moves, width), np.bool_),
        policy=policy / policy.sum(axis=1, keepdims=True),
        candidates=rng.uniform(-0.9, 0.9, (moves, width, dims)).astype(np.float32) if dims else None,
    )


def fill(*trajectories: Trajectory, **settings: Any) -> TrajectoryBuffer:
    buffer = TrajectoryBuffer(ReplayConfig(**settings))
    for trajectory in trajectories:
        buffer.add(trajectory)
    return buffer


def pick(buffer: TrajectoryBuffer, *rows: int) -> Picks:
    at = np.array(rows, np.int64)
    return Picks(at, at + buffer.take("to_go", at), np.ones(len(at), np.float32))
