"""The loss of a learned model along an unroll: terms of policy, value, reward, consistency and turn.

The heads of all steps are computed in one call. Each row's whole loss is multiplied by its own weight before
the mean is taken, and losses are float32 cross-entropies of logits.

Source: MuZero (Schrittwieser et al. 2020), Appendix G; EfficientZero (Ye et al. 2021), Section 4.1;
Sampled MuZero (Hubert et al. 2021), Section 4.
"""

import math

import torch
from torch import Tensor, nn

from zelkova.errors import ShapeError
from zelkova.learning.config import UnrollLossConfig
from zelkova.learning.losses import Objective
from zelkova.networks.learned.images import augment
from zelkova.networks.learned.network import LearnedNetwork
from zelkova.networks.learned.support import Support, squash
from zelkova.replay.unroll import UnrollBatch

CLIP = 0.999  # largest size of a squashed action, so that its inverse stays finite


def scale_gradient(tensor: Tensor, scale: float) -> Tensor:
    """Give the same tensor with its gradient multiplied by `scale`."""
    return tensor if scale == 1.0 else tensor * scale + tensor.detach() * (1.0 - scale)


def gaussian_log_prob(mean: Tensor, std: Tensor, actions: Tensor) -> Tensor:
    """Give the log-density of squashed actions [..., M, D] under tanh of a normal [..., D], summed over D."""
    actions = actions.clamp(-CLIP, CLIP)
    z = (torch.atanh(actions) - mean.unsqueeze(-2)) / std.unsqueeze(-2)
    density = -0.5 * z**2 - std.log().unsqueeze(-2) - 0.5 * math.log(2 * math.pi)
    return (density - torch.log1p(-(actions**2))).sum(-1)


def gaussian_entropy(std: Tensor) -> Tensor:
    """Give the differential entropy [...] of independent normals of deviations [..., D], nats."""
    return (std.log() + 0.5 * math.log(2 * math.pi * math.e)).sum(-1)


class UnrollObjective:
    """Unrolls a network along the actions that were taken and compares all it says with targets."""

    def __init__(self, config: UnrollLossConfig, prefix_reset: int = 0) -> None:
        """Settle the weights.

        Args:
            config: of the terms.
            prefix_reset: steps after which the value prefix's memory starts anew; 0: plain rewards.
        """
        self.config, self.prefix_reset = config, prefix_reset

    def __call__(self, network: nn.Module, batch: UnrollBatch) -> Objective:
        """Give the loss of a batch of tensors, the values' errors at step 0 [B], and figures.

        Raises:
            ShapeError: the network is no learned model.
        """
        if not isinstance(network, LearnedNetwork):
            raise ShapeError(f"an unroll of a {type(network).__name__}; needs a LearnedNetwork")
        latents = self._unroll(network, batch)
        count, rows = len(latents), len(batch.observations)
        policy, value, turns = network.predict(torch.cat(latents))
        weight = torch.full((1, count), 1.0 if self.config.scale == "heads" else 1.0 / (count - 1))
        if self.config.scale == "heads":
            weight[:, 1:] = 1.0 / (count - 1)
        weight = weight.to(batch.weights.device)

        def by_step(flat: Tensor) -> Tensor:
            return flat.float().view(count, rows, *flat.shape[1:]).transpose(0, 1)

        value_term = number_loss(network, network.heads.value_support, by_step(value), batch.values)
        policy_term, entropy = self._policy(network, by_step(policy), batch)
        reward = by_step_rewards(self._rewards(network, latents), rows)
        reward_term = number_loss(network, network.heads.reward_support, reward, batch.rewards)
        terms = {
            "policy_loss": (self.config.policy_weight, policy_term, batch.policy_mask),
            "value_loss": (self.config.value_weight, value_term, batch.value_mask),
            "reward_loss": (self.config.reward_weight, reward_term, batch.reward_mask),
        }
        if self.config.entropy_weight:
            terms["entropy_bonus"] = (self.config.entropy_weight, -entropy, batch.policy_mask)
        if turns is not None:
            index = batch.to_play.long()
            turn = nn.functional.cross_entropy(
                by_step(turns).flatten(0, 1), index.flatten(), reduction="none"
            )
            is_told = torch.full_like(batch.reward_mask[:, :1], not network.sizes.is_turned)
            mask = torch.cat([is_told, batch.reward_mask], dim=1)  # no turn comes before that of step 0
            terms["turn_loss"] = (self.config.turn_weight, turn.view_as(index), mask)
        if self.config.consistency_weight and batch.next_observations is not None:
            similar = self._consistency(network, latents, batch)
            terms["consistency_loss"] = (self.config.consistency_weight, similar, batch.next_mask)
        total, figures = sum_terms(terms, weight, batch.weights)
        with torch.no_grad():
            errors = (network.value_of(by_step(value)[:, 0]) - batch.values[:, 0]).abs().mean(-1)
            figures |= self._figures(network, batch, entropy)
        return total, errors, figures

    def _unroll(self, network: LearnedNetwork, batch: UnrollBatch) -> list[Tensor]:
        """Give the latents of steps 0..K, [B, ...] each."""
        changes = None if batch.augment is None else batch.augment[:, 0]
        latents = [network.represent(seen_as(batch.observations, changes))]
        actions = batch.actions
        actions = actions.long() if not actions.is_floating_point() else actions
        scale = self.config.gradient_scale
        for step in range(actions.shape[1]):
            before = latents[-1]
            if step and self.config.scaled_at == "input":
                before = scale_gradient(before, scale)
            after = network.advance(before, actions[:, step])
            latents.append(scale_gradient(after, scale) if self.config.scaled_at == "output" else after)
        return latents

    def _rewards(self, network: LearnedNetwork, latents: list[Tensor]) -> Tensor:
        """Give reward logits of steps 1..K, one step behind the other [K * B, P, atoms]."""
        if not self.prefix_reset:
            return network.rewards(torch.cat(latents[1:]))[0]
        found, hidden = [], None
        for step, latent in enumerate(latents[1:]):
            if step % self.prefix_reset == 0:
                hidden = network.fresh_hidden(len(latent))
            reward, hidden = network.rewards(latent, hidden)
            found.append(reward)
        return torch.cat(found)

    def _policy(self, network: LearnedNetwork, policy: Tensor, batch: UnrollBatch) -> tuple[Tensor, Tensor]:
        """Give cross-entropies and entropies [B, K + 1], nats; continuous entropies are those before tanh."""
        if not network.is_continuous:
            log_probs = torch.log_softmax(policy, dim=-1)
            entropy = -(log_probs.exp() * log_probs).sum(-1)
            return -(batch.policy * log_probs).sum(-1), entropy
        mean, std = network.gaussian(policy)
        log_probs = gaussian_log_prob(mean, std, batch.candidates)
        target = batch.policy
        if self.config.continuous == "best":
            best = nn.functional.one_hot(target.argmax(-1), target.shape[-1])
            target = best.to(target.dtype)
        return -(target * log_probs).sum(-1), gaussian_entropy(std)

    def _consistency(self, network: LearnedNetwork, latents: list[Tensor], batch: UnrollBatch) -> Tensor:
        """Give 1 - cos between the unrolled latents and those of the observations that came, [B, K]."""
        steps, rows = len(latents) - 1, len(batch.observations)
        predicted = network.project(torch.cat(latents[1:]), is_predicted=True).float()
        with torch.no_grad():
            changes = None if batch.augment is None else by_rows(batch.augment[:, 1:])
            seen = seen_as(by_rows(batch.next_observations), changes)
            wanted = network.project(network.represent(seen), is_predicted=False).float()
        similar = nn.functional.cosine_similarity(predicted, wanted, dim=1, eps=1e-5)
        return 1.0 - similar.view(steps, rows).transpose(0, 1)

    def _figures(self, network: LearnedNetwork, batch: UnrollBatch, entropy: Tensor) -> dict[str, Tensor]:
        """Give what a run is watched by."""
        heads = network.heads
        outside = torch.zeros((), device=entropy.device)
        if network.config.heads == "categorical":
            outside = (
                outside + (heads.value_support.is_outside(batch.values) & batch.value_mask[..., None]).sum()
            )
            outside = (
                outside
                + (heads.reward_support.is_outside(batch.rewards) & batch.reward_mask[..., None]).sum()
            )
        mask = batch.policy_mask
        target = -torch.special.xlogy(batch.policy, batch.policy).sum(-1)
        return {
            "policy_entropy": masked_mean(entropy, mask),
            "policy_target_entropy": masked_mean(target, mask),
            "value_target": masked_mean(batch.values.mean(-1), batch.value_mask),
            "outside_support": outside,
        }


def seen_as(observations: Tensor, change: Tensor | None) -> Tensor:
    """Give observations [R, *shape] as they are learnt from: changed [R, 3], or as they are."""
    return observations if change is None else augment(observations, change)


def by_rows(steps: Tensor) -> Tensor:
    """Turn [B, K, ...] into [K * B, ...], one step behind the other."""
    return steps.transpose(0, 1).flatten(0, 1)


def by_step_rewards(flat: Tensor, rows: int) -> Tensor:
    """Turn [K * B, P, atoms] into [B, K, P, atoms]."""
    return flat.float().view(-1, rows, *flat.shape[1:]).transpose(0, 1)


def number_loss(network: LearnedNetwork, support: Support, answer: Tensor, wanted: Tensor) -> Tensor:
    """Compare a head's answers [B, S, P, atoms] with numbers [B, S, P]; sums over players, [B, S]."""
    if network.config.heads == "categorical":
        log_probs = torch.log_softmax(answer, dim=-1)
        return -(support.encode(wanted) * log_probs).sum((-1, -2))
    target = squash(wanted) if support.is_squashed else wanted
    return (answer.squeeze(-1) - target).square().sum(-1)


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Give the mean of values [B, S] where mask is True."""
    return (values * mask).sum() / mask.sum().clamp_min(1)


def sum_terms(
    terms: dict[str, tuple[float, Tensor, Tensor]], weight: Tensor, rows: Tensor
) -> tuple[Tensor, dict[str, Tensor]]:
    """Put the terms together: each row's sum over its steps, weighed, then the mean over rows.

    Args:
        terms: by name: factor, losses [B, S] of steps 0..K or 1..K, and which of them count.
        weight: [1, K + 1] of the steps.
        rows: [B] of the rows.
    Returns:
        the loss, and each term's mean where it counts.
    """
    total = torch.zeros_like(rows)
    figures = {}
    for name, (factor, losses, mask) in terms.items():
        steps = weight[:, weight.shape[1] - losses.shape[1] :]
        masked = torch.where(mask, losses, 0.0)
        total = total + factor * (masked * steps).sum(1)
        figures[name] = masked_mean(masked.detach(), mask)
    return (total * rows).mean(), figures
