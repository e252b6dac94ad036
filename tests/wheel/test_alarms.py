import math

import numpy as np
import pytest

from zelkova.cli.train import new_alarms
from zelkova.wheel.alarms import MemorisingAlarm, find_alarms

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


def judged(seen: float, unseen: float, early: tuple[float, float] | None = None) -> dict[str, float]:
    """Give a round's accuracies."""
    figures = {"learn/seen_accuracy": seen, "learn/unseen_accuracy": unseen}
    if early is not None:
        figures |= {"learn/seen_early_accuracy": early[0], "learn/unseen_early_accuracy": early[1]}
    return figures


def alarms(alarm: MemorisingAlarm, rounds: int, games: int, figures: dict[str, float]) -> list[float]:
    return [alarm.look(figures, games)["alarm/memorising"] for _ in range(rounds)]


def test_knowing_learnt_games_by_heart_is_told_after_enough_rounds_and_games() -> None:
    assert alarms(MemorisingAlarm(), 7, 60, judged(0.85, 0.54)) == [0, 0, 0, 0, 1, 1, 1]
    assert alarms(MemorisingAlarm(), 8, 25, judged(0.85, 0.54)) == [0] * 7 + [1], "8 rounds have 200 games"
    assert alarms(MemorisingAlarm(), 9, 60, judged(0.64, 0.55)) == [0] * 9, "9 points are no alarm"


def test_the_first_thirds_of_games_are_enough() -> None:
    assert alarms(MemorisingAlarm(), 5, 60, judged(0.7, 0.65, (0.7, 0.4)))[-1] == 1.0
    assert alarms(MemorisingAlarm(), 5, 60, judged(0.7, 0.65, (0.45, 0.4)))[-1] == 0.0


def test_a_round_weighs_by_its_games_and_old_ones_are_let_go() -> None:
    alarm = MemorisingAlarm()
    assert alarms(alarm, 4, 10, judged(0.9, 0.5)) == [0] * 4
    assert alarms(alarm, 1, 400, judged(0.6, 0.6)) == [0], "40 games of 440 are too few"
    assert alarms(alarm, 5, 60, judged(0.85, 0.54)) == [0, 0, 1, 1, 1], "means of 6, 8, 10.1, 12, 31"
    assert alarms(alarm, 5, 60, judged(0.6, 0.6)) == [1, 1, 1, 0, 0], "means of 25, 19, 12, 6 and 0 points"


def test_what_an_alarm_remembers_comes_back() -> None:
    alarm, again = MemorisingAlarm(), MemorisingAlarm()
    alarms(alarm, 4, 60, judged(0.85, 0.54))
    again.set_state(alarm.state())
    assert alarms(again, 1, 60, judged(0.85, 0.54)) == [1]
    again.forget()
    assert alarms(again, 1, 60, judged(0.85, 0.54)) == [0]
    again.set_state(None)
    assert again.look({"learn/unseen_accuracy": 0.5}, 300) == {"alarm/memorising": 0.0}
    assert len(again.state()) == 0, "without a learnt side there is nothing to compare"
    with pytest.raises(ValueError, match="memorising"):
        again.set_state(np.zeros((2, 9)))


def test_the_line_says_what_to_set() -> None:
    (line,) = new_alarms({"round": 8.0, "alarm/memorising": 1.0}, set())
    assert line.startswith("alarm in round 8, memorising: ")
    for setting in ("learning.value_mix", "replay.capacity", "learning.samples_per_position"):
        assert setting in line
