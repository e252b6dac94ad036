"""A residual tower over the board with a policy head and an outcome head.

The towers of AlphaGo Zero and AlphaZero, with two changes: the value head answers a distribution
over outcomes (each seat wins, or a draw) in place of one number, and some blocks may pool over the board.
"""

import torch
from torch import Tensor, nn

from zelkova.errors import ConfigError
from zelkova.networks.config import NetworkConfig
from zelkova.networks.outcome import draw_mask


def convolution(inputs: int, outputs: int, size: int) -> nn.Sequential:
    """Build a convolution that keeps the board's size, followed by batch normalisation.

    Args:
        inputs: channels read.
        outputs: channels written.
        size: edge of the kernel, odd.
    """
    conv = nn.Conv2d(inputs, outputs, size, padding=size // 2, bias=False)
    nn.init.kaiming_normal_(conv.weight, mode="fan_out", nonlinearity="relu")
    return nn.Sequential(conv, nn.BatchNorm2d(outputs))


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions around a skip; it begins as the identity.

    Source: He et al. 2016 (residual learning); Goyal et al. 2017, section 5.1 (last scale at zero).
    """

    def __init__(self, channels: int) -> None:
        """Build a block of `channels` channels."""
        super().__init__()
        self.first = convolution(channels, channels, 3)
        self.second = convolution(channels, channels, 3)
        last_scale = self.second[1].weight
        assert isinstance(last_scale, Tensor)
        nn.init.zeros_(last_scale)

    def forward(self, hidden: Tensor) -> Tensor:
        """Map hidden [B, channels, H, W] to the same shape."""
        inner: Tensor = self.second(self.first(hidden).relu_())
        return inner.add_(hidden).relu_()


class PoolingBlock(ResidualBlock):
    """A residual block that sees the whole board: what it pools shifts the channels of its first convolution.

    A quarter of the channels, of a convolution of their own, is pooled by mean and by maximum; a linear layer
    makes a bias for every channel of them. A network's board has one size, so that KataGo's mean scaled by
    the board's width would be a multiple of the mean, and is left out.

    Source: KataGo (Wu 2019, arXiv 1902.10565), Section 3.3.
    """

    def __init__(self, channels: int) -> None:
        """Build a block of `channels` channels."""
        super().__init__(channels)
        pooled = max(channels // 4, 1)
        self.pooled = convolution(channels, pooled, 3)
        self.mean = nn.AdaptiveAvgPool2d(1)
        self.highest = nn.AdaptiveMaxPool2d(1)
        self.spread = nn.Conv2d(2 * pooled, channels, 1, bias=False)  # linear: its board is one cell

    def forward(self, hidden: Tensor) -> Tensor:
        """Map hidden [B, channels, H, W] to the same shape."""
        pooled = self.pooled(hidden).relu_()
        shift = self.spread(torch.cat([self.mean(pooled), self.highest(pooled)], 1))
        inner: Tensor = self.second(self.first(hidden).add_(shift).relu_())
        return inner.add_(hidden).relu_()


class CountingLayer(nn.Module):
    """Linear layers over each plane's mean, normalised first: one pawn then weighs as much as a turn.

    What reaches the outcome's logits straight, with no unit between, adds up as what pieces are worth does.
    """

    def __init__(self, planes: int, units: int, outcomes: int) -> None:
        """Build it for so many planes, hidden units and outcomes; the outcomes' weights begin at zero."""
        super().__init__()
        scale = nn.Conv2d(planes, planes, 1, groups=planes, bias=False)
        nn.init.ones_(scale.weight)
        self.normal = nn.Sequential(scale, nn.BatchNorm2d(planes))
        self.hidden = nn.Linear(planes, units, bias=False)
        self.outcome = nn.Linear(planes, outcomes, bias=False)
        nn.init.zeros_(self.outcome.weight)

    def forward(self, means: Tensor) -> tuple[Tensor, Tensor]:
        """Map means [B, planes, 1, 1] to shares of the units [B, units] and of the logits [B, outcomes]."""
        counts = self.normal(means).flatten(1)
        return self.hidden(counts), self.outcome(counts)


class ResidualNetwork(nn.Module):
    """Planes to policy logits and outcome logits through a residual tower.

    Source: AlphaGo Zero (Silver et al. 2017), Methods, Neural network architecture.
    """

    def __init__(
        self,
        config: NetworkConfig,
        observation_shape: tuple[int, int, int],
        num_actions: int,
        num_players: int,
        has_draws: bool,
    ) -> None:
        """Build it; the last layers begin at zero, so that first predictions are uniform."""
        super().__init__()
        planes, height, width = observation_shape
        cells = height * width
        self.summary_size = 2 * config.channels
        self.stem = convolution(planes, config.channels, 3)
        every = config.pooling_every
        self.tower = nn.Sequential(
            *(
                (PoolingBlock if every and block % every == 0 else ResidualBlock)(config.channels)
                for block in range(1, config.blocks + 1)
            )
        )
        self.policy_reduce = convolution(config.channels, config.policy_channels, 1)
        self.policy_out = self._policy_layer(config, cells, num_actions)
        self.value_reduce = convolution(config.channels, config.value_channels, 1)
        self.value_hidden = nn.Linear(config.value_channels * cells, config.value_hidden)
        self.value_out = nn.Linear(config.value_hidden, num_players + 1)
        self.mean = nn.AdaptiveAvgPool2d(1)
        self.counts = (
            CountingLayer(planes, config.value_hidden, num_players + 1) if config.value_counts else None
        )
        self.draw_mask: Tensor
        self.register_buffer("draw_mask", draw_mask(num_players, has_draws), persistent=False)
        for last in (self.policy_out, self.value_out):
            nn.init.zeros_(last.weight)
            assert last.bias is not None
            nn.init.zeros_(last.bias)

    @staticmethod
    def _policy_layer(config: NetworkConfig, cells: int, num_actions: int) -> nn.Linear | nn.Conv2d:
        """Build what gives the policy's logits.

        Raises:
            ConfigError: the actions are no whole number of planes.
        """
        if config.policy_head == "linear":
            return nn.Linear(config.policy_channels * cells, num_actions)
        planes, rest = divmod(num_actions, cells)
        if rest:
            raise ConfigError(
                f"network.policy_head = conv for {num_actions} actions on {cells} cells; allowed: a multiple"
                " of the cells; next: linear"
            )
        return nn.Conv2d(config.policy_channels, planes, 1)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Evaluate a batch.

        Args:
            planes: [B, C, H, W].
        Returns:
            policy_logits [B, A] and outcome_logits [B, P + 1], in the network's view of the seats.
        """
        return self.answer(self.embed(planes), planes)

    def embed(self, planes: Tensor) -> Tensor:
        """Map planes [B, C, H, W] to what all heads read, [B, channels, H, W]."""
        hidden: Tensor = self.tower(torch.relu(self.stem(planes)))
        return hidden

    def summarise(self, hidden: Tensor) -> Tensor:
        """Pool what `embed` gave over the board: means and maxima [B, 2 * channels]."""
        return torch.cat([hidden.mean((2, 3)), hidden.amax((2, 3))], 1)

    def answer(self, hidden: Tensor, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Give the policy's and the outcome's logits of what `embed` gave of the planes; see forward."""
        policy = torch.relu(self.policy_reduce(hidden))
        if isinstance(self.policy_out, nn.Conv2d):
            logits = self.policy_out(policy).flatten(1)
        else:
            logits = self.policy_out(policy.flatten(1))
        value = torch.relu(self.value_reduce(hidden)).flatten(1)
        units, worth = self.value_hidden(value), None
        if self.counts is not None:
            counted, worth = self.counts(self.mean(planes))
            units = units + counted
        outcome = self.value_out(torch.relu(units)) + self.draw_mask
        return logits, outcome if worth is None else outcome + worth
