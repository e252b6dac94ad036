"""The figures of a run: a line a round, whatever the figures are."""

import json
import math
from pathlib import Path

from zelkova.learning.metrics_log import MetricsLog
from zelkova.reports.run import read_run


def test_figures_that_are_no_finite_numbers_are_written_as_null_and_passed_over(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path)
    log.append({"round": 1, "learn/policy_loss": 1.25})
    log.append({"round": 2, "learn/policy_loss": math.nan, "eval/elo": math.inf, "games": 3})
    lines = [json.loads(line) for line in log.path.read_text().splitlines()]
    assert lines[1] == {"round": 2, "learn/policy_loss": None, "eval/elo": None, "games": 3}
    run = read_run(tmp_path)
    assert run.rounds == [{"round": 1.0, "learn/policy_loss": 1.25}, {"round": 2.0, "games": 3.0}]
    assert not any("damaged" in remark for remark in run.remarks)
    assert log.drop_after(2) == 2
    assert log.drop_after(1) == 1
