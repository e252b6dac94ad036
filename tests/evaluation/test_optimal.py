"""Checks against perfect play: judged positions of connect four, and every reply at tic-tac-toe."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from zelkova import games
from zelkova.errors import NotationError
from zelkova.evaluation.config import MatchConfig
from zelkova.evaluation.exhaustive import walk_replies
from zelkova.evaluation.match import play_match
from zelkova.evaluation.optimal import judge_positions, optimal_move_share, read_judged, read_judged_file
from zelkova.evaluation.players import RandomPlayer, UctPlayer

JUDGED = Path(__file__).parent.parent / "golden" / "connect_four_judged.txt"


class Perfect:
    """Tic-tac-toe by full search: the value of each action to the mover."""

    def __init__(self) -> None:
        self.game = games.load("tic_tac_toe")
        self.known: dict[bytes, dict[int, int]] = {}

    def __call__(self, state: NDArray[np.uint64]) -> dict[int, int]:
        key = state.tobytes()
        if key not in self.known:
            values = {}
            position = type(self.game.position())(self.game, state)
            for action in position.legal_actions():
                below = position.copy().play(int(action))
                if below.is_terminal:
                    values[int(action)] = int(below.returns[position.to_play])
                else:
                    values[int(action)] = -max(self(below.state).values())
            self.known[key] = values
        return self.known[key]


SOLVE = Perfect()


class PerfectPlayer:
    name = "perfect"
    is_deterministic = True
    solve = SOLVE

    def choose(self, states: NDArray[np.uint64], seeds: NDArray[np.uint64]) -> NDArray[np.int32]:
        scores = [self.solve(states[row : row + 1]) for row in range(len(states))]
        return np.array([max(score, key=lambda action: score[action]) for score in scores], np.int32)


def test_perfect_play_at_tic_tac_toe_never_loses() -> None:
    game = games.load("tic_tac_toe")
    for seat in (0, 1):
        walk = walk_replies(game, PerfectPlayer(), seat)
        assert walk.losses == 0
        assert walk.losing_line == ()
        assert walk.draws > 0


def test_a_lost_game_is_found_and_shown() -> None:
    game = games.load("tic_tac_toe")
    walk = walk_replies(game, RandomPlayer(game), 0)
    assert walk.losses > 0
    position = game.position()
    for action in walk.losing_line:
        position.play(action)
    assert position.returns.tolist() == [-1.0, 1.0]


def test_every_reply_is_tried() -> None:
    class First:
        name = "first"
        is_deterministic = True

        def choose(self, states: NDArray[np.uint64], seeds: NDArray[np.uint64]) -> NDArray[np.int32]:
            return np.array([np.flatnonzero(row == 0)[0] for row in boards(states)], np.int32)

    def boards(states: NDArray[np.uint64]) -> NDArray[np.int8]:
        return np.asarray(games.load("tic_tac_toe").view_states(states)["board"]).reshape(len(states), 9)

    walk = walk_replies(games.load("tic_tac_toe"), First(), 0)
    # The empty board; cell 0 and one of 8 replies; the next free cell and one of 6 more.
    assert walk.asked >= 1 + 8 + 48
    assert walk.wins > 0


def test_uct_with_many_simulations_never_loses_to_random_at_tic_tac_toe() -> None:
    game = games.load("tic_tac_toe")
    config = MatchConfig(games=200, opening_plies=0)
    wins, draws, losses = play_match(game, UctPlayer(game, 2000), RandomPlayer(game), config).tally()
    assert losses == 0
    assert wins > 160
    assert wins + draws == 200


def test_the_judged_positions_are_as_their_head_says() -> None:
    game = games.load("connect_four")
    judged = read_judged_file(game, JUDGED)
    assert judged.states.shape == (1000, game.words)
    assert judged.plies.min() >= 2
    assert judged.plies.max() <= 21
    legal = judged.results > -2
    assert (judged.results.max(axis=1) > np.where(legal, judged.results, 9).min(axis=1)).all()
    heights = game.view_states(judged.states)["heights"]
    assert np.array_equal(legal, heights < 6)


def test_an_action_that_wins_at_once_is_judged_a_win() -> None:
    game = games.load("connect_four")
    judged = read_judged_file(game, JUDGED)
    checked = 0
    for row in range(len(judged.states)):
        position = type(game.position())(game, judged.states[row : row + 1])
        for action in position.legal_actions():
            below = position.copy().play(int(action))
            if below.is_terminal:
                checked += 1
                assert judged.results[row, action] == 1
    assert checked > 50


def test_stronger_players_keep_the_result_more_often() -> None:
    game = games.load("connect_four")
    judged = read_judged_file(game, JUDGED)
    shares = [optimal_move_share(player, judged, 0) for player in (RandomPlayer(game), UctPlayer(game, 300))]
    assert shares[0].share < 0.4
    assert shares[1].share > 0.7
    low, high = shares[1].interval
    assert low < shares[1].share < high


def test_judging_and_reading_agree() -> None:
    game = games.load("tic_tac_toe")
    solve = SOLVE
    lines = judge_positions(game_with_digits(), solve, 30, seed=1, plies=(2, 5))
    judged = read_judged(game_with_digits(), ["# head", "", *lines])
    assert len(judged.states) == 30
    for row in range(30):
        values = solve(judged.states[row : row + 1])
        found = {action: int(result) for action, result in enumerate(judged.results[row]) if result > -2}
        assert found == values
    assert optimal_move_share(PerfectPlayer(), judged, 0).share == 1.0
    assert game.num_actions == 9


def game_with_digits() -> games.Game:
    """Tic-tac-toe with moves as numbers."""
    import dataclasses

    return dataclasses.replace(games.load("tic_tac_toe"), notation=None)


@pytest.mark.parametrize("line", ["123", "123 +-", "123 +-+-+-x"])
def test_a_damaged_line_is_refused(line: str) -> None:
    with pytest.raises(NotationError, match="line 1"):
        read_judged(games.load("connect_four"), [line])
