"""The memory of a batch of trees, and the kernels that change it: open an edge, grow a leaf, back up.

A node owns a slice of *edges* (legal action, logit) and a growing block of *kids*: one record for each edge
that has been chosen, side by side, so that a selection reads few cache lines however many actions there are.
Choosing an edge moves its logit to the kid and marks the edge VISITED in the slice, where the largest one
unmarked is the best unvisited edge: all unvisited edges of a node share one Q. Nothing else is computed for
a node's edges until a search first descends through it; most leaves never get there.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zelkova.search.kernels.native import (
    F32,
    I32,
    ONE,
    ZERO,
    copy_actions,
    copy_logits,
    exp32,
    inlined,
    is_finite,
)

Records = NDArray[np.void]

HEAD = np.dtype(  # one a tree
    [
        ("num_nodes", np.int32),  # nodes in use
        ("num_kids", np.int32),  # kid records in use
        ("num_edges", np.int64),  # edges in use
        ("started", np.int32),  # simulations whose leaf has been chosen
        ("done", np.int32),  # simulations backed up
        ("candidates", np.int32),  # Gumbel root: actions considered
        ("leaf", np.int32),  # node that the last descent ended at
    ],
    align=True,
)
NODE = np.dtype(  # 64 bytes: one cache line
    [
        ("visits", np.int32),  # back-ups through the node, its own evaluation included
        ("pending", np.int32),  # virtual visits among its edges
        ("edges", np.int32),  # first edge of its slice
        ("num_edges", np.int32),  # legal actions; 0: an ending
        ("kids", np.int32),  # first kid of its block
        ("num_kids", np.int32),  # edges chosen so far
        ("capacity", np.int32),  # kids that fit in the block
        ("best", np.int32),  # best unvisited edge, counted from the slice's start; or UNKNOWN, NONE
        ("parent", np.int32),  # parent node, -1 at the root
        ("parent_kid", np.int32),  # its place among the parent's kids
        ("to_play", np.int16),  # mover, 0..P-1; CHANCE: nature moves
        ("proven", np.int8),  # UNPROVEN, EXACT or OPEN; see rules/proven.py
        ("is_ready", np.int8),  # 1 once the last three fields hold; DENSE: the slice holds probabilities
        ("discount", np.float32),  # on the edge into the node
        ("best_weight", np.float32),  # of the best unvisited edge: probability (puct) or logit (full)
        ("mass", np.float32),  # sum of exp(logit - reference) over all edges (puct) or the unvisited (full)
        ("reference", np.float32),  # logit that mass is relative to
        ("mass_limit", np.float32),  # full: mass below which it is summed anew
    ],
    align=True,
)
KID = np.dtype(  # an edge that has been chosen
    [
        ("q", np.float32),  # mover's component of reward + discount * V(child)
        ("prior", np.float32),  # probability (puct) or exp(logit - largest logit of the kids' node)
        ("logit", np.float32),  # all rules but puct: prior logit
        ("visits", np.int32),  # N(s, a), pending virtual visits included
        ("child", np.int32),  # node, -1: none yet
        ("edge", np.int32),  # counted from the start of the node's slice
    ],
    align=True,
)
SETTINGS = np.dtype(  # SearchConfig as numbers
    [
        ("root_rule", np.int32),
        ("interior_rule", np.int32),
        ("rescale", np.int32),
        ("completion", np.int32),
        ("fpu", np.int32),
        ("rescale_illegal", np.int32),
        ("num_simulations", np.int32),
        ("max_depth", np.int32),
        ("virtual_visits", np.int32),  # 0: one leaf at a time
        ("virtual_is_loss", np.int32),
        ("solve", np.int32),
        ("target", np.int32),
        ("low", np.float32),
        ("high", np.float32),
        ("rescale_floor", np.float32),
        ("c_visit", np.float32),
        ("c_scale", np.float32),
        ("fpu_reduction", np.float32),
        ("c_init", np.float32),
        ("dirichlet_fraction", np.float32),
        ("forced_playouts", np.float32),
    ],
    align=True,
)
PUCT, GUMBEL, FULL, TRPO, MPO = 0, 1, 2, 3, 4
DEFAULT, ACTED = 0, 1
FIXED, TREE, PER_NODE, UNSCALED = 0, 1, 2, 3
UNKNOWN, NONE = -1, -2
CHANCE = -1
UNPROVEN, EXACT, OPEN = 0, 1, 2
DENSE = 2
VISITED = np.float32(-np.inf)
FIRST_CAPACITY = 4
QUARTER = np.float32(0.25)
OK, BAD_LOGIT, BAD_VALUE, BAD_REWARD, NO_ACTION, BAD_COUNT, BAD_PLAYER, BAD_NOISE = 0, 1, 2, 3, 4, 5, 6, 7
OUT_OF_RANGE = 8


class Forest(NamedTuple):
    """All arrays of a batch of trees; kernels take them one by one and put them together."""

    heads: Records  # [B] HEAD
    nodes: Records  # [B, N] NODE
    kids: Records  # [B, K] KID
    sums: NDArray[np.float64]  # [B, N, P] sum of backed-up values
    raw: F32  # [B, N, P] the model's value
    rewards: F32  # [B, N, P] on the edge into the node
    actions: I32  # [B, E] action numbers
    priors: F32  # [B, E] logits; probabilities at a root with Dirichlet noise
    bits: I32  # [B, E] the same memory as int32
    bounds: F32  # [B, P, 2] smallest and largest Q of each component
    noise: F32  # [B, M] Gumbel noise of the root's legal actions, scaled
    explore: F32  # [S] C(S) * sqrt(1 + S)
    halving: I32  # [m + 1, n] visits that an action must have at each simulation
    settings: Records  # [1] SETTINGS
    scratch: F32  # [max(M, P) + 1]


class Rows(NamedTuple):
    """Evaluations of R nodes, as `Evaluation` in model.py."""

    reward: F32  # [R, P]
    discount: F32  # [R]
    actions: I32  # [R, M]
    count: I32  # type: ignore[assignment]  # [R]
    prior_logits: F32  # [R, M]
    value: F32  # [R, P]
    to_play: I32  # [R]


class Answer(NamedTuple):
    """What a search found at each root; `SearchResult` in model.py says what it means."""

    action: I32  # [B]
    actions: I32  # [B, M]
    count: I32  # type: ignore[assignment]  # [B]
    weights: F32  # [B, M]
    visits: I32  # [B, M]
    q: F32  # [B, M]
    value: F32  # [B, P]
    raw: F32  # [B, P]
    improved: F32  # [B, P]


@inlined
def clear(t: Forest, b: int) -> None:
    """Empty a tree but for a root without edges."""
    head = t.heads[b]
    head["num_nodes"] = 0
    head["num_kids"] = 0
    head["num_edges"] = 0
    head["started"] = 0
    head["done"] = 0
    head["candidates"] = 0
    for p in range(t.sums.shape[2]):
        t.bounds[b, p, 0] = np.float32(np.inf)
        t.bounds[b, p, 1] = np.float32(-np.inf)
    new_node(t, b, -1, -1)


@inlined
def new_node(t: Forest, b: int, parent: int, parent_kid: int) -> int:
    """Take the next node of a tree; it has no edges until `grow` gives it some."""
    head = t.heads[b]
    node = int(head["num_nodes"])
    head["num_nodes"] = node + 1
    record = t.nodes[b, node]
    record["visits"] = 0
    record["pending"] = 0
    record["edges"] = 0
    record["num_edges"] = 0
    record["kids"] = 0
    record["num_kids"] = 0
    record["capacity"] = 0
    record["best"] = UNKNOWN
    record["parent"] = parent
    record["parent_kid"] = parent_kid
    record["to_play"] = 0
    record["proven"] = UNPROVEN
    record["is_ready"] = 0
    record["discount"] = ONE
    return node


@inlined
def grow(t: Forest, b: int, node: int, rows: Rows, row: int) -> int:
    """Give a new node what the model said about it: edges, raw value, mover, reward and discount.

    Args:
        t: changed in place.
        b, node: the tree and its new node.
        rows, row: where the evaluation stands.
    Returns:
        OK or the number of what is wrong.
    """
    record = t.nodes[b, node]
    count = int(rows.count[row])
    if count < 0 or count > rows.actions.shape[1]:
        return BAD_COUNT
    discount = rows.discount[row]
    if count == 0 and (discount != ZERO or node == 0):
        return NO_ACTION
    mover = int(rows.to_play[row])
    lowest = 0 if node == 0 else CHANCE
    if count > 0 and (mover < lowest or mover >= t.sums.shape[2]):
        return BAD_PLAYER
    record["to_play"] = mover if count > 0 else 0
    record["discount"] = discount
    status = OK if is_finite(discount) else BAD_REWARD
    for p in range(t.sums.shape[2]):
        t.sums[b, node, p] = 0.0
        t.raw[b, node, p] = rows.value[row, p]
        t.rewards[b, node, p] = rows.reward[row, p]
        if not is_finite(rows.value[row, p]):
            status = BAD_VALUE
        if not is_finite(rows.reward[row, p]):
            status = BAD_REWARD
    head = t.heads[b]
    start = int(head["num_edges"])
    record["edges"] = start
    record["num_edges"] = count
    head["num_edges"] = start + count
    copy_actions(rows.actions, row, count, t.actions, b, start)
    if not copy_logits(rows.prior_logits, row, count, t.priors, t.bits, b, start):
        status = BAD_LOGIT
    return status


@inlined
def open_edge(t: Forest, b: int, node: int, edge: int, weight: np.float32) -> int:
    """Append an edge to the kids of its node, moving the block to a larger place when it is full.

    Returns:
        The new kid's place in the block.
    """
    record = t.nodes[b, node]
    count = int(record["num_kids"])
    if count == record["capacity"]:
        head = t.heads[b]
        old = int(record["kids"])
        new = int(head["num_kids"])
        capacity = max(FIRST_CAPACITY, 2 * count)
        for k in range(count):
            t.kids[b, new + k] = t.kids[b, old + k]
        record["kids"] = new
        record["capacity"] = capacity
        head["num_kids"] = new + capacity
    kid = t.kids[b, int(record["kids"]) + count]
    kid["q"] = ZERO
    kid["prior"] = weight
    kid["logit"] = weight
    kid["visits"] = 0
    kid["child"] = -1
    kid["edge"] = edge
    record["num_kids"] = count + 1
    return count


@inlined
def open_best(t: Forest, b: int, node: int, rule: int) -> int:
    """Open the best unvisited edge of a node and mark it in the slice.

    Returns:
        The new kid's place in the block.
    """
    record = t.nodes[b, node]
    edge = int(record["best"])
    kid = open_edge(t, b, node, edge, record["best_weight"])
    t.priors[b, record["edges"] + edge] = VISITED
    if rule != PUCT:
        start = int(record["kids"])
        t.kids[b, start + kid]["prior"] = exp32(np.float32(record["best_weight"] - t.kids[b, start]["logit"]))
    record["best"] = UNKNOWN
    return kid


@inlined
def proven_q(t: Forest, b: int, node: int, player: int) -> np.float32:
    """Give a player's exact return along the edge into a proven node."""
    return np.float32(t.rewards[b, node, player] + t.nodes[b, node]["discount"] * t.raw[b, node, player])


@inlined
def refresh_q(t: Forest, b: int, node: int) -> None:
    """Write the Q of the edge into a node from the node's sums, with its pending visits counted as lost."""
    s = t.settings[0]
    record = t.nodes[b, node]
    parent = int(record["parent"])
    above = t.nodes[b, parent]
    mover = max(int(above["to_play"]), 0)  # nobody reads the Q of an edge at a chance node
    kid = t.kids[b, int(above["kids"]) + int(record["parent_kid"])]
    visits = int(record["visits"])
    pending = int(kid["visits"]) - visits
    if record["proven"] != UNPROVEN:
        q = proven_q(t, b, node, mover)
    elif visits > 0:
        mean = np.float32(t.sums[b, node, mover] / visits)
        q = np.float32(t.rewards[b, node, mover] + record["discount"] * mean)
    else:
        q = np.float32(t.sums[b, parent, mover] / int(above["visits"]))
    if pending > 0 and s["virtual_is_loss"] == 1 and not (parent == 0 and s["root_rule"] == GUMBEL):
        q = np.float32(
            (q * np.float32(visits) + s["low"] * np.float32(pending)) / np.float32(visits + pending)
        )
    kid["q"] = q


@inlined
def add_pending(t: Forest, b: int, leaf: int, sign: int) -> None:
    """Add (sign 1) or take away (-1) one pending leaf's virtual visits on its way to the root.

    At a Gumbel root a pending leaf counts for one visit, as Sequential Halving counts visits.
    """
    s = t.settings[0]
    node = leaf
    while node != 0:
        record = t.nodes[b, node]
        parent = int(record["parent"])
        above = t.nodes[b, parent]
        visits = sign * int(s["virtual_visits"])
        if parent == 0 and s["root_rule"] == GUMBEL:
            visits = sign
        t.kids[b, int(above["kids"]) + int(record["parent_kid"])]["visits"] += visits
        above["pending"] += visits
        refresh_q(t, b, node)
        node = parent


@inlined
def back_up(t: Forest, b: int, leaf: int) -> None:
    """Add one simulation's result, the leaf's raw value, to every node from the leaf up to the root.

    Args:
        t: changed in place; the leaf's virtual visits, where there are some, have been taken away.
        b, leaf: tree and node.
    Source: AlphaZero (Silver et al. 2018), Methods, Search; vectors as in max^n (Luckhardt and Irani 1986).
    """
    s = t.settings[0]
    players = t.sums.shape[2]
    gain = t.scratch
    for p in range(players):
        gain[p] = t.raw[b, leaf, p]
    node = leaf
    while True:
        record = t.nodes[b, node]
        record["visits"] += 1
        for p in range(players):
            t.sums[b, node, p] += np.float64(gain[p])
        parent = int(record["parent"])
        if parent < 0:
            break
        discount = record["discount"]
        for p in range(players):
            gain[p] = np.float32(t.rewards[b, node, p] + discount * gain[p])
        above = t.nodes[b, parent]
        kid = t.kids[b, int(above["kids"]) + int(record["parent_kid"])]
        kid["visits"] += 1
        if kid["visits"] == record["visits"] and record["proven"] == UNPROVEN:
            mover = max(int(above["to_play"]), 0)
            mean = np.float32(t.sums[b, node, mover] / int(record["visits"]))
            kid["q"] = np.float32(t.rewards[b, node, mover] + discount * mean)
        else:
            refresh_q(t, b, node)
        if s["rescale"] == TREE:
            widen_bounds(t, b, node)
        node = parent
    t.heads[b]["done"] += 1


@inlined
def widen_bounds(t: Forest, b: int, node: int) -> None:
    """Let the tree's smallest and largest Q take in the edge into a node."""
    record = t.nodes[b, node]
    for p in range(t.sums.shape[2]):
        mean = np.float32(t.sums[b, node, p] / int(record["visits"]))
        q = np.float32(t.rewards[b, node, p] + record["discount"] * mean)
        t.bounds[b, p, 0] = min(t.bounds[b, p, 0], q)
        t.bounds[b, p, 1] = max(t.bounds[b, p, 1], q)
