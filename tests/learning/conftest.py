"""One thread, and a tiny learner with data for it."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from zelkova.learning.config import LearningConfig
from zelkova.learning.learner import Learner
from zelkova.learning.losses import OutcomeBatch, OutcomeObjective
from zelkova.networks.build import build_network
from zelkova.networks.config import NetworkConfig
from zelkova.replay.targets import OutcomeSpec


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """OpenMP's threads spin, and would wait on whatever else this machine runs."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def make_learner() -> Callable[..., Learner]:
    """Give a function that builds a learner of a small residual network for 3x4 boards and 5 actions."""

    def build(players: int = 2, **settings: Any) -> Learner:
        network = build_network(NetworkConfig(channels=8, blocks=1), (2, 3, 4), 5, players, True)
        low = -1.0 if players == 2 else 0.0
        config = LearningConfig(**{"batch_size": 16, "precision": "float32", **settings})
        return Learner(
            network,
            config,
            OutcomeObjective(config, OutcomeSpec(players, (low, 1.0))),
        )

    return build


@pytest.fixture
def make_data() -> Callable[..., OutcomeBatch]:
    """Give a function that makes a batch of random planes and targets."""

    def build(seed: int, batch: int = 16, players: int = 2) -> OutcomeBatch:
        rng = np.random.default_rng(seed)
        planes = rng.normal(size=(batch, 2, 3, 4)).astype(np.float32)
        legal = np.array([[0, 1, 2, 3, 4], [1, 4, -1, -1, -1]], np.int32)[rng.integers(0, 2, batch)]
        policy = rng.random((batch, 5)).astype(np.float32) ** 3 * (legal >= 0)
        outcome = np.eye(players + 1, dtype=np.float32)[rng.integers(0, players + 1, batch)]
        values = rng.uniform(0, 1, (batch, players)).astype(np.float32)
        return OutcomeBatch(planes, legal, policy / policy.sum(axis=1, keepdims=True), outcome, values)

    return build
