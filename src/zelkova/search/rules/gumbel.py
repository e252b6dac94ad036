"""Gumbel MuZero: Sequential Halving at the root, and the deterministic rule below it.

Source: Policy improvement by planning with Gumbel (Danihelka et al., ICLR 2022).
"""

import numpy as np

from zelkova.search.kernels.native import (
    F32,
    I32,
    ONE,
    ZERO,
    best_in_row,
    exp32,
    exp_sum,
    inlined,
    pairwise_sum,
)
from zelkova.search.kernels.tree import GUMBEL, NONE, QUARTER, UNKNOWN, VISITED, Forest, open_edge
from zelkova.search.rules.proven import is_lost
from zelkova.search.rules.qtransforms import completed_q

MOST_VISITS = 2**31 - 1


def halving_phases(considered: int, simulations: int) -> list[tuple[int, int]]:
    """List the phases of Sequential Halving: how many actions are considered, new visits of each.

    The simulations may end within a phase; two actions that share a rest have as many phases as it takes.

    Args:
        considered: m, number of candidates, at least 1.
        simulations: n.
    Source: Algorithm 2 (Sequential Halving with Gumbel).
    """
    if considered <= 1:
        return [(1, simulations)]
    halvings = (considered - 1).bit_length()
    phases: list[tuple[int, int]] = []
    width, spent = considered, 0
    while spent < simulations:
        phases.append((width, max(1, simulations // (halvings * width))))
        spent += width * phases[-1][1]
        width = max(2, width // 2)
    return phases


def halving_visits(considered: int, simulations: int) -> list[int]:
    """List the visits that an action must have to be eligible at each simulation.

    Args:
        considered: m, number of candidates, at least 1.
        simulations: n.
    Source: Algorithm 2 (Sequential Halving with Gumbel), in table form.
    """
    table: list[int] = []
    visits = [0] * max(considered, 1)
    for width, rounds in halving_phases(considered, simulations):
        for _ in range(rounds):
            table.extend(visits[:width])
            for i in range(width):
                visits[i] += 1
    return table[:simulations]


def halving_table(considered: int, simulations: int) -> I32:
    """Stack `halving_visits` for every m from 0 to considered: int32[considered + 1, simulations]."""
    rows = [halving_visits(m, simulations) for m in range(considered + 1)]
    return np.array(rows, np.int32)


@inlined
def open_candidates(t: Forest, b: int, considered: int) -> None:
    """Open the root's candidates: the largest g + logit, best first, the lowest action on a tie.

    Args:
        t: tree b's root has its edges; its logits stay as they are.
        considered: m, at least 1.
    """
    record = t.nodes[b, 0]
    start = int(record["edges"])
    count = int(record["num_edges"])
    considered = min(considered, count)
    for i in range(considered):
        open_edge(t, b, 0, i, ZERO)
    first = int(record["kids"])
    for i in range(count):
        logit = t.priors[b, start + i]
        score = np.float32(t.noise[b, i] + logit)  # kept in the kid's q until all have been seen
        place = min(i, considered)
        while place > 0 and score > t.kids[b, first + place - 1]["q"]:
            if place < considered:
                t.kids[b, first + place] = t.kids[b, first + place - 1]
            place -= 1
        if place < considered:
            kid = t.kids[b, first + place]
            kid["q"] = score
            kid["logit"] = logit
            kid["edge"] = i
    top = np.float32(-np.inf)
    for k in range(considered):
        top = max(top, t.kids[b, first + k]["logit"])
    for k in range(considered):
        kid = t.kids[b, first + k]
        kid["prior"] = exp32(np.float32(kid["logit"] - top))
        kid["q"] = ZERO
    t.heads[b]["candidates"] = considered
    record["best"] = NONE


@inlined
def best_candidate(t: Forest, b: int, least: int, most: int, takes_lost: bool) -> int:
    """Find the candidate with g + logit + sigma(completed q) largest among those with least to most visits.

    Args:
        t, b: the tree.
        least, most: visits that a candidate must have.
        takes_lost: whether proven losses count too.
    Returns:
        The place among the root's kids.
    """
    value, offset, factor = completed_q(t, b, 0, GUMBEL)
    first = int(t.nodes[b, 0]["kids"])
    chosen = -1
    chosen_edge = -1
    best = np.float32(-np.inf)
    for k in range(int(t.heads[b]["candidates"])):
        kid = t.kids[b, first + k]
        visits = int(kid["visits"])
        if least <= visits <= most and (takes_lost or not is_lost(t, b, 0, k)):
            q = kid["q"] if visits > 0 else value
            edge = int(kid["edge"])
            score = np.float32(t.noise[b, edge] + kid["logit"] + (q - offset) * factor)
            if chosen < 0 or score > best or (score == best and edge < chosen_edge):
                best = score
                chosen = k
                chosen_edge = edge
    return chosen


@inlined
def choose_halving(t: Forest, b: int) -> int:
    """Choose the root's candidate for the next simulation of Sequential Halving (Algorithm 2).

    Where pending leaves were dropped or losses proven, no candidate may stand at the table's count: then the
    nearest count below it that some candidate has, or else the smallest, takes its place.
    """
    head = t.heads[b]
    started = int(head["started"])
    candidates = int(head["candidates"])
    if started < candidates:
        return started
    target = int(t.halving[candidates, started])
    first = int(t.nodes[b, 0]["kids"])
    takes_lost = are_all_lost(t, b)
    level = -1
    least = MOST_VISITS
    for k in range(candidates):
        if takes_lost or not is_lost(t, b, 0, k):
            visits = int(t.kids[b, first + k]["visits"])
            least = min(least, visits)
            if visits <= target:
                level = max(level, visits)
    level = level if level >= 0 else least
    return best_candidate(t, b, level, level, takes_lost)


@inlined
def are_all_lost(t: Forest, b: int) -> bool:
    """Say whether every candidate of the root is a proven loss."""
    lost = 0
    for k in range(int(t.heads[b]["candidates"])):
        lost += int(is_lost(t, b, 0, k))
    return lost == int(t.heads[b]["candidates"])


@inlined
def best_left_out(t: Forest, b: int) -> int:
    """Find the edge with the largest g + logit among those that are no candidates; -1 where there is none."""
    record = t.nodes[b, 0]
    start = int(record["edges"])
    first = int(record["kids"])
    chosen = -1
    best = np.float32(-np.inf)
    for i in range(int(record["num_edges"])):
        is_candidate = False
        for k in range(int(t.heads[b]["candidates"])):
            is_candidate |= bool(t.kids[b, first + k]["edge"] == i)
        score = np.float32(t.noise[b, i] + t.priors[b, start + i])
        if not is_candidate and (chosen < 0 or score > best):
            best = score
            chosen = i
    return chosen


@inlined
def most_visited_candidate(t: Forest, b: int) -> int:
    """Find the candidate to act with: best g + logit + sigma(q) among the most visited; no proven loss."""
    first = int(t.nodes[b, 0]["kids"])
    takes_lost = are_all_lost(t, b)
    most = 0
    for k in range(int(t.heads[b]["candidates"])):
        if takes_lost or not is_lost(t, b, 0, k):
            most = max(most, int(t.kids[b, first + k]["visits"]))
    return best_candidate(t, b, most, most, takes_lost)


@inlined
def standing_candidate(t: Forest, b: int) -> int:
    """Find the candidate to act with when a search ends early: the best of those still considered.

    These have the visits that the next simulation asks for, or more; in the first round they are all, and one
    without visits takes part with its completed Q. Among the most visited alone, the order within a round
    would decide.
    """
    head = t.heads[b]
    first = int(t.nodes[b, 0]["kids"])
    takes_lost = are_all_lost(t, b)
    most = 0
    for k in range(int(head["candidates"])):
        most = max(most, int(t.kids[b, first + k]["visits"]))
    target = int(t.halving[int(head["candidates"]), int(head["started"])])
    return best_candidate(t, b, min(target, most), most, takes_lost)


@inlined
def prepare_full(t: Forest, b: int, node: int) -> None:
    """Find a node's best unvisited edge and the mass of its unvisited edges.

    mass * exp(reference) is the sum of exp(logit) over unvisited edges. It is lowered by each edge opened and
    summed anew when little of it is left, so that rounding stays small beside it.
    """
    record = t.nodes[b, node]
    start = int(record["edges"])
    count = int(record["num_edges"])
    kids = int(record["num_kids"])
    if kids >= count:
        record["best"] = NONE
        record["mass"] = ZERO
        return
    best = best_in_row(t.bits, b, start, count)
    logit = t.priors[b, start + best]
    record["best"] = best
    record["best_weight"] = logit
    is_stale = record["is_ready"] == 0
    if not is_stale:
        opened = t.kids[b, int(record["kids"]) + kids - 1]["logit"]
        record["mass"] -= exp32(np.float32(opened - record["reference"]))
        is_stale = record["mass"] < record["mass_limit"]
    if is_stale:
        record["reference"] = logit
        record["mass"] = exp_sum(t.priors, b, start, count, logit, t.scratch)
        record["mass_limit"] = record["mass"] * QUARTER
        record["is_ready"] = 1


@inlined
def choose_full(t: Forest, b: int, node: int, rule: int) -> int:
    """Choose argmax pi'(a) - N(a) / (1 + S) at a node; the lowest action on a tie.

    All unvisited edges have one completed Q, so that the one with the largest logit stands for them.

    Args:
        t, b, node: the tree and a node with edges.
        rule: FULL; or MPO, whose improved policy has the same form with another scale.
    Returns:
        The place among the node's kids, or -1 for its best unvisited edge.
    Source: Eq. 14.
    """
    record = t.nodes[b, node]
    if record["best"] == UNKNOWN:
        prepare_full(t, b, node)
    count = int(record["num_kids"])
    if count == 0:
        return -1
    value, offset, factor = completed_q(t, b, node, rule)
    start = int(record["kids"])
    edge = int(record["best"])
    top = VISITED
    rest = ZERO
    if edge >= 0:
        rest = np.float32(record["best_weight"] + (value - offset) * factor)
        top = rest
    for k in range(count):
        kid = t.kids[b, start + k]
        score = np.float32(kid["logit"] + (kid["q"] - offset) * factor)
        t.scratch[k] = score
        top = score if score > top else top
    total = ZERO
    share = ONE / np.float32(int(record["visits"]) + int(record["pending"]))
    best = VISITED
    if edge >= 0:
        best = exp32(np.float32(rest - top))
        total = np.float32(
            best * (record["mass"] / exp32(np.float32(record["best_weight"] - record["reference"])))
        )
    for k in range(count):
        weight = exp32(np.float32(t.scratch[k] - top))
        t.scratch[k] = weight
        total = np.float32(total + weight)
    scale = ONE / total
    if edge >= 0:
        best = np.float32(best * scale)
    chosen = -1
    for k in range(count):
        if is_lost(t, b, node, k):
            continue
        kid = t.kids[b, start + k]
        score = np.float32(t.scratch[k] * scale - np.float32(int(kid["visits"])) * share)
        if score > best or (score == best and int(kid["edge"]) < edge):
            best = score
            edge = int(kid["edge"])
            chosen = k
    return chosen


@inlined
def improved_policy(t: Forest, b: int, rule: int, out: F32) -> None:
    """Write pi' = softmax(logits + sigma(completed Q)) of the root's legal actions into out[b] (Eq. 11).

    Args:
        t, b: the tree.
        rule: GUMBEL, or MPO for its own scale.
        out: [B, M].
    """
    record = t.nodes[b, 0]
    start = int(record["edges"])
    count = int(record["num_edges"])
    value, offset, factor = completed_q(t, b, 0, rule)
    unvisited = np.float32((value - offset) * factor)
    for i in range(count):
        out[b, i] = t.priors[b, start + i] + unvisited
    first = int(record["kids"])
    for k in range(int(record["num_kids"])):
        kid = t.kids[b, first + k]
        if kid["visits"] > 0:
            out[b, int(kid["edge"])] = np.float32(kid["logit"] + (kid["q"] - offset) * factor)
    top = VISITED
    for i in range(count):
        top = out[b, i] if out[b, i] > top else top
    for i in range(count):
        weight = exp32(np.float32(out[b, i] - top))
        out[b, i] = weight
        t.scratch[i] = weight
    scale = ONE / pairwise_sum(t.scratch, count)
    for i in range(count):
        out[b, i] = out[b, i] * scale
