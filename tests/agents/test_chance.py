"""Searches over chance find what expectimax finds, in a small game of dice."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from zelkova import games
from zelkova.agents.agent import Agent
from zelkova.agents.reference.uct import UctSearch
from zelkova.agents.rules_model import RulesModel
from zelkova.errors import GameError, SearchError
from zelkova.search.config import SearchConfig

DICE = """import numpy as np

STATE = np.dtype([("total", np.int32), ("done", np.int8), ("to_play", np.int8)], align=True)
NUM_PLAYERS = 1
NUM_ACTIONS = 2
NUM_OUTCOMES = 4
OBSERVATION_SHAPE = (1, 1, 1)
RETURN_RANGE = (0.0, 12.0)
VIEW = "mover"


def init(state, seed):
    state["total"] = 0
    state["done"] = 0
    state["to_play"] = 0


def legal_actions(state, out):
    if is_terminal(state):
        return 0
    out[0] = 0
    out[1] = 1
    return 2


def step(state, action):
    if state["to_play"] < 0:
        state["total"] += 2 + action
        if state["total"] > 9:
            state["total"] = 0
            state["done"] = 1
        state["to_play"] = 0
    elif action == 0:
        state["done"] = 1
    else:
        state["to_play"] = -1


def chance(state, actions, probs):
    if state["to_play"] >= 0:
        return 0
    for outcome in range(4):
        actions[outcome] = outcome
        probs[outcome] = 0.1 * (outcome + 1)
    return 4


@numba.njit
def is_terminal(state):
    return state["done"] != 0


def returns(state, out):
    out[0] = state["total"]


def observe(state, planes):
    planes[0, 0, 0] = state["total"]
""".replace("import numpy", "import numba\nimport numpy", 1)

CHANCES = {2: 0.1, 3: 0.2, 4: 0.3, 5: 0.4}
"""What a throw adds. The player stops with the total, or throws on; above 9 everything is lost."""


@cache
def worth(total: int) -> float:
    return max(float(total), throw(total))


@cache
def throw(total: int) -> float:
    return sum(
        prob * (worth(total + points) if total + points <= 9 else 0.0) for points, prob in CHANCES.items()
    )


class Totals:
    """Knows nothing of the dice: the value is the total, as a network's answer of (share, rest)."""

    def evaluate(self, planes: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        share = np.clip(planes[:, 0, 0, 0] / 12.0, 1e-6, 1 - 1e-6)
        outcome = np.stack([np.log(share), np.log1p(-share)], axis=1).astype(np.float32)
        return np.zeros((len(planes), 2), np.float32), outcome


@pytest.fixture
def game(tmp_path: Path) -> games.Game:
    path = tmp_path / "dice.py"
    path.write_text(DICE)
    return games.load(str(path))


def at(game: games.Game, total: int) -> NDArray[np.uint64]:
    state = game.initial_states(np.zeros(1, np.uint64))
    game.view_states(state)["total"] = total
    return state


def test_the_expectation_is_as_worked_out_by_hand() -> None:
    assert throw(7) == pytest.approx(0.1 * 9)
    assert throw(5) == pytest.approx(0.1 * 7 + 0.2 * 8 + 0.3 * 9)
    assert worth(5) == 5.0
    assert throw(4) == pytest.approx(0.1 * 6 + 0.2 * 7 + 0.3 * 8 + 0.4 * 9)
    assert worth(4) == pytest.approx(8.0)


@pytest.mark.parametrize(
    "config", [SearchConfig("puct", 3000), SearchConfig("gumbel", 3000)], ids=["puct", "gumbel"]
)
@pytest.mark.parametrize("total", [0, 4, 6])
def test_the_search_finds_the_expectimax_value(game: games.Game, config: SearchConfig, total: int) -> None:
    agent = Agent(game, Totals(), config, batch=1, cache=1024)
    result = agent.act(at(game, total))
    assert result.actions[0].tolist() == [0, 1, -1, -1]
    assert result.action[0] == int(throw(total) > total)
    assert result.q_values[0, 0] == total
    assert throw(total) - 0.7 < result.q_values[0, 1] < throw(total) + 0.1, "a mean, with what was tried"


def test_outcomes_come_as_often_as_they_are_probable(game: games.Game) -> None:
    agent = Agent(game, Totals(), SearchConfig("puct", 2000), batch=1)
    agent.act(at(game, 4))
    forest = agent.search.forest
    nodes = forest.nodes[0]
    chance = next(
        node for node in range(1, 100) if nodes[node]["to_play"] == -1 and nodes[node]["parent"] == 0
    )
    kids = forest.kids[0, nodes[chance]["kids"] : nodes[chance]["kids"] + 4]
    shares = kids["visits"] / kids["visits"].sum()
    assert shares[np.argsort(kids["edge"])] == pytest.approx(list(CHANCES.values()), abs=0.01)


@pytest.mark.parametrize("total", [0, 4, 6])
def test_uct_finds_the_better_move(game: games.Game, total: int) -> None:
    found = UctSearch(game, 20000).search(at(game, total), np.array([3], np.uint64))
    assert found.actions[0] == int(throw(total) > total)
    if total == 0:  # elsewhere a throw is hardly tried
        assert throw(total) - 0.7 < found.values[0, 1, 0] < throw(total) + 0.1


def roots(game: games.Game) -> NDArray[np.uint64]:
    state = at(game, 3)
    game.view_states(state)["to_play"] = -1
    return state


@pytest.mark.parametrize(
    ("search", "error"),
    [
        (lambda game: Agent(game, Totals(), SearchConfig("puct", 4), batch=1).act(roots(game)), SearchError),
        (lambda game: UctSearch(game, 4).search(roots(game), np.zeros(1, np.uint64)), GameError),
    ],
)
def test_a_search_begins_where_a_player_moves(
    game: games.Game, search: Callable[[games.Game], object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        search(game)


def test_the_model_answers_nature_with_log_probabilities(game: games.Game) -> None:
    model = RulesModel(game, Totals(), 1, 3)
    model.place(at(game, 4))
    root = model.root()
    assert root.to_play.tolist() == [0]
    one = np.ones(1, np.int32)
    thrown = model.step(0 * one, one, one)
    assert thrown.to_play.tolist() == [-1]
    assert thrown.count.tolist() == [4]
    assert thrown.actions[0].tolist() == [0, 1, 2, 3]
    assert np.exp(thrown.prior_logits[0]) == pytest.approx(list(CHANCES.values()), rel=1e-5)
    assert any(thrown.value[0, 0] == pytest.approx(4 + points, rel=1e-4) for points in CHANCES)
    assert thrown.discount[0] == 1.0
    after = model.step(one, 3 * one, 2 * one)
    assert after.to_play.tolist() == [0]
    assert after.value[0, 0] == pytest.approx(9.0, rel=1e-4)
