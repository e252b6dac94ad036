"""Tree reuse: one node becomes the root, its subtree is packed to the front, everything else is freed.

A child is always made after its parent and edges are taken in the order of nodes, so nodes and edges move
towards the front in one pass each and nothing is overwritten before it is read. Blocks of kids move to larger
places as they grow; they are packed in the order in which they lie.
"""

import numpy as np

from zelkova.search.kernels.native import (
    F32,
    F64,
    I32,
    ONE,
    ZERO,
    best_in_row,
    exp32,
    inlined,
    kernel,
    softmax_row,
)
from zelkova.search.kernels.tree import DENSE, TREE, UNKNOWN, VISITED, Forest, Records, widen_bounds


@inlined
def number_subtree(t: Forest, b: int, kept: int, moved: I32) -> int:
    """Write the new number of each node, -1 outside the subtree of `kept`.

    Returns:
        How many nodes are kept.
    """
    count = 1
    for node in range(moved.shape[0]):
        moved[node] = -1
    moved[kept] = 0
    for node in range(kept + 1, int(t.heads[b]["num_nodes"])):
        if moved[t.nodes[b, node]["parent"]] >= 0:
            moved[node] = count
            count += 1
    return count


@inlined
def pack_kids(t: Forest, b: int, moved: I32, owners: I32) -> None:
    """Move the kept nodes' kids to the front and give them their children's new numbers.

    Args:
        t, b: the tree; its nodes still stand at their old places.
        moved: from `number_subtree`.
        owners: [K] scratch: which node's block begins at a place.
    """
    head = t.heads[b]
    used = int(head["num_kids"])
    for place in range(used):
        owners[place] = -1
    for node in range(int(head["num_nodes"])):
        if moved[node] >= 0 and t.nodes[b, node]["capacity"] > 0:
            owners[t.nodes[b, node]["kids"]] = node
    target = 0
    for place in range(used):
        if owners[place] >= 0:
            record = t.nodes[b, owners[place]]
            for k in range(int(record["num_kids"])):
                t.kids[b, target + k] = t.kids[b, place + k]
                kid = t.kids[b, target + k]
                if kid["child"] >= 0:
                    kid["child"] = moved[kid["child"]]
            record["kids"] = target
            target += int(record["capacity"])
    head["num_kids"] = target


@inlined
def pack_nodes(t: Forest, b: int, moved: I32) -> None:
    """Move the kept nodes, their edges and their values to the front."""
    head = t.heads[b]
    target = 0
    for node in range(int(head["num_nodes"])):
        if moved[node] < 0:
            continue
        new = int(moved[node])
        record = t.nodes[b, node]
        start = int(record["edges"])
        for i in range(int(record["num_edges"])):
            t.actions[b, target + i] = t.actions[b, start + i]
            t.priors[b, target + i] = t.priors[b, start + i]
        record["edges"] = target
        target += int(record["num_edges"])
        if new > 0:
            record["parent"] = moved[record["parent"]]
        t.nodes[b, new] = t.nodes[b, node]
        for p in range(t.sums.shape[2]):
            t.sums[b, new, p] = t.sums[b, node, p]
            t.raw[b, new, p] = t.raw[b, node, p]
            t.rewards[b, new, p] = t.rewards[b, node, p]
    head["num_edges"] = target


@inlined
def mix_noise(t: Forest, b: int) -> None:
    """Mix t.noise[b] into the priors of a PUCT root that searches may have passed through, but never as root.

    The slice then holds probabilities of the unvisited edges; visited ones carry theirs in their kids.
    """
    s = t.settings[0]
    share = s["dirichlet_fraction"]
    record = t.nodes[b, 0]
    start = int(record["edges"])
    count = int(record["num_edges"])
    if record["is_ready"] == 0:
        softmax_row(
            t.priors, b, start, count, t.priors[b, start + best_in_row(t.bits, b, start, count)], t.scratch
        )
    else:
        for i in range(count):
            logit = t.priors[b, start + i]
            if logit != VISITED:
                t.priors[b, start + i] = np.float32(
                    exp32(np.float32(logit - record["reference"])) / record["mass"]
                )
    for i in range(count):
        if t.priors[b, start + i] != VISITED:
            t.priors[b, start + i] = np.float32(
                (ONE - share) * t.priors[b, start + i] + share * t.noise[b, i]
            )
    first = int(record["kids"])
    for k in range(int(record["num_kids"])):
        kid = t.kids[b, first + k]
        kid["prior"] = np.float32((ONE - share) * kid["prior"] + share * t.noise[b, int(kid["edge"])])
    record["is_ready"] = DENSE
    record["best"] = UNKNOWN


@kernel
def keep_subtree(
    heads: Records, nodes: Records, kids: Records, sums: F64, raw: F32, rewards: F32, actions: I32,
    priors: F32, bits: I32, bounds: F32, noise: F32, explore: F32, halving: I32, settings: Records,
    scratch: F32, b: int, kept: int, has_noise: bool, moved: I32, owners: I32,
) -> None:  # fmt: skip
    """Make a node the root of its tree; visits, sums, Q and priors below it stay, the rest is freed.

    With `rescale = tree` the range is that of the Q values which the kept edges have now: what was seen
    elsewhere, or on the way to them, is no part of the new tree.

    Args: plain arrays of a `Forest`, then
        b, kept: tree and node, no ending, no chance node; `can_keep` holds, nothing is pending.
        has_noise: mix noise[b] into the new root's priors.
        moved: [N] written: the new number of each old node, -1 where it was freed.
        owners: [K] scratch.
    """
    t = Forest(
        heads, nodes, kids, sums, raw, rewards, actions, priors, bits, bounds, noise, explore, halving,
        settings, scratch,
    )  # fmt: skip
    count = number_subtree(t, b, kept, moved)
    pack_kids(t, b, moved, owners)
    pack_nodes(t, b, moved)
    head = t.heads[b]
    head["num_nodes"] = count
    head["started"] = 0
    head["done"] = 0
    head["leaf"] = 0
    root = t.nodes[b, 0]
    root["parent"] = -1
    root["parent_kid"] = -1
    root["discount"] = ONE
    for p in range(t.sums.shape[2]):
        t.rewards[b, 0, p] = ZERO
        t.bounds[b, p, 0] = np.float32(np.inf)
        t.bounds[b, p, 1] = np.float32(-np.inf)
    if t.settings[0]["rescale"] == TREE:
        for node in range(1, count):
            widen_bounds(t, b, node)
    if has_noise:
        mix_noise(t, b)
