"""Shares and means over observations that belong to games, against numbers worked out by hand."""

import math

import pytest

from zelkova.games.statistic import label_bins, mean_by_game, share_by_game


def test_observations_of_games_of_their_own_count_in_full() -> None:
    found = share_by_game([1, 0, 1, 1], [0, 1, 2, 3])
    assert found is not None
    assert (found.hits, found.count) == (3.0, 4)
    assert found.worth == pytest.approx(4.0)
    assert found.interval == pytest.approx((0.30064, 0.95441), abs=1e-4)  # Wilson of 3 in 4


def test_observations_of_one_game_are_worth_less() -> None:
    found = share_by_game([1, 1, 0, 0], [0, 0, 1, 1])
    assert found is not None
    assert found.worth == pytest.approx(2.0)  # the mean's variance is (1 + 1) / 16; a half's is 1 / (4 worth)
    alone = share_by_game([1, 0, 1], [7, 7, 7])
    assert alone is not None
    assert alone.worth == 1.0
    sure = share_by_game([1, 1, 1], [0, 0, 1])
    assert sure is not None
    assert sure.worth == 2.0
    assert share_by_game([], []) is None


def test_a_mean_has_the_error_of_its_games() -> None:
    found = mean_by_game([0.0, 2.0], [0, 1])
    assert found is not None
    assert (found.value, found.count) == (1.0, 2)
    assert found.half == pytest.approx(1.96)  # s = sqrt 2, and s / sqrt 2 = 1
    doubled = mean_by_game([0.0, 0.0, 2.0, 2.0], [0, 0, 1, 1])
    assert doubled is not None
    assert doubled.half == pytest.approx(1.96)
    alone = mean_by_game([3.0], [0])
    assert alone is not None
    assert math.isnan(alone.half)
    assert mean_by_game([], []) is None


def test_bins_have_names() -> None:
    assert label_bins([0.0, 2.0]) == ["below 0", "0 to 2", "2 and above"]
