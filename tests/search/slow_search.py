"""A slow search in plain Python, float64 and dense policies: an independent oracle for the kernels."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from zelkova.search import SearchConfig
from zelkova.search.models.table_model import Tables


@dataclass
class Node:
    """A position in the tree."""

    state: int
    raw: Any
    to_play: int
    logits: Any
    reward: Any
    discount: float
    visits: int = 0
    total: Any = None
    children: dict[int, "Node"] = field(default_factory=dict)  # by column

    @property
    def value(self) -> Any:
        return self.total / self.visits


@dataclass
class Slow:
    """One tree over tables."""

    config: SearchConfig
    tables: Tables
    q_range: tuple[float, float]
    noise: Any = None
    bounds: Any = None

    def node(self, state: int, reward: Any, discount: float) -> Node:
        t = self.tables
        count = int(t.count[state])
        logits = t.prior_logits[state, :count].astype(np.float64)
        return Node(state, t.value[state].astype(np.float64), int(t.to_play[state]), logits, reward, discount)

    def search(self, root_state: int) -> Node:
        players = self.tables.value.shape[1]
        self.bounds = [[math.inf, -math.inf] for _ in range(players)]
        root = self.node(root_state, np.zeros(players), 1.0)
        root.visits, root.total = 1, root.raw.copy()
        schedule = self.schedule(root) if self.config.policy == "gumbel" else None
        for _ in range(self.config.num_simulations):
            self.simulate(root, schedule)
        return root

    def simulate(self, root: Node, schedule: Any) -> None:
        path, node, depth, mean = [root], root, 0, 0.0
        while True:
            if self.config.fpu == "mean_q":
                seen = [self.q(node, c) for c in node.children.values()]
                if node is root:
                    mean = float(np.mean(seen)) if seen else float(root.raw[0])
                else:
                    mean = (mean + sum(seen)) / (len(seen) + 1)
            if node is root and schedule is not None:
                column = next(schedule)
            elif self.config.policy == "gumbel" and self.config.interior == "full":
                column = self.full(node)
            else:
                column = self.puct(node, node is root, mean)
            depth += 1
            if column not in node.children:
                t = self.tables
                after = int(t.transition[node.state, column])
                child = self.node(after, t.reward[node.state, column], float(t.discount[node.state, column]))
                child.total = np.zeros_like(child.raw)
                node.children[column] = child
                path.append(child)
                break
            node = node.children[column]
            path.append(node)
            if len(node.logits) == 0 or depth == self.config.max_depth:
                break
        gain = path[-1].raw
        for i in range(len(path) - 1, -1, -1):
            path[i].visits += 1
            path[i].total = path[i].total + gain
            gain = path[i].reward + path[i].discount * gain
        for above in path[1:]:
            q = above.reward + above.discount * above.value
            for p, bound in enumerate(self.bounds):
                bound[0], bound[1] = min(bound[0], q[p]), max(bound[1], q[p])

    def q(self, node: Node, child: Node) -> float:
        return float((child.reward + child.discount * child.value)[node.to_play])

    def table(self, node: Node) -> tuple[Any, Any]:
        """Visits and Q of every column; Q is 0 where unvisited."""
        visits = np.array(
            [node.children[c].visits if c in node.children else 0 for c in range(len(node.logits))]
        )
        q = np.array([self.q(node, node.children[c]) if visits[c] else 0.0 for c in range(len(visits))])
        return visits, q

    def scaled(self, q: Any, seen: Any, mover: int) -> Any:
        """Normalise q; seen are the values that make the node's range."""
        floor = self.config.rescale_floor
        if self.config.rescale == "fixed":
            return (q - self.q_range[0]) / (self.q_range[1] - self.q_range[0])
        if self.config.rescale == "node":
            return (q - min(seen)) / max(max(seen) - min(seen), floor)
        low, high = self.bounds[mover]
        if self.config.rescale == "tree" and high > low:
            return (q - low) / max(high - low, floor)
        return q

    def puct(self, node: Node, is_root: bool, mean: float) -> int:
        prior, visits, value, explore = self.terms(node, is_root, mean)
        score = value + explore * prior / (1 + visits)
        if is_root and self.noise is not None:
            owed = np.sqrt(self.config.forced_playouts * prior * visits.sum())
            score[(visits > 0) & (visits < owed)] = math.inf
        return int(np.argmax(score if explore else prior))  # all tie where the parent counts for nothing

    def terms(self, node: Node, is_root: bool, mean: float) -> tuple[Any, Any, Any, float]:
        """Priors, visits and values of a node's columns, and C(S) sqrt(Np)."""
        c = self.config
        prior = softmax(node.logits)
        if is_root and self.noise is not None:
            noise = self.noise[: len(prior)].astype(np.float64)
            prior = (1 - c.dirichlet_fraction) * prior + c.dirichlet_fraction * noise
        visits, q = self.table(node)
        here = float(node.value[node.to_play])
        seen = [here, *q[visits > 0]]
        parent = visits.sum() + (c.parent_count == "one_plus")
        unvisited = {
            "parent": here,
            "reduction": here - c.fpu_reduction * math.sqrt(prior[visits > 0].sum()),
            "mean_q": mean,
            "loss": self.q_range[0],
            "lowered": max(here - c.fpu_reduction, self.q_range[0]),
        }
        first = 0.0 if c.fpu == "zero" else self.scaled(unvisited[c.fpu], seen, node.to_play)
        value = np.where(visits > 0, self.scaled(q, seen, node.to_play), first)
        explore = math.log((1 + parent + c.c_base) / c.c_base) + c.c_init
        return prior, visits, value, explore * math.sqrt(parent)

    def pruned(self, root: Node) -> Any:
        """Visits of the root's columns without those that were forced in vain."""
        prior, visits, value, explore = self.terms(root, True, 0.0)
        bar = max(zip(visits, -np.arange(len(visits)), value + explore * prior / (1 + visits), strict=True))[
            2
        ]
        kept = visits.copy()
        for a in range(len(visits)):
            if a == np.argmax(visits):
                continue
            for _ in range(int(math.sqrt(self.config.forced_playouts * prior[a] * visits.sum()))):
                if kept[a] and value[a] + explore * prior[a] / kept[a] < bar:
                    kept[a] -= 1
            kept[a] *= kept[a] > 1
        return kept

    def sigma(self, node: Node) -> Any:
        visits, q = self.table(node)
        prior = softmax(node.logits)
        mover, total = node.to_play, visits.sum()
        stand_in = float(node.raw[mover])
        if total and self.config.completion == "mixed":
            seen = visits > 0
            stand_in = (stand_in + total * (prior * q)[seen].sum() / prior[seen].sum()) / (1 + total)
        completed = np.where(visits > 0, q, stand_in)
        scale = (self.config.c_visit + visits.max()) * self.config.c_scale
        return scale * self.scaled(completed, completed, mover)

    def full(self, node: Node) -> int:
        visits, _ = self.table(node)
        return int(np.argmax(softmax(node.logits + self.sigma(node)) - visits / (1 + visits.sum())))

    def schedule(self, root: Node) -> Any:
        """Sequential Halving, phase by phase; who stays is settled by score whenever a round picks."""
        n = self.config.num_simulations
        g = (
            np.zeros(len(root.logits))
            if self.noise is None
            else self.noise[: len(root.logits)].astype(np.float64)
        )
        base = g + root.logits
        m = min(self.config.max_considered, len(base), n)
        candidates = np.argsort(-base, kind="stable")[:m].tolist()
        phases, width, level = max(1, math.ceil(math.log2(m))), m, 0
        while True:
            for _ in range(max(1, n // (phases * width))):
                for _ in range(width):
                    visits, _ = self.table(root)
                    score = base + self.sigma(root)
                    even = [a for a in candidates if visits[a] == level]
                    top = max(score[a] for a in even)
                    yield min(a for a in even if score[a] == top)
                level += 1
            width = 1 if m == 1 else max(2, width // 2)

    def answer(self, root: Node) -> tuple[int, Any]:
        """The column to play and the policy target."""
        visits, _ = self.table(root)
        if self.config.policy == "puct":
            has_forced = self.noise is not None and self.config.forced_playouts > 0
            target = self.pruned(root) if has_forced else visits
            return int(np.argmax(visits)), target / target.sum()
        g = np.zeros(len(visits)) if self.noise is None else self.noise[: len(visits)].astype(np.float64)
        score = np.where(visits == visits.max(), g + root.logits + self.sigma(root), -np.inf)
        return int(np.argmax(score)), softmax(root.logits + self.sigma(root))


def softmax(x: Any) -> Any:
    """Softmax in float64."""
    e = np.exp(x - x.max())
    return e / e.sum()


def random_game(rng: np.random.Generator, states: int, actions: int, players: int) -> Tables:
    """Tables with varying legal actions, endings, repeated movers, rewards and discounts."""
    count = rng.integers(1, actions + 1, states).astype(np.int32)
    count[rng.random(states) < 0.15] = 0
    count[:3] = actions
    legal = np.zeros((states, actions), np.int32)
    for s in range(states):
        legal[s, : count[s]] = np.sort(rng.permutation(actions + 5)[: count[s]])
    transition = rng.integers(0, states, (states, actions), dtype=np.int32)
    ends = count[transition] == 0
    paid = ends | (rng.random(ends.shape) < 0.3)
    pay = rng.uniform(-0.3, 0.3, (states, actions, players))
    value = rng.uniform(-1, 1, (states, players)).astype(np.float32)
    value[count == 0] = 0
    return Tables(
        transition=transition,
        reward=np.where(paid[..., None], pay, 0).astype(np.float32),
        discount=np.where(ends, 0, rng.choice([1.0, 0.97], ends.shape)).astype(np.float32),
        actions=legal,
        count=count,
        prior_logits=rng.normal(0, 1.5, (states, actions)).astype(np.float32),
        value=value,
        to_play=rng.integers(0, players, states, dtype=np.int32),
    )  # fmt: skip
