"""Reads a search as a small tree of actions: for people, pictures and best lines, not for speed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ConfigError, SearchError
from zelkova.search.batch import BatchSearch
from zelkova.search.kernels.native import F32
from zelkova.search.kernels.tree import CHANCE, DENSE, GUMBEL, PUCT


@dataclass(frozen=True, eq=False)
class Branch:
    """An action of a search tree and what was looked at after it."""

    action: int  # that led here; -1 at the root
    prior: float  # the model's probability of the action, 0..1, as `read_own_priors` reads it; 1 at the root
    visits: int  # simulations that passed
    value: NDArray[np.float32]  # [P] mean return of each absolute player along this action
    children: tuple["Branch", ...]
    # visited actions from here, most visited first; at the root, first what the search plays, if visited


def require_tree(search: BatchSearch, tree: int, call: str) -> None:
    """Refuse what can't be read.

    Args:
        search, tree: what a person gave.
        call: named in the error.
    Raises:
        SearchError: the trees hold nothing or wait for an evaluation; or there is no such tree.
        ConfigError: search holds no trees at all.
    """
    if not isinstance(search, BatchSearch):
        raise ConfigError(
            f"{call} got a {type(search).__name__}; allowed: a BatchSearch, such as `found.tree`"
        )
    search.require_rest(call)
    if not 0 <= tree < search.num_trees:
        raise SearchError(f"tree = {tree}; allowed: 0 to {search.num_trees - 1}")


def read_branches(
    search: BatchSearch, widths: Sequence[int], tree: int = 0, played: int | None = None
) -> Branch:
    """Read the most visited part of one tree, and what the search plays without a temperature, if visited.

    Args:
        search: with nothing waiting for an evaluation.
        widths: children that are read of a node, a number for each level; its length is the depth.
        tree: which of the batch.
        played: action that the search plays, where it is known; None: it is asked.
    Raises:
        SearchError: the trees hold nothing or wait for an evaluation; there is no such tree; or, asked what
            it plays, a tree of the batch has no finite answer.
        ConfigError: search holds no trees at all.
    """
    require_tree(search, tree, "read_branches()")
    forest = search.forest
    visits = int(forest.nodes[tree, 0]["visits"])
    value = (forest.sums[tree, 0] / max(visits, 1)).astype(np.float32)
    if played is None:
        played = int(search.result_so_far().action[tree])
    return Branch(-1, 1.0, visits, value, _read_children(search, widths, tree, 0, played))


def find_child(search: BatchSearch, action: int, node: int = 0, tree: int = 0) -> int:
    """Find the node that an action leads to; -1 where no search went there.

    Args:
        search: with nothing waiting for an evaluation.
        action: its number.
        node: where it is played; 0 is the root.
        tree: which of the batch.
    """
    forest = search.forest
    record = forest.nodes[tree, node]
    start, first = int(record["edges"]), int(record["kids"])
    for kid in forest.kids[tree, first : first + int(record["num_kids"])]:
        if forest.actions[tree, start + int(kid["edge"])] == action and kid["visits"] > 0:
            return int(kid["child"])
    return -1


def read_priors(search: BatchSearch, node: int = 0, tree: int = 0) -> F32:
    """Read the prior probabilities of a node's edges, as the search uses them.

    Args:
        search: with nothing waiting for an evaluation.
        node, tree: where.
    Returns:
        float32[edges]; Dirichlet noise of a PUCT root is mixed in, Gumbel noise is no part of a prior.
    """
    forest = search.forest
    record, settings = forest.nodes[tree, node], forest.settings[0]
    start, first = int(record["edges"]), int(record["kids"])
    weights = forest.priors[tree, start : start + int(record["num_edges"])].copy()
    kids = forest.kids[tree, first : first + int(record["num_kids"])]
    rule = PUCT if record["to_play"] == CHANCE else settings["interior_rule" if node else "root_rule"]
    if rule == GUMBEL:
        return softmax(weights)
    if rule != PUCT:
        weights[kids["edge"]] = kids["logit"]
        return softmax(weights)
    if record["is_ready"] == 0:
        return softmax(weights)
    if record["is_ready"] != DENSE:
        weights = np.exp(weights - record["reference"]) / record["mass"]
    weights[kids["edge"]] = kids["prior"]
    return weights


def read_own_priors(search: BatchSearch, node: int = 0, tree: int = 0) -> F32:
    """Read the model's own prior probabilities of a node's edges.

    Args:
        search: with nothing waiting for an evaluation.
        node, tree: where.
    Returns:
        float32[edges]; Dirichlet noise of a PUCT root is taken out again. With dirichlet_fraction 1 nothing
        of the model's is left, and this is the noise.
    """
    priors = read_priors(search, node, tree)
    noise, share = search.forest.noise[tree, : len(priors)], np.float32(search.config.dirichlet_fraction)
    if node != 0 or not search.config.mixes_noise or share == 1 or not noise.any():
        return priors
    own: F32 = np.maximum((priors - share * noise) / (1 - share), np.float32(0))
    return own


def softmax(logits: F32) -> F32:
    """Turn logits [k], k at least 1, into probabilities."""
    weights = np.exp(logits - logits.max())
    probabilities: F32 = (weights / weights.sum()).astype(np.float32)
    return probabilities


def _read_children(
    search: BatchSearch, widths: Sequence[int], tree: int, node: int, first: int = -1
) -> tuple[Branch, ...]:
    """Read the visited children of a node: action `first`, then most visited, equals by the mover's value."""
    if not widths:
        return ()
    forest = search.forest
    record = forest.nodes[tree, node]
    start = int(record["kids"])
    kids = forest.kids[tree, start : start + int(record["num_kids"])]
    kids = kids[(kids["child"] > 0) & (kids["visits"] > 0)]
    if len(kids) == 0:
        return ()
    priors = read_own_priors(search, node, tree)
    actions = forest.actions[tree, int(record["edges"]) + kids["edge"]]
    best = kids[np.lexsort((-kids["q"], -kids["visits"], actions != first))][: widths[0]]
    return tuple(_read_branch(search, widths[1:], tree, (int(record["edges"]), priors), kid) for kid in best)


def _read_branch(
    search: BatchSearch, widths: Sequence[int], tree: int, above: tuple[int, F32], kid: np.void
) -> Branch:
    """Read the branch behind one edge; its value is the reward of the action and what followed."""
    forest, child = search.forest, int(kid["child"])
    edges, priors = above
    mean = forest.sums[tree, child] / max(int(forest.nodes[tree, child]["visits"]), 1)
    value = forest.rewards[tree, child] + forest.nodes[tree, child]["discount"] * mean
    return Branch(
        int(forest.actions[tree, edges + int(kid["edge"])]),
        float(priors[int(kid["edge"])]),
        int(kid["visits"]),
        value.astype(np.float32),
        _read_children(search, widths, tree, child),
    )
