"""Ratings against numbers worked out by hand (algorithms.md, M9 to M15) and against their own model."""

import math

import numpy as np
import pytest

from zelkova.errors import ConfigError, ShapeError
from zelkova.evaluation.elo import (
    Pairing,
    elo_gap,
    expected_score,
    fit_elo,
    log_odds_matrix,
    seat_chi_square,
    split_cycles,
    wilson_interval,
)


@pytest.mark.parametrize(("score", "gap"), [(0.55, 34.86), (0.75, 190.85), (0.8, 240.82), (0.95, 511.5)])
def test_m9_the_gap_behind_a_score(score: float, gap: float) -> None:
    assert elo_gap(score) == pytest.approx(gap, abs=0.05)


@pytest.mark.parametrize(("gap", "score"), [(100, 0.640065), (241, 0.800162), (500, 0.946760)])
def test_m10_the_score_behind_a_gap(gap: float, score: float) -> None:
    assert expected_score(gap) == pytest.approx(score, abs=5e-7)


@pytest.mark.parametrize(("share", "gap"), [(1 / 3, 0), (0.41, 57.18), (0.55, 155.27), (0.75, 311.26)])
def test_m11_one_against_two_equals(share: float, gap: float) -> None:
    assert elo_gap(share, 3) == pytest.approx(gap, abs=0.005)
    assert expected_score(elo_gap(share, 3), 3) == pytest.approx(share)


def test_m12_cycles_and_ladders() -> None:
    cycle = np.array([[0, 0.8, -0.8], [-0.8, 0, 0.8], [0.8, -0.8, 0]])
    ladder = np.array([[0, 0.5, 1.0], [-0.5, 0, 0.5], [-1.0, -0.5, 0]])
    for matrix, ratings, share in (
        (cycle, [0, 0, 0], 1.0),
        (ladder, [0.5, 0, -0.5], 0.0),
        (cycle + ladder, [0.5, 0, -0.5], 0.561404),
    ):
        found, cyclic = split_cycles(matrix)
        assert found == pytest.approx(ratings, abs=1e-12)
        assert cyclic == pytest.approx(share, abs=5e-7)
    with pytest.raises(ShapeError):
        split_cycles(np.zeros((2, 3)))


def test_m14_seat_balance() -> None:
    assert seat_chi_square([380, 420, 200]) == pytest.approx(82.4)


def test_m15_wilson() -> None:
    assert wilson_interval(220, 400) == pytest.approx((0.501000, 0.598049), abs=5e-7)


@pytest.mark.parametrize("wins", [0, 7, 20])
def test_wilson_holds_the_share_and_stays_in_range(wins: int) -> None:
    low, high = wilson_interval(wins, 20)
    assert 0 <= low <= wins / 20 <= high + 1e-15 <= 1 + 1e-15
    assert high - low > 0.1


def test_two_players_are_the_gap_with_one_drawn_game_added() -> None:
    rating = fit_elo([Pairing("a", "b", 150.0, 200)], {"b": 100.0})["a"]
    assert rating.elo == pytest.approx(100 + elo_gap(150.5 / 201))
    assert rating.low < rating.elo < rating.high


@pytest.mark.parametrize("players", [2, 3])
def test_a_ladder_is_found_again_from_its_own_scores(players: int) -> None:
    truth = {"a": 0.0, "b": 120.0, "c": 260.0, "d": 610.0}
    games = 10**9
    pairings = [
        Pairing(one, other, games * expected_score(truth[one] - truth[other], players), games, players)
        for one in truth
        for other in truth
        if one < other
    ]
    found = fit_elo(pairings, {"a": 0.0})
    assert {name: rating.elo for name, rating in found.items()} == pytest.approx(truth, abs=0.01)


def test_winning_every_game_stays_finite_and_more_games_say_more() -> None:
    few = fit_elo([Pairing("a", "b", 10.0, 10)], {"b": 0.0})["a"]
    many = fit_elo([Pairing("a", "b", 1000.0, 1000)], {"b": 0.0})["a"]
    assert all(map(math.isfinite, (few.low, few.high, many.low, many.high)))
    assert 0 < few.elo < many.elo < 3000


def test_fixed_opponents_stay_and_place_the_candidate_between_them() -> None:
    pairings = [Pairing("me", "weak", 38.0, 40), Pairing("me", "strong", 6.0, 40)]
    found = fit_elo(pairings, {"weak": 0.0, "strong": 700.0})
    assert found["weak"].elo == 0.0
    assert found["strong"].elo == 700.0
    assert 350 < found["me"].elo < 500


def test_the_interval_covers_the_truth() -> None:
    rng = np.random.default_rng(0)
    truth = 150.0
    inside = 0
    for _ in range(300):
        wins = float(rng.binomial(100, expected_score(truth)))
        rating = fit_elo([Pairing("a", "b", wins, 100)], {"b": 0.0})["a"]
        inside += rating.low <= truth <= rating.high
    assert 0.91 <= inside / 300 <= 0.985


def test_ratings_without_a_chain_to_the_anchor_are_refused() -> None:
    pairings = [Pairing("a", "b", 5.0, 10), Pairing("c", "d", 5.0, 10)]
    with pytest.raises(ConfigError, match="`c` has no chain"):
        fit_elo(pairings, {"a": 0.0})
    with pytest.raises(ConfigError, match="did you mean `a`"):
        fit_elo(pairings, {"aa": 0.0})


def test_log_odds_are_antisymmetric_and_clipped() -> None:
    pairings = [Pairing("a", "b", 3.0, 4), Pairing("b", "a", 1.0, 4), Pairing("a", "c", 1e6, 10**6)]
    matrix = log_odds_matrix(pairings, ["a", "b", "c"])
    assert np.array_equal(matrix, -matrix.T)
    assert matrix[0, 1] == pytest.approx(math.log(6.5 / 2.5))
    assert matrix[0, 2] == 4.0
    assert matrix[1, 2] == 0.0
