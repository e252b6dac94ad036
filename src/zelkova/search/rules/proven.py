"""Proven wins and losses carried up the tree, for any number of players (MCTS-Solver).

A proven node's value vector stands in `raw`, which nothing else reads any more. EXACT: the vector is certain.
OPEN: which of the others wins hangs on players to whom it makes no difference; the vector is the average.

Source: MCTS-Solver (Winands, Bjornsson and Saito 2008), with vectors as in max^n in place of a sign.
"""

import numpy as np

from zelkova.search.kernels.native import inlined
from zelkova.search.kernels.tree import EXACT, OK, OPEN, OUT_OF_RANGE, UNPROVEN, Forest, proven_q

SLACK = np.float32(1e-6)
RANGE_SLACK = np.float32(1e-4)  # by which rounding may carry an exact return out of the range


@inlined
def prove_upwards(t: Forest, b: int, leaf: int) -> int:
    """Carry what is proven at a leaf as far towards the root as it settles the nodes above.

    Args:
        t, b: the tree; nothing changes where the leaf is not proven.
        leaf: a node that was just backed up.
    Returns:
        OK, or OUT_OF_RANGE: an exact return is better or worse than the range knows, so that a win would not
        be the best there is.
    """
    s = t.settings[0]
    node = leaf
    while node > 0 and t.nodes[b, node]["proven"] != UNPROVEN:
        parent = int(t.nodes[b, node]["parent"])
        above = t.nodes[b, parent]
        mover = int(above["to_play"])
        if mover < 0 or above["proven"] != UNPROVEN:
            break
        kid = t.kids[b, int(above["kids"]) + int(t.nodes[b, node]["parent_kid"])]
        kid["q"] = proven_q(t, b, node, mover)
        if kid["q"] > s["high"] + RANGE_SLACK or kid["q"] < s["low"] - RANGE_SLACK:
            return OUT_OF_RANGE
        if t.nodes[b, node]["proven"] == EXACT and kid["q"] >= s["high"] - SLACK:
            take_best(t, b, parent, kid["q"])
        elif has_proven_children(t, b, parent):
            best = np.float32(-np.inf)
            start = int(above["kids"])
            for k in range(int(above["num_kids"])):
                best = max(best, proven_q(t, b, int(t.kids[b, start + k]["child"]), mover))
            take_best(t, b, parent, best)
        else:
            break
        node = parent
    return OK


@inlined
def has_proven_children(t: Forest, b: int, node: int) -> bool:
    """Say whether every legal action of a node leads to a proven child."""
    record = t.nodes[b, node]
    if record["num_kids"] < record["num_edges"]:
        return False
    start = int(record["kids"])
    for k in range(int(record["num_kids"])):
        child = int(t.kids[b, start + k]["child"])
        if child < 0 or t.nodes[b, child]["proven"] == UNPROVEN:
            return False
    return True


@inlined
def take_best(t: Forest, b: int, node: int, best: np.float32) -> None:
    """Prove a node by those of its proven children that are worth most to its mover.

    Args:
        t, b, node: changed: status and exact vector; of several best children with different vectors, the
            average.
        best: that worth.
    """
    record = t.nodes[b, node]
    mover = int(record["to_play"])
    start = int(record["kids"])
    players = t.sums.shape[2]
    status = EXACT
    ties = 0
    for k in range(int(record["num_kids"])):
        child = int(t.kids[b, start + k]["child"])
        if child < 0 or t.nodes[b, child]["proven"] == UNPROVEN:
            continue
        if proven_q(t, b, child, mover) < best - SLACK:
            continue
        for p in range(players):
            q = proven_q(t, b, child, p)
            if ties == 0:
                t.raw[b, node, p] = q
            else:
                if np.abs(q - t.raw[b, node, p]) > SLACK:
                    status = OPEN
                t.raw[b, node, p] = np.float32(
                    t.raw[b, node, p] + (q - t.raw[b, node, p]) / np.float32(ties + 1)
                )
        if t.nodes[b, child]["proven"] == OPEN:
            status = OPEN
        ties += 1
    record["proven"] = status


@inlined
def is_lost(t: Forest, b: int, node: int, k: int) -> bool:
    """Say whether a kid is a proven loss for the mover; False where nothing is proven (solve is off)."""
    s = t.settings[0]
    if s["solve"] == 0:
        return False
    record = t.nodes[b, node]
    child = int(t.kids[b, int(record["kids"]) + k]["child"])
    if child < 0 or t.nodes[b, child]["proven"] == UNPROVEN:
        return False
    return bool(proven_q(t, b, child, int(record["to_play"])) <= s["low"] + SLACK)


@inlined
def best_proven(t: Forest, b: int) -> int:
    """Find the root's kid to play where the root is proven: the best exact value, the lowest action on a tie.

    Returns:
        The place among the root's kids; -1 where the root is not proven.
    """
    root = t.nodes[b, 0]
    if root["proven"] == UNPROVEN:
        return -1
    first = int(root["kids"])
    mover = int(root["to_play"])
    chosen = -1
    best = np.float32(-np.inf)
    for k in range(int(root["num_kids"])):
        kid = t.kids[b, first + k]
        child = int(kid["child"])
        if child >= 0 and t.nodes[b, child]["proven"] != UNPROVEN:
            q = proven_q(t, b, child, mover)
            is_first = chosen < 0 or q > best
            if is_first or (q == best and kid["edge"] < t.kids[b, first + chosen]["edge"]):
                best = q
                chosen = k
    return chosen
