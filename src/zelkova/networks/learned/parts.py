"""Representation and dynamics, fully connected or by convolutions, and the features that heads read."""

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

from zelkova.networks.learned.config import LearnedConfig


def mlp(inputs: int, hidden: int, layers: int, outputs: int, is_zero: bool = False) -> nn.Sequential:
    """Build fully connected layers with layer normalisation, independent of the other rows of a batch.

    Args:
        inputs, hidden, outputs: widths.
        layers: hidden ones.
        is_zero: the last layer begins at zero.
    """
    parts: list[nn.Module] = []
    for before, after in pairwise([inputs, *[hidden] * layers]):
        parts += [nn.Linear(before, after), nn.LayerNorm(after), nn.ReLU()]
    last = nn.Linear(hidden if layers else inputs, outputs)
    if is_zero:
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
    return nn.Sequential(*parts, last)


class MlpParts(nn.Module):
    """Fully connected representation and dynamics; the dynamics adds to the latent."""

    def __init__(self, config: LearnedConfig, observation_shape: tuple[int, ...], action_width: int) -> None:
        super().__init__()
        self.latent_shape: tuple[int, ...] = (config.width,)
        self.num_features = config.width
        size = math.prod(observation_shape)
        self.representation = mlp(size, config.hidden, config.layers, config.width)
        self.dynamics = mlp(config.width + action_width, config.hidden, config.layers, config.width)

    def represent(self, observation: Tensor) -> Tensor:
        """Give latents [B, width] of observations [B, *shape]."""
        latent: Tensor = self.representation(observation.flatten(1))
        return latent

    def advance(self, latent: Tensor, action: Tensor) -> Tensor:
        """Give latents [B, width] after actions [B, action_width]."""
        moved: Tensor = self.dynamics(torch.cat([latent, action], dim=1))
        return latent + moved

    def features(self, latent: Tensor) -> Tensor:
        """Give what policy and value are read from."""
        return latent

    def reward_features(self, latent: Tensor) -> Tensor:
        """Give what the reward is read from."""
        return latent


class Block(nn.Module):
    """Two 3x3 convolutions around a skip.

    Source: He et al. 2016.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first, self.second = (nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(2))
        self.norm1, self.norm2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)

    def forward(self, hidden: Tensor) -> Tensor:
        """Map hidden [B, channels, h, w] to the same shape."""
        inner = self.norm2(self.second(torch.relu(self.norm1(self.first(hidden)))))
        return torch.relu(hidden + inner)


def blocks(channels: int, count: int) -> nn.Sequential:
    """Build residual blocks one after the other."""
    return nn.Sequential(*(Block(channels) for _ in range(count)))


class ConvParts(nn.Module):
    """Convolutions over planes; an action comes as planes of its numbers.

    Source: MuZero (Schrittwieser et al. 2020), Appendix E, and EfficientZero's smaller towers.
    """

    def __init__(self, config: LearnedConfig, observation_shape: tuple[int, ...], action_width: int) -> None:
        super().__init__()
        planes, height, width = observation_shape
        channels = config.width
        stem: list[nn.Module] = []
        inputs = planes
        for _ in range(config.downsample):
            stem += [
                nn.Conv2d(inputs, channels, 3, stride=2, padding=1, bias=False),
                nn.BatchNorm2d(channels), nn.ReLU(), Block(channels),
            ]  # fmt: skip
            inputs, height, width = channels, -(-height // 2), -(-width // 2)
        if not config.downsample:
            stem += [
                nn.Conv2d(planes, channels, 3, padding=1, bias=False),
                nn.BatchNorm2d(channels),
                nn.ReLU(),
            ]
        self.latent_shape: tuple[int, ...] = (channels, height, width)
        self.representation = nn.Sequential(*stem, *blocks(channels, config.blocks))
        self.merge = nn.Conv2d(channels + action_width, channels, 3, padding=1, bias=False)
        self.merge_norm = nn.BatchNorm2d(channels)
        self.dynamics = blocks(channels, config.blocks)
        self.prediction = blocks(channels, config.blocks)
        self.reduce, self.reward_reduce = (
            nn.Sequential(nn.Conv2d(channels, config.head_channels, 1), nn.ReLU(), nn.Flatten())
            for _ in range(2)
        )
        self.num_features = config.head_channels * height * width

    def represent(self, observation: Tensor) -> Tensor:
        """Give latents [B, width, h, w] of planes [B, C, H, W]."""
        latent: Tensor = self.representation(observation)
        return latent

    def advance(self, latent: Tensor, action: Tensor) -> Tensor:
        """Give latents after actions [B, action_width], each of whose numbers fills a plane."""
        planes = action[:, :, None, None].expand(-1, -1, *latent.shape[2:])
        merged = self.merge_norm(self.merge(torch.cat([latent, planes], dim=1)))
        after: Tensor = self.dynamics(torch.relu(latent + merged))
        return after

    def features(self, latent: Tensor) -> Tensor:
        """Give what policy and value are read from [B, num_features]."""
        read: Tensor = self.reduce(self.prediction(latent))
        return read

    def reward_features(self, latent: Tensor) -> Tensor:
        """Give what the reward is read from [B, num_features]."""
        read: Tensor = self.reward_reduce(latent)
        return read
