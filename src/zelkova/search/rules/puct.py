"""PUCT: the selection rule of AlphaZero and MuZero, with its choices of Q range and first-play urgency."""

import numpy as np

from zelkova.search.kernels.native import F32, ONE, ZERO, best_in_row, exp32, exp_sum, inlined
from zelkova.search.kernels.tree import DENSE, FIXED, NONE, PER_NODE, TREE, UNKNOWN, Forest
from zelkova.search.rules.proven import is_lost
from zelkova.search.rules.qtransforms import fixed_range, soft_range, tree_range

FPU_ZERO, FPU_PARENT, FPU_REDUCTION, FPU_MEAN_Q, FPU_LOSS, FPU_LOWERED = 0, 1, 2, 3, 4, 5


@inlined
def prepare_puct(t: Forest, b: int, node: int) -> None:
    """Find a node's best unvisited edge and its prior probability."""
    record = t.nodes[b, node]
    start = int(record["edges"])
    count = int(record["num_edges"])
    if record["num_kids"] >= count:
        record["best"] = NONE
        return
    best = best_in_row(t.bits, b, start, count)
    weight = t.priors[b, start + best]
    if record["is_ready"] == 0:
        record["reference"] = weight
        record["mass"] = exp_sum(t.priors, b, start, count, weight, t.scratch)
        record["is_ready"] = 1
    if record["is_ready"] != DENSE:
        weight = np.float32(exp32(np.float32(weight - record["reference"])) / record["mass"])
    record["best"] = best
    record["best_weight"] = weight


@inlined
def puct_range(t: Forest, b: int, node: int) -> tuple[np.float32, np.float32]:
    """Find how Q is normalised at a node.

    Returns:
        (offset, factor): the normalised Q is (q - offset) * factor.
    """
    s = t.settings[0]
    record = t.nodes[b, node]
    mover = int(record["to_play"])
    if s["rescale"] == FIXED:
        return fixed_range(s["low"], s["high"])
    if s["rescale"] == TREE:
        return tree_range(t.bounds[b, mover, 0], t.bounds[b, mover, 1], s["rescale_floor"])
    if s["rescale"] == PER_NODE:
        low = np.float32(t.sums[b, node, mover] / int(record["visits"]))
        high = low
        start = int(record["kids"])
        for k in range(int(record["num_kids"])):
            q = t.kids[b, start + k]["q"]
            low = q if q < low else low
            high = q if q > high else high
        return soft_range(low, high, s["rescale_floor"])
    return ZERO, ONE


@inlined
def first_play_value(
    t: Forest, b: int, node: int, offset: np.float32, factor: np.float32, mean: np.float32
) -> np.float32:
    """Value an unvisited edge of a node, normalised.

    Args:
        offset, factor: from `puct_range`.
        mean: the node's running mean Q (fpu = mean_q).
    Source: algorithms of MuZero (zero), Leela Chess Zero and KataGo (reduction), EfficientZero (mean_q).
    """
    s = t.settings[0]
    fpu = s["fpu"]
    if fpu == FPU_ZERO:
        return ZERO
    record = t.nodes[b, node]
    value = mean
    if fpu == FPU_LOSS:
        value = s["low"]
    elif fpu != FPU_MEAN_Q:
        value = np.float32(t.sums[b, node, int(record["to_play"])] / int(record["visits"]))
        if fpu == FPU_REDUCTION:
            mass = ZERO
            start = int(record["kids"])
            for k in range(int(record["num_kids"])):
                mass = np.float32(mass + t.kids[b, start + k]["prior"])
            value = np.float32(value - s["fpu_reduction"] * np.float32(np.sqrt(mass)))
        elif fpu == FPU_LOWERED:
            value = max(np.float32(value - s["fpu_reduction"]), s["low"])
    return np.float32((value - offset) * factor)


@inlined
def running_mean_q(t: Forest, b: int, node: int, above: np.float32) -> np.float32:
    """Average the visited Q of a node with its parent's average (EfficientZero); above is that average."""
    record = t.nodes[b, node]
    count = int(record["num_kids"])
    total = ZERO if node == 0 else above
    start = int(record["kids"])
    for k in range(count):
        total = np.float32(total + t.kids[b, start + k]["q"])
    if node == 0:
        return np.float32(total / np.float32(count)) if count > 0 else t.raw[b, 0, 0]
    return np.float32(total / np.float32(count + 1))


@inlined
def choose_puct(t: Forest, b: int, node: int, mean: np.float32) -> int:
    """Choose the edge with the largest Q + C(S) P sqrt(1 + S) / (1 + N); the lowest action on a tie.

    Args:
        t: the node's priors and best unvisited edge are brought up to date.
        b, node: the tree and a node with edges.
        mean: the node's running mean Q (fpu = mean_q).
    Returns:
        The place among the node's kids, or -1 for its best unvisited edge.
    Source: AlphaZero (Silver et al. 2018), Methods, Search, with 1 + S for the parent's visits.
    """
    record = t.nodes[b, node]
    if record["best"] == UNKNOWN:
        prepare_puct(t, b, node)
    if node == 0 and has_forced(t, b):
        forced = forced_kid(t, b)
        if forced >= 0:
            return forced
    factor = t.explore[int(record["visits"]) - 1 + int(record["pending"])]
    offset, scale = puct_range(t, b, node)
    chosen = -1
    edge = int(record["best"])
    best = np.float32(-np.inf)
    if edge >= 0:
        value = first_play_value(t, b, node, offset, scale, mean)
        best = np.float32(value + factor * record["best_weight"])
    start = int(record["kids"])
    for k in range(int(record["num_kids"])):
        if is_lost(t, b, node, k):
            continue
        kid = t.kids[b, start + k]
        score = np.float32(
            (kid["q"] - offset) * scale + factor * kid["prior"] / np.float32(1 + int(kid["visits"]))
        )
        if score > best or (score == best and int(kid["edge"]) < edge):
            best = score
            edge = int(kid["edge"])
            chosen = k
    return chosen


@inlined
def has_forced(t: Forest, b: int) -> bool:
    """Say whether the root's visited actions are owed visits: it has noise, and the setting is on."""
    return bool(t.settings[0]["forced_playouts"] > ZERO and t.nodes[b, 0]["is_ready"] == DENSE)


@inlined
def forced_visits(t: Forest, prior: np.float32, total: int) -> np.float32:
    """Give the least visits of an action that was visited once.

    Args:
        t: its factor k is read.
        prior: P(a), noise included.
        total: S, visits of all the root's actions.
    Returns:
        sqrt(k P(a) S).
    Source: KataGo (Wu 2019, arXiv 1902.10565), Section 3.2.
    """
    return np.float32(np.sqrt(np.float32(t.settings[0]["forced_playouts"] * prior) * np.float32(total)))


@inlined
def forced_kid(t: Forest, b: int) -> int:
    """Find the root's kid of the lowest action that has fewer visits than are forced; -1: none."""
    root = t.nodes[b, 0]
    total = int(root["visits"]) - 1 + int(root["pending"])
    first = int(root["kids"])
    chosen = -1
    for k in range(int(root["num_kids"])):
        kid = t.kids[b, first + k]
        visits = int(kid["visits"])
        if visits == 0 or visits >= forced_visits(t, kid["prior"], total) or is_lost(t, b, 0, k):
            continue
        if chosen < 0 or kid["edge"] < t.kids[b, first + chosen]["edge"]:
            chosen = k
    return chosen


@inlined
def prune_visits(t: Forest, b: int, weights: F32) -> np.float32:
    """Take back, from the visits that make the policy target, those that were forced and not earned.

    Each action but the most visited one loses up to its forced visits while its score stays below that one's;
    a single visit that is left is lost too.

    Args:
        t, b: the tree.
        weights: [B, M] row b holds the visits of each edge; changed in place.
    Returns:
        The sum of the row.
    Source: KataGo (Wu 2019, arXiv 1902.10565), Section 3.2, Policy Target Pruning.
    """
    root = t.nodes[b, 0]
    first = int(root["kids"])
    total = int(root["visits"]) - 1
    factor = t.explore[total]
    offset, scale = puct_range(t, b, 0)
    top = most_visited(t, b)
    best = t.kids[b, first + top]
    bar = np.float32(
        (best["q"] - offset) * scale + factor * best["prior"] / np.float32(1 + int(best["visits"]))
    )
    kept = 0
    for k in range(int(root["num_kids"])):
        kid = t.kids[b, first + k]
        visits = int(kid["visits"])
        if k != top:
            least = max(visits - int(forced_visits(t, kid["prior"], total)), 0)
            value = np.float32((kid["q"] - offset) * scale)
            while visits > least and value + factor * kid["prior"] / np.float32(visits) < bar:
                visits -= 1
            visits = 0 if visits == 1 else visits
        weights[b, int(kid["edge"])] = np.float32(visits)
        kept += visits
    return np.float32(kept)


@inlined
def choose_outcome(t: Forest, b: int, node: int) -> int:
    """Choose the outcome with the largest probability / (1 + N) at a chance node; the lowest on a tie.

    Outcomes so come as often as they are probable, without a draw.

    Returns:
        The place among the node's kids, or -1 for its best unvisited edge.
    Source: Stochastic MuZero (Antonoglou et al. 2022), as its public search code does it.
    """
    record = t.nodes[b, node]
    if record["best"] == UNKNOWN:
        prepare_puct(t, b, node)
    chosen = -1
    edge = int(record["best"])
    best = record["best_weight"] if edge >= 0 else np.float32(-np.inf)
    start = int(record["kids"])
    for k in range(int(record["num_kids"])):
        kid = t.kids[b, start + k]
        score = np.float32(kid["prior"] / np.float32(1 + int(kid["visits"])))
        if score > best or (score == best and int(kid["edge"]) < edge):
            best = score
            edge = int(kid["edge"])
            chosen = k
    return chosen


@inlined
def most_visited(t: Forest, b: int) -> int:
    """Find the root's kid with the most visits, proven losses last; the lowest action on a tie."""
    root = t.nodes[b, 0]
    first = int(root["kids"])
    chosen = 0
    for k in range(1, int(root["num_kids"])):
        if is_lost(t, b, 0, chosen) != is_lost(t, b, 0, k):
            chosen = k if is_lost(t, b, 0, chosen) else chosen
            continue
        kid = t.kids[b, first + k]
        best = t.kids[b, first + chosen]
        if kid["visits"] > best["visits"] or (kid["visits"] == best["visits"] and kid["edge"] < best["edge"]):
            chosen = k
    return chosen
