"""A teacher plays a run's first games, older networks sit in its later ones; a stop changes nothing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from zelkova.config import load_config
from zelkova.errors import ConfigError
from zelkova.train import Run

TINY = [
    "size=tiny", "selfplay.games=16", "selfplay.moves_per_round=12", "rating.every_rounds=0",
    "teacher.player=scaffold:8", "teacher.positions=250", "selfplay.past_share=0.5", "selfplay.past_rounds=2",
    "selfplay.restart_share=0.2", "selfplay.restart_lead=0.4", "selfplay.fast_simulations=2",
    "selfplay.full_share=0.5", "learning.batch_size=32", "checkpoint.every_rounds=1",
    "teacher.random_moves=0.2",
]  # fmt: skip


def run_in(folder: Path, *more: str) -> Run:
    folder.mkdir(exist_ok=True)
    return Run(load_config("connect_four_3p", [*TINY, *more]), folder)


def test_a_teacher_plays_first_and_a_stopped_run_goes_on_exactly(tmp_path: Path) -> None:
    whole = run_in(tmp_path / "whole")
    whole.begin()
    stopped = run_in(tmp_path / "stopped")
    stopped.begin()
    taught, figures = [], []
    for _ in range(8):
        taught.append(whole.wheel.is_taught)
        figures.append(whole.turn())
    assert taught[0]
    assert not taught[-1]
    assert "learn/unseen_accuracy" in figures[-1]
    assert 0.0 <= figures[-1]["learn/unseen_accuracy"] <= 1.0
    for _ in range(5):
        stopped.turn()
    stopped.wheel.close()
    resumed = run_in(tmp_path / "stopped")
    assert resumed.resume() == []
    for _ in range(3):
        resumed.turn()
    for name, tensor in whole.wheel.learner.state().tensors.items():
        np.testing.assert_array_equal(tensor.numpy(), resumed.wheel.learner.state().tensors[name].numpy())
    rounds = set(whole.wheel.past.networks)  # type: ignore[attr-defined]
    assert rounds == set(resumed.wheel.past.networks)  # type: ignore[attr-defined]
    assert len(rounds) > 1
    whole.wheel.close()
    resumed.wheel.close()


def test_a_scaffold_teaches_by_the_run_s_own_search(tmp_path: Path) -> None:
    run = run_in(tmp_path / "run", "search.max_considered=5", "search.num_simulations=3")
    teacher = run.wheel.teacher  # type: ignore[attr-defined]
    assert teacher[0].full.config == replace(run.config.search, num_simulations=8, dirichlet_fraction=0.0)
    assert teacher[0].full.config.max_considered == 5
    run.wheel.close()


def test_values_are_what_the_teacher_thinks_until_it_is_through(tmp_path: Path) -> None:
    run = run_in(tmp_path / "run", "learning.value_mix=0.25", "teacher.positions=250")
    mixes = []
    for _ in range(6):
        run.wheel.begin_round()
        mixes.append(run.wheel.objective.settings.mix)  # type: ignore[attr-defined]
        assert mixes[-1] == (1.0 if run.wheel.is_taught else 0.25)
        run.turn()
    assert (mixes[0], mixes[-1]) == (1.0, 0.25)
    run.wheel.close()


@pytest.mark.parametrize(("share", "least", "most"), [("0", 0.9, 1.0), ("0.5", 0.45, 0.8), ("1", 0.0, 0.5)])
def test_a_teacher_s_random_moves(tmp_path: Path, share: str, least: float, most: float) -> None:
    """At share 1 the moves are any legal ones, and yet all are trained on with what was found."""
    run = run_in(
        tmp_path / "run", f"teacher.random_moves={share}", "selfplay.exploration_moves=0",
        "search.gumbel_scale=0", "selfplay.restart_share=0", "teacher.positions=5000",
    )  # fmt: skip
    (group, *_) = run.wheel.selfplay.groups
    group.play(30)
    followed = []
    for tick in group.past:
        assert tick.recorded.all()
        for row, action in enumerate(tick.actions):
            legal, policy = tick.own("legal", row), tick.own("policy", row)
            assert action in legal
            followed.append(action == legal[policy.argmax()])
    assert least <= np.mean(followed) <= most
    run.wheel.close()


def test_the_teacher_s_positions_pay_at_a_ratio_of_their_own(tmp_path: Path) -> None:
    run = run_in(
        tmp_path / "run", "teacher.samples_per_position=0.5", "learning.samples_per_position=4",
        "selfplay.past_share=0", "selfplay.fast_simulations=0",
    )  # fmt: skip
    wheel, batch = run.wheel, run.config.learning.batch_size
    while wheel.is_taught:
        run.turn()
    taught = wheel.buffer.total_added
    assert wheel.pace.samples == 0.5
    assert wheel.learner.steps + wheel.steps_due == int(taught * 0.5 / batch)
    for _ in range(4):
        run.turn()
    played = wheel.buffer.total_added - taught
    assert wheel.pace.samples == 4
    assert wheel.learner.steps + wheel.steps_due == int(taught * 0.5 / batch) + int(played * 4 / batch)
    run.wheel.close()
    assert load_config("tic_tac_toe", ["learning.samples_per_position=3"]).samples_per_position(True) == 3
    with pytest.raises(ConfigError, match=r"teacher.samples_per_position is -1"):
        load_config("tic_tac_toe", ["teacher.samples_per_position=-1"])


def test_a_run_can_be_the_teacher(tmp_path: Path) -> None:
    first = run_in(tmp_path / "first", "teacher.player=", "teacher.positions=0")
    first.begin()
    first.wheel.close()
    second = run_in(tmp_path / "second", f"teacher.player={tmp_path / 'first'}")
    second.begin()
    assert second.turn()["selfplay/evaluations_per_s"] > 0
    second.wheel.close()
    with pytest.raises(ConfigError, match=r"plays connect_four_3p .*tic_tac_toe"):
        Run(
            load_config(
                "tic_tac_toe", [f"teacher.player={tmp_path / 'first'}", "teacher.positions=10", "size=tiny"]
            ),
            tmp_path / "third",
        )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["teacher.player=scaffold:8"], "both"),
        (["teacher.positions=10"], "both"),
        (["teacher.value_mix=1.5"], "allowed: 0 to 1"),
        (["teacher.random_moves=-0.1"], "random_moves is -0.1; allowed: 0 to 1"),
        (["teacher.player=uct:100", "teacher.positions=10"], "no weights"),
        (["teacher.player=random", "teacher.positions=10"], "no weights"),
        (["teacher.player=greedy", "teacher.positions=10"], "no weights"),
        (["teacher.player=scaffold:0", "teacher.positions=10"], "scaffold:N"),
        (["teacher.player=nowhere/run", "teacher.positions=10"], "`nowhere/run` does not exist"),
        (
            ["teacher.player=greedy-run", "teacher.positions=10"],
            "`greedy-run` does not exist",
        ),
    ],
)
def test_teachers_that_are_none(tmp_path: Path, changes: list[str], message: str) -> None:
    with pytest.raises(Exception, match=message):
        Run(load_config("connect_four_3p", ["size=tiny", *changes]), tmp_path / "run")


def test_a_learned_model_has_no_teacher() -> None:
    with pytest.raises(ConfigError, match="knows the rules"):
        load_config("muzero-tictactoe", ["teacher.player=scaffold:8", "teacher.positions=10"])
