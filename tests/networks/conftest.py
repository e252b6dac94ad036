"""A network whose every weight matters: fresh ones answer zeros, which would hide mistakes."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from zelkova.networks.build import build_network
from zelkova.networks.config import NetworkConfig

Shape = tuple[int, int, int]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Train on one thread: OpenMP's threads spin, and would wait on whatever else this machine runs."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def trained() -> Callable[..., nn.Module]:
    """Give a function that builds a network and shakes all its weights and statistics."""

    def build(config: NetworkConfig, shape: Shape, actions: int, players: int, seed: int = 1) -> nn.Module:
        module = build_network(config, shape, actions, players, has_draws=True, seed=seed)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for name, tensor in module.state_dict().items():
                if not tensor.is_floating_point():
                    continue
                noise = torch.randn(tensor.shape, generator=generator) / (1.5 * tensor[:1].numel()) ** 0.5
                tensor += noise.abs() if name.endswith("running_var") else noise
        return module.eval()

    return build


@pytest.fixture
def planes() -> NDArray[np.float32]:
    """Give 13 random positions of zeros and ones, [13, 3, 6, 7]."""
    return np.random.default_rng(0).integers(0, 2, (13, 3, 6, 7)).astype(np.float32)
