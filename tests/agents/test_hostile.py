"""Planners and classic searches asked for what they can't give: one clear error."""

import math
from typing import Any

import numpy as np
import pytest
from tests.agents.test_planner import planner

from zelkova import games
from zelkova.agents.planner import PlannerConfig
from zelkova.agents.reference.classic import ClassicAgent, MinimaxAgent
from zelkova.errors import ConfigError, GameError, IllegalActionError
from zelkova.search.classic import ClassicConfig


@pytest.mark.parametrize("policy", ["puct", "gumbel"])
def test_budgets_of_wrong_kinds(policy: str) -> None:
    thinking = planner("tic_tac_toe", policy)
    wrong: list[dict[str, Any]] = [
        {"simulations": 2.5}, {"simulations": "3"}, {"simulations": True}, {"simulations": 0},
        {"seconds": "1"}, {"seconds": math.nan}, {"seconds": -1},
    ]  # fmt: skip
    for budget in wrong:
        with pytest.raises(ConfigError, match=next(iter(budget))):
            thinking.think(**budget)
    assert thinking.think(4).simulations == 4


@pytest.mark.parametrize("move", [1.0, None, True, 99, -1, 2**70])
def test_moves_of_wrong_kinds(move: Any) -> None:
    thinking = planner("tic_tac_toe")
    with pytest.raises(IllegalActionError):
        thinking.play(move)
    thinking.play(np.int64(4))  # type: ignore[arg-type]


@pytest.mark.parametrize("option", ["num_leaves", "num_lines", "line_length"])
def test_sizes_beyond_sense(option: str) -> None:
    with pytest.raises(ConfigError, match=option):
        PlannerConfig(**{option: 10**12})  # type: ignore[arg-type]


def test_classic_searches_know_no_chance() -> None:
    game = games.load("2048")
    with pytest.raises(GameError, match="uct"):
        ClassicAgent(game, ClassicConfig("maxn", depth=2))
    with pytest.raises(GameError, match="uct"):
        MinimaxAgent(game)


def judge(state: Any, out: Any) -> None:
    """Know nothing once the fourth column has a stone."""
    out[0] = np.nan if state["heights"][3] > 0 else 0.5
    out[1] = -out[0]


@pytest.mark.parametrize("reading", ["maxn", "paranoid"])
def test_evaluations_that_are_no_numbers(reading: Any) -> None:
    game = games.load("connect_four")
    agent = ClassicAgent(game, ClassicConfig(reading, depth=2), evaluate=judge)
    with pytest.raises(GameError, match="NaN"):
        agent.search(game.position().state)
    with pytest.raises(GameError, match="evaluate"):
        ClassicAgent(game, ClassicConfig(reading, depth=2), evaluate=5)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="threads"):
        ClassicAgent(game, ClassicConfig(reading, depth=2), threads=0)
