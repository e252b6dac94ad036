"""The kernels that read what a search found at its roots: policy target, values, and the action to play."""

import numpy as np

from zelkova.search.kernels.native import F32, F64, I32, ONE, ZERO, best_in_row, inlined, kernel, softmax_row
from zelkova.search.kernels.tree import (
    ACTED,
    DENSE,
    GUMBEL,
    MPO,
    PUCT,
    TRPO,
    UNPROVEN,
    Answer,
    Forest,
    Records,
    proven_q,
)
from zelkova.search.rules.gumbel import (
    are_all_lost,
    best_left_out,
    improved_policy,
    most_visited_candidate,
    standing_candidate,
)
from zelkova.search.rules.proven import best_proven, is_lost
from zelkova.search.rules.puct import has_forced, most_visited, prune_visits
from zelkova.search.rules.regularised import trpo_policy


@inlined
def read_root(t: Forest, b: int, out: Answer) -> None:
    """Write the answer of one tree."""
    root = t.nodes[b, 0]
    edges = int(root["num_edges"])
    start = int(root["edges"])
    for i in range(out.actions.shape[1]):
        out.actions[b, i] = -1
        out.visits[b, i] = 0
        out.q[b, i] = ZERO
        out.weights[b, i] = ZERO
    for i in range(edges):
        out.actions[b, i] = t.actions[b, start + i]
    out.count[b] = edges
    first = int(root["kids"])
    total = 0
    for k in range(int(root["num_kids"])):
        kid = t.kids[b, first + k]
        if kid["visits"] > 0:
            out.visits[b, int(kid["edge"])] = kid["visits"]
            out.q[b, int(kid["edge"])] = kid["q"]
            total += int(kid["visits"])
    for p in range(t.sums.shape[2]):
        out.value[b, p] = np.float32(t.sums[b, 0, p] / int(root["visits"]))
        out.raw[b, p] = t.raw[b, 0, p]
    edge = choose_action(t, b, out, total)
    out.action[b] = t.actions[b, start + edge]
    if root["proven"] != UNPROVEN or t.settings[0]["target"] == ACTED:
        for i in range(edges):
            out.weights[b, i] = ONE if i == edge else ZERO
    read_improved_value(t, b, out)


@inlined
def choose_action(t: Forest, b: int, out: Answer, total: int) -> int:
    """Write the root's action weights and choose what to play; proven results come first.

    Args:
        t, b: the tree.
        out: its visits are written.
        total: visits of the root's edges; before the first, all rules but Gumbel have nothing but the priors.
    Returns:
        The edge, counted from the start of the root's slice.
    """
    root = t.nodes[b, 0]
    first = int(root["kids"])
    start = int(root["edges"])
    edges = int(root["num_edges"])
    rule = int(t.settings[0]["root_rule"])
    if rule != GUMBEL and total == 0:
        best = best_in_row(t.bits, b, start, edges)
        top = t.priors[b, start + best]
        for i in range(edges):
            out.weights[b, i] = t.priors[b, start + i]
        if root["is_ready"] != DENSE:
            softmax_row(out.weights, b, 0, edges, top, t.scratch)
        return best
    if rule in (GUMBEL, MPO):
        improved_policy(t, b, rule, out.weights)
    elif rule == TRPO:
        trpo_policy(t, b, out.weights)
    else:
        kept = np.float32(total)
        for i in range(edges):
            out.weights[b, i] = np.float32(out.visits[b, i])
        if has_forced(t, b):
            kept = prune_visits(t, b, out.weights)
        for i in range(edges):
            out.weights[b, i] = np.float32(out.weights[b, i] / kept)
    chosen = best_proven(t, b)
    if chosen < 0 and rule == GUMBEL and are_all_lost(t, b):
        return best_left_out(t, b)  # there is one, or else the root were proven
    if chosen < 0 and rule == GUMBEL:
        is_done = t.heads[b]["done"] >= t.settings[0]["num_simulations"]
        chosen = most_visited_candidate(t, b) if is_done else standing_candidate(t, b)
    elif chosen < 0:
        chosen = most_visited(t, b) if rule == PUCT else most_weighted(t, b, out)
    return int(t.kids[b, first + chosen]["edge"])


@inlined
def most_weighted(t: Forest, b: int, out: Answer) -> int:
    """Find the root's kid with the largest action weight, proven losses last."""
    first = int(t.nodes[b, 0]["kids"])
    chosen = 0
    for k in range(int(t.nodes[b, 0]["num_kids"])):
        if is_lost(t, b, 0, k):
            continue
        weight = out.weights[b, int(t.kids[b, first + k]["edge"])]
        best = out.weights[b, int(t.kids[b, first + chosen]["edge"])]
        if is_lost(t, b, 0, chosen) or weight > best:
            chosen = k
    return chosen


@inlined
def read_improved_value(t: Forest, b: int, out: Answer) -> None:
    """Write the root's value under its action weights, over the visited actions; out.weights[b] is written.

    The mean of the back-ups counts each action as often as it was tried, bad ones too; this counts them as
    often as the improved policy would play them. With PUCT the two differ by the root's own evaluation.
    """
    root = t.nodes[b, 0]
    first = int(root["kids"])
    total = ZERO
    for p in range(t.sums.shape[2]):
        out.improved[b, p] = ZERO
    for k in range(int(root["num_kids"])):
        kid = t.kids[b, first + k]
        if kid["visits"] > 0:
            child = int(kid["child"])
            record = t.nodes[b, child]
            weight = out.weights[b, int(kid["edge"])]
            total = np.float32(total + weight)
            for p in range(t.sums.shape[2]):
                mean = np.float32(t.sums[b, child, p] / int(record["visits"]))
                q = np.float32(t.rewards[b, child, p] + record["discount"] * mean)
                if record["proven"] != UNPROVEN:
                    q = proven_q(t, b, child, p)
                out.improved[b, p] = np.float32(out.improved[b, p] + weight * q)
    for p in range(t.sums.shape[2]):
        out.improved[b, p] = np.float32(out.improved[b, p] / total) if total > ZERO else out.value[b, p]


@kernel
def read_roots(
    heads: Records, nodes: Records, kids: Records, sums: F64, raw: F32, rewards: F32, actions: I32,
    priors: F32, bits: I32, bounds: F32, noise: F32, explore: F32, halving: I32, settings: Records,
    scratch: F32, action: I32, legal: I32, count: I32, weights: F32, visits: I32, q: F32, value: F32,
    raw_value: F32, improved: F32,
) -> None:  # fmt: skip
    """Write every root's answer: plain arrays of a `Forest`, then of `Answer`."""
    t = Forest(
        heads, nodes, kids, sums, raw, rewards, actions, priors, bits, bounds, noise, explore, halving,
        settings, scratch,
    )  # fmt: skip
    out = Answer(action, legal, count, weights, visits, q, value, raw_value, improved)
    for b in range(heads.shape[0]):
        read_root(t, b, out)
