"""A learned model: representation, dynamics and prediction behind two questions.

Gradients are as PyTorch makes them: halving them at the input of the dynamics is the loss's.
"""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from zelkova.errors import ShapeError
from zelkova.networks.learned.config import LearnedConfig
from zelkova.networks.learned.images import as_floats
from zelkova.networks.learned.parts import ConvParts, MlpParts, mlp
from zelkova.networks.learned.support import Support, stretch


class ModelSizes(NamedTuple):
    """What an environment fixes."""

    observation_shape: tuple[int, ...]  # (D,), or (C, H, W) for planes
    num_actions: int  # A; 0: continuous
    action_dim: int  # D; 0: numbered actions
    num_players: int  # P
    is_turned: bool = False  # values and rewards begin with the mover, as the observation does
    learns_turns: bool = False  # a head says whose turn it is; turned: how many seats on from the turn before


class Prediction(NamedTuple):
    """What the network says about B latents."""

    latent: Tensor  # [B, width] or [B, width, h, w]
    policy: Tensor  # [B, A] logits, or [B, 2 D] mean and what the standard deviation is made of
    value: Tensor  # [B, P, atoms], or [B, P, 1]
    reward: Tensor | None = None  # the same, on the way into the latent; None at a root
    to_play: Tensor | None = None  # [B, P] logits; see ModelSizes.learns_turns
    hidden: Any = None  # (h, c) of the value prefix, [B, prefix_hidden] each


class Heads(nn.Module):
    """Value, policy and reward out of flat features, the last layers zero at first."""

    def __init__(self, config: LearnedConfig, sizes: ModelSizes, features: int) -> None:
        super().__init__()
        atoms = 1 if config.heads == "scalar" else 0
        self.value_support = Support(
            -config.value_limit, config.value_limit, config.support_step, config.transform
        )
        self.reward_support = Support(
            -config.reward_limit, config.reward_limit, config.support_step, config.transform
        )
        players, hidden = sizes.num_players, config.hidden
        self.value_shape = (players, atoms or self.value_support.num_atoms)
        self.reward_shape = (players, atoms or self.reward_support.num_atoms)
        self.value = mlp(features, hidden, 1, math.prod(self.value_shape), is_zero=True)
        self.policy = mlp(features, hidden, 1, sizes.num_actions or 2 * sizes.action_dim, is_zero=True)
        self.turns = mlp(features, hidden, 1, players) if sizes.learns_turns else None
        self.memory = nn.LSTMCell(features, config.prefix_hidden) if config.value_prefix else None
        before = config.prefix_hidden if config.value_prefix else features
        self.reward = mlp(before, hidden, 1, math.prod(self.reward_shape), is_zero=True)


class LearnedNetwork(nn.Module):
    """Observations to latents, latents and actions to latents, latents to policy, value and reward.

    Source: MuZero (Schrittwieser et al. 2020); EfficientZero (Ye et al. 2021) for projections and prefix.
    """

    def __init__(self, config: LearnedConfig, sizes: ModelSizes) -> None:
        """Build it with fresh weights.

        Args:
            config: sizes and kinds.
            sizes: what the environment fixes.
        Raises:
            ShapeError: convolutions over an observation without planes.
        """
        super().__init__()
        self.config, self.sizes = config, sizes
        self.num_players, self.is_continuous = sizes.num_players, sizes.num_actions == 0
        action_width = sizes.num_actions or sizes.action_dim
        if config.kind == "conv" and len(sizes.observation_shape) != 3:
            raise ShapeError(
                f"latent.kind = conv over observations {sizes.observation_shape}; allowed: planes (C, H, W);"
                " next: latent.kind = mlp"
            )
        parts = ConvParts if config.kind == "conv" else MlpParts
        self.parts: ConvParts | MlpParts = parts(config, sizes.observation_shape, action_width)
        self.heads = Heads(config, sizes, self.parts.num_features)
        width = config.projection
        flat = math.prod(self.parts.latent_shape)
        self.projector = nn.Sequential(
            nn.Linear(flat, width), nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, width)
        )
        self.predictor = nn.Sequential(
            nn.Linear(width, width), nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, width)
        )

    def represent(self, observation: Tensor) -> Tensor:
        """Give the latents of observations [B, *shape]; whole numbers are bytes of images."""
        return self._scale(self.parts.represent(as_floats(observation)))

    def advance(self, latent: Tensor, action: Tensor) -> Tensor:
        """Give the latents after actions int64[B], or [B, D]."""
        if not self.is_continuous:
            action = nn.functional.one_hot(action, self.sizes.num_actions).to(latent.dtype)
        return self._scale(self.parts.advance(latent, action.to(latent.dtype)))

    def _scale(self, latent: Tensor) -> Tensor:
        """Bring each latent to 0..1 over all of its numbers."""
        if self.config.latent_norm == "none":
            return latent
        flat = latent.flatten(1)
        low, high = flat.aminmax(dim=1, keepdim=True)
        return ((flat - low) / (high - low).clamp_min(1e-5)).view_as(latent)

    def predict(self, latent: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Give policy, value and turn of latents, as in Prediction."""
        features = self.parts.features(latent)
        value = self.heads.value(features).view(-1, *self.heads.value_shape)
        return (
            self.heads.policy(features),
            value,
            None if self.heads.turns is None else self.heads.turns(features),
        )

    def rewards(self, latent: Tensor, hidden: Any = None) -> tuple[Tensor, Any]:
        """Give reward logits [B, P, atoms] on the way into latents, and the prefix's memory."""
        features = self.parts.reward_features(latent)
        if self.heads.memory is not None:
            hidden = self.heads.memory(features, hidden)
            features = hidden[0]
        return self.heads.reward(features).view(-1, *self.heads.reward_shape), hidden

    def initial_inference(self, observation: Tensor) -> Prediction:
        """Evaluate observations [B, *shape]."""
        latent = self.represent(observation)
        policy, value, turns = self.predict(latent)
        return Prediction(latent, policy, value, to_play=turns)

    def recurrent_inference(self, latent: Tensor, action: Tensor, hidden: Any = None) -> Prediction:
        """Evaluate what follows an action.

        Args:
            latent: of B positions.
            action: int64[B], or [B, D] in -1..1.
            hidden: of the value prefix, (h, c); None or zeros: it begins here.
        """
        after = self.advance(latent, action)
        reward, hidden = self.rewards(after, hidden)
        policy, value, turns = self.predict(after)
        return Prediction(after, policy, value, reward, turns, hidden)

    def fresh_hidden(self, rows: int) -> tuple[Tensor, Tensor]:
        """Give the value prefix's memory where it begins: zeros [rows, prefix_hidden], twice."""
        zeros = torch.zeros(rows, self.config.prefix_hidden, device=next(self.parameters()).device)
        return zeros, zeros.clone()

    def project(self, latent: Tensor, is_predicted: bool) -> Tensor:
        """Give what consistency compares [B, projection]; the predictor is for the unrolled branch."""
        projected: Tensor = self.projector(latent.flatten(1))
        return self.predictor(projected) if is_predicted else projected

    def value_of(self, value: Tensor) -> Tensor:
        """Turn the value head's answer [..., atoms] into numbers."""
        return self._numbers(value, self.heads.value_support)

    def reward_of(self, reward: Tensor) -> Tensor:
        """Turn the reward head's answer [..., atoms] into numbers."""
        return self._numbers(reward, self.heads.reward_support)

    def _numbers(self, answer: Tensor, support: Support) -> Tensor:
        if self.config.heads == "categorical":
            return support.decode(answer)
        number = answer.float().squeeze(-1)
        return stretch(number) if support.is_squashed else number

    def gaussian(self, policy: Tensor) -> tuple[Tensor, Tensor]:
        """Give mean and standard deviation [B, D] of a continuous policy, before tanh."""
        mean, raw = policy.float().chunk(2, dim=-1)
        return 5.0 * torch.tanh(mean / 5.0), nn.functional.softplus(raw + 0.54) + self.config.min_std


def build_learned(config: LearnedConfig, sizes: ModelSizes, seed: int = 0) -> LearnedNetwork:
    """Build a network with fresh weights, the same ones for the same seed; the global generator stays."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LearnedNetwork(config, sizes)
