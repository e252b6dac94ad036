"""A batch of searches: what goes in, what comes out, and the loop between the model and the trees.

`BatchSearch` owns the memory and allocates it once. It knows no game and no network: a `Model` answers for the
positions. Values are vectors over absolute seats; the mover reads its own component and no sign is flipped.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from zelkova.errors import ConfigError, SearchError, ShapeError
from zelkova.search import tree
from zelkova.search.config import CHOICES, DIRICHLET_SCALE, SearchConfig
from zelkova.search.gumbel import halving_table
from zelkova.search.native import F32, I32
from zelkova.search.simulate import STATUSES, plant_roots, read_roots, select_leaves, settle_leaves

MESSAGES = {
    tree.BAD_LOGIT: "a prior logit is NaN or infinite; give finite logits for the legal actions only",
    tree.BAD_VALUE: "a value is NaN or infinite",
    tree.BAD_REWARD: "a reward or the discount is NaN or infinite",
    tree.NO_ACTION: "no legal action at a position that is not an ending (count 0 needs discount 0 below the root)",
    tree.BAD_COUNT: "the number of legal actions is below 0 or above max_actions",
    tree.BAD_PLAYER: "to_play is not a player from 0 to num_players - 1",
    tree.BAD_NOISE: "the root noise is NaN or infinite, or (puct) doesn't sum to 1 over the legal actions",
}


class Evaluation(NamedTuple):
    """What a model says about R positions. Actions, logits and counts are those of legal actions only."""

    reward: F32  # [R, P] received on the way into the position; 0 at roots
    discount: F32  # [R] on the way into the position, 0 at an ending; 1 at roots
    actions: I32  # [R, M] legal action numbers, ascending, in the first `count` columns
    count: I32  # [R] number of legal actions; 0 only at an ending
    prior_logits: F32  # [R, M] aligned with actions; need not be normalised
    value: F32  # [R, P] expected return from the position on, each absolute player's; 0 at an ending
    to_play: I32  # [R] mover, 0..P-1


class Selection(NamedTuple):
    """The leaves that want an evaluation. The arrays are the search's own: read them before the next call."""

    parent: I32  # [R] node to step from; row r belongs to tree r // num_leaves
    action: I32  # [R] action number to step with
    node: I32  # [R] new node; -1: nothing to evaluate in this row


class SearchResult(NamedTuple):
    """What the searches found. Columns follow each root's legal actions; unused ones hold 0, actions -1."""

    action: I32  # [B] action to play
    actions: I32  # [B, M] legal action numbers
    count: I32  # [B] number of legal actions
    action_weights: (
        F32  # [B, M] policy target: visits / sum (puct) or the improved policy (gumbel); sums to 1
    )
    visit_counts: I32  # [B, M]
    q_values: F32  # [B, M] mover's component of reward + discount * V(child); 0 where unvisited
    value: F32  # [B, P] mean of the root's back-ups
    raw_value: F32  # [B, P] the model's value of the root


@runtime_checkable
class Model(Protocol):
    """What a search asks: known rules with a network, a learned model, or tables."""

    def root(self) -> Evaluation:
        """Evaluate the B root positions."""
        ...

    def step(self, parent: I32, action: I32, node: I32) -> Evaluation:
        """Evaluate the positions after the actions and keep them under the new nodes.

        Args:
            parent, action, node: [R] as in `Selection`; rows with node -1 may be left as they are.
        """
        ...


class BatchSearch:
    """B searches side by side, one row a tree; a row's answer never depends on its neighbours.

    Args:
        config: how to search.
        num_trees: B.
        max_actions: M, most legal actions of a position.
        num_players: P.
        q_range: lowest and highest return, for `rescale = fixed`, `fpu = loss` and virtual losses.
        num_leaves: leaves of one tree gathered at a time.
        num_simulations: instead of the config's.
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
        num_simulations: int | None = None,
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
        self.num_simulations = config.num_simulations if num_simulations is None else num_simulations
        if self.num_simulations < 1:
            raise ConfigError(f"num_simulations = {self.num_simulations} is below 1")
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
        self._has_roots = False

    @property
    def is_done(self) -> bool:
        """Whether every tree has had all its simulations."""
        return self._has_roots and bool((self.forest.heads["done"] >= self.num_simulations).all())

    def set_roots(self, evaluation: Evaluation, noise: F32 | None = None) -> None:
        """Begin new searches.

        Args:
            evaluation: of the B roots.
            noise: [B, M] aligned with the root's legal actions: Gumbel(0) draws (gumbel) or a Dirichlet draw over
                the legal actions (puct); see `draw_noise`. None: no noise.
        Raises:
            ShapeError: an array has another shape or dtype.
            SearchError: numbers that can't be used; names the tree.
        """
        self._check(evaluation, self.num_trees)
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
        self.selection.node[:] = -1
        self._held[:] = -1

    def select(self) -> Selection:
        """Find the leaves to evaluate next; known endings met on the way are backed up and count as simulations.

        Raises:
            SearchError: no roots were set, or rows of the last selection have not been expanded.
        """
        if not self._has_roots:
            raise SearchError("select() before set_roots(): give the trees their roots first")
        if (self.selection.node >= 0).any():
            raise SearchError("select() twice: expand() the last selection first")
        select_leaves(*self._select_args)
        return self.selection

    def expand(self, evaluation: Evaluation) -> None:
        """Take in the evaluations of the selected rows and back them up.

        Args:
            evaluation: R rows; those whose node is -1 are not read.
        Raises:
            ShapeError: an array has another shape or dtype.
            SearchError: numbers that can't be used; names the tree.
        """
        self._check(evaluation, self.num_trees * self.num_leaves)
        status = settle_leaves(*self._settle_args, *evaluation)
        if status:
            self._has_roots = False
            self._raise(status, self.num_leaves)

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
        )
        read_roots(*self.forest, *answer)
        heat = np.broadcast_to(np.asarray(temperature, np.float64), (trees,))
        warm = np.flatnonzero(heat > 0)
        if warm.size:
            if uniform is None or uniform.shape != (trees,):
                raise ShapeError(f"result(temperature > 0) needs uniform of shape ({trees},)")
            sharpened = visit_policy(answer.visit_counts[warm], heat[warm])
            total = np.cumsum(sharpened, axis=1)
            column = (total > uniform[warm, None] * total[:, -1:]).argmax(axis=1)
            answer.action[warm] = answer.actions[warm, column]
        return answer

    def _check(self, evaluation: Evaluation, rows: int) -> None:
        players, most = self.num_players, self.max_actions
        shapes = ((rows, players), (rows,), (rows, most), (rows,), (rows, most), (rows, players), (rows,))
        for name, array, shape, dtype in zip(Evaluation._fields, evaluation, shapes, DTYPES, strict=True):
            if array.shape != shape or array.dtype != dtype or not array.flags.c_contiguous:
                check_array(f"evaluation.{name}", array, shape, dtype)

    def _raise(self, status: int, leaves: int = 1) -> None:
        if status:
            row, problem = divmod(status, STATUSES)
            raise SearchError(f"tree {row // leaves} (row {row}): {MESSAGES[problem]}")


DTYPES = tuple(
    np.dtype(t) for t in (np.float32, np.float32, np.int32, np.int32, np.float32, np.float32, np.int32)
)


def check_array(name: str, array: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Check an array's shape, dtype and layout.

    Raises:
        ShapeError: says what was given and what is needed.
    """
    given = (getattr(array, "shape", None), getattr(array, "dtype", type(array)))
    if given != (shape, np.dtype(dtype)):
        raise ShapeError(
            f"{name} has shape {given[0]} and dtype {given[1]}; needs {shape} and {np.dtype(dtype)}"
        )
    if not array.flags.c_contiguous:
        raise ShapeError(f"{name} is not contiguous; pass np.ascontiguousarray of it")


def visit_policy(visits: I32, temperature: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Sharpen visit counts: visits ** (1 / temperature), normalised.

    Args:
        visits: [B, M]. temperature: above 0, a number or [B].
    """
    share = visits / visits.max(axis=1, keepdims=True)
    power = share ** (1.0 / np.broadcast_to(np.asarray(temperature, np.float64), (len(visits),))[:, None])
    policy: np.ndarray[Any, np.dtype[np.float64]] = power / power.sum(axis=1, keepdims=True)
    return policy


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
        rngs: one generator for each tree (a tree's draw then doesn't depend on its neighbours), or one for all.
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


def explore_table(c_init: float, c_base: float, size: int) -> F32:
    """Tabulate C(S) * sqrt(1 + S), C(S) = log((1 + Np + c_base) / c_base) + c_init, for S = Np - 1 below size."""
    parent = np.arange(1, size + 1, dtype=np.float64)
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
        explore=explore_table(config.c_init, config.c_base, simulations + pending + 1),
        halving=halving_table(considered, simulations),
        settings=settings,
        scratch=np.zeros(max(most, players) + 1, np.float32),
    )


def run(search: BatchSearch, model: Model, noise: F32 | None = None) -> SearchResult:
    """Search from the model's roots to the end.

    Args:
        search: its trees are used anew.
        model: answers for the positions; one with a compiled loop of its own (`search_natively`) is asked for that.
        noise: as in `BatchSearch.set_roots`.
    """
    search.set_roots(model.root(), noise)
    natively = getattr(model, "search_natively", None)
    if natively is not None:
        natively(search)
    while not search.is_done:
        search.expand(model.step(*search.select()))
    return search.result()
