"""Drawn actions of a PyTorch model: what it may give in place of logits, and how the search takes it."""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from zelkova.errors import ConfigError, ShapeError
from zelkova.search.models.torch_answers import described, require_mask

CLIP = 0.999  # largest size of a squashed action, so that its inverse stays finite


class Proposal(NamedTuple):
    """K drawn actions of each position, in place of logits over all actions. Equal draws are merged."""

    actions: Tensor  # [R, K] action numbers, or [R, K, D] vectors; drawn independently
    policy_log_prob: Tensor | None = None  # [R, K] under the policy pi; None with the next: drawn from pi
    proposal_log_prob: Tensor | None = None  # [R, K] under beta, which they were drawn from


class SquashedGaussian(NamedTuple):
    """tanh of a normal distribution for each of D dimensions; the search draws K actions of each position."""

    mean: Tensor  # [R, D] before tanh
    std: Tensor  # [R, D] above 0
    spread: float = 1.0  # factor on std in what actions are drawn from; above 1 explores

    def propose(self, noise: Tensor) -> Proposal:
        """Draw actions.

        Args:
            noise: [R, K, D] draws of a standard normal.
        Returns:
            NaN actions where std is not above 0.
        Raises:
            ShapeError: mean or std has another shape.
            ConfigError: spread is not above 0.
        """
        shape = (noise.shape[0], noise.shape[2])
        for name, given in (("mean", self.mean), ("std", self.std)):
            if not isinstance(given, Tensor) or given.shape != shape:
                raise ShapeError(f"a SquashedGaussian's {name} is {described(given)}; needs a tensor {shape}")
        if not 0 < self.spread < math.inf:
            raise ConfigError(f"SquashedGaussian(spread={self.spread}); allowed: a finite number above 0")
        mean, std = self.mean.float().unsqueeze(1), self.std.float().unsqueeze(1)
        std = torch.where(std > 0, std, torch.nan)  # the search names the tree, without a wait for the device
        scaled = noise * self.spread
        actions = torch.tanh(mean + std * scaled).clamp(-CLIP, CLIP)
        if self.spread == 1.0:
            return Proposal(actions)
        # the logarithms of std and of tanh's slope are the same in both, up to the log of the spread
        policy, proposal = (scaled**2).sum(-1) / -2, (noise**2).sum(-1) / -2
        return Proposal(actions, policy, proposal - noise.shape[-1] * math.log(self.spread))

    def log_prob(self, actions: Tensor) -> Tensor:
        """Give the log-density [R, K] of actions [R, K, D], those beyond +-0.999 as if they stood there."""
        mean, std = self.mean.float().unsqueeze(1), self.std.float().unsqueeze(1)
        actions = actions.float().clamp(-CLIP, CLIP)
        z = (torch.atanh(actions) - mean) / std
        density = -0.5 * z**2 - std.log() - 0.5 * math.log(2 * math.pi)
        return (density - torch.log1p(-(actions**2))).sum(-1)


class Drawn(NamedTuple):
    """A policy as the search takes it."""

    logits: Tensor  # [R, A]
    legal: Tensor | None = None  # bool[R, A]; None: all
    actions: Tensor | None = None  # [R, A] or [R, A, D] where they were drawn


def merge_draws(proposal: Proposal) -> Drawn:
    """Merge equal draws of each row: the first stands for all, the others count as illegal.

    Returns:
        logits: log of beta_hat / beta * pi, up to a constant.
    Raises:
        ShapeError: one of the log-probabilities is missing, or a shape is another.
    Source: Sampled MuZero (Hubert et al. 2021), Section 3.
    """
    actions, policy, beta = proposal
    if (policy is None) != (beta is None):
        raise ShapeError("a Proposal needs both policy_log_prob and proposal_log_prob, or neither")
    if not isinstance(actions, Tensor) or actions.ndim not in (2, 3):
        raise ShapeError(f"a Proposal's actions are {described(actions)}; needs a tensor [R, K] or [R, K, D]")
    for given in () if policy is None else (policy, beta):
        if not isinstance(given, Tensor) or given.shape != actions.shape[:2]:
            raise ShapeError(
                f"a Proposal's log_prob is {described(given)}; needs a tensor {tuple(actions.shape[:2])}"
            )
    vectors = actions if actions.ndim == 3 else actions.unsqueeze(-1)
    same = (vectors.unsqueeze(1) == vectors.unsqueeze(2)).all(-1)
    first = ~same.tril(-1).any(-1)
    if policy is None or beta is None:
        return Drawn(same.sum(-1).float().log(), first, actions)
    ratio = (policy.float() - beta.float()).unsqueeze(1)
    return Drawn(torch.where(same, ratio, -torch.inf).logsumexp(-1), first, actions)


def allowed_of(source: str, legal: Any, drawn: Drawn) -> Tensor | None:
    """Give which actions are legal by the model's own mask and among the draws; None: all.

    Args:
        source: `root()` or `step()`, for the error.
        legal: what the model gave.
        drawn: its policy.
    Raises:
        ShapeError: the mask is no bool tensor of the logits' shape.
    """
    if legal is None:
        return drawn.legal
    draws = "" if drawn.actions is None else ", for the draws; next: draw what is legal, without a mask"
    require_mask(source, legal, drawn.logits.shape, draws)
    return both(legal, drawn.legal)


def both(mask: Tensor | None, other: Tensor | None) -> Tensor | None:
    """Give what two masks allow; None allows everything."""
    if mask is None or other is None:
        return other if mask is None else mask
    return mask & other
