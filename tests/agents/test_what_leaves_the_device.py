"""A batched search over a learned model: latents stay where they are, and only actions and numbers move.

Latents of float64 stand for those of a GPU: neither takes the short cut of float32 on a CPU, where a latent
is read in place.
"""

from typing import Any

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

from zelkova.agents.learned.agent import LearnedAgent
from zelkova.agents.learned.config import PlanningConfig
from zelkova.errors import ConfigError
from zelkova.networks.learned.config import LearnedConfig
from zelkova.networks.learned.network import LearnedNetwork, ModelSizes, build_learned
from zelkova.search.config import SearchConfig

WIDTH, ACTIONS, SIMULATIONS = 48, 2, 25
T: Any = torch.Tensor
LEAVING = (T.cpu, T.numpy, T.tolist, T.item, T.__array__, T.__float__, T.__int__, T.__bool__)


class Watch(TorchFunctionMode):
    """Writes down the shapes of tensors that are read outside PyTorch."""

    def __init__(self) -> None:
        super().__init__()
        self.left: list[tuple[int, ...]] = []
        self.calls = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls += 1
        if func in LEAVING:
            self.left.append(tuple(args[0].shape))
        return func(*args, **(kwargs or {}))


class Doubled(LearnedNetwork):
    """Takes float32 observations, and computes in float64."""

    def represent(self, observation: torch.Tensor) -> torch.Tensor:
        return super().represent(observation.double())


def agent_of(network: LearnedNetwork, precision: Any = "auto") -> LearnedAgent:
    search = SearchConfig(num_simulations=SIMULATIONS, policy="gumbel")
    return LearnedAgent(network, search, PlanningConfig(precision=precision), discount=0.99)


def search(agent: LearnedAgent, rows: int) -> Any:
    seen = np.random.default_rng(rows).standard_normal((rows, 4), dtype=np.float32)
    return agent.search(seen, np.zeros(rows, np.int8), np.ones((rows, ACTIONS), np.bool_), seed=3)


@pytest.mark.parametrize("rows", [8, 32, 128, 256])
def test_latents_stay_on_their_device_whatever_the_batch(rows: int) -> None:
    network = Doubled(LearnedConfig(width=WIDTH, hidden=16), ModelSizes((4,), ACTIONS, 0, 1)).double()
    agent = agent_of(network)
    search(agent, rows)  # makes the buffers
    with Watch() as watch:
        search(agent, rows)
    assert watch.calls > SIMULATIONS
    assert watch.left == []
    model = agent._noisy.model
    latents, turns = model._embeddings.buffers  # type: ignore[union-attr]
    assert latents.tensor.shape == (rows * (SIMULATIONS + 1) + 1, WIDTH)
    assert not latents.is_here
    assert not turns.is_here
    # of each tree and simulation: parent, child, action in; logits, mask, value, reward, discount, turn out
    assert model._inlet._host.numel() == 4 * rows
    assert model._outlet.packed.numel() == rows * (2 * ACTIONS + 4)


def test_the_watch_sees_what_leaves() -> None:
    with Watch() as watch:
        torch.zeros(3, 2).numpy()
        torch.ones(4).sum().item()
    assert watch.left == [(3, 2), ()]


def test_acting_in_bfloat16_gives_nearly_the_same_values_and_float32_numbers() -> None:
    network = build_learned(LearnedConfig(width=WIDTH, hidden=16), ModelSizes((4,), ACTIONS, 0, 1), seed=1)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.05)
    exact, rough = agent_of(network), agent_of(network, "bfloat16")
    seen = np.random.default_rng(0).standard_normal((16, 4), dtype=np.float32)
    values = [agent.values(seen, np.zeros(16, np.int8)) for agent in (exact, rough)]
    assert values[1].dtype == np.float32
    assert not np.array_equal(values[0], values[1])
    np.testing.assert_allclose(values[1], values[0], rtol=0.05, atol=0.2)
    found = search(rough, 16)
    assert np.isfinite(found.value).all()
    np.testing.assert_allclose(found.action_weights.sum(axis=1), 1.0, rtol=1e-5)


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(ConfigError, match="allowed: auto, float32 or bfloat16"):
        PlanningConfig(precision="half")  # type: ignore[arg-type]
