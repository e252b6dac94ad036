"""The mean-variance constrained evaluator of TransZero: a tree's values and root policy without visit counts.

Every node has its children and a virtual entry "self" (stop here and take the model's value) as entries e
with a value q and a variance; the order in which the tree grew does not matter:

    w(e) = exp(beta q(e)) / variance(e),   pi(e) = w(e) / sum w
    Q(x) = r(x) + gamma sum_e pi(e) q(e),  variance(x) = gamma^2 sum_e pi(e)^2 variance(e)

Rewards count as exact and the model's value has variance 1. The mover's component of q stands in the
exponent; nothing is normalised, so beta is in units of the return.

Source: TransZero (arXiv 2509.11233) and its public code.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ConfigError, SearchError
from zelkova.search.batch import BatchSearch
from zelkova.search.kernels.native import F32, F64, inlined, kernel
from zelkova.search.kernels.tree import Records

LEAST_VARIANCE = 1e-4  # also of an ending's exact return: 0 would take all the weight


class VarianceAnswer(NamedTuple):
    """What the evaluator says of each root; columns follow the root's legal actions."""

    action_weights: F32  # [B, M] pi of the actions without the entry self, sums to 1
    value: F32  # [B, P] root value, rewards below the root included
    variance: F32  # [B] of that value


def evaluate_by_variance(
    search: BatchSearch, beta: float, discount: float = 1.0, counts_unexpanded: bool = True
) -> VarianceAnswer:
    """Evaluate finished trees by means and variances in place of visit counts.

    Args:
        search: with nothing waiting for an evaluation; it may have been ended early.
        beta: 0 weighs by certainty alone; a large one takes the best entry. 1 / unit of the return.
        discount: gamma of an action that the tree has not expanded.
        counts_unexpanded: such an action is an entry with q 0 and variance gamma^2, as the public settings
            have it; False: it is none, and a leaf's value is r + gamma v.
    Raises:
        ConfigError: beta or discount is out of range.
        SearchError: there are no trees at rest, or no action to weigh; or exp(beta q) is beyond float64.
    """
    is_known = all(isinstance(number, int | float | np.number) for number in (beta, discount))
    if not (is_known and np.isfinite(beta) and beta >= 0 and 0 <= discount <= 1):
        raise ConfigError(f"beta = {beta}, discount = {discount}; allowed: beta from 0, discount from 0 to 1")
    search.require_rest("evaluate_by_variance()")
    if not counts_unexpanded and (search.forest.nodes["visits"][:, 0] < 2).any():
        raise SearchError(
            "evaluate_by_variance() of a root without an expanded action; next: search first, or"
            " counts_unexpanded=True"
        )
    trees, most, players = search.num_trees, search.max_actions, search.num_players
    nodes = search.forest.nodes.shape[1]
    answer = VarianceAnswer(
        np.zeros((trees, most), np.float32),
        np.zeros((trees, players), np.float32),
        np.zeros(trees, np.float32),
    )
    mean, variance = np.zeros((nodes, players)), np.zeros(nodes)
    open_variance = max(discount * discount, LEAST_VARIANCE) if counts_unexpanded else -1.0
    forest = search.forest
    sweep(
        forest.heads, forest.nodes, forest.kids, forest.raw, forest.rewards, mean, variance, float(beta),
        open_variance, *answer,
    )  # fmt: skip
    if not (np.isfinite(answer.action_weights).all() and np.isfinite(answer.value).all()):
        raise SearchError(f"beta = {beta}: exp(beta q) of this tree is beyond float64; next: a smaller beta")
    return answer


def variance_scores(
    q: NDArray[np.float64],
    prior: NDArray[np.float64],
    variance: NDArray[np.float64],
    node_variance: float,
    c: float,
) -> NDArray[np.float64]:
    """Score a node's children for expansion: q + c P sqrt(1 / variance(x)) / (1 + 1 / variance(x a)).

    Args:
        q: [A] values of the children, scaled to 0..1.
        prior: [A] probabilities.
        variance: [A] of the children, above 0.
        node_variance: of the node, above 0.
        c: exploration constant.
    """
    scores: NDArray[np.float64] = q + c * prior * np.sqrt(1.0 / node_variance) / (1.0 + 1.0 / variance)
    return scores


class Spread(NamedTuple):
    """Plain arrays of a `Forest`, and what the evaluator knows of one tree's nodes."""

    heads: Records
    nodes: Records
    kids: Records
    raw: F32
    rewards: F32
    mean: F64  # [N, P] Q of a node, the reward on its edge included
    variance: F64  # [N] of that Q


@inlined
def is_expanded(t: Spread, b: int, node: int, k: int) -> bool:
    """Say whether a kid of a node has a child with a value."""
    kid = t.kids[b, int(t.nodes[b, node]["kids"]) + k]
    return bool(kid["child"] >= 0 and kid["visits"] > 0)


@inlined
def weigh(t: Spread, b: int, node: int, k: int, beta: float, shift: float) -> float:
    """Weigh an expanded kid by certainty and value, at a chance node by its probability.

    Args:
        shift: taken from every exponent of the node, see `largest_exponent`.
    """
    record = t.nodes[b, node]
    kid = t.kids[b, int(record["kids"]) + k]
    if record["to_play"] < 0:
        return float(kid["prior"])
    child = int(kid["child"])
    return float(np.exp(beta * t.mean[child, int(record["to_play"])] - shift) / t.variance[child])


@inlined
def largest_exponent(
    t: Spread, b: int, node: int, beta: float, open_variance: float, has_self: bool
) -> float:
    """Find the largest beta q of a node's entries, so that no exponential overflows; 0 at a chance node.

    Args:
        has_self: whether the entry self is one.
    """
    record = t.nodes[b, node]
    mover = int(record["to_play"])
    if mover < 0:
        return 0.0
    top = beta * np.float64(t.raw[b, node, mover]) if has_self else -np.inf
    unexpanded = int(record["num_edges"])
    for k in range(int(record["num_kids"])):
        if is_expanded(t, b, node, k):
            child = int(t.kids[b, int(record["kids"]) + k]["child"])
            top = max(top, beta * t.mean[child, mover])
            unexpanded -= 1
    return max(top, 0.0) if unexpanded > 0 and open_variance > 0.0 else top


@inlined
def settle_node(t: Spread, b: int, node: int, beta: float, open_variance: float) -> None:
    """Write mean and variance of a node whose children have theirs."""
    record = t.nodes[b, node]
    count = int(record["num_kids"])
    first = int(record["kids"])
    mover = int(record["to_play"])
    shift = largest_exponent(t, b, node, beta, open_variance, True)
    total = 0.0
    unexpanded = int(record["num_edges"])
    for k in range(count):
        if is_expanded(t, b, node, k):
            total += weigh(t, b, node, k, beta, shift)
            unexpanded -= 1
    own = 0.0 if total > 0.0 else 1.0  # at a chance node
    rest = 0.0  # weight of one unexpanded action
    if mover >= 0:
        own = np.exp(beta * np.float64(t.raw[b, node, mover]) - shift)
        if open_variance > 0.0 and unexpanded > 0:
            rest = np.exp(-shift) / open_variance
    total += own + unexpanded * rest
    square = (own / total) ** 2 + unexpanded * open_variance * (rest / total) ** 2
    for p in range(t.mean.shape[1]):
        t.mean[node, p] = own / total * t.raw[b, node, p]
    for k in range(count):
        if is_expanded(t, b, node, k):
            share = weigh(t, b, node, k, beta, shift) / total
            child = int(t.kids[b, first + k]["child"])
            square += share * share * t.variance[child]
            for p in range(t.mean.shape[1]):
                t.mean[node, p] += share * t.mean[child, p]
    gamma = np.float64(record["discount"])
    for p in range(t.mean.shape[1]):
        t.mean[node, p] = t.rewards[b, node, p] + gamma * t.mean[node, p]
    t.variance[node] = max(gamma * gamma * square, LEAST_VARIANCE)


@kernel
def sweep(
    heads: Records, nodes: Records, kids: Records, raw: F32, rewards: F32, mean: F64, variance: F64,
    beta: float, open_variance: float, weights: F32, value: F32, spread: F32,
) -> None:  # fmt: skip
    """Evaluate every tree from its youngest node to its root: a child is always younger than its parent.

    Args: plain arrays of a `Spread`, then
        beta: as in `evaluate_by_variance`.
        open_variance: of an unexpanded action; below 0: such actions don't count.
        weights, value, spread: written, as in `VarianceAnswer`.
    """
    t = Spread(heads, nodes, kids, raw, rewards, mean, variance)
    for b in range(heads.shape[0]):
        for node in range(int(heads[b]["num_nodes"]) - 1, -1, -1):
            settle_node(t, b, node, beta, open_variance)
        root = nodes[b, 0]
        edges = int(root["num_edges"])
        shift = largest_exponent(t, b, 0, beta, open_variance, False)
        for i in range(edges):
            weights[b, i] = np.exp(-shift) / open_variance if open_variance > 0.0 else 0.0
        for k in range(int(root["num_kids"])):
            if is_expanded(t, b, 0, k):
                weights[b, int(kids[b, int(root["kids"]) + k]["edge"])] = weigh(t, b, 0, k, beta, shift)
        total = 0.0
        for i in range(edges):
            total += weights[b, i]
        for i in range(edges):
            weights[b, i] = weights[b, i] / total
        spread[b] = variance[0]
        for p in range(mean.shape[1]):
            value[b, p] = mean[0, p]
