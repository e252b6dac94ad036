"""What is minimised: the policy's cross-entropy over legal actions and the two-part value loss.

All in float32. Logits come in raw: each softmax is taken once, here, as a log-softmax, so that a
confident mistake keeps its full gradient.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from zelkova.errors import ShapeError
from zelkova.learning.config import LearningConfig
from zelkova.networks.config import HeadsConfig
from zelkova.networks.heads import AuxiliaryHeads, evaluate_all
from zelkova.networks.outcome import MASKED, outcome_values
from zelkova.replay.targets import OutcomeSpec, split_aftermath

Objective = tuple[Tensor, Tensor | None, dict[str, Tensor]]
"""The loss, each row's error where priorities are kept [B], and figures by name."""


class PolicyLoss(NamedTuple):
    """Means over the batch."""

    loss: Tensor  # cross-entropy of the target and the network's policy, nats
    entropy: Tensor  # of the network's policy over legal actions, nats
    target_entropy: Tensor  # of the target: the cross-entropy can't go below it, nats
    agreement: Tensor  # share of positions where both like the same action best


class ValueLoss(NamedTuple):
    """Means over the batch."""

    loss: Tensor  # (1 - w) * outcome + w * weight * root_value
    outcome: Tensor  # cross-entropy of the outcome's distribution, nats
    root_value: Tensor  # squared error of the value vector, summed over seats, as a share of the range
    accuracy: Tensor  # share of positions whose likeliest outcome is the one that came
    error: Tensor  # mean distance to z = (1 - w) outcome + w root value, as a share of the range


class OutcomeBatch(NamedTuple):
    """Positions and what the network should answer, in its own view; arrays or tensors."""

    planes: Any  # [B, C, H, W]
    legal: Any  # [B, M], -1 at the padding
    policy: Any  # [B, M]
    outcome: Any  # [B, P + 1]
    root_values: Any  # [B, P]
    alive: Any = None  # [B, P] bool, or None
    aftermath: Any = None  # [B, 2P + 2] as `replay.targets.Aftermath`, or None: no auxiliary heads


class ValueSettings(NamedTuple):
    """What value_loss must know beside its tensors."""

    return_range: tuple[float, float]  # lowest and highest return of the game
    has_draws: bool  # False: the draw outcome can't happen
    mix: float  # w in [0, 1], the root value's share
    root_value_weight: float = 1.0  # of the squared error; 1 is as steep as the cross-entropy at an even
    # position of two players


def policy_loss(policy_logits: Tensor, legal: Tensor, policy: Tensor) -> PolicyLoss:
    """Compare the network's policy over the legal actions with a target over them.

    Logits of illegal actions are never read.

    Args:
        policy_logits: [B, A] float32.
        legal: [B, M] int64, -1 at the padding; one legal action a row at least.
        policy: [B, M] float32, sums to 1, 0 at the padding.
    Raises:
        ShapeError: the shapes do not fit together.
    """
    if policy_logits.ndim != 2 or legal.ndim != 2 or policy.shape != legal.shape:
        raise _wrong(policy_logits=policy_logits, legal=legal, policy=policy)
    if policy_logits.shape[0] != legal.shape[0]:
        raise _wrong(policy_logits=policy_logits, legal=legal, policy=policy)
    padding = legal < 0
    chosen = policy_logits.gather(1, legal.clamp(min=0)).masked_fill(padding, -torch.inf)
    log_probs = torch.log_softmax(chosen, dim=1).masked_fill(padding, 0.0)
    with torch.no_grad():
        entropy = -(log_probs.exp() * log_probs).sum(1).mean()  # the padding adds 1 * 0
        target_entropy = -torch.special.xlogy(policy, policy).sum(1).mean()
        agreement = (chosen.argmax(1) == policy.argmax(1)).float().mean()
    return PolicyLoss(-(policy * log_probs).sum(1).mean(), entropy, target_entropy, agreement)


def value_loss(
    outcome_logits: Tensor,
    outcome: Tensor,
    root_values: Tensor,
    alive: Tensor | None,
    settings: ValueSettings,
) -> ValueLoss:
    """Compare the distribution over outcomes, and the value vector it stands for, with their targets.

    Args:
        outcome_logits: [B, P + 1] float32, the draw last, network's view.
        outcome: [B, P + 1] float32 shares of each outcome, sum to 1.
        root_values: [B, P] float32 in the return range.
        alive: [B, P] bool, seats that can still win; None: all.
        settings: the game's range and draws, and the weights of the parts.
    Raises:
        ShapeError: the shapes do not fit together.
    Source: mixing outcome and root value as in z = (1 - w) outcome + w nu; here each part has the
        loss that fits it: a cross-entropy for what came, a squared error for what was estimated.
    """
    players = outcome_logits.shape[1] - 1 if outcome_logits.ndim == 2 else 0
    if players < 1 or outcome.shape != outcome_logits.shape or root_values.shape != (len(outcome), players):
        raise _wrong(outcome_logits=outcome_logits, outcome=outcome, root_values=root_values)
    if players > 1 and not settings.has_draws:
        outcome_logits = torch.cat([outcome_logits[:, :players], outcome_logits[:, players:] * 0 + MASKED], 1)
    if alive is not None:
        if alive.shape != root_values.shape:
            raise _wrong(outcome_logits=outcome_logits, alive=alive)
        dead = torch.nn.functional.pad(~alive, (0, 1))
        outcome_logits = outcome_logits.masked_fill(dead, MASKED)
    log_probs = torch.log_softmax(outcome_logits, dim=1)
    unit = (0.0, 1.0)  # values as shares of the range, so that no game's range sets the scale of the loss
    values = outcome_values(log_probs.exp(), unit)
    low, high = settings.return_range
    searched = (root_values - low) / (high - low)
    outcome_part = -(outcome * log_probs).sum(1).mean()
    root_part = (values - searched).square().sum(1).mean()
    mix = settings.mix
    with torch.no_grad():
        accuracy = (outcome_logits.argmax(1) == outcome.argmax(1)).float().mean()
        error = (values - mix_values(outcome_values(outcome, unit), searched, mix)).abs().mean()
    total = (1.0 - mix) * outcome_part + mix * settings.root_value_weight * root_part
    return ValueLoss(total, outcome_part, root_part, accuracy, error)


def mix_values(outcome: Tensor, root_values: Tensor, mix: float) -> Tensor:
    """Mix what came with what the search thought: z = (1 - w) outcome + w root value.

    Args:
        outcome: [B, P] returns.
        root_values: [B, P] on the same scale.
        mix: w.
    """
    return (1.0 - mix) * outcome + mix * root_values


def auxiliary_losses(answers: dict[str, Tensor], aftermath: Tensor) -> dict[str, Tensor]:
    """Compare the auxiliary heads with what came.

    Args:
        answers: by head, float32, as `AuxiliaryHeads` gives them.
        aftermath: [B, 2P + 2] float32, see `replay.targets.Aftermath`; network's view.
    Returns:
        by head the mean over the batch: cross-entropies in nats, over the seats too for rank; for plies_left
        the Huber loss of log(1 + moves to the end), which is half the squared error below 1.
    Raises:
        ShapeError: the shapes do not fit together.
    """
    went = split_aftermath(aftermath)
    players = went.places.shape[1]
    losses = {}
    for name, answer in answers.items():
        if len(answer) != len(aftermath) or (name == "rank" and answer.shape[1] != players * players):
            raise _wrong(aftermath=aftermath, **{name: answer})
        if name == "rank":
            logits, places = answer.reshape(-1, players), went.places.reshape(-1).long() - 1
            losses[name] = nn.functional.cross_entropy(logits, places)
        elif name == "next_eliminated":
            losses[name] = nn.functional.cross_entropy(answer, went.next_eliminated.long())
        elif name == "final_material":
            losses[name] = nn.functional.cross_entropy(answer, went.material)
        else:
            losses[name] = nn.functional.smooth_l1_loss(answer[:, 0], torch.log1p(went.plies_left))
    return losses


class OutcomeObjective:
    """The loss of a network that answers planes with a policy and a distribution over outcomes."""

    def __init__(
        self,
        config: LearningConfig,
        spec: OutcomeSpec,
        weights: HeadsConfig | None = None,
        heads: AuxiliaryHeads | None = None,
    ) -> None:
        """Settle the weights of the parts.

        Args:
            config: value_mix, value_weight and root_value_weight are read.
            spec: the game's outcomes.
            weights: of the auxiliary heads' losses.
            heads: those heads; None: there are none.
        """
        self.heads = heads
        self.weights = weights.weights if weights is not None else {}
        self.value_weight = config.value_weight
        self.settings = ValueSettings(
            spec.return_range, spec.has_draws, config.value_mix, config.root_value_weight
        )

    def set_mix(self, mix: float) -> None:
        """Settle how much the root values count from now on, w in 0..1."""
        self.settings = self.settings._replace(mix=mix)

    def __call__(self, network: nn.Module, batch: OutcomeBatch) -> Objective:
        """Evaluate the planes and compare the answers, in float32, with their targets.

        Args:
            network: forward(planes [B, C, H, W]) -> (policy_logits [B, A], outcome_logits [B, P + 1]).
            batch: tensors.
        Raises:
            ShapeError: the shapes do not fit together.
        """
        planes = batch.planes.contiguous(memory_format=torch.channels_last)
        answers: dict[str, Tensor] = {}
        if self.heads is None:
            policy_logits, outcome_logits = network(planes)
        else:
            policy_logits, outcome_logits, answers = evaluate_all(network, self.heads, planes)
        policy = policy_loss(policy_logits.float(), batch.legal.long(), batch.policy)
        value = value_loss(
            outcome_logits.float(), batch.outcome, batch.root_values, batch.alive, self.settings
        )
        names = (
            "policy_loss", "policy_entropy", "policy_target_entropy", "policy_agreement",
            "value_loss", "outcome_loss", "root_value_loss", "value_accuracy", "value_error",
        )  # fmt: skip
        figures = dict(zip(names, (*policy, *value), strict=True))
        total = policy.loss + self.value_weight * value.loss
        if answers:
            answers = {name: answer.float() for name, answer in answers.items()}
            for name, loss in auxiliary_losses(answers, batch.aftermath).items():
                total = total + self.weights[name] * loss
                figures[f"{name}_loss"] = loss
        return total, None, figures


def _wrong(**tensors: Tensor) -> ShapeError:
    """Name the shapes that do not fit together."""
    given = ", ".join(f"{name} {list(tensor.shape)}" for name, tensor in tensors.items())
    return ShapeError(
        f"{given} do not fit together; allowed: policy_logits [B, A], legal and policy [B, M],"
        " outcome_logits and outcome [B, P + 1], root_values and alive [B, P]"
    )
