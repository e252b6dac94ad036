"""Classic searches by name, with a game's evaluation or a user's, as players."""

import numpy as np
import pytest

from zelkova import games
from zelkova.agents.reference.classic import ClassicAgent, MinimaxAgent, is_classic, make_classic
from zelkova.errors import ConfigError, GameError
from zelkova.evaluation.config import MatchConfig
from zelkova.evaluation.exhaustive import walk_replies
from zelkova.evaluation.match import play_match
from zelkova.evaluation.players import ClassicPlayer, RandomPlayer, make_player
from zelkova.search.classic import ClassicConfig


@pytest.mark.parametrize("name", ["paranoid:9", "alphabeta:9", "maxn:9", "minimax"])
@pytest.mark.parametrize("seat", [0, 1])
def test_tic_tac_toe_is_never_lost(name: str, seat: int) -> None:
    game = games.load("tic_tac_toe")
    walk = walk_replies(game, make_player(name, game), seat)
    assert walk.losses == 0, walk.losing_line
    assert walk.wins > 0


@pytest.mark.parametrize("name", ["maxn:2", "paranoid:2"])
def test_two_plies_beat_chance_at_three_player_connect_four(name: str) -> None:
    game = games.load("connect_four_3p")
    result = play_match(game, make_player(name, game), RandomPlayer(game), MatchConfig(games=60))
    assert result.score > 0.9


def prefer_column_six(state, out):  # type: ignore[no-untyped-def]
    """Judge by the height of one column, for player 0."""
    out[0] = state["heights"][6] / 10.0
    out[1] = -out[0]


def boast(state, out):  # type: ignore[no-untyped-def]
    out[0], out[1] = 7.0, -7.0


def fail(state, out):  # type: ignore[no-untyped-def]
    out[0] = state["no_such_field"]


def test_a_function_of_ones_own_judges_the_leaves() -> None:
    game = games.load("connect_four")
    agent = ClassicAgent(game, ClassicConfig("paranoid", depth=1), evaluate=prefer_column_six)
    found = agent.search(game.position().state)
    assert found.line(0) == [6]
    assert found.values[0].tolist() == pytest.approx([0.1, -0.1])
    held = ClassicAgent(game, ClassicConfig("maxn", depth=1), evaluate=boast).search(game.position().state)
    assert held.values[0].tolist() == [1.0, -1.0]
    assert not held.settled[0]
    with pytest.raises(GameError, match="can't be compiled"):
        ClassicAgent(game, ClassicConfig("paranoid", depth=1), evaluate=fail)


def test_without_an_evaluation_positions_are_even() -> None:
    for name, even in (("tic_tac_toe", 0.0), ("hex", 0.0)):
        game = games.load(name)
        found = ClassicAgent(game, ClassicConfig("paranoid", depth=2)).search(game.position().state)
        assert found.values[0].tolist() == [even, even]
        assert found.actions[0] == 0


def test_names() -> None:
    game = games.load("tic_tac_toe")
    assert isinstance(make_classic("maxn:3", game), ClassicAgent)
    assert isinstance(make_classic("minimax", game), MinimaxAgent)
    player = make_player("paranoid:12", game)
    assert isinstance(player, ClassicPlayer)
    assert (player.name, player.is_deterministic) == ("paranoid:12", True)
    assert not is_classic("minimaxi")
    with pytest.raises(ConfigError, match="next: paranoid:4 or maxn:4"):
        make_classic("alphabeta:4", games.load("connect_four_3p"))


@pytest.mark.parametrize(
    "text", ["maxn:", "maxn:0", "paranoid:100", "paranoid:-1", "alphabeta:3.5", "maxn:1e1"]
)
def test_depths_out_of_range_are_refused(text: str) -> None:
    assert is_classic(text)
    with pytest.raises(ConfigError, match="1 to 99 plies"):
        make_classic(text, games.load("tic_tac_toe"))


def test_opinions_are_sorted_and_carry_lines() -> None:
    game = games.load("connect_four")
    position = game.position()
    for move in "112233":
        position.play(move)
    (opinion,) = make_classic("alphabeta:5", game).consider(position.state)
    assert (opinion.action, opinion.line) == (3, (3,))
    assert opinion.values.tolist() == [1.0, -1.0]
    small = games.load("connect_four", {"height": 3, "width": 3, "run": 3})
    opinions = make_classic("minimax", small).consider(small.position().state)
    mine = [float(opinion.values[0]) for opinion in opinions]
    assert mine == sorted(mine, reverse=True)
    assert {opinion.action for opinion in opinions} == {0, 1, 2}


def test_minimax_remembers_what_it_was_asked() -> None:
    game = games.load("tic_tac_toe")
    agent = MinimaxAgent(game)
    states = np.repeat(game.position().play(0).state, 50, axis=0)
    assert agent.choose(states).tolist() == [4] * 50
