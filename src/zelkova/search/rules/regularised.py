"""Search as regularised policy optimisation: y maximises <y, q> - lambda KL(pi || y); PUCT approximates it.

    y(a) = lambda pi(a) / (alpha - q(a)), alpha such that the sum is 1

Priors are in the units of the kids' `prior`: relative to the first kid's logit, as `open_best` writes them.
The other penalty, KL(y || pi), gives softmax(log pi + q / lambda), which has the form of Gumbel MuZero's
improved policy: see `completed_q` and `choose_full`.

Source: MCTS as regularized policy optimization (Grill et al. 2020).
"""

from typing import NamedTuple

import numpy as np

from zelkova.search.kernels.native import F32, ONE, ZERO, exp32, inlined
from zelkova.search.kernels.tree import TRPO, UNKNOWN, VISITED, Forest
from zelkova.search.rules.gumbel import prepare_full
from zelkova.search.rules.proven import is_lost
from zelkova.search.rules.qtransforms import completed_q, penalty

HALVINGS = 48  # of the interval of alpha, which leaves about 1e-12 of it


@inlined
def unvisited_priors(t: Forest, b: int, node: int) -> tuple[np.float32, np.float32]:
    """Give the priors of all unvisited edges together, and of the best one; 0 and 0 where there are none."""
    record = t.nodes[b, node]
    if record["best"] < 0:
        return ZERO, ZERO
    first = t.kids[b, int(record["kids"])]["logit"]
    rest = np.float32(record["mass"] * exp32(np.float32(record["reference"] - first)))
    return rest, exp32(np.float32(record["best_weight"] - first))


class Level(NamedTuple):
    """alpha of a node, kept as its distance from the best Q so that no prior is too small beside it."""

    above: float  # alpha - top, above 0
    top: float  # largest normalised Q of the actions whose prior is not 0
    weight: float  # y(a) = weight * prior / (above + top - Q)
    unvisited: float  # normalised Q of unvisited edges


@inlined
def solve_one(level: Level, prior: np.float32, q: float) -> float:
    """Give y of an action, or of several of one Q together; 0 where the prior is too small for a float32."""
    if not prior > ZERO:
        return 0.0
    return level.weight * np.float64(prior) / (level.above + (level.top - q))


@inlined
def find_level(t: Forest, b: int, node: int) -> Level:
    """Find alpha by halving the interval that must hold it, in the scale of its logarithm.

    Args:
        t, b, node: the tree and a node with kids, prepared by `prepare_full`.
    """
    record = t.nodes[b, node]
    value, offset, factor = completed_q(t, b, node, TRPO)
    rest, best_rest = unvisited_priors(t, b, node)
    start = int(record["kids"])
    unvisited = np.float64((value - offset) * factor)
    total = np.float64(rest)
    top = unvisited if rest > ZERO else -np.inf
    for k in range(int(record["num_kids"])):
        kid = t.kids[b, start + k]
        total += np.float64(kid["prior"])
        if kid["prior"] > ZERO:
            top = max(top, np.float64((kid["q"] - offset) * factor))
    weight = np.float64(penalty(t, b, node)) / total
    low = unvisited - top + weight * np.float64(best_rest) if rest > ZERO else 0.0
    for k in range(int(record["num_kids"])):
        kid = t.kids[b, start + k]
        if kid["prior"] > ZERO:
            low = max(low, np.float64((kid["q"] - offset) * factor) - top + weight * np.float64(kid["prior"]))
    high = weight * total
    for _ in range(HALVINGS):
        middle = Level(np.sqrt(low * high), top, weight, unvisited)
        mass = solve_one(middle, rest, unvisited)
        for k in range(int(record["num_kids"])):
            kid = t.kids[b, start + k]
            mass += solve_one(middle, kid["prior"], np.float64((kid["q"] - offset) * factor))
        if mass > 1.0:
            low = np.float64(middle.above)
        else:
            high = np.float64(middle.above)
    return Level(high, top, weight, unvisited)


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
    level = find_level(t, b, node)
    _, offset, factor = completed_q(t, b, node, TRPO)
    share = ONE / np.float32(int(record["visits"]) + int(record["pending"]))
    start = int(record["kids"])
    edge = int(record["best"])
    best = VISITED
    if edge >= 0:
        _, prior = unvisited_priors(t, b, node)
        best = np.float32(solve_one(level, prior, level.unvisited))
    chosen = -1
    for k in range(int(record["num_kids"])):
        if is_lost(t, b, node, k):
            continue
        kid = t.kids[b, start + k]
        q = np.float64((kid["q"] - offset) * factor)
        y = np.float32(solve_one(level, kid["prior"], q))
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
    level = find_level(t, b, 0)
    _, offset, factor = completed_q(t, b, 0, TRPO)
    start = int(record["edges"])
    first = int(record["kids"])
    logit = t.kids[b, first]["logit"]
    for i in range(int(record["num_edges"])):
        if t.priors[b, start + i] != VISITED:
            prior = exp32(np.float32(t.priors[b, start + i] - logit))
            out[b, i] = np.float32(solve_one(level, prior, level.unvisited))
    for k in range(int(record["num_kids"])):
        kid = t.kids[b, first + k]
        q = np.float64((kid["q"] - offset) * factor)
        out[b, int(kid["edge"])] = np.float32(solve_one(level, kid["prior"], q))
