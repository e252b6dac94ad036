"""The classic searches once more, slowly: recursion over single calls, without pruning or tables."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zelkova.games import Game
from zelkova.games.single import CompiledRules, Single

State = NDArray[np.uint64]
Vector = NDArray[np.float32]


class Slow:
    """Values of one game's positions at a depth."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.rules, self.calls = Single(game), CompiledRules(game)
        self.memo: dict[Any, Vector] = {}

    def mover(self, state: State) -> int:
        return int(self.game.view_states(state)["to_play"][0])

    def below(self, state: State, action: int) -> State:
        child = state.copy()
        self.rules.step(child, action)
        return child

    def leaf(self, state: State) -> Vector:
        if self.rules.is_terminal(state):
            return self.rules.returns(state)
        out = np.full(self.game.num_players, 0 if self.game.num_players == 2 else 1 / 3, np.float32)
        if "evaluate" in self.game.functions:
            self.calls.evaluate(state, out)
        return out

    def value(self, state: State, depth: int, seat: int = -1) -> Vector:
        """Give the vector of max^n (seat -1, first of equals) or of paranoid play against a seat."""
        key = (state.tobytes(), depth, seat)
        if key not in self.memo:
            self.memo[key] = self._value(state, depth, seat)
        return self.memo[key]

    def _value(self, state: State, depth: int, seat: int) -> Vector:
        if depth == 0 or self.rules.is_terminal(state):
            return self.leaf(state)
        mover = self.mover(state)
        children = [self.value(child, depth - 1, seat) for _, child in self.children(state)]
        if seat < 0:
            return max(children, key=lambda vector: float(vector[mover]))
        choose = max if mover == seat else min
        return choose(children, key=lambda vector: float(vector[seat]))

    def children(self, state: State) -> list[tuple[int, State]]:
        return [(int(a), self.below(state, int(a))) for a in self.rules.legal_actions(state)]

    def best_actions(self, state: State, depth: int, seat: int = -1) -> list[int]:
        """Give the actions whose value is the best for the mover, in the game's order."""
        mover = self.mover(state)
        scores = [(a, float(self.value(c, depth - 1, seat)[mover])) for a, c in self.children(state)]
        best = max(score for _, score in scores)
        return [action for action, score in scores if score == best]


def random_states(game: Game, count: int, plies: tuple[int, int], seed: int) -> State:
    """Give positions [count, words] after random plies, none of them an ending."""
    rng = np.random.default_rng(seed)
    found: list[State] = []
    while len(found) < count:
        position = game.position()
        for _ in range(int(rng.integers(*plies))):
            if position.is_terminal:
                break
            position.play(int(rng.choice(position.legal_actions())))
        if not position.is_terminal:
            found.append(position.state)
    return np.concatenate(found)
