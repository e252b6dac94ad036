"""Sampled MuZero: a search over a few drawn actions where there are too many for a prior over all.

`SampledModel` stands between a search and any model with numbered actions. Continuous actions are drawn in
torch_draws.py; the correction of the prior is the same.

Source: Learning and Planning in Complex Action Spaces (Hubert et al. 2021).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from zelkova.errors import ConfigError, ShapeError, require_memory
from zelkova.search.kernels.native import F64, I32
from zelkova.search.model import Evaluation, Model

BOTTOM = -1e300  # stands for log 0


def log_proposal(log_prior: F64, tau: float) -> F64:
    """Flatten a prior: log of beta, in proportion to prior ** (1 / tau).

    Args:
        log_prior: [R, M] log-probabilities, `BOTTOM` where there is no action.
        tau: above 0; 1 is the prior itself, inf is uniform.
    """
    inside = log_prior > BOTTOM / 2
    scaled = np.where(inside, log_prior / tau, BOTTOM)
    return log_softmax(scaled)


def log_softmax(logits: F64) -> F64:
    """Normalise logits [R, M] to log-probabilities; `BOTTOM` stays there."""
    inside = logits > BOTTOM / 2
    shifted = np.where(inside, logits - logits.max(axis=1, keepdims=True), -np.inf)
    total = np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return np.where(inside, shifted - total, BOTTOM)


def draw_counts(probability: F64, uniform: F64) -> I32:
    """Draw K columns of each row, independently and with replacement, and count them.

    Args:
        probability: [R, M] sums to 1.
        uniform: [R, K] numbers in [0, 1) to draw with.
    Returns:
        int32[R, M] how often each column came; sums to K.
    """
    rows, most = probability.shape
    offset = np.arange(rows)[:, None]
    total = np.cumsum(probability, axis=1)
    total /= total[:, -1:]
    found = np.searchsorted((total + offset).ravel(), (uniform + offset).ravel(), side="right")
    column = found.reshape(uniform.shape) - offset * most
    last = most - 1 - np.argmax(probability[:, ::-1] > 0, axis=1)  # rounding may lead past the last one
    column = np.minimum(column, last[:, None])
    counts = np.bincount((column + offset * most).ravel(), minlength=rows * most)
    return counts.reshape(rows, most).astype(np.int32)


def sampled_prior(counts: Any, prior: Any, proposal: Any) -> F64:
    """Correct a prior for how the actions were drawn: beta_hat / beta * prior, normalised over the drawn set.

    Args:
        counts: [..., M] how often each action was drawn; 0 leaves it out.
        prior, proposal: [..., M] probabilities; proposal above 0 where counts are.
    Source: Sampled MuZero, Section 3 (the sample-based policy improvement operator).
    """
    counts, prior, proposal = (np.asarray(a, np.float64) for a in (counts, prior, proposal))
    ratio = np.divide(prior, proposal, out=np.zeros_like(prior), where=counts > 0)
    weight = counts * ratio
    corrected: F64 = weight / weight.sum(axis=-1, keepdims=True)
    return corrected


def sampled_policy_loss(visit_counts: Any, log_prob: Any) -> F64:
    """Measure the cross-entropy of a policy to the visits of a sampled set.

    Args:
        visit_counts: [..., K] of the drawn actions.
        log_prob: [..., K] the policy's log-probability, or log-density, of each.
    Returns:
        [...] -sum of N / sum(N) * log_prob.
    Source: Sampled MuZero, Section 4.
    """
    visits = np.asarray(visit_counts, np.float64)
    loss: F64 = -(visits / visits.sum(axis=-1, keepdims=True) * np.asarray(log_prob, np.float64)).sum(axis=-1)
    return loss


def sample_rows(evaluation: Evaluation, uniform: F64, chosen: Any, tau: float) -> Evaluation:
    """Keep only drawn actions of some rows, with the corrected prior as their logits.

    Args:
        evaluation: R rows, not changed.
        uniform: [R, K] numbers in [0, 1) to draw with.
        chosen: bool[R] rows to draw at; the others, and rows with a NaN or infinite logit, which the search
            refuses, keep all their actions.
        tau: as in `log_proposal`.
    """
    columns = np.arange(evaluation.actions.shape[1])
    inside = columns < evaluation.count[:, None]
    logits = np.where(inside, evaluation.prior_logits.astype(np.float64), 0.0)
    chosen = chosen & np.isfinite(logits).all(axis=1)
    inside[~chosen] = columns == 0  # what is drawn there is not used
    log_prior = log_softmax(np.where(inside, np.where(chosen[:, None], logits, 0.0), BOTTOM))
    log_beta = log_proposal(log_prior, tau)
    beta = np.where(inside, np.exp(log_beta), 0.0)
    counts = draw_counts(beta, uniform)
    drawn = counts > 0
    corrected = np.log(np.maximum(counts, 1)) + log_prior - log_beta
    order = np.argsort(~drawn, axis=1, kind="stable")
    kept = columns < drawn.sum(axis=1)[:, None]
    mine = chosen[:, None]
    actions = np.where(kept, np.take_along_axis(evaluation.actions, order, axis=1), 0)
    compact = np.where(kept, np.take_along_axis(corrected, order, axis=1), 0.0)
    return evaluation._replace(
        actions=np.where(mine, actions, evaluation.actions).astype(np.int32),
        count=np.where(chosen, drawn.sum(axis=1), evaluation.count).astype(np.int32),
        prior_logits=np.where(mine, compact, evaluation.prior_logits).astype(np.float32),
    )


class SampledModel:
    """A model that shows the search K_s drawn actions of each position instead of all.

    Chance nodes keep all their outcomes. What is drawn at a node depends on the tree's generator and the
    node's number alone, not on other trees.

    Args:
        model: answers for the positions.
        num_nodes: N of the search, simulations + 1.
        num_samples: K_s, actions drawn at a node, repeats included.
        rngs: one generator for each tree, or one for all; read at every `root`.
        tau: actions come from prior ** (1 / tau); 1 the prior, inf uniform.
    Raises:
        ConfigError: num_samples or tau is out of range.
    """

    def __init__(
        self,
        model: Model,
        num_nodes: int,
        num_samples: int,
        rngs: np.random.Generator | Sequence[np.random.Generator],
        tau: float = 1.0,
    ) -> None:
        if num_samples < 1:
            raise ConfigError(f"num_samples = {num_samples} is below 1")
        if not tau > 0 or math.isnan(tau):
            raise ConfigError(f"tau = {tau} is not above 0; 1 draws from the prior, inf uniformly")
        self.model, self.rngs, self.tau = model, rngs, tau
        self.num_nodes, self.num_samples = num_nodes, num_samples
        self._uniform: F64 = np.empty((0, num_nodes, num_samples))

    def root(self) -> Evaluation:
        """Evaluate the roots and draw their actions, and what the nodes below will be drawn with."""
        found = self.model.root()
        size = (self.num_nodes, self.num_samples)
        what = f"drawing {self.num_samples} actions at {self.num_nodes} nodes of {len(found.count)} trees"
        require_memory(8 * len(found.count) * self.num_nodes * self.num_samples, what)
        if isinstance(self.rngs, np.random.Generator):
            self._uniform = self.rngs.random((len(found.count), *size))
        else:
            self._uniform = np.stack([self.rngs[b].random(size) for b in range(len(found.count))])
        self.roots = sample_rows(found, self._uniform[:, 0], found.count > 0, self.tau)
        return self.roots

    def step(self, parent: I32, action: I32, node: I32) -> Evaluation:
        """Evaluate the positions after the actions and draw theirs.

        Raises:
            ShapeError: the rows are no multiple of the trees.
        """
        trees = len(self._uniform)
        if trees == 0 or len(node) % trees:
            raise ShapeError(f"step() has {len(node)} rows for {trees} trees; call root() first")
        chosen = node >= 0
        tree = np.arange(len(node)) // (len(node) // trees)
        uniform = self._uniform[tree, np.maximum(node, 0)]
        found = self.model.step(parent, action, node)
        chosen &= (found.to_play >= 0) & (found.count > 0)
        if not chosen.any():
            return found
        return sample_rows(found, uniform, chosen, self.tau)
