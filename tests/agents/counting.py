"""A network that is a plain function of the planes, row by row, and counts what it is asked."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zelkova.games import Game
from zelkova.games.game import Position

Floats = NDArray[np.float32]


class FakeNetwork:
    """Answers each row by fixed random projections of its planes, whatever its neighbours."""

    def __init__(self, game: Game) -> None:
        rng = np.random.default_rng(5)
        size = int(np.prod(game.observation_shape))
        self.policy = rng.normal(size=(size, game.num_actions))
        self.outcome = rng.normal(size=(size, game.num_players + 1))
        self.rows = 0
        self.fails = False

    def evaluate(self, planes: Floats) -> tuple[Floats, Floats]:
        if self.fails:
            raise RuntimeError("out of memory")
        self.rows += len(planes)
        flat = planes.reshape(len(planes), -1).astype(np.float64)
        answers = [(flat[:, :, None] * weights).sum(axis=1) for weights in (self.policy, self.outcome)]
        return answers[0].astype(np.float32), answers[1].astype(np.float32)


def positions(game: Game, count: int, seed: int = 0, plies: int = 4) -> list[Position]:
    """Give positions after a few random moves, none of them an ending."""
    rng = np.random.default_rng(seed)

    def walk() -> Iterator[Position]:
        while True:
            position = game.position()
            for _ in range(rng.integers(0, plies + 1)):
                position.play(int(rng.choice(position.legal_actions())))
                if position.is_terminal:
                    break
            else:
                yield position

    walks = walk()
    return [next(walks) for _ in range(count)]


def stack(given: list[Position]) -> NDArray[np.uint64]:
    return np.concatenate([position.state for position in given])
