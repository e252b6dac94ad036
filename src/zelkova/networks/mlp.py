"""A perceptron over the flattened planes: for tiny games, and for tests that must be quick."""

import torch
from torch import Tensor, nn

from zelkova.networks.config import NetworkConfig
from zelkova.networks.outcome import draw_mask

WIDTH_PER_CHANNEL = 4  # a hidden layer has this many units for each of config.channels


class MlpNetwork(nn.Module):
    """Planes to policy logits and outcome logits through fully connected layers."""

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
        size, layers = planes * height * width, list[nn.Module]()
        for _ in range(config.blocks):
            layers += [nn.Linear(size, config.channels * WIDTH_PER_CHANNEL), nn.ReLU()]
            size = config.channels * WIDTH_PER_CHANNEL
        self.trunk = nn.Sequential(*layers)
        self.summary_size = size
        self.policy_out = nn.Linear(size, num_actions)
        self.value_hidden = nn.Linear(size, config.value_hidden)
        self.value_out = nn.Linear(config.value_hidden, num_players + 1)
        self.draw_mask: Tensor
        self.register_buffer("draw_mask", draw_mask(num_players, has_draws), persistent=False)
        for last in (self.policy_out, self.value_out):
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Evaluate a batch.

        Args:
            planes: [B, C, H, W].
        Returns:
            policy_logits [B, A] and outcome_logits [B, P + 1], in the network's view of the seats.
        """
        return self.answer(self.embed(planes), planes)

    def embed(self, planes: Tensor) -> Tensor:
        """Map planes [B, C, H, W] to what all heads read, [B, summary_size]."""
        hidden: Tensor = self.trunk(planes.flatten(1))
        return hidden

    def summarise(self, hidden: Tensor) -> Tensor:
        """Give what `embed` gave: nothing is to be pooled."""
        return hidden

    def answer(self, hidden: Tensor, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Give the policy's and the outcome's logits of what `embed` gave of the planes; see forward."""
        outcome = self.value_out(torch.relu(self.value_hidden(hidden))) + self.draw_mask
        return self.policy_out(hidden), outcome
