"""The scaffold: a search over a game's own opinion of its positions."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from zelkova import games
from zelkova.agents.agent import Agent
from zelkova.agents.own_model import OwnModel, make_model
from zelkova.agents.planner import Planner
from zelkova.agents.reference.scaffold import SEARCH, read_scaffold
from zelkova.errors import ConfigError, GameError
from zelkova.evaluation.config import MatchConfig
from zelkova.evaluation.match import play_match
from zelkova.evaluation.players import make_player
from zelkova.games.check import check_game

COUNTING = """
import numpy as np

STATE = np.dtype([("to_play", np.int8), ("total", np.int8)], align=True)
NUM_PLAYERS, NUM_ACTIONS, OBSERVATION_SHAPE = 2, 3, (1, 1, 1)
RETURN_RANGE, VIEW = (-1.0, 1.0), "absolute"


def init(state, seed):
    state["to_play"] = 0
    state["total"] = 0


def legal_actions(state, out):
    for action in range(3):
        out[action] = action
    return 3


def step(state, action):
    state["total"] += action if state["to_play"] == 0 else -action
    state["to_play"] = 1 - state["to_play"] if state["to_play"] < 2 else 2
    if state["total"] > 90:
        state["total"] = 90


def is_terminal(state):
    return state["total"] >= 2


def returns(state, out):
    out[0], out[1] = 1.0, -1.0


def observe(state, planes):
    planes[0, 0, 0] = state["total"]


def evaluate(state, out):
    out[0] = min(max(state["total"] / 10.0, -1.0), 1.0)
    out[1] = -out[0]


def weigh(state, actions, out):
    for index in range(len(actions)):
        out[index] = WEIGHT
"""


def counting(folder: Path, weight: str = "1.0 + actions[index]") -> games.Game:
    """Load the game of adding 0 to 2 to a total, which the second player lowers; it may never end."""
    path = folder / "counting.py"
    path.write_text(COUNTING.replace("WEIGHT", weight), encoding="utf-8")
    return games.load(str(path))


def test_values_and_priors_are_the_games_own(tmp_path: Path) -> None:
    game = counting(tmp_path)
    model = OwnModel(game, 2, 4)
    start = game.position().state
    model.place(np.concatenate([start, game.position().play(1).state]))
    root = model.root()
    np.testing.assert_allclose(root.value, [[0.0, 0.0], [0.1, -0.1]])
    np.testing.assert_allclose(np.exp(root.prior_logits), [[1, 2, 3], [1, 2, 3]], rtol=1e-6)
    step = model.step(np.zeros(2, np.int32), np.array([2, 2], np.int32), np.array([1, -1], np.int32))
    assert step.discount[0] == 0.0
    np.testing.assert_allclose(step.reward[0], [1.0, -1.0])
    np.testing.assert_allclose(step.value[0], 0.0)
    assert model.asked == 2


def test_without_weigh_all_actions_are_alike() -> None:
    game = games.load("connect_four")
    model = make_model(game, None, 1, 2)
    model.place(game.position().state)
    np.testing.assert_allclose(model.root().prior_logits[0], 0.0)


def test_a_search_of_one_ply_follows_the_evaluation(tmp_path: Path) -> None:
    game = counting(tmp_path, "1.0")
    config = dataclasses.replace(SEARCH, num_simulations=60)
    found = Agent(game, None, config, batch=1).act(game.position().state)
    assert found.action[0] == 2  # wins at once
    line = Planner(game, None, config).think()
    assert line.action == 2


@pytest.mark.parametrize("weight", ["0.0", "-1.0", "np.nan", "np.inf"])
def test_the_check_refuses_weights_that_are_none(tmp_path: Path, weight: str) -> None:
    report = check_game(counting(tmp_path, weight), games=2)
    assert any(fault.function == "weigh" and "above 0" in fault.promise for fault in report.findings)


def test_the_check_passes_good_weights(tmp_path: Path) -> None:
    report = check_game(counting(tmp_path), games=2)
    assert not [fault for fault in report.findings if fault.function == "weigh"]


def test_it_beats_random_play_of_two_and_three() -> None:
    for name in ("connect_four", "connect_four_3p"):
        game = games.load(name)
        result = play_match(
            game,
            make_player("scaffold:50", game),
            make_player("random", game),
            MatchConfig(games=60, parallel=60),
        )
        assert result.score_interval[0] > 0.8


def test_greedy_wins_at_once_and_sees_no_further() -> None:
    game = games.load("connect_four")
    greedy = make_player("greedy", game)
    position = game.position()
    for move in ("1", "2", "1", "2", "1", "2"):
        position.play(move)
    assert greedy.choose(position.state, np.zeros(1, np.uint64)).tolist() == [0]
    assert greedy.name == "greedy"


@pytest.mark.parametrize("text", ["scaffold:", "scaffold:0", "scaffold:-1", "scaffold:1e3", "scaffold: 5"])
def test_a_wrong_budget_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match=r"scaffold:N"):
        read_scaffold(text)
    assert read_scaffold("random") is None


def test_a_game_without_an_opinion_is_refused() -> None:
    with pytest.raises(GameError, match=r"tic_tac_toe has no evaluate"):
        make_player("scaffold:10", games.load("tic_tac_toe"))
    with pytest.raises(GameError, match=r"2048 has no evaluate"):
        make_player("scaffold:10", games.load("2048"))
