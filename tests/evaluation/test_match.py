"""Matches are balanced, depend on their seed only, and count right for two and for three."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from zelkova import games
from zelkova.errors import ConfigError, IllegalActionError
from zelkova.evaluation.config import MatchConfig, RatingConfig
from zelkova.evaluation.match import MatchResult, play_match
from zelkova.evaluation.openings import draw_openings, even_openings
from zelkova.evaluation.players import RandomPlayer, SearchPlayer, UctPlayer, make_player
from zelkova.evaluation.rating import Gauntlet


class Fixed:
    """Answers one action whatever the position."""

    name = "fixed"
    is_deterministic = True

    def __init__(self, action: int) -> None:
        self.action = action

    def choose(self, states: NDArray[np.uint64], seeds: NDArray[np.uint64]) -> NDArray[np.int32]:
        return np.full(len(states), self.action, np.int32)


def result_of(returns: list[list[float]], seats: list[int], players: int = 2) -> MatchResult:
    array = np.array(returns, np.float32)
    mine = array[np.arange(len(seats)), seats].astype(np.float64)
    scores = (mine + 1) / 2 if players == 2 else mine
    count = np.arange(len(seats), dtype=np.int32)
    return MatchResult("g", ("a", "b"), players, np.array(seats, np.int32), count, array, scores, count)


@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four_3p"])
def test_seats_and_openings_are_balanced(name: str) -> None:
    game = games.load(name)
    result = play_match(game, UctPlayer(game, 50), RandomPlayer(game), MatchConfig(games=31, parallel=7))
    players = game.num_players
    assert result.num_games == -(-31 // players) * players
    pairs = set(zip(result.openings.tolist(), result.seats.tolist(), strict=True))
    assert pairs == {(k, s) for k in range(result.num_games // players) for s in range(players)}
    assert sum(sum(result.tally(seat)) for seat in range(players)) == result.num_games
    assert result.score > 0.75
    low, high = result.elo_interval
    assert 0 < low < result.elo < high < 2000


def test_equals_score_their_share() -> None:
    for name, even in (("connect_four", 1 / 2), ("connect_four_3p", 1 / 3)):
        game = games.load(name)
        config = MatchConfig(games=900)
        result = play_match(game, RandomPlayer(game), RandomPlayer(game), config)
        low, high = result.score_interval
        assert low < even < high
        assert result.seat_wins().sum() <= 900


def test_a_match_depends_on_its_seed_only() -> None:
    game = games.load("connect_four")
    first, second = UctPlayer(game, 40), UctPlayer(game, 40, threads=2)
    one = play_match(game, first, second, MatchConfig(games=40, seed=3))
    other = play_match(game, second, first, MatchConfig(games=40, seed=3, parallel=6))
    third = play_match(game, first, second, MatchConfig(games=40, seed=4))
    assert np.array_equal(one.returns, other.returns)
    assert np.array_equal(one.plies, other.plies)
    assert not np.array_equal(one.plies, third.plies)


def test_tallies_by_hand() -> None:
    two = result_of([[1, -1], [1, -1], [0, 0], [-1, 1]], [0, 1, 0, 1])
    assert [two.tally(0), two.tally(1), two.tally()] == [(1, 1, 0), (1, 0, 1), (2, 1, 1)]
    assert two.score == 0.625
    assert two.seat_wins().tolist() == [2, 1]
    three = result_of([[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]], [0, 1, 1], players=3)
    assert three.tally() == (1, 1, 1)
    assert three.score == 0.5
    assert three.seat_wins().tolist() == [1, 0, 1]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_clean_sweep_has_finite_figures(sign: float) -> None:
    result = result_of([[sign, -sign]] * 10, [0] * 10)
    low, high = result.elo_interval
    assert np.isfinite([low, result.elo, high]).all()
    assert low < result.elo < high
    assert (result.elo > 0) == (sign > 0)


def test_openings_differ_and_none_is_an_ending() -> None:
    game = games.load("tic_tac_toe")
    states, lengths = draw_openings(game, 60, 6, np.random.default_rng(0), distinct=True)
    records = game.view_states(states)
    assert len({row.tobytes() for row in states}) == 60
    assert (records["winner"] == 0).all()
    assert np.array_equal(records["plies"], lengths)
    again, _ = draw_openings(game, 60, 6, np.random.default_rng(0), distinct=True)
    assert np.array_equal(states, again)


def test_lopsided_openings_are_left_out() -> None:
    game = games.load("connect_four")
    plain, _ = draw_openings(game, 150, 4, np.random.default_rng(1), distinct=True)
    kept, _ = even_openings(game, 100, 4, np.random.default_rng(1), distinct=True)
    rows = {row.tobytes() for row in kept}
    assert rows <= {row.tobytes() for row in plain}
    won = [row for row in plain if three_open_in_the_bottom_row(game, row)]
    assert won
    assert not any(row.tobytes() in rows for row in won)


def three_open_in_the_bottom_row(game: games.Game, row: NDArray[np.uint64]) -> bool:
    """Can the mover make three in the bottom row with both ends free: won at once."""
    record = game.view_states(row[None].copy())[0]
    bottom = "".join(".XO"[cell] for cell in record["board"][0])
    return (
        record["to_play"] == 0
        and record["plies"] == 4
        and any(pattern in bottom for pattern in ("..XX.", ".XX..", ".X.X."))
    )


def test_openings_that_always_end_are_an_error() -> None:
    game = games.load("tic_tac_toe")
    rng = np.random.default_rng(0)
    with pytest.raises(ConfigError, match="fewer opening plies"):
        draw_openings(game, 500, 200, rng, distinct=True)


def test_an_illegal_answer_names_player_and_position() -> None:
    game = games.load("tic_tac_toe")
    with pytest.raises(IllegalActionError, match="player fixed answered action 4"):
        play_match(game, Fixed(4), RandomPlayer(game), MatchConfig(games=10))


@pytest.mark.parametrize(
    "text", ["uct", "uct:", "uct:0", "uct:-1", "uct:10000001", "uct:1e3", "rnadom", "runs/none"]
)
def test_unknown_players_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"allowed|known: .*random"):
        make_player(text, games.load("tic_tac_toe"))


def test_players_by_name(tmp_path: Path) -> None:
    game = games.load("tic_tac_toe")
    assert make_player("random", game).name == "random"
    assert make_player("uct:12", game).name == "uct:12"

    class Agent:
        def act(self, states: NDArray[np.uint64], rng: object = None) -> object:
            return type("Result", (), {"action": np.full(len(states), 4, np.int64)})

    found = make_player(str(tmp_path), game, load_agent=lambda path: Agent())
    assert isinstance(found, SearchPlayer)
    answer = found.choose(game.initial_states(np.zeros(2, np.uint64)), np.zeros(2, np.uint64))
    assert answer.tolist() == [4, 4]
    assert answer.dtype == np.int32


def test_random_plays_every_legal_action_about_equally() -> None:
    game = games.load("tic_tac_toe")
    position = game.position().play(4)
    states = np.repeat(position.state, 8000, axis=0)
    actions = RandomPlayer(game).choose(states, np.arange(8000, dtype=np.uint64))
    counts = np.bincount(actions, minlength=9)
    assert counts[4] == 0
    assert np.delete(counts, 4).min() > 850


def test_the_gauntlet_orders_players_by_strength() -> None:
    game = games.load("connect_four")
    gauntlet = Gauntlet(game, RatingConfig(("random", "uct:50"), games=30, ladder_games=60), seed=0)
    assert gauntlet.ladder["random"] == 0.0
    assert gauntlet.ladder["uct:50"] > 200
    weak, strong = RandomPlayer(game), UctPlayer(game, 300)
    weak.name = strong.name = "this"
    low, high = gauntlet.rate(weak), gauntlet.rate(strong)
    assert set(low) == {"eval/score_random", "eval/score_uct_50", "eval/elo", "eval/elo_low", "eval/elo_high"}
    assert low["eval/elo"] < 150 < high["eval/elo"]
    assert high == gauntlet.rate(strong)


@pytest.mark.parametrize(
    "bad",
    [
        {"games": 0},
        {"opponents": ()},
        {"opponents": ("random", "random")},
        {"opponents": ("uct:0",)},
        {"opponents": ("rnadom",)},
    ],
)
def test_rating_settings_out_of_range_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="rating"):
        RatingConfig(**bad)  # type: ignore[arg-type]


def test_one_player_plays_apart_from_the_other() -> None:
    game = games.load("2048", {"size": 3, "full_score": 1000})
    players = UctPlayer(game, 20), RandomPlayer(game)
    result = play_match(game, *players, MatchConfig(games=20, seed=3))
    assert result.is_apart
    assert result.returns.shape == (20, 2)
    assert result.score > 0.7
    means = result.returns.mean(axis=0)
    assert means[0] > means[1] > 0.0
    assert sum(result.tally()) == 20
    again = play_match(
        game, UctPlayer(game, 20), RandomPlayer(game), MatchConfig(games=20, seed=3, parallel=7)
    )
    assert np.array_equal(result.returns, again.returns), "a game's dice don't depend on its neighbours"
