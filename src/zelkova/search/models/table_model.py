"""A model made of tables: states, transitions, rewards, logits, values. For tests and the speed of trees."""

from typing import Any, NamedTuple

import numpy as np

from zelkova.errors import ShapeError
from zelkova.search.batch import BatchSearch
from zelkova.search.kernels.native import F32, F64, I32, bind, inlined, kernel
from zelkova.search.kernels.simulate import NEW, STATUSES, gather_leaf, settle_leaf
from zelkova.search.kernels.tree import OK, Forest, Records, Rows
from zelkova.search.model import Evaluation


class Tables(NamedTuple):
    """S states with A columns; column i of a state is its i-th legal action."""

    transition: I32  # [S, A] next state
    reward: F32  # [S, A, P]
    discount: F32  # [S, A]
    actions: I32  # [S, A] action numbers
    count: I32  # type: ignore[assignment]  # [S] legal actions; 0 at an ending
    prior_logits: F32  # [S, A]
    value: F32  # [S, P]
    to_play: I32  # [S]


@inlined
def column_of(tables: Tables, state: int, action: int) -> int:
    """Find the column of a legal action of a state."""
    if action < tables.count[state] and tables.actions[state, action] == action:
        return action
    for i in range(int(tables.count[state])):
        if tables.actions[state, i] == action:
            return i
    return -1


@kernel
def step_rows(
    transition: I32, reward: F32, discount: F32, actions: I32, count: I32, logits: F32, value: F32,
    to_play: I32, num_leaves: int, states: I32, parent: I32, action: I32, node: I32,
    out_reward: F32, out_discount: F32, out_actions: I32, out_count: I32, out_logits: F32, out_value: F32,
    out_to_play: I32,
) -> None:  # fmt: skip
    """Follow the selected edges and copy the tables' rows into an evaluation."""
    tables = Tables(transition, reward, discount, actions, count, logits, value, to_play)
    for r in range(node.shape[0]):
        if node[r] < 0:
            continue
        b = r // num_leaves
        before = int(states[b, parent[r]])
        column = column_of(tables, before, int(action[r]))
        after = int(transition[before, column])
        states[b, node[r]] = after
        out_discount[r] = discount[before, column]
        out_count[r] = count[after]
        out_to_play[r] = to_play[after]
        for p in range(value.shape[1]):
            out_reward[r, p] = reward[before, column, p]
            out_value[r, p] = value[after, p]
        for i in range(count[after]):
            out_actions[r, i] = actions[after, i]
            out_logits[r, i] = logits[after, i]


@kernel
def search_trees(
    heads: Records, nodes: Records, kids: Records, sums: F64, raw: F32, rewards: F32, actions: I32,
    priors: F32, bits: I32, bounds: F32, noise: F32, explore: F32, halving: I32, settings: Records,
    scratch: F32, transition: I32, reward: F32, discount: F32, legal: I32, count: I32, logits: F32,
    value: F32, to_play: I32, states: I32, step_reward: F32, step_discount: F32,
) -> int:  # fmt: skip
    """Search every tree to its end, one after the other, without leaving compiled code.

    Args:
        states: [B, N] state of each node. step_reward: [S, P] and step_discount: [S] scratch.
    Returns:
        0, or b * STATUSES + status of the first bad evaluation.
    """
    t = Forest(
        heads, nodes, kids, sums, raw, rewards, actions, priors, bits, bounds, noise, explore, halving,
        settings, scratch,
    )  # fmt: skip
    tables = Tables(transition, reward, discount, legal, count, logits, value, to_play)
    rows = Rows(step_reward, step_discount, legal, count, logits, value, to_play)
    for b in range(heads.shape[0]):
        while gather_leaf(t, b) == NEW:
            leaf = int(heads[b]["leaf"])
            parent = int(nodes[b, leaf]["parent"])
            kid = kids[b, int(nodes[b, parent]["kids"]) + int(nodes[b, leaf]["parent_kid"])]
            before = int(states[b, parent])
            column = int(kid["edge"])
            after = int(tables.transition[before, column])
            states[b, leaf] = after
            step_discount[after] = discount[before, column]
            for p in range(value.shape[1]):
                step_reward[after, p] = reward[before, column, p]
            status = settle_leaf(t, b, leaf, rows, after)
            if status != OK:
                return b * STATUSES + status
    return 0


class TableModel:
    """A `Model` that looks everything up.

    Args:
        tables: what is so.
        roots: [B] state of each tree's root.
        num_nodes: N of the search, simulations + 1.
        num_leaves: of the search.
    Raises:
        ShapeError: the tables don't fit together.
    """

    def __init__(self, tables: Tables, roots: I32, num_nodes: int, num_leaves: int = 1) -> None:
        states, columns = tables.actions.shape
        players = tables.value.shape[1]
        for name, array in tables._asdict().items():
            if len(array) != states or (array.ndim > 1 and name != "value" and array.shape[1] != columns):
                raise ShapeError(
                    f"tables.{name} has shape {array.shape}; needs {states} states, {columns} columns"
                )
        self.tables = tables
        self.roots = np.asarray(roots, np.int32)
        self.num_leaves = num_leaves
        trees = len(self.roots)
        self.states = np.zeros((trees, num_nodes), np.int32)
        self._out = blank_evaluation(trees * num_leaves, columns, players)
        self._step: Any = None
        self._step_reward = np.zeros((states, players), np.float32)
        self._step_discount = np.ones(states, np.float32)

    def root(self) -> Evaluation:
        """Look up the roots."""
        self.states[:, 0] = self.roots
        out = blank_evaluation(len(self.roots), self.tables.actions.shape[1], self.tables.value.shape[1])
        for name in ("actions", "count", "prior_logits", "value", "to_play"):
            getattr(out, name)[:] = getattr(self.tables, name)[self.roots]
        return out

    def step(self, parent: I32, action: I32, node: I32) -> Evaluation:
        """Look up the positions after the actions."""
        args = (*self.tables, self.num_leaves, self.states, parent, action, node, *self._out)
        if self._step is None:
            self._step = bind(step_rows, *args)
        self._step(*args)
        return self._out

    def search_natively(self, search: BatchSearch) -> None:
        """Run a search that takes one leaf at a time to its end in compiled code."""
        if search.num_leaves == 1:
            arrays = (*search.forest, *self.tables, self.states, self._step_reward, self._step_discount)
            search.finish(search_trees(*arrays))


def blank_evaluation(rows: int, columns: int, players: int) -> Evaluation:
    """Allocate an evaluation: no legal actions, zeros, discount 1."""
    return Evaluation(
        np.zeros((rows, players), np.float32),
        np.ones(rows, np.float32),
        np.zeros((rows, columns), np.int32),
        np.zeros(rows, np.int32),
        np.zeros((rows, columns), np.float32),
        np.zeros((rows, players), np.float32),
        np.zeros(rows, np.int32),
    )


def random_tables(rng: np.random.Generator, states: int, actions: int, players: int = 1) -> Tables:
    """Make tables with logits N(0, 1), values U(-1, 1), no rewards, all actions legal, random transitions."""
    return Tables(
        rng.integers(0, states, (states, actions), dtype=np.int32),
        np.zeros((states, actions, players), np.float32),
        np.ones((states, actions), np.float32),
        np.tile(np.arange(actions, dtype=np.int32), (states, 1)),
        np.full(states, actions, np.int32),
        rng.standard_normal((states, actions), dtype=np.float32),
        rng.uniform(-1, 1, (states, players)).astype(np.float32),
        rng.integers(0, players, states, dtype=np.int32),
    )


class Stepwise:
    """A table model without its compiled loop, so that `run` goes through Python at every simulation."""

    def __init__(self, model: TableModel) -> None:
        self.root = model.root
        self.step = model.step
