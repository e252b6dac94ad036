"""The reference opponent: UCT with one random rollout a simulation, the yardstick that every run is held to.

One simulation walks down from the root, adds one node, plays uniformly random legal actions to the end and
adds the returns to every edge of the walk:

    score(edge) = mean(edge) + c sqrt(ln N / n)     N: walks that reached the node; n: walks through the edge

with c = 1 and returns scaled to [-1, 1]. N counts the rollout that started at the node itself; the root has
none. Actions that were never tried come first, in random order. The mover of a node reads its own component
of the returns (max^n), so any number of players is one code. No tree is kept between moves; the most visited
action is played, ties at random. An ending met in the tree counts by its returns, like a rollout's.

Where nature moves, a walk draws an outcome by its probability, in the tree as in a rollout; each outcome that
comes has a node of its own.

All of it is one kernel over a batch of positions, without the interpreter lock and without allocation. A
row's answer depends on its state and seed only, so threads may split a batch anyhow.
"""

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from zelkova.agents.reference.uct_tree import new_tree, refuse_too_large
from zelkova.errors import ConfigError, GameError, ShapeError
from zelkova.games.game import Game
from zelkova.games.playout import draw_outcome, playout, random_below


@dataclasses.dataclass(frozen=True)
class UctResult:
    """What a search of a batch of n positions found."""

    actions: NDArray[np.int32]  # [n] most visited action
    visit_counts: NDArray[np.int32]  # [n, A] walks through each action, 0 where illegal
    values: NDArray[np.float32]  # [n, A, P] mean returns in the game's return_range, 0 where unvisited


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _expand(legal_actions: Any, chance: Any, address: Any, tree: Any, node: Any, edges_used: Any) -> Any:
    """Give a node its edges, one a legal action or outcome; give how many are used, or -1."""
    count = 0
    if chance is not None:
        count = chance(address, tree.actions, tree.probs)
    outcomes = count
    if count == 0:
        count = legal_actions(address, tree.actions)
    if count <= 0:
        return np.int64(-1)
    tree.first_edge[node] = edges_used
    tree.num_edges[node] = count
    tree.num_tried[node] = outcomes
    for k in range(outcomes):
        tree.edge_child[edges_used + k] = -1
    for k in range(count):
        tree.edge_action[edges_used + k] = tree.actions[k]
    return edges_used + count


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _choose_edge(tree: Any, node: Any) -> Any:
    """Give the edge of the best score among a node's edges, all tried; the earlier tried of equals.

    Source: UCB1 (Auer, Cesa-Bianchi and Fischer 2002); UCT (Kocsis and Szepesvari 2006).
    """
    first = tree.first_edge[node]
    log = tree.root_log[tree.visits[node]]
    best = first
    best_score = tree.edge_mean[first] + log * tree.edge_bonus[first]
    for edge in range(first + 1, first + tree.num_edges[node]):
        score = tree.edge_mean[edge] + log * tree.edge_bonus[edge]
        if score > best_score:
            best_score = score
            best = edge
    return best


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _try_new_edge(tree: Any, node: Any) -> Any:
    """Bring a random untried edge to the front of the untried ones; give it, with no visits yet."""
    tried = tree.num_tried[node]
    first = tree.first_edge[node]
    edge = first + tried
    other = edge + random_below(tree.counter, tree.num_edges[node] - tried)
    action = tree.edge_action[other]
    tree.edge_action[other] = tree.edge_action[edge]
    tree.edge_action[edge] = action
    tree.edge_visits[edge] = 0
    tree.edge_mean[edge] = 0.0
    if node == 0:
        tree.root_means[edge] = 0.0
    tree.num_tried[node] = tried + 1
    return edge


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _next_edge(chance: Any, address: Any, tree: Any, mover: Any, node: Any) -> Any:
    """Give the edge to walk: drawn where nature moves, else the best; -1 where an action was never tried."""
    if chance is not None and mover < 0:
        count = chance(address, tree.actions, tree.probs)
        return np.int64(tree.first_edge[node] + draw_outcome(tree.counter, tree.probs, count))
    if tree.num_tried[node] < tree.num_edges[node]:
        return np.int64(-1)
    return np.int64(_choose_edge(tree, node))


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _backup(chance: Any, tree: Any, movers: Any, depth: Any) -> None:
    """Add the scaled returns to the walk's nodes and edges; each mover reads its own component."""
    for level in range(depth):
        node = tree.path_node[level]
        edge = tree.path_edge[level]
        tree.visits[node] += 1
        if chance is not None and movers[node] < 0:
            continue
        visits = tree.edge_visits[edge] + 1
        tree.edge_visits[edge] = visits
        tree.edge_mean[edge] += (tree.scaled[movers[node]] - tree.edge_mean[edge]) / visits
        tree.edge_bonus[edge] = tree.bonus[visits]
        if node == 0:
            mean = tree.root_means[edge]
            for player in range(len(tree.scaled)):
                mean[player] += (tree.scaled[player] - mean[player]) / visits


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _read_returns(returns: Any, address: Any, tree: Any, middle: Any, half: Any) -> None:
    """Read an ending's returns, scaled to [-1, 1]."""
    returns(address, tree.returns)
    for player in range(len(tree.scaled)):
        tree.scaled[player] = (np.float64(tree.returns[player]) - middle) / half


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _search(
    step: Any, legal_actions: Any, is_terminal: Any, returns: Any, chance: Any, tree: Any, movers: Any,
    scale: Any,
) -> Any:  # fmt: skip
    """Run the simulations of one tree whose root state is in place; give 0, or -1 where a rule breaks.

    Args:
        movers: int8[N + 1], each state's mover: a view of the field to_play of every row.
        scale: float64[2], middle and half width of the game's return range.
    """
    base, stride = np.intp(tree.states.ctypes.data), tree.states.shape[1] * 8
    rollout = len(tree.states) - 1
    edges_used = _expand(legal_actions, chance, base, tree, 0, np.int64(0))
    if edges_used < 0:
        return -1
    for simulation in range(1, rollout):
        node, depth, edge = np.int64(0), 0, np.int64(-1)
        while not tree.terminal[node]:
            if tree.num_edges[node] == 0:
                edges_used = _expand(legal_actions, chance, base + node * stride, tree, node, edges_used)
                if edges_used < 0:
                    return -1
            tree.path_node[depth] = node
            edge = _next_edge(chance, base + node * stride, tree, movers[node], node)
            if edge < 0 or tree.edge_child[edge] < 0:
                break
            tree.path_edge[depth] = edge
            depth += 1
            node = np.int64(tree.edge_child[edge])
        if tree.terminal[node]:
            tree.visits[node] += 1
            _read_returns(returns, base + node * stride, tree, scale[0], scale[1])
        else:
            if edge < 0:
                edge = np.int64(_try_new_edge(tree, node))
            tree.path_edge[depth] = edge
            depth += 1
            leaf = np.int64(simulation)
            tree.edge_child[edge] = leaf
            tree.states[leaf] = tree.states[node]
            address = base + leaf * stride
            step(address, np.int64(tree.edge_action[edge]))
            tree.terminal[leaf] = is_terminal(address)
            tree.visits[leaf] = 1
            tree.num_edges[leaf] = 0
            if not tree.terminal[leaf]:
                tree.states[rollout] = tree.states[leaf]
                address = base + rollout * stride
                plies = playout(
                    step, legal_actions, is_terminal, chance, address, tree.counter, tree.actions, tree.probs
                )
                if plies < 0:
                    return -1
            _read_returns(returns, address, tree, scale[0], scale[1])
        _backup(chance, tree, movers, depth)
    return 0


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _choose_final(tree: Any) -> Any:
    """Give the root's most visited edge, ties at random."""
    best = -1
    most = 0
    ties = 0
    for edge in range(tree.num_tried[0]):
        visits = tree.edge_visits[edge]
        if visits > most:
            most = visits
            best = edge
            ties = 1
        elif visits == most:
            ties += 1
            if random_below(tree.counter, ties) == 0:
                best = edge
    return best


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def uct_batch(
    step: Any,
    legal_actions: Any,
    is_terminal: Any,
    returns: Any,
    chance: Any,
    tree: Any,
    movers: Any,
    scale: Any,
    states: Any,
    seeds: Any,
    actions: Any,
    visit_counts: Any,
    values: Any,
) -> Any:
    """Search every row of states uint64[n, words] with its own seed; write the answer of each.

    Args:
        chance: the game's rule, or None.
        tree: a UctTree, used anew for each row.
        movers: int8[N + 1], the field to_play of the tree's states.
        scale: float64[2], middle and half width of the game's return range.
        seeds: uint64[n].
        actions: int32[n], written.
        visit_counts: int32[n, A], written; given zeroed.
        values: float32[n, A, P], written; given zeroed.
    Returns: 0, or -1 - row where a position that is no ending has no legal action.
    """
    for row in range(len(states)):
        tree.states[0] = states[row]
        tree.visits[0] = 0
        tree.terminal[0] = False
        tree.counter[0] = seeds[row]
        if _search(step, legal_actions, is_terminal, returns, chance, tree, movers, scale) < 0:
            return -1 - row
        actions[row] = tree.edge_action[_choose_final(tree)]
        for edge in range(tree.num_tried[0]):
            action = tree.edge_action[edge]
            visit_counts[row, action] = tree.edge_visits[edge]
            for player in range(len(tree.scaled)):
                mean = tree.root_means[edge, player]
                values[row, action, player] = np.float32(mean * scale[1] + scale[0])
    return 0


class UctSearch:
    """UCT over batches of positions of one game, on one or more threads."""

    def __init__(self, game: Game, num_simulations: int, *, threads: int = 1) -> None:
        """Allocate one tree a thread.

        Args:
            game: whose positions are searched.
            num_simulations: walks a position, 1 or more.
            threads: slices of a batch that are searched side by side.
        Raises:
            ConfigError: a number is below 1, or the trees don't fit into this machine's memory.
        """
        if num_simulations < 1 or threads < 1:
            raise ConfigError(
                f"uct got {num_simulations} simulations and {threads} threads; allowed: 1 or more of each"
            )
        refuse_too_large(game, num_simulations, threads)
        self.game = game
        self.num_simulations = num_simulations
        low, high = game.return_range
        self._scale = np.array([(low + high) / 2, (high - low) / 2])
        self._trees = [new_tree(game, num_simulations) for _ in range(threads)]

    def search(self, states: NDArray[np.uint64], seeds: NDArray[np.uint64]) -> UctResult:
        """Search every position; a row's answer depends on its state and seed only.

        Args:
            states: [n, words], none of them an ending, and nature to move in none.
            seeds: [n].
        Raises:
            ShapeError: states have another width, or there is not one seed a state.
            GameError: nature is to move, a position has no legal action, or a playout does not end.
        """
        if states.ndim != 2 or states.shape[1] != self.game.words or seeds.shape != (len(states),):
            raise ShapeError(
                f"uct got states {states.shape} and seeds {seeds.shape}; "
                f"allowed: [n, {self.game.words}] and [n] for {self.game.name}"
            )
        states = np.ascontiguousarray(states)
        if self.game.has_chance and (self.game.view_states(states)["to_play"] < 0).any():
            raise GameError(
                f"{self.game.source}: nature is to move in a position; next: roll it before a search"
            )
        shape = (len(states), self.game.num_actions)
        result = UctResult(
            np.zeros(len(states), np.int32),
            np.zeros(shape, np.int32),
            np.zeros((*shape, self.game.num_players), np.float32),
        )
        threads = min(len(self._trees), len(states))
        if threads == 0:
            return result
        edges = np.linspace(0, len(states), threads + 1).astype(int)
        slices = [slice(int(edges[k]), int(edges[k + 1])) for k in range(threads)]
        arguments = (states, np.ascontiguousarray(seeds, np.uint64), result)
        if threads == 1:
            self._search_slice(0, slices[0], *arguments)
        else:
            with ThreadPoolExecutor(threads) as pool:
                jobs = [pool.submit(self._search_slice, k, part, *arguments) for k, part in enumerate(slices)]
                for job in jobs:
                    job.result()
        return result

    def _search_slice(
        self,
        thread: int,
        part: slice,
        states: NDArray[np.uint64],
        seeds: NDArray[np.uint64],
        result: UctResult,
    ) -> None:
        """Search one slice of the batch with one thread's tree."""
        rules, (tree, movers) = self.game.native, self._trees[thread]
        status = uct_batch(
            rules.step,
            rules.legal_actions,
            rules.is_terminal,
            rules.returns,
            rules.chance,
            tree,
            movers,
            self._scale,
            states[part],
            seeds[part],
            result.actions[part],
            result.visit_counts[part],
            result.values[part],
        )
        if status < 0:
            row = part.start - 1 - status
            raise GameError(
                f"{self.game.source}: legal_actions gives none at a position that is no ending, or a playout "
                f"did not end (met by a search of row {row}); next: run `zelkova check {self.game.source}`"
            )
