"""A batch of searches: the memory of the trees and the loop between them and the model.

`BatchSearch` allocates once. It knows no game and no network: a `Model` answers for the positions.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ConfigError, SearchError, ShapeError
from zelkova.search.config import CHOICES, DIRICHLET_SCALE, SearchConfig
from zelkova.search.kernels import tree
from zelkova.search.kernels.gumbel import halving_table
from zelkova.search.kernels.native import F32, I32, bind
from zelkova.search.kernels.simulate import STATUSES, plant_roots, read_roots, select_leaves, settle_leaves
from zelkova.search.model import (
    MESSAGES,
    Evaluation,
    Model,
    SearchResult,
    Selection,
    check_array,
    check_evaluation,
)

F64 = NDArray[np.float64]


class BatchSearch:
    """B searches side by side, one row a tree; a row's answer never depends on its neighbours.

    Args:
        config: how to search.
        num_trees: B.
        max_actions: M, most legal actions of a position.
        num_players: P.
        q_range: lowest and highest return, for `rescale = fixed`, `fpu = loss` and virtual losses.
        num_leaves: leaves of one tree gathered at a time.
    Raises:
        ConfigError: a size or the range is out of bounds, or the config doesn't suit the players.
    """

    def __init__(
        self,
        config: SearchConfig,
        num_trees: int,
        max_actions: int,
        num_players: int,
        q_range: tuple[float, float] = (-1.0, 1.0),
        num_leaves: int = 1,
    ) -> None:
        sizes = {
            "num_trees": num_trees,
            "max_actions": max_actions,
            "num_players": num_players,
            "num_leaves": num_leaves,
        }
        for name, size in sizes.items():
            if size < 1:
                raise ConfigError(f"{name} = {size} is below 1")
        if not q_range[0] < q_range[1]:
            raise ConfigError(f"q_range = {q_range} is empty; give (lowest, highest) return")
        if config.fpu == "mean_q" and num_players > 1:
            raise ConfigError("search.fpu = 'mean_q' averages over movers; it is for one player only")
        self.config = config
        self.num_simulations = config.num_simulations
        if (self.num_simulations + 1) * max_actions >= 2**31:
            raise ConfigError(
                f"{self.num_simulations} simulations of {max_actions} actions pass 2**31 edges a tree"
            )
        self.num_trees, self.max_actions, self.num_players = num_trees, max_actions, num_players
        self.num_leaves = num_leaves
        self.forest = new_forest(self, q_range)
        rows = num_trees * num_leaves
        self.selection = Selection(*(np.full(rows, -1, np.int32) for _ in range(3)))
        self._held = np.full(rows, -1, np.int32)
        self._select_args = (*self.forest, num_leaves, *self.selection, self._held)
        self._settle_args = (*self.forest, num_leaves, self.selection.node, self._held)
        self._select: Any = None
        self._settle: Any = None
        self._checked: Evaluation | None = None  # the last evaluation whose shapes were found right
        self._has_roots = False
        self._is_waiting = False  # selected rows have not been expanded
        self._left = num_trees  # trees with simulations left

    @property
    def is_done(self) -> bool:
        """Whether every tree has had all its simulations."""
        return self._has_roots and self._left == 0

    def set_roots(self, evaluation: Evaluation, noise: F32 | None = None) -> None:
        """Begin new searches.

        Args:
            evaluation: of the B roots.
            noise: [B, M] aligned with the root's legal actions: Gumbel(0) draws (gumbel) or a Dirichlet draw
                over the legal actions (puct); see `draw_noise`. None: no noise.
        Raises:
            ShapeError: an array has another shape or dtype.
            SearchError: numbers that can't be used; names the tree.
        """
        check_evaluation(evaluation, self.num_trees, self.max_actions, self.num_players)
        is_gumbel = self.config.policy == "gumbel"
        if noise is None:
            self.forest.noise[:] = 0
        else:
            check_array("noise", noise, (self.num_trees, self.max_actions), np.float32)
            np.multiply(
                noise, np.float32(self.config.gumbel_scale if is_gumbel else 1), out=self.forest.noise
            )
            used = np.arange(self.max_actions) < evaluation.count[:, None]
            self.forest.noise[~used] = 0
        self._has_roots = False
        self._raise(plant_roots(*self.forest, *evaluation, noise is not None))
        self._has_roots = True
        self._is_waiting = False
        self._left = self.num_trees
        self.selection.node[:] = -1
        self._held[:] = -1

    def select(self) -> Selection:
        """Find the leaves to evaluate next.

        Known endings met on the way are backed up and count as simulations.

        Raises:
            SearchError: no roots were set, or rows of the last selection have not been expanded.
        """
        if not self._has_roots:
            raise SearchError("select() before set_roots(): give the trees their roots first")
        if self._is_waiting:
            raise SearchError("select() twice: expand() the last selection first")
        if self._select is None:
            self._select = bind(select_leaves, *self._select_args)
        self._is_waiting = self._select(*self._select_args) > 0
        if not self._is_waiting:
            self._left = 0
        return self.selection

    def expand(self, evaluation: Evaluation) -> None:
        """Take in the evaluations of the selected rows and back them up.

        Args:
            evaluation: R rows; those whose node is -1 are not read.
        Raises:
            ShapeError: an array has another shape or dtype.
            SearchError: numbers that can't be used, naming the tree; no rows were selected.
        """
        if evaluation is not self._checked:
            check_evaluation(evaluation, len(self._held), self.max_actions, self.num_players)
            self._checked = evaluation
        if not self._is_waiting:
            if self.is_done:
                return
            raise SearchError("expand() before select(): no rows wait for an evaluation")
        if self._settle is None:
            self._settle = bind(settle_leaves, *self._settle_args, *evaluation)
        self._is_waiting = False
        self._left = self._settle(*self._settle_args, *evaluation)
        if self._left < 0:
            self._has_roots = False
            self._raise(-self._left, self.num_leaves)

    def finish(self, status: int = 0) -> None:
        """Tell that a compiled loop has run the simulations, instead of `select` and `expand`.

        Args:
            status: 0, or tree * STATUSES + status of a bad evaluation.
        Raises:
            SearchError: the status says so, or simulations are left.
        """
        self._raise(status)
        if (self.forest.heads["done"] < self.num_simulations).any():
            raise SearchError("finish() with simulations left")
        self._left = 0

    def result(self, temperature: float | F32 = 0.0, uniform: F32 | None = None) -> SearchResult:
        """Read the answers.

        Args:
            temperature: 0 plays the search's own choice; above 0, an action is drawn in proportion to
                visits ** (1 / temperature). A number, or [B].
            uniform: [B] numbers in [0, 1) to draw with; needed where a temperature is above 0.
        Raises:
            SearchError: the searches are not done.
            ShapeError: uniform or temperature is missing or has another shape.
        """
        if not self.is_done:
            raise SearchError("result() before the search is done: loop select() and expand() until is_done")
        trees, most, players = self.num_trees, self.max_actions, self.num_players
        answer = SearchResult(
            np.empty(trees, np.int32),
            np.empty((trees, most), np.int32),
            np.empty(trees, np.int32),
            np.empty((trees, most), np.float32),
            np.empty((trees, most), np.int32),
            np.empty((trees, most), np.float32),
            np.empty((trees, players), np.float32),
            np.empty((trees, players), np.float32),
            np.empty((trees, players), np.float32),
        )
        read_roots(*self.forest, *answer)
        heat = np.broadcast_to(np.asarray(temperature, np.float64), (trees,))
        warm = heat > 0
        if warm.any():
            if uniform is None or uniform.shape != (trees,):
                raise ShapeError(f"result(temperature > 0) needs uniform of shape ({trees},)")
            drawn = draw_by_visits(answer, np.where(warm, heat, 1.0), uniform)
            answer.action[warm] = drawn[warm]
        return answer

    def _raise(self, status: int, leaves: int = 1) -> None:
        if status:
            row, problem = divmod(status, STATUSES)
            raise SearchError(f"tree {row // leaves} (row {row}): {MESSAGES[problem]}")


def visit_weights(visits: I32, temperature: Any) -> F64:
    """Sharpen visit counts: (visits / most visits) ** (1 / temperature); they need not sum to 1.

    Args:
        visits: [B, M]. temperature: above 0, a number or [B].
    """
    heat = np.asarray(temperature, np.float64)
    share = visits / np.maximum(visits.max(axis=1, keepdims=True), 1)
    weights: F64 = share ** (1.0 / heat[:, None] if heat.ndim else float(1.0 / heat))
    return weights


def draw_by_visits(result: SearchResult, temperature: Any, uniform: Any) -> I32:
    """Draw an action for every tree in proportion to visits ** (1 / temperature).

    Args:
        result: of the searches.
        temperature: above 0, a number or [B].
        uniform: [B] numbers in [0, 1) to draw with.
    Returns:
        [B] action numbers.
    """
    inside = np.arange(result.actions.shape[1])[None] < result.count[:, None]
    visits = np.where(inside, result.visit_counts, 0).astype(np.int32)
    total = np.cumsum(visit_weights(visits, temperature), axis=1)
    index = (total <= (uniform * total[:, -1])[:, None]).sum(axis=1)
    column = np.minimum(index, result.count - 1)  # where rounding led past the last one
    drawn: I32 = result.actions[np.arange(len(column)), column]
    return drawn


def draw_noise(
    config: SearchConfig,
    count: I32,
    max_actions: int,
    rngs: np.random.Generator | Sequence[np.random.Generator],
) -> F32:
    """Draw root noise for every tree: Gumbel(0), or a Dirichlet over the legal actions.

    Args:
        config: its policy and dirichlet_alpha are read.
        count: [B] legal actions of each root.
        max_actions: M.
        rngs: one generator for each tree (its draw then doesn't depend on its neighbours), or one for all.
    Returns:
        float32[B, M], 0 beyond the legal actions.
    """
    noise = np.zeros((len(count), max_actions), np.float32)
    for b, n in enumerate(count):
        rng = rngs if isinstance(rngs, np.random.Generator) else rngs[b]
        if config.policy == "gumbel":
            noise[b, :n] = rng.gumbel(size=n)
        else:
            alpha = (
                DIRICHLET_SCALE / max(int(n), 1)
                if config.dirichlet_alpha == "auto"
                else config.dirichlet_alpha
            )
            noise[b, :n] = rng.dirichlet(np.full(n, alpha))
    return noise


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


def new_forest(search: BatchSearch, q_range: tuple[float, float]) -> tree.Forest:
    """Allocate the trees of a search, large enough for its simulations."""
    config, trees, most, players = search.config, search.num_trees, search.max_actions, search.num_players
    simulations = search.num_simulations
    nodes = simulations + 1
    considered = min(config.max_considered, most)
    pending = search.num_leaves * config.virtual_visits if search.num_leaves > 1 else 0
    settings = np.zeros(1, tree.SETTINGS)
    for name in ("rescale", "completion", "fpu"):
        settings[name] = CHOICES[name].index(getattr(config, name))
    for name in ("rescale_floor", "c_visit", "c_scale", "fpu_reduction", "dirichlet_fraction", "max_depth"):
        settings[name] = getattr(config, name)
    is_gumbel = config.policy == "gumbel"
    settings["root_rule"] = tree.GUMBEL if is_gumbel else tree.PUCT
    settings["interior_rule"] = tree.FULL if is_gumbel and config.interior == "full" else tree.PUCT
    settings["rescale_illegal"] = config.rescale_illegal
    settings["num_simulations"] = simulations
    settings["virtual_visits"] = config.virtual_visits if search.num_leaves > 1 else 0
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


def run(search: BatchSearch, model: Model, noise: F32 | Callable[[I32], F32] | None = None) -> SearchResult:
    """Search from the model's roots to the end.

    Args:
        search: its trees are used anew.
        model: answers for the positions; if it has a compiled loop of its own (`search_natively`), that runs.
        noise: as in `BatchSearch.set_roots`; or what draws it once the roots' legal actions [B] are counted.
    """
    roots = model.root()
    search.set_roots(roots, noise(roots.count) if callable(noise) else noise)
    natively = getattr(model, "search_natively", None)
    if natively is not None:
        natively(search)
    while not search.is_done:
        search.expand(model.step(*search.select()))
    return search.result()
