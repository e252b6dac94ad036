"""Made-up games for the tests of replay and learning: random content, right shapes."""

import numpy as np

from zelkova.replay.choices.rows import gather_rows
from zelkova.replay.episode import Episode

WORDS, WIDTH = 3, 5


def make_episode(seed: int, moves: int = 12, players: int = 2, recorded: float = 1.0) -> Episode:
    rng = np.random.default_rng([7, seed])
    counts = rng.integers(1, WIDTH + 1, moves)
    legal = np.where(np.arange(WIDTH) < counts[:, None], np.arange(WIDTH), -1).astype(np.int32)
    policy = rng.random((moves, WIDTH)) * (legal >= 0)
    policy = (policy / policy.sum(axis=1, keepdims=True)).astype(np.float32)
    returns = np.zeros(players, np.float32)
    returns[seed % players] = 1.0
    if players == 2:
        returns[1 - seed % 2] = -1.0
    return Episode(
        seed=seed,
        states=rng.integers(0, 2**63, (moves, WORDS)).astype(np.uint64),
        to_play=(np.arange(moves) % players).astype(np.int8),
        actions=np.zeros(moves, np.int32),
        **gather_rows(legal, policy, counts)._asdict(),
        root_values=rng.uniform(0, 1, (moves, players)).astype(np.float32),
        returns=returns,
        recorded=rng.random(moves) < recorded,
    )
