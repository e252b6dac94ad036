"""Build the module that a config and a game's sizes ask for."""

import torch
from torch import nn

from zelkova.errors import ShapeError, require_memory
from zelkova.networks.config import NetworkConfig
from zelkova.networks.mlp import MlpNetwork
from zelkova.networks.residual import ResidualNetwork

FLOAT_BYTES = 4
KINDS: dict[str, type[ResidualNetwork] | type[MlpNetwork]] = {"residual": ResidualNetwork, "mlp": MlpNetwork}


def build_network(
    config: NetworkConfig,
    observation_shape: tuple[int, int, int],
    num_actions: int,
    num_players: int,
    has_draws: bool,
    seed: int = 0,
) -> nn.Module:
    """Build a network with fresh weights, the same ones for the same seed.

    Args:
        config: kind and sizes.
        observation_shape: (C, H, W) of the game's planes.
        num_actions: A, length of the policy logits.
        num_players: P; the outcome logits have P + 1 entries, the last one a draw (P >= 2).
        has_draws: False masks the draw.
        seed: of the fresh weights; torch's global generator is left as it was.
    Raises:
        ShapeError: a size below 1.
        ConfigError: the weights are more than the machine can hold.
    """
    if len(observation_shape) != 3 or min(*observation_shape, num_actions, num_players) < 1:
        raise ShapeError(
            f"a network for planes {observation_shape}, {num_actions} actions and {num_players} players"
            " can't be built; allowed: planes (C, H, W), and every size 1 or more"
        )
    _require_memory(config, observation_shape, num_actions)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return KINDS[config.kind](config, observation_shape, num_actions, num_players, has_draws)


def _require_memory(config: NetworkConfig, planes: tuple[int, int, int], num_actions: int) -> None:
    """Count the weights that a network has at least, and refuse more than the machine can hold."""
    depth, cells = planes[0], planes[1] * planes[2]
    if config.kind == "mlp":
        width = 4 * config.channels
        count = width * (cells * depth + width * (config.blocks - 1)) if config.blocks else 0
    else:
        count = 9 * config.channels * (depth + 2 * config.channels * config.blocks)
        count += config.policy_channels * cells * num_actions
        count += config.value_channels * cells * config.value_hidden
    require_memory(
        FLOAT_BYTES * count,
        f"a network of {config.channels} channels, {config.blocks} blocks, {config.policy_channels} policy"
        f" channels, {config.value_channels} value channels and {config.value_hidden} hidden units",
    )
