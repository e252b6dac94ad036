"""Measures how fast rules are: random moves per second of one core's time, whoever else is busy."""

import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from zelkova.games.game import Game
from zelkova.games.playout import playouts
from zelkova.games.registry import load, names


def measure_rules(
    games: Iterable[str] | None = None, *, seconds: float = 1.0, seed: int = 0
) -> list[dict[str, Any]]:
    """Play random games on one thread, compiled, and give the moves per CPU-second of each.

    Args:
        games: names or paths; the registered games if None.
        seconds: of CPU time, about how long each game is played.
        seed: of the first random game.
    Returns:
        One record a game: {"name": "rules/moves_per_s", "value": moves per CPU-second, the best of three,
        "params": {"game": name}}.
    """
    records = []
    for name in names() if games is None else games:
        game = load(name)
        value = max(_moves_per_s(game, seconds / 3, seed + number) for number in range(3))
        records.append({"name": "rules/moves_per_s", "value": value, "params": {"game": name}})
    return records


def _moves_per_s(game: Game, seconds: float, seed: int) -> float:
    """Play batches of random games for some CPU-seconds; the initial positions do not count."""
    native, batch = game.native, 64
    counter = np.array([seed], np.uint64)
    actions = np.zeros(game.max_legal_actions, np.int32)
    moves, spent = 0, 0.0
    while spent < seconds:
        states = game.initial_states(np.arange(batch, dtype=np.uint64))
        start = time.thread_time()
        moves += playouts(native.step, native.legal_actions, native.is_terminal, states, counter, actions)
        spent += time.thread_time() - start
        batch = min(batch * 2, 4096)
    return moves / spent
