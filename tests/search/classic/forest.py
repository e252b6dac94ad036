"""Games that are tables: a forest of small trees, with values written at every node."""

import dataclasses
from pathlib import Path

import numpy as np

from zelkova import games
from zelkova.games import Game

CODE = '''"""A forest; init's seed picks the tree."""

import numpy as np

STATE = np.dtype([("node", np.int32), ("to_play", np.int8)], align=True)
NUM_PLAYERS, NUM_ACTIONS, OBSERVATION_SHAPE = {players}, {actions}, (1, 1, 1)
RETURN_RANGE, VIEW = {span}, "absolute"
ROOTS = np.array({roots}, np.int32)
TO_PLAY = np.array({to_play}, np.int8)
CHILDREN = np.array({children}, np.int32)
VALUES = np.array({values}, np.float32)


def init(state, seed):
    state["node"] = ROOTS[seed]
    state["to_play"] = TO_PLAY[state["node"]]


def legal_actions(state, out):
    count = 0
    for action in range(NUM_ACTIONS):
        if CHILDREN[state["node"], action] >= 0:
            out[count] = action
            count += 1
    return count


def step(state, action):
    state["node"] = CHILDREN[state["node"], action]
    state["to_play"] = TO_PLAY[state["node"]]


def is_terminal(state):
    for action in range(NUM_ACTIONS):
        if CHILDREN[state["node"], action] >= 0:
            return False
    return True


def returns(state, out):
    for player in range(NUM_PLAYERS):
        out[player] = VALUES[state["node"], player]


def evaluate(state, out):
    for player in range(NUM_PLAYERS):
        out[player] = VALUES[state["node"], player]


def observe(state, planes):
    planes[0, 0, 0] = state["node"]
'''


@dataclasses.dataclass
class Forest:
    """Nodes in the making; node numbers are given out in order."""

    players: int
    actions: int
    roots: list[int] = dataclasses.field(default_factory=list)
    to_play: list[int] = dataclasses.field(default_factory=list)
    children: list[list[int]] = dataclasses.field(default_factory=list)
    values: list[tuple[float, ...]] = dataclasses.field(default_factory=list)

    def add(self, mover: int, children: list[int], value: tuple[float, ...]) -> int:
        self.to_play.append(mover)
        self.children.append(children + [-1] * (self.actions - len(children)))
        self.values.append(value)
        return len(self.values) - 1

    def add_tree(self, tree: object, movers: tuple[int, ...]) -> int:
        """Add a tree of nested lists with vectors at its leaves; movers by ply."""
        even = (1 / self.players,) * self.players
        if isinstance(tree, tuple):
            return self.add(0, [], tree)
        assert isinstance(tree, list)
        children = [self.add_tree(child, movers[1:]) for child in tree]
        return self.add(movers[0], children, even)

    def add_net(self, rng: np.random.Generator, plies: int, width: int) -> int:
        """Add a random graph in layers: nodes are met on several ways, and after several numbers of plies."""
        layers: list[list[int]] = []
        for ply in range(plies, -1, -1):
            layer = []
            for _ in range(1 if ply == 0 else width):
                near = layers[-1] if layers else []
                far = [*near, *(layers[-2] if len(layers) > 1 else [])]
                is_leaf = not near or (ply > 1 and rng.random() < 0.15)
                count = 0 if is_leaf else int(rng.integers(1, self.actions + 1))
                children = [int(rng.choice(near if rng.random() < 0.7 else far)) for _ in range(count)]
                layer.append(self.add(int(rng.integers(self.players)), children, self.draw(rng)))
            layers.append(layer)
        return layers[-1][0]

    def draw(self, rng: np.random.Generator) -> tuple[float, ...]:
        """Draw values with ties: two sum to 0, three to 1; now and then a sure win."""
        if self.players == 2:
            value = int(rng.integers(-4, 5)) / 4
            return (value, -value)
        if rng.random() < 0.15:
            return tuple(np.eye(3)[int(rng.integers(3))])
        cuts = np.sort(rng.integers(0, 9, 2))
        return (cuts[0] / 8, (cuts[1] - cuts[0]) / 8, (8 - cuts[1]) / 8)

    def load(self, folder: Path) -> Game:
        """Write the game's file and load it."""
        text = CODE.format(
            players=self.players,
            actions=self.actions,
            span=(-1.0, 1.0) if self.players == 2 else (0.0, 1.0),
            roots=self.roots,
            to_play=self.to_play,
            children=self.children,
            values=[[float(x) for x in value] for value in self.values],
        )
        path = folder / f"forest_{self.players}.py"
        path.write_text(text, encoding="utf-8")
        return games.load(str(path))
