"""Auxiliary heads over a network's tower: what they foresee helps the tower to learn, and nothing else.

They stand beside the network, not in it: what acts, is exported or shipped has no part of them.
"""

import torch
from torch import Tensor, nn

from zelkova.networks.config import HeadsConfig
from zelkova.networks.mlp import MlpNetwork
from zelkova.networks.residual import ResidualNetwork


class AuxiliaryHeads(nn.Module):
    """One hidden layer over the tower's summary, and a linear layer a head."""

    def __init__(self, config: HeadsConfig, summary_size: int, num_players: int) -> None:
        """Build those of a weight above 0; the last layers begin at zero.

        Args:
            config: which.
            summary_size: S, width of what they read.
            num_players: P.
        """
        super().__init__()
        widths = {
            "rank": num_players * num_players,
            "next_eliminated": num_players + 1,
            "final_material": num_players,
            "plies_left": 1,
        }
        self.hidden = nn.Linear(summary_size, config.hidden)
        self.out = nn.ModuleDict({name: nn.Linear(config.hidden, widths[name]) for name in config.weights})
        for parameter in self.out.parameters():
            nn.init.zeros_(parameter)

    def forward(self, summary: Tensor) -> dict[str, Tensor]:
        """Answer for a batch.

        Args:
            summary: [B, S].
        Returns:
            by head, in the network's view of the seats: rank [B, P * P] logits of each seat's place,
            next_eliminated [B, P + 1] logits, none last, final_material [B, P] logits of shares, plies_left
            [B, 1] the logarithm of 1 + the moves to the end.
        """
        hidden = torch.relu(self.hidden(summary))
        return {name: layer(hidden) for name, layer in self.out.items()}


def build_heads(
    config: HeadsConfig, network: nn.Module, num_players: int, seed: int = 0
) -> AuxiliaryHeads | None:
    """Build the heads of a network with fresh weights, the same ones for the same seed.

    Args:
        config: which.
        network: of `build_network`.
        num_players: P.
        seed: of the fresh weights; torch's global generator is left as it was.
    Returns:
        None where every weight is 0.
    """
    if not config.weights:
        return None
    assert isinstance(network, ResidualNetwork | MlpNetwork)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return AuxiliaryHeads(config, network.summary_size, num_players)


def evaluate_all(
    network: nn.Module, heads: AuxiliaryHeads, planes: Tensor
) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Evaluate planes [B, C, H, W] once for all heads: the network's two answers, and those of the others."""
    assert isinstance(network, ResidualNetwork | MlpNetwork)
    hidden = network.embed(planes)
    return *network.answer(hidden, planes), heads(network.summarise(hidden))
