"""The kernels that run a search: plant roots, descend to leaves, take evaluations in, read the result.

The last four take plain arrays and numbers: the same code runs natively, interpreted and in WebAssembly.
Those on one tree (`descend`, `gather_leaf`, `settle_leaf`) are for native loops elsewhere.
"""

import numpy as np

from zelkova.search.kernels.native import (
    F32,
    F64,
    I32,
    ONE,
    ZERO,
    best_in_row,
    inlined,
    is_finite,
    kernel,
    softmax_row,
)
from zelkova.search.kernels.tree import (
    BAD_NOISE,
    CHANCE,
    DENSE,
    EXACT,
    GUMBEL,
    OK,
    PUCT,
    TRPO,
    UNPROVEN,
    Forest,
    Records,
    Rows,
    add_pending,
    back_up,
    clear,
    grow,
    new_node,
    open_best,
)
from zelkova.search.rules.gumbel import (
    choose_full,
    choose_halving,
    open_candidates,
)
from zelkova.search.rules.proven import prove_upwards
from zelkova.search.rules.puct import (
    FPU_MEAN_Q,
    choose_outcome,
    choose_puct,
    running_mean_q,
)
from zelkova.search.rules.regularised import choose_trpo

NEW, AGAIN, DUPLICATE, FINISHED = 0, 1, 2, 3
NOISE_SLACK = np.float32(1e-3)
STATUSES = 16  # a kernel's answer is row * STATUSES + status, 0 when all is well


@inlined
def plant(t: Forest, b: int, rows: Rows, row: int, has_noise: bool) -> int:
    """Make an evaluated position the root of a tree.

    Args:
        t, b: the tree, emptied first.
        rows, row: evaluation of the root.
        has_noise: mix t.noise[b] into PUCT's root priors (Gumbel always reads it).
    Returns:
        OK or the number of what is wrong.
    """
    clear(t, b)
    s = t.settings[0]
    status = grow(t, b, 0, rows, row)
    if status != OK:
        return status
    back_up(t, b, 0)
    t.heads[b]["done"] = 0
    record = t.nodes[b, 0]
    for i in range(int(record["num_edges"])):
        if not is_finite(t.noise[b, i]):
            return BAD_NOISE
    if s["root_rule"] == GUMBEL:
        open_candidates(t, b, min(t.halving.shape[0] - 1, int(s["num_simulations"])))
    elif has_noise:
        total = ZERO
        for i in range(int(record["num_edges"])):
            total = np.float32(total + t.noise[b, i])
        if np.abs(total - ONE) > NOISE_SLACK:
            return BAD_NOISE
        start = int(record["edges"])
        count = int(record["num_edges"])
        softmax_row(
            t.priors, b, start, count, t.priors[b, start + best_in_row(t.bits, b, start, count)], t.scratch
        )
        share = s["dirichlet_fraction"]
        for i in range(int(record["num_edges"])):
            t.priors[b, start + i] = np.float32(
                (ONE - share) * t.priors[b, start + i] + share * t.noise[b, i]
            )
        record["is_ready"] = DENSE
    return OK


@inlined
def descend(t: Forest, b: int) -> int:
    """Choose edges from the root until a leaf, which heads[b]["leaf"] names.

    Returns:
        NEW: a new node without an evaluation; AGAIN: a known ending, a proven node, or one at max_depth;
        DUPLICATE: a node whose evaluation is pending.
    """
    s = t.settings[0]
    node = 0
    depth = 0
    mean = ZERO
    while True:
        rule = int(s["interior_rule"])
        if s["fpu"] == FPU_MEAN_Q:
            mean = running_mean_q(t, b, node, mean)
        if t.nodes[b, node]["to_play"] == CHANCE:
            rule = PUCT
            k = choose_outcome(t, b, node)
        elif node == 0 and s["root_rule"] == GUMBEL:
            k = choose_halving(t, b)
        else:
            rule = int(s["root_rule"]) if node == 0 else rule
            if rule == PUCT:
                k = choose_puct(t, b, node, mean)
            elif rule == TRPO:
                k = choose_trpo(t, b, node)
            else:
                k = choose_full(t, b, node, rule)
        if k < 0 and t.nodes[b, node]["best"] >= 0:
            k = open_best(t, b, node, rule)
        k = max(k, 0)  # scores that overflowed to NaN choose nothing: no edge is left to open
        kid = t.kids[b, int(t.nodes[b, node]["kids"]) + k]
        child = int(kid["child"])
        depth += 1
        if child < 0:
            child = new_node(t, b, node, k)
            kid["child"] = child
            t.heads[b]["leaf"] = child
            return NEW
        record = t.nodes[b, child]
        t.heads[b]["leaf"] = child
        if record["visits"] == 0:
            return DUPLICATE
        if record["num_edges"] == 0 or depth == s["max_depth"] or record["proven"] != UNPROVEN:
            return AGAIN
        node = child


@inlined
def gather_leaf(t: Forest, b: int) -> int:
    """Descend until a leaf needs an evaluation; leaves met again are backed up on the way.

    Returns:
        NEW or DUPLICATE, with the leaf in heads[b]["leaf"], or FINISHED when all simulations were started.
    """
    s = t.settings[0]
    head = t.heads[b]
    while head["started"] < s["num_simulations"]:
        if t.nodes[b, 0]["proven"] != UNPROVEN:
            head["started"] = s["num_simulations"]
            head["done"] = s["num_simulations"]
            break
        outcome = descend(t, b)
        leaf = int(head["leaf"])
        head["started"] += 1
        if outcome != AGAIN:
            if s["virtual_visits"] > 0:
                add_pending(t, b, leaf, 1)
            return outcome
        back_up(t, b, leaf)
    return FINISHED


@inlined
def settle_leaf(t: Forest, b: int, leaf: int, rows: Rows, row: int) -> int:
    """Take a gathered leaf's evaluation in: grow it and back it up.

    Returns:
        OK or the number of what is wrong.
    """
    status = grow(t, b, leaf, rows, row)
    if status == OK:
        if t.settings[0]["virtual_visits"] > 0:
            add_pending(t, b, leaf, -1)
        back_up(t, b, leaf)
        if t.settings[0]["solve"] == 1 and t.nodes[b, leaf]["num_edges"] == 0:
            t.nodes[b, leaf]["proven"] = EXACT
            status = prove_upwards(t, b, leaf)
    return status


@inlined
def drop_duplicate(t: Forest, b: int, leaf: int) -> None:
    """Take back a descent that ended at a pending leaf."""
    add_pending(t, b, leaf, -1)
    t.heads[b]["started"] -= 1


@kernel
def plant_roots(
    heads: Records, nodes: Records, kids: Records, sums: F64, raw: F32, rewards: F32, actions: I32,
    priors: F32, bits: I32, bounds: F32, noise: F32, explore: F32, halving: I32, settings: Records,
    scratch: F32, reward: F32, discount: F32, legal: I32, count: I32, logits: F32, value: F32, to_play: I32,
    has_noise: bool,
) -> int:  # fmt: skip
    """Plant every tree's root: plain arrays of a `Forest`, then of `Rows`.

    Returns:
        0, or row * STATUSES + status of the first bad row.
    """
    t = Forest(
        heads, nodes, kids, sums, raw, rewards, actions, priors, bits, bounds, noise, explore, halving,
        settings, scratch,
    )  # fmt: skip
    rows = Rows(reward, discount, legal, count, logits, value, to_play)
    for b in range(heads.shape[0]):
        status = plant(t, b, rows, b, has_noise)
        if status != OK:
            return b * STATUSES + status
    return 0


@kernel
def select_leaves(
    heads: Records, nodes: Records, kids: Records, sums: F64, raw: F32, rewards: F32, actions: I32,
    priors: F32, bits: I32, bounds: F32, noise: F32, explore: F32, halving: I32, settings: Records,
    scratch: F32, num_leaves: int, parent: I32, action: I32, node: I32, held: I32,
) -> int:  # fmt: skip
    """Gather up to num_leaves leaves of each tree.

    Args: plain arrays of a `Forest`, then
        parent, action, node: [R] written: the edge to follow and the new node; -1 for nothing to evaluate.
        held: [R] written: the node of a duplicate, else -1.
    Returns:
        How many rows want an evaluation.
    """
    t = Forest(
        heads, nodes, kids, sums, raw, rewards, actions, priors, bits, bounds, noise, explore, halving,
        settings, scratch,
    )  # fmt: skip
    wanted = 0
    for b in range(t.heads.shape[0]):
        for r in range(b * num_leaves, (b + 1) * num_leaves):
            parent[r] = -1
            action[r] = -1
            node[r] = -1
            held[r] = -1
            outcome = gather_leaf(t, b)
            leaf = int(t.heads[b]["leaf"])
            if outcome == NEW:
                record = t.nodes[b, leaf]
                above = t.nodes[b, int(record["parent"])]
                kid = t.kids[b, int(above["kids"]) + int(record["parent_kid"])]
                parent[r] = record["parent"]
                action[r] = t.actions[b, int(above["edges"]) + int(kid["edge"])]
                node[r] = leaf
                wanted += 1
            elif outcome == DUPLICATE:
                held[r] = leaf
    return wanted


@kernel
def settle_leaves(
    heads: Records, nodes: Records, kids: Records, sums: F64, raw: F32, rewards: F32, actions: I32,
    priors: F32, bits: I32, bounds: F32, noise: F32, explore: F32, halving: I32, settings: Records,
    scratch: F32, num_leaves: int, node: I32, held: I32,
    reward: F32, discount: F32, legal: I32, count: I32, logits: F32, value: F32, to_play: I32,
) -> int:  # fmt: skip
    """Take in the evaluations of the rows that `select_leaves` asked for.

    Args: plain arrays of a `Forest`, what `select_leaves` wrote, then plain arrays of `Rows`.
    Returns:
        How many trees have simulations left, or -(row * STATUSES + status) of the first bad row.
    """
    t = Forest(
        heads, nodes, kids, sums, raw, rewards, actions, priors, bits, bounds, noise, explore, halving,
        settings, scratch,
    )  # fmt: skip
    rows = Rows(reward, discount, legal, count, logits, value, to_play)
    for r in range(node.shape[0]):
        b = r // num_leaves
        if node[r] >= 0:
            status = settle_leaf(t, b, int(node[r]), rows, r)
            node[r] = -1
            if status != OK:
                return -(r * STATUSES + status)
        elif held[r] >= 0:
            drop_duplicate(t, b, int(held[r]))
            held[r] = -1
    left = 0
    for b in range(t.heads.shape[0]):
        left += int(t.heads[b]["done"] < t.settings[0]["num_simulations"])
    return left
