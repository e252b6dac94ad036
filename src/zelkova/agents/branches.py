"""Reads a finished search as a small tree of moves: for people, pictures and best lines, not for speed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zelkova.search.batch import BatchSearch


@dataclass(frozen=True, eq=False)
class Branch:
    """A move of a search tree and what was looked at after it."""

    action: int  # that led here; -1 at the root
    visits: int  # simulations that passed
    value: NDArray[np.float32]  # [P] mean return of each absolute player along this move
    children: tuple["Branch", ...]  # visited moves from here, most visited first


def read_branches(search: BatchSearch, widths: Sequence[int], tree: int = 0) -> Branch:
    """Read the most visited part of one tree.

    Args:
        search: whose last search is done.
        widths: children that are read of a node, a number for each level; its length is the depth.
        tree: which of the batch.
    """
    forest = search.forest
    visits = int(forest.nodes[tree, 0]["visits"])
    value = (forest.sums[tree, 0] / max(visits, 1)).astype(np.float32)
    return Branch(-1, visits, value, _read_children(search, widths, tree, 0))


def _read_children(search: BatchSearch, widths: Sequence[int], tree: int, node: int) -> tuple[Branch, ...]:
    """Read the visited children of a node, most visited first, equals by the mover's value."""
    if not widths:
        return ()
    forest = search.forest
    record = forest.nodes[tree, node]
    start = int(record["kids"])
    kids = forest.kids[tree, start : start + int(record["num_kids"])]
    kids = kids[(kids["child"] > 0) & (kids["visits"] > 0)]
    best = kids[np.lexsort((-kids["q"], -kids["visits"]))][: widths[0]]
    return tuple(_read_branch(search, widths[1:], tree, int(record["edges"]), kid) for kid in best)


def _read_branch(search: BatchSearch, widths: Sequence[int], tree: int, edges: int, kid: np.void) -> Branch:
    """Read the branch behind one edge; its value is the reward of the move and what followed."""
    forest, child = search.forest, int(kid["child"])
    visits = int(kid["visits"])
    mean = forest.sums[tree, child] / max(int(forest.nodes[tree, child]["visits"]), 1)
    value = forest.rewards[tree, child] + forest.nodes[tree, child]["discount"] * mean
    action = int(forest.actions[tree, edges + int(kid["edge"])])
    return Branch(action, visits, value.astype(np.float32), _read_children(search, widths, tree, child))
