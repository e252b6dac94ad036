"""Search as regularised policy optimisation: y maximises <y, q> - lambda KL(pi || y); PUCT approximates it.

    y(a) = lambda pi(a) / (alpha - q(a)), alpha such that the sum is 1

Priors are in the units of the kids' `prior`: relative to the first kid's logit, as `open_best` writes them.
The other penalty, KL(y || pi), gives softmax(log pi + q / lambda), which has the form of Gumbel MuZero's
improved policy: see `completed_q` and `choose_full`.

Source: MCTS as regularized policy optimization (Grill et al. 2020).
"""

import numpy as np

from zelkova.search.kernels.native import F32, ONE, ZERO, exp32, inlined
from zelkova.search.kernels.tree import TRPO, UNKNOWN, VISITED, Forest
from zelkova.search.rules.gumbel import prepare_full
from zelkova.search.rules.proven import is_lost
from zelkova.search.rules.qtransforms import completed_q, penalty

HALVINGS = 48  # of the interval of alpha; float64 has no more to give


@inlined
def unvisited_priors(t: Forest, b: int, node: int) -> tuple[np.float32, np.float32]:
    """Give the priors of all unvisited edges together, and of the best one; 0 and 0 where there are none."""
    record = t.nodes[b, node]
    if record["best"] < 0:
        return ZERO, ZERO
    first = t.kids[b, int(record["kids"])]["logit"]
    rest = np.float32(record["mass"] * exp32(np.float32(record["reference"] - first)))
    return rest, exp32(np.float32(record["best_weight"] - first))


@inlined
def find_level(t: Forest, b: int, node: int) -> tuple[float, float, float]:
    """Find alpha by halving the interval that must hold it.

    Args:
        t, b, node: the tree and a node with kids, prepared by `prepare_full`.
    Returns:
        (alpha, weight, q): y(a) = weight * prior / (alpha - its normalised Q); q is that of unvisited edges.
    """
    record = t.nodes[b, node]
    value, offset, factor = completed_q(t, b, node, TRPO)
    rest, best_rest = unvisited_priors(t, b, node)
    start = int(record["kids"])
    total = np.float64(rest)
    for k in range(int(record["num_kids"])):
        total += np.float64(t.kids[b, start + k]["prior"])
    weight = np.float64(penalty(t, b, node)) / total
    unvisited = np.float64((value - offset) * factor)
    low = unvisited + weight * np.float64(best_rest) if rest > ZERO else -np.inf
    high = unvisited + weight * total if rest > ZERO else -np.inf
    for k in range(int(record["num_kids"])):
        kid = t.kids[b, start + k]
        q = np.float64((kid["q"] - offset) * factor)
        low = max(low, q + weight * np.float64(kid["prior"]))
        high = max(high, q + weight * total)
    for _ in range(HALVINGS):
        alpha = 0.5 * (low + high)
        mass = weight * np.float64(rest) / (alpha - unvisited) if rest > ZERO else 0.0
        for k in range(int(record["num_kids"])):
            kid = t.kids[b, start + k]
            mass += weight * np.float64(kid["prior"]) / (alpha - np.float64((kid["q"] - offset) * factor))
        if mass > 1.0:
            low = alpha
        else:
            high = alpha
    return high, weight, unvisited


@inlined
def choose_trpo(t: Forest, b: int, node: int) -> int:
    """Choose argmax y(a) - N(a) / (1 + S) at a node; the lowest action on a tie.

    Returns:
        The place among the node's kids, or -1 for its best unvisited edge.
    """
    record = t.nodes[b, node]
    if record["best"] == UNKNOWN:
        prepare_full(t, b, node)
    if record["num_kids"] == 0:
        return -1
    alpha, weight, unvisited = find_level(t, b, node)
    _, offset, factor = completed_q(t, b, node, TRPO)
    share = ONE / np.float32(int(record["visits"]) + int(record["pending"]))
    start = int(record["kids"])
    edge = int(record["best"])
    best = VISITED
    if edge >= 0:
        _, prior = unvisited_priors(t, b, node)
        best = np.float32(weight * np.float64(prior) / (alpha - unvisited))
    chosen = -1
    for k in range(int(record["num_kids"])):
        if is_lost(t, b, node, k):
            continue
        kid = t.kids[b, start + k]
        q = np.float64((kid["q"] - offset) * factor)
        y = np.float32(weight * np.float64(kid["prior"]) / (alpha - q))
        score = np.float32(y - np.float32(int(kid["visits"])) * share)
        if score > best or (score == best and int(kid["edge"]) < edge):
            best = score
            edge = int(kid["edge"])
            chosen = k
    return chosen


@inlined
def trpo_policy(t: Forest, b: int, out: F32) -> None:
    """Write y of the root's legal actions into out[b]; at least one of them was visited."""
    record = t.nodes[b, 0]
    if record["best"] == UNKNOWN:
        prepare_full(t, b, 0)
    alpha, weight, unvisited = find_level(t, b, 0)
    _, offset, factor = completed_q(t, b, 0, TRPO)
    start = int(record["edges"])
    first = int(record["kids"])
    logit = t.kids[b, first]["logit"]
    for i in range(int(record["num_edges"])):
        if t.priors[b, start + i] != VISITED:
            prior = np.float64(exp32(np.float32(t.priors[b, start + i] - logit)))
            out[b, i] = np.float32(weight * prior / (alpha - unvisited))
    for k in range(int(record["num_kids"])):
        kid = t.kids[b, first + k]
        q = np.float64((kid["q"] - offset) * factor)
        out[b, int(kid["edge"])] = np.float32(weight * np.float64(kid["prior"]) / (alpha - q))
