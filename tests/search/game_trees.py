"""Small random game trees as tables, and their value by max^n: an oracle for searches that prove."""

from typing import Any

import numpy as np

from zelkova.search.models.table_model import Tables


def random_tree(rng: np.random.Generator, depth: int, width: int, players: int) -> Tables:
    """Make a tree whose endings pay 1 to one player; movers repeat at random, endings come early at times.

    State 0 is the root; a state's children follow it in no fixed order.
    """
    kids: list[list[int]] = [[]]
    levels = [0]
    for state in range(10_000):
        if state == len(kids):
            break
        if levels[state] < depth and (state == 0 or rng.random() < 0.8):
            for _ in range(int(rng.integers(1, width + 1))):
                kids[state].append(len(kids))
                kids.append([])
                levels.append(levels[state] + 1)
    size = len(kids)
    count = np.array([len(k) for k in kids], np.int32)
    transition = np.zeros((size, width), np.int32)
    reward = np.zeros((size, width, players), np.float32)
    discount = np.ones((size, width), np.float32)
    for state, children in enumerate(kids):
        for i, child in enumerate(children):
            transition[state, i] = child
            if not kids[child]:
                discount[state, i] = 0
                reward[state, i, rng.integers(players)] = 1
    value = rng.dirichlet(np.ones(players), size).astype(np.float32)
    value[count == 0] = 0
    return Tables(
        transition=transition,
        reward=reward,
        discount=discount,
        actions=np.tile(np.arange(width, dtype=np.int32), (size, 1)),
        count=count,
        prior_logits=rng.normal(0, 1, (size, width)).astype(np.float32),
        value=value,
        to_play=rng.integers(0, players, size, dtype=np.int32),
    )


def proven_winner(tables: Tables, state: int) -> Any:
    """Say who wins by force: a player, None where the mover loses and the others' fate is open."""
    mover = int(tables.to_play[state])
    winners = []
    for i in range(int(tables.count[state])):
        child = int(tables.transition[state, i])
        if tables.count[child] == 0:
            winners.append(int(tables.reward[state, i].argmax()))
        else:
            winners.append(proven_winner(tables, child))
    if mover in winners:
        return mover
    return winners[0] if len(set(winners)) == 1 else None
