"""The memory of a UCT search: one tree as flat arrays, used for one position after the other."""

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ConfigError
from zelkova.games.game import Game

EXPLORATION = 1.0
"""c of the score, for returns in [-1, 1]."""


class UctTree(NamedTuple):
    """One tree's arrays, used for one position after the other. N nodes, E edges, D deepest walk."""

    states: Any  # uint64[N + 1, words]; the last row is for rollouts
    first_edge: Any  # int64[N] where the node's edges begin
    num_edges: Any  # int32[N] legal actions, or outcomes; 0 until the node is reached a second time
    num_tried: Any  # int32[N] edges that have a child; they come first; all edges where nature moves
    visits: Any  # int32[N] walks that reached the node
    terminal: Any  # bool[N] the game is over here
    edge_action: Any  # int32[E]
    edge_child: Any  # int32[E] node below; -1 for an outcome that was not drawn yet
    edge_visits: Any  # int32[E] walks through the edge
    edge_mean: Any  # float64[E] mean return of the mover above the edge, in [-1, 1]
    edge_bonus: Any  # float64[E] c / sqrt(n)
    root_means: Any  # float64[M, P] mean return of every player over the walks through an edge of the root
    path_node: Any  # int32[D] nodes of the walk
    path_edge: Any  # int64[D] edges of the walk
    root_log: Any  # float64[N + 1] sqrt(ln N) by N
    bonus: Any  # float64[N + 1] c / sqrt(n) by n
    actions: Any  # int32[M] scratch
    probs: Any  # float32[C] scratch; empty without chance
    returns: Any  # float32[P] scratch
    scaled: Any  # float64[P] scratch, in [-1, 1]
    counter: Any  # uint64[1] the generator's state


def new_tree(game: Game, num_simulations: int) -> tuple[UctTree, NDArray[np.int8]]:
    """Allocate a tree and the view of its movers.

    Args:
        game: whose positions are searched.
        num_simulations: of each search.
    """
    nodes, most = num_simulations + 1, game.max_edges
    edges = nodes * most
    counts = np.arange(nodes + 1, dtype=np.float64)
    counts[0] = 1.0
    states = game.new_states(nodes + 1)
    actions, probs = game.new_scratch()
    offset = game.state_dtype.fields["to_play"][1]  # type: ignore[index]
    tree = UctTree(
        states=states,
        first_edge=np.empty(nodes, np.int64),
        num_edges=np.empty(nodes, np.int32),
        num_tried=np.empty(nodes, np.int32),
        visits=np.empty(nodes, np.int32),
        terminal=np.empty(nodes, np.bool_),
        edge_action=np.empty(edges, np.int32),
        edge_child=np.empty(edges, np.int32),
        edge_visits=np.empty(edges, np.int32),
        edge_mean=np.empty(edges, np.float64),
        edge_bonus=np.empty(edges, np.float64),
        root_means=np.empty((most, game.num_players), np.float64),
        path_node=np.empty(nodes, np.int32),
        path_edge=np.empty(nodes, np.int64),
        root_log=np.sqrt(np.log(counts)),
        bonus=EXPLORATION / np.sqrt(counts),
        actions=actions,
        probs=probs,
        returns=np.zeros(game.num_players, np.float32),
        scaled=np.zeros(game.num_players, np.float64),
        counter=np.zeros(1, np.uint64),
    )
    return tree, states.view(np.int8)[:, offset]


def tree_bytes(game: Game, num_simulations: int) -> int:
    """Give the memory of `new_tree` in bytes, scratch left out."""
    return (num_simulations + 1) * (28 * game.max_edges + 49 + 8 * game.words)


def refuse_too_large(game: Game, num_simulations: int, threads: int) -> None:
    """Refuse trees that this machine's memory can't hold, where the system tells how much it has.

    Raises:
        ConfigError: says how much they need and how much there is.
    """
    needed = threads * tree_bytes(game, num_simulations)
    names = getattr(os, "sysconf_names", {})
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if "SC_PHYS_PAGES" in names else None
    if memory is not None and needed > memory:
        raise ConfigError(
            f"uct with {num_simulations} simulations of {game.name} on {threads} threads needs"
            f" {needed / 1e9:.1f} GB, and this machine has {memory / 1e9:.1f} GB; next: fewer simulations"
        )
