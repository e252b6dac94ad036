"""Counts of move sequences agree with published and independently counted figures."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zelkova import games
from zelkova.games.game import Game
from zelkova.games.playout import perft

COUNTS = json.loads((Path(__file__).parents[1] / "golden" / "perft.json").read_text())["counts"]


def count(game: Game, depth: int) -> int:
    stack = game.new_states(depth + 1)
    stack[0] = game.initial_states(np.array([0], np.uint64))[0]
    actions = np.empty((depth, game.max_edges), np.int32)
    _, probs = game.new_scratch()
    counts = np.empty((2, depth), np.int64)
    return int(perft(*game.native.moving, stack, actions, probs, counts))


@pytest.mark.parametrize("case", COUNTS, ids=lambda case: f"{case['game']}-{case['options']}")
def test_perft_is_as_published(case: dict[str, Any]) -> None:
    game = games.load(case["game"], case["options"])
    found = [count(game, depth) for depth in range(1, len(case["nodes"]) + 1)]
    assert found == case["nodes"], case["source"]


def test_tic_tac_toe_has_255168_games() -> None:
    game = games.load("tic_tac_toe")
    ended = 0
    for depth, open_or_ended in enumerate(COUNTS[0]["nodes"], start=1):
        go_on = (
            count(game, depth + 1) // (9 - depth) if depth < 9 else 0
        )  # each open position has 9 - depth moves
        ended += open_or_ended - go_on
    assert ended == 255168
