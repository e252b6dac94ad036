"""Allocates the memory of a batch of trees, once, with the settings and tables that its kernels read."""

from typing import Any, NamedTuple

import numpy as np

from zelkova.errors import require_memory
from zelkova.search.config import CHOICES, SearchConfig
from zelkova.search.kernels import tree
from zelkova.search.kernels.native import F32
from zelkova.search.rules.gumbel import halving_table

RULES = {"puct": tree.PUCT, "gumbel": tree.GUMBEL, "full": tree.FULL, "trpo": tree.TRPO, "mpo": tree.MPO}


class Sizes(NamedTuple):
    """How large a batch of searches is."""

    num_trees: int  # B
    max_actions: int  # M, most legal actions of a position
    num_players: int  # P
    num_leaves: int  # of one tree gathered at a time


def explore_table(c_init: float, c_base: float, size: int, parent_count: str = "one_plus") -> F32:
    """Tabulate (log((1 + Np + c_base) / c_base) + c_init) * sqrt(Np) for S below size.

    Args:
        c_init, c_base, parent_count: as in `SearchConfig`; Np is 1 + S ("one_plus") or S ("sum").
        size: of the table, entry S for S visits of a node's actions.
    Source: AlphaZero (Silver et al. 2018), Methods, Search; with c_init and c_base the c1 and c2 of MuZero.
    """
    first = 1 if parent_count == "one_plus" else 0
    parent = np.arange(first, first + size, dtype=np.float64)
    table = (np.log((1 + parent + c_base) / c_base) + c_init) * np.sqrt(parent)
    return table.astype(np.float32)


def aligned(shape: tuple[int, ...], dtype: Any) -> Any:
    """Allocate an array that begins at a cache line; pages that are never touched cost nothing."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = np.empty(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(dtype).reshape(shape)


def new_forest(config: SearchConfig, sizes: Sizes, q_range: tuple[float, float]) -> tree.Forest:
    """Allocate the trees of a search, large enough for the config's simulations.

    Args:
        config: how to search.
        sizes: of the batch.
        q_range: lowest and highest return.
    Raises:
        ConfigError: the machine's memory can't hold them.
    """
    trees, most, players = sizes.num_trees, sizes.max_actions, sizes.num_players
    simulations = config.num_simulations
    nodes = simulations + 1
    considered = min(config.max_considered, most)
    pending = sizes.num_leaves * config.virtual_visits if sizes.num_leaves > 1 else 0
    node = tree.NODE.itemsize + 4 * tree.KID.itemsize + 8 * most + 16 * players
    require_memory(
        trees * (nodes * node + 12 * sizes.num_leaves) + 4 * (considered + 1) * simulations + 4 * pending,
        f"a search of {trees} trees, {simulations} simulations, {most} actions and {sizes.num_leaves} leaves",
    )
    settings = np.zeros(1, tree.SETTINGS)
    for name in ("rescale", "completion", "fpu"):
        settings[name] = CHOICES[name].index(getattr(config, name))
    same = "rescale_floor c_visit c_scale c_init fpu_reduction dirichlet_fraction max_depth forced_playouts"
    for name in (*same.split(), "rescale_illegal", "solve"):
        settings[name] = getattr(config, name)
    settings["root_rule"] = RULES[config.policy]
    settings["interior_rule"] = tree.PUCT if config.policy == "puct" else RULES[config.interior]
    settings["target"] = tree.ACTED if config.target == "acted" else tree.DEFAULT
    settings["num_simulations"] = simulations
    settings["virtual_visits"] = config.virtual_visits if sizes.num_leaves > 1 else 0
    settings["virtual_is_loss"] = config.virtual_loss == "loss"
    settings["low"], settings["high"] = q_range
    priors = aligned((trees, nodes * most), np.float32)
    return tree.Forest(
        heads=np.zeros(trees, tree.HEAD),
        nodes=aligned((trees, nodes), tree.NODE),
        kids=aligned((trees, 4 * nodes + 2 * considered), tree.KID),
        sums=aligned((trees, nodes, players), np.float64),
        raw=aligned((trees, nodes, players), np.float32),
        rewards=aligned((trees, nodes, players), np.float32),
        actions=aligned((trees, nodes * most), np.int32),
        priors=priors,
        bits=priors.view(np.int32),
        bounds=np.zeros((trees, players, 2), np.float32),
        noise=np.zeros((trees, most), np.float32),
        explore=explore_table(config.c_init, config.c_base, simulations + pending + 1, config.parent_count),
        halving=halving_table(considered, simulations),
        settings=settings,
        scratch=np.zeros(max(most, players) + 1, np.float32),
    )
