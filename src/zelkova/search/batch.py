"""A batch of searches: the memory of the trees and the loop between them and the model.

`BatchSearch` allocates once. It knows no game and no network: a `Model` answers for the positions.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from zelkova.errors import ConfigError, SearchError, ShapeError
from zelkova.search.config import SearchConfig, check_range
from zelkova.search.draws import draw_actions, draw_with_replacement, read_temperature, spread_over
from zelkova.search.kernels.answer import read_roots
from zelkova.search.kernels.native import F32, I32, bind
from zelkova.search.kernels.reuse import keep_subtree
from zelkova.search.kernels.simulate import (
    NOISE_SLACK,
    STATUSES,
    plant_roots,
    select_leaves,
    settle_leaves,
)  # fmt: skip
from zelkova.search.kernels.tree import BAD_NOISE, CHANCE
from zelkova.search.memory import Sizes, new_forest
from zelkova.search.model import (
    MESSAGES,
    OVERFLOW,
    Evaluation,
    Model,
    SearchResult,
    Selection,
    blank_result,
    check_array,
    check_evaluation,
    describe_fault,
)  # fmt: skip
from zelkova.search.rules.gumbel import halving_table


class BatchSearch:
    """B searches side by side, one row a tree; a row's answer never depends on its neighbours.

    Args:
        config: how to search.
        num_trees: B.
        max_actions: M, most legal actions of a position.
        num_players: P.
        q_range: lowest and highest return, for `rescale = fixed`, `fpu = loss`, virtual losses; see `Policy`.
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
        sizes = Sizes(num_trees, max_actions, num_players, num_leaves)
        for name, size in sizes._asdict().items():
            if size < 1:
                raise ConfigError(f"{name} = {size} is below 1")
        check_range(q_range)
        if config.fpu == "mean_q" and num_players > 1:
            raise ConfigError("search.fpu = 'mean_q' averages over movers; it is for one player only")
        self.config = config
        self.num_simulations = config.num_simulations  # of the searches at work; config's are allocated
        if (self.num_simulations + 1) * max_actions >= 2**31:
            raise ConfigError(
                f"{self.num_simulations} simulations of {max_actions} actions pass 2**31 edges a tree"
            )
        self.num_trees, self.max_actions, self.num_players = num_trees, max_actions, num_players
        self.num_leaves = num_leaves
        self.forest = new_forest(config, sizes, q_range)
        rows = num_trees * num_leaves
        self.selection = Selection(*(np.full(rows, -1, np.int32) for _ in range(3)))
        self._held = np.full(rows, -1, np.int32)
        self._select_args = (*self.forest, num_leaves, *self.selection, self._held)
        self._settle_args = (*self.forest, num_leaves, self.selection.node, self._held)
        self._select: Any = None
        self._settle: Any = None
        self._checked: Evaluation | None = None  # the last evaluation whose shapes were found right
        self._has_roots = False
        self._has_noise = False
        self._is_waiting = False  # selected rows have not been expanded
        self._left = num_trees  # trees with simulations left

    @property
    def is_done(self) -> bool:
        """Whether every tree has had all its simulations."""
        return self._has_roots and self._left == 0

    @property
    def is_waiting(self) -> bool:
        """Whether selected rows have not been expanded."""
        return self._is_waiting

    @property
    def can_keep(self) -> bool:
        """Whether a node below the root can become it: the root's rule must read what is there."""
        policy, interior = self.config.policy, self.config.interior
        return policy == "puct" or (policy != "gumbel" and interior != "puct")

    @property
    def room(self) -> int:
        """How many more simulations the fullest tree has room for."""
        visits = int(self.forest.nodes["visits"][:, 0].max()) if self._has_roots else 1
        return self.config.num_simulations + 1 - visits

    def set_roots(
        self, evaluation: Evaluation, noise: F32 | None = None, num_simulations: int | None = None
    ) -> None:
        """Begin new searches.

        Args:
            evaluation: of the B roots.
            noise: [B, M] aligned with the root's legal actions: Gumbel(0) draws (gumbel) or a Dirichlet draw
                over the legal actions (puct); see `draw_noise`. None: no noise.
            num_simulations: of these searches, at most the config's; None: the config's.
        Raises:
            ShapeError: an array has another shape or dtype.
            ConfigError: there is no room for so many simulations.
            SearchError: numbers that can't be used; names the tree.
        """
        check_evaluation(evaluation, self.num_trees, self.max_actions, self.num_players)
        self._has_roots = False
        self._set_budget(self.config.num_simulations if num_simulations is None else num_simulations)
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
        self._plant(evaluation, noise is not None and self.config.mixes_noise)

    def begin_again(self, evaluation: Evaluation) -> None:
        """Begin the last searches once more, with the noise and the number of simulations that they had.

        Args:
            evaluation: of the same B roots.
        Raises:
            ShapeError: an array has another shape or dtype.
            SearchError: numbers that can't be used; names the tree.
        """
        check_evaluation(evaluation, self.num_trees, self.max_actions, self.num_players)
        self._plant(evaluation, self._has_noise)

    def _plant(self, evaluation: Evaluation, has_noise: bool) -> None:
        self._has_roots, self._has_noise = False, has_noise
        self._raise(plant_roots(*self.forest, *evaluation, has_noise), "root()", evaluation)
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
            self._raise(-self._left, "step()", evaluation, self.num_leaves)

    def finish(self, status: int = 0) -> None:
        """Tell that a compiled loop has run the simulations, instead of `select` and `expand`.

        Args:
            status: 0, or tree * STATUSES + status of a bad evaluation.
        Raises:
            SearchError: the status says so, or simulations are left.
        """
        self._raise(status, "step()")
        if (self.forest.heads["done"] < self.num_simulations).any():
            raise SearchError("finish() with simulations left")
        self._left = 0

    def result(self, temperature: float | F32 = 0.0, uniform: F32 | None = None) -> SearchResult:
        """Read the answers.

        Args:
            temperature: 0 plays the search's own choice; above 0, an action is drawn in proportion to
                visits ** (1 / temperature), of trpo and mpo to action_weights ** (1 / temperature). A number,
                or [B].
            uniform: [B] numbers in [0, 1) to draw with; needed where a temperature is above 0.
        Raises:
            SearchError: the searches are not done.
            ShapeError: uniform is missing or has another shape.
            ConfigError: temperature, as in `read_temperature`.
        """
        if not self.is_done:
            raise SearchError("result() before the search is done: loop select() and expand() until is_done")
        answer = self._read()
        heat = np.broadcast_to(read_temperature(temperature, self.num_trees), (self.num_trees,))
        warm = heat > 0
        if warm.any():
            if uniform is None or uniform.shape != (self.num_trees,):
                raise ShapeError(f"result(temperature > 0) needs uniform of shape ({self.num_trees},)")
            drawn = draw_actions(self.config, answer, np.where(warm, heat, 1.0), uniform)
            answer.action[warm] = drawn[warm]
        return answer

    def result_so_far(self) -> SearchResult:
        """Read the answers of searches that may have simulations left; they may go on afterwards.

        PUCT plays the most visited action, and the most probable one before any was visited; its weights are
        then the priors. Gumbel plays, of the candidates that Sequential Halving still considers, the one of
        the largest g + logit + sigma(completed Q); one without visits takes part with its completed Q.

        Raises:
            SearchError: see `require_rest`.
        """
        self.require_rest("result_so_far()")
        return self._read()

    def extend(self, num_simulations: int) -> None:
        """Let every tree have more simulations on top of what it holds (all policies but gumbel).

        Args:
            num_simulations: new ones, 1 to `room`.
        Raises:
            ConfigError: there is no room for so many.
            SearchError: Gumbel roots, whose schedule is settled; or the trees are not at rest.
        """
        self.require_rest("extend()")
        if self.config.policy == "gumbel":
            raise SearchError("extend() of a Gumbel root: its schedule is settled; next: set_roots()")
        self._set_budget(num_simulations)
        self.forest.heads["started"] = 0
        self.forest.heads["done"] = 0
        self._left = self.num_trees

    def keep(self, node: int, noise: F32 | None = None, tree: int = 0) -> I32:
        """Make a node the root of its tree, where `can_keep` says so: its subtree stays, the rest is freed.

        All searches of the batch then wait for `extend`, or answer with what they hold.

        Args:
            node: below the root, no ending.
            noise: [M] a Dirichlet draw over the node's legal actions, mixed into its priors (puct; others
                don't look at it); None: no noise.
            tree: which of the batch.
        Returns:
            int32[N]: new number of each old node, -1 where it was freed; never above the old one.
        Raises:
            SearchError: `can_keep` is False (Halving starts without visits; PUCT nodes hold no logits
                for trpo and mpo), a node that is no root, bad noise, or the trees are not at rest.
            ShapeError: noise has another shape or dtype.
        """
        self.require_rest("keep()")
        forest = self.forest
        if self.config.policy == "gumbel":
            raise SearchError("keep() of a Gumbel search: its roots start without visits; next: set_roots()")
        if not self.can_keep:
            raise SearchError(
                f"keep() of {self.config.policy} above PUCT nodes; next: another search.interior"
            )
        if not 0 < node < int(forest.heads["num_nodes"][tree]):
            raise SearchError(f"keep() of node {node} of tree {tree}: no node below the root has that number")
        record = forest.nodes[tree, node]
        count = int(record["num_edges"])
        if count == 0 or record["to_play"] == CHANCE:
            raise SearchError(f"keep() of node {node} of tree {tree}: an ending or a chance node is no root")
        forest.noise[tree] = 0
        has_noise = noise is not None and self.config.mixes_noise
        if noise is not None and has_noise:
            check_array("noise", noise, (self.max_actions,), np.float32)
            if not abs(float(noise[:count].sum()) - 1) < NOISE_SLACK:
                raise SearchError(f"tree {tree}: {MESSAGES[BAD_NOISE]}")
            forest.noise[tree, :count] = noise[:count]
        moved, owners = np.empty(forest.nodes.shape[1], np.int32), np.empty(forest.kids.shape[1], np.int32)
        keep_subtree(*forest, tree, node, has_noise, moved, owners)
        self._left = 0
        return moved

    def _pause_at(self, num_simulations: int) -> None:
        """Let the searches stop for now when each tree has had so many simulations."""
        self.require_rest("a pause")
        self.forest.settings["num_simulations"] = min(num_simulations, self.num_simulations)
        left = self.forest.heads["done"] < self.forest.settings["num_simulations"]
        self._left = int(np.count_nonzero(left))

    def require_rest(self, call: str) -> None:
        """Refuse, by a SearchError that names the call, trees that hold nothing or wait for an answer."""
        if not self._has_roots:
            raise SearchError(f"{call} before set_roots(): give the trees their roots first")
        if self._is_waiting:
            raise SearchError(f"{call} within a step: expand() the last selection first")

    def _set_budget(self, num_simulations: int) -> None:
        if not 1 <= num_simulations <= self.room:
            raise ConfigError(
                f"{num_simulations} simulations are asked for; the trees have room for 1 to {self.room};"
                " next: a larger search.num_simulations"
            )
        self.forest.settings["num_simulations"] = num_simulations
        if self.config.policy == "gumbel" and num_simulations != self.num_simulations:
            halving = self.forest.halving
            halving[:, :num_simulations] = halving_table(len(halving) - 1, num_simulations)
        self.num_simulations = num_simulations

    def _read(self) -> SearchResult:
        answer = blank_result(self.num_trees, self.max_actions, self.num_players)
        read_roots(*self.forest, *answer)
        if not (np.isfinite(answer.value).all() and np.isfinite(answer.action_weights).all()):
            numbers = np.hstack([answer.value, answer.action_weights, answer.q_values])
            raise SearchError(f"tree {np.argmin(np.isfinite(numbers).all(axis=1))}: {OVERFLOW}")
        return answer

    def _raise(self, status: int, source: str, given: Evaluation | None = None, leaves: int = 1) -> None:
        if status:
            row, problem = divmod(status, STATUSES)
            fault = describe_fault(problem, source, given, row)
            raise SearchError(f"tree {row // leaves} (row {row}): {fault}")


def run(search: BatchSearch, model: Model, noise: F32 | Callable[[I32], F32] | None = None) -> SearchResult:
    """Search from the model's roots to the end.

    Args:
        search: its trees are used anew.
        model: answers for the positions; if it has a compiled loop of its own (`search_natively`), that runs.
        noise: as in `BatchSearch.set_roots`; or what draws it once the roots' legal actions [B] are counted.
    """
    roots = model.root()
    drawn = noise(roots.count) if callable(noise) else noise
    if search.config.candidates == "replacement" and drawn is not None:
        search.set_roots(draw_with_replacement(roots, search.config, drawn))
        while not search.is_done:
            search.expand(model.step(*search.select()))
        return spread_over(search.result(), roots)
    search.set_roots(roots, drawn)
    natively = getattr(model, "search_natively", None)
    if natively is not None:
        natively(search)
    while not search.is_done:
        search.expand(model.step(*search.select()))
    return search.result()


def run_until(search: BatchSearch, model: Model, num_simulations: int) -> None:
    """Search on until every tree has had so many of its simulations, and stop there for the time being.

    A search that takes several leaves at a time stops after the step in which every tree has got there.

    Args:
        search: whose roots are set.
        model: answers for the positions.
        num_simulations: since the roots were set, or since `extend`.
    """
    one_by_one = search.num_leaves == 1
    if one_by_one:
        search._pause_at(num_simulations)
    while not search.is_done and (one_by_one or search.forest.heads["done"].min() < num_simulations):
        search.expand(model.step(*search.select()))
    search._pause_at(search.num_simulations)
