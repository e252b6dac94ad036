import math

import pytest

from zelkova.cli.train import new_alarms
from zelkova.wheel.alarms import find_alarms

LOG_4 = math.log(4)


def figures(entropy: float, search: float, outside: float = 0.0) -> dict[str, float]:
    """Give a round's figures; entropies in shares of log 4."""
    return {
        "learn/policy_entropy": entropy * LOG_4,
        "learn/policy_target_entropy": search * LOG_4,
        "learn/outside_support": outside,
    }


@pytest.mark.parametrize(
    ("entropy", "search", "alarm"),
    [(0.04, 0.15, 1.0), (0.04, 0.13, 0.0), (0.06, 0.9, 0.0), (0.0, 0.0, 0.0), (0.9, 0.1, 0.0)],
)
def test_a_policy_collapses_where_the_search_does_not_follow(
    entropy: float, search: float, alarm: float
) -> None:
    assert find_alarms(figures(entropy, search), 4)["alarm/policy_collapse"] == alarm


def test_one_target_in_a_round_is_enough() -> None:
    assert find_alarms(figures(1.0, 1.0, outside=0.01), 4)["alarm/outside_support"] == 1.0
    assert find_alarms(figures(1.0, 1.0), 4)["alarm/outside_support"] == 0.0


def test_a_round_without_learning_says_nothing() -> None:
    assert find_alarms({}, 4) == {}


@pytest.mark.parametrize(("waiting", "alarms"), [(9_999, {}), (10_000, {"alarm/no_episode": 1.0})])
def test_a_run_that_waits_for_its_first_episode_is_told(waiting: int, alarms: dict[str, float]) -> None:
    assert find_alarms({}, 4, waiting) == alarms


def test_continuous_actions_have_no_share_of_log_a() -> None:
    assert list(find_alarms(figures(-9.0, 1.0), 0)) == ["alarm/outside_support"]


def test_an_alarm_is_told_when_it_begins() -> None:
    alarmed: set[str] = set()
    quiet = {"round": 3.0, "alarm/outside_support": 0.0, "alarm/policy_collapse": 0.0}
    loud = {**quiet, "alarm/outside_support": 1.0}
    assert new_alarms(quiet, alarmed) == []
    (line,) = new_alarms({**loud, "round": 4.0}, alarmed)
    assert line.startswith("alarm in round 4, outside_support: ")
    assert "value_limit" in line
    assert new_alarms({**loud, "round": 5.0}, alarmed) == []
    (line,) = new_alarms({**loud, "round": 6.0, "alarm/policy_collapse": 1.0}, alarmed)
    assert "policy_collapse" in line
