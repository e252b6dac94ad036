"""How Q values are brought to a common scale, and what stands in for the Q of an unvisited action."""

import numpy as np

from zelkova.search.kernels.native import ONE, ZERO, inlined
from zelkova.search.kernels.tree import FIXED, MPO, PER_NODE, TREE, TRPO, Forest

MIXED = 0


@inlined
def fixed_range(low: np.float32, high: np.float32) -> tuple[np.float32, np.float32]:
    """Map low..high to 0..1: (q - offset) * factor."""
    return low, np.float32(ONE / (high - low))


@inlined
def soft_range(low: np.float32, high: np.float32, floor: np.float32) -> tuple[np.float32, np.float32]:
    """Map low..high to 0..1, or to less where the range is narrower than floor.

    Source: mctx's epsilon; EfficientZero's value_delta_max.
    """
    return low, np.float32(ONE / max(np.float32(high - low), floor))


@inlined
def tree_range(low: np.float32, high: np.float32, floor: np.float32) -> tuple[np.float32, np.float32]:
    """Map the tree's range as `soft_range`; leave Q as it is until two values were seen (MuZero)."""
    if not high > low:
        return ZERO, ONE
    return soft_range(low, high, floor)


@inlined
def mixed_value(raw: np.float32, visits: int, weight: np.float32, weighted_q: np.float32) -> np.float32:
    """Estimate the value of a node's policy from its raw value and its visited actions: v_mix.

    Args:
        raw: the model's value.
        visits: S, sum of the visits of the node's actions.
        weight: sum of the priors of visited actions.
        weighted_q: sum of prior * q of visited actions.
    Source: Gumbel MuZero (Danihelka et al. 2022), Eq. 33.
    """
    if visits == 0 or weight <= ZERO:
        return raw
    s = np.float32(visits)
    return np.float32((raw + s * (weighted_q / weight)) / (ONE + s))


@inlined
def completed_q(t: Forest, b: int, node: int, rule: int) -> tuple[np.float32, np.float32, np.float32]:
    """Complete and scale the Q values of a node.

    Args:
        t, b, node: the tree and a node with edges.
        rule: TRPO leaves Q in its range; MPO divides it by lambda; all others take Gumbel MuZero's sigma.
    Returns:
        (value, offset, factor): value stands in for the Q of unvisited actions, and
        sigma(q) = (q - offset) * factor.
    Source: Gumbel MuZero (Danihelka et al. 2022), Eq. 8, 10, 33.
    """
    s = t.settings[0]
    record = t.nodes[b, node]
    mover = int(record["to_play"])
    start = int(record["kids"])
    weight = ZERO
    weighted_q = ZERO
    low = np.float32(np.inf)
    high = np.float32(-np.inf)
    most = 0
    visited = 0
    for k in range(int(record["num_kids"])):
        kid = t.kids[b, start + k]
        visits = int(kid["visits"])
        if visits > 0:
            q = kid["q"]
            weight = np.float32(weight + kid["prior"])
            weighted_q = np.float32(weighted_q + kid["prior"] * q)
            low = q if q < low else low
            high = q if q > high else high
            most = visits if visits > most else most
            visited += 1
    value = t.raw[b, node, mover]
    if s["completion"] == MIXED:
        spent = int(record["visits"]) - 1 + int(record["pending"])
        value = mixed_value(value, spent, weight, weighted_q)
    edges = int(record["num_edges"])
    is_open = visited < edges or (s["rescale_illegal"] == 1 and edges < t.noise.shape[1])
    if is_open:
        low = value if value < low else low
        high = value if value > high else high
    offset = ZERO
    factor = ONE
    if s["rescale"] == FIXED:
        offset, factor = fixed_range(s["low"], s["high"])
    elif s["rescale"] == PER_NODE:
        offset, factor = soft_range(low, high, s["rescale_floor"])
    elif s["rescale"] == TREE:
        offset, factor = tree_range(t.bounds[b, mover, 0], t.bounds[b, mover, 1], s["rescale_floor"])
    strength = ONE
    if rule == MPO:
        strength = np.float32(ONE / penalty(t, b, node))
    elif rule != TRPO:
        strength = np.float32((s["c_visit"] + np.float32(most)) * s["c_scale"])
    return value, offset, np.float32(factor * strength)


@inlined
def penalty(t: Forest, b: int, node: int) -> np.float32:
    """Give lambda_N = c sqrt(S) / (k + S) of a node with k edges and S >= 1 visits of them.

    Source: MCTS as regularized policy optimization (Grill et al. 2020), Eq. 4.
    """
    record = t.nodes[b, node]
    spent = max(int(record["visits"]) - 1 + int(record["pending"]), 1)
    s = np.float32(spent)
    return np.float32(t.settings[0]["c_init"] * np.sqrt(s) / np.float32(int(record["num_edges"]) + spent))
