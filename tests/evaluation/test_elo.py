"""Ratings against numbers worked out by hand (facts M9 to M15) and against their own model."""

import math

import numpy as np
import pytest

from zelkova.errors import ConfigError, ShapeError
from zelkova.evaluation.elo import (
    Pairing,
    chi_square_chance,
    cyclic_interval,
    elo_gap,
    expected_score,
    find_circles,
    fit_elo,
    log_odds_matrix,
    seat_chi_square,
    split_cycles,
)
from zelkova.games.statistic import wilson_interval


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


@pytest.mark.parametrize(
    ("value", "freedom", "chance"),
    [
        (3.841459, 1, 0.05),
        (5.991465, 2, 0.05),
        (7.814728, 3, 0.05),
        (9.487729, 4, 0.05),
        (82.4, 2, 1.2799e-18),
    ],
)
def test_the_chance_of_a_chi_square(value: float, freedom: int, chance: float) -> None:
    """Critical values from tables; the last one is that of M14, exp(-41.2)."""
    assert chi_square_chance(value, freedom) == pytest.approx(chance, rel=1e-4)
    assert chi_square_chance(0.0, freedom) == 1.0


def circle_of(share: float, games: int, players: int) -> list[Pairing]:
    wins = round(share * games)
    return [
        Pairing("a", "b", wins, games, players),
        Pairing("b", "c", wins, games, players),
        Pairing("c", "a", wins, games, players),
    ]


@pytest.mark.parametrize(("players", "even"), [(2, 0.5), (3, 1 / 3)])
def test_circles_are_found_once_and_only_when_all_three_are_sure(players: int, even: float) -> None:
    names = ["a", "b", "c", "d"]
    sure = [*circle_of(even + 0.1, 400, players), Pairing("a", "d", 300, 400, players)]
    assert find_circles(sure, names) == [("a", "b", "c")]
    assert find_circles(circle_of(even + 0.02, 400, players), names) == []
    # the third match named the other way round: what c wins, a loses
    lost = (1 - even - 0.1) / (players - 1) if players == 2 else even - 0.1
    turned = [*sure[:2], Pairing("a", "c", round(400 * lost), 400, players)]
    assert find_circles(turned, names) == [("a", "b", "c")]
    ladder = [*sure[:2], Pairing("a", "c", 300, 400, players)]
    assert find_circles(ladder, names) == []


def test_m15_is_a_lower_bound_above_even_by_a_hair() -> None:
    names = ["a", "b", "c"]
    assert len(find_circles(circle_of(220 / 400, 400, 2), names)) == 1
    assert find_circles(circle_of(219 / 400, 400, 2), names) == []


def test_the_interval_of_the_cyclic_share() -> None:
    names, rng = ["a", "b", "c"], np.random.default_rng(0)
    low, high = cyclic_interval(circle_of(0.6, 400, 2), names, rng, 200)
    assert 0.5 < low < high <= 1.0
    ladder = [Pairing("a", "b", 256, 400), Pairing("b", "c", 256, 400), Pairing("a", "c", 304, 400)]
    low, high = cyclic_interval(ladder, names, rng, 200)
    assert low < 0.01 < high < 0.2
    alarms = 0
    for _ in range(60):  # equals: rarely taken for a circle
        equals = [
            Pairing(one, other, float(rng.binomial(400, 0.5)), 400)
            for one, other in (("a", "b"), ("b", "c"), ("a", "c"))
        ]
        alarms += cyclic_interval(equals, names, rng, 100)[0] > 0.1
    assert alarms <= 5
