"""Training end to end: stop and resume is no stop, damage is passed over, and the wheel learns."""

import dataclasses
import gc
import json
import math
import resource
import shutil
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from tests.training import TINY, assert_same_run, begin, metrics, newest, resume, tiny, turn

from zelkova import games
from zelkova.agents.load import load_agent
from zelkova.config import load_config
from zelkova.errors import CheckpointError, ConfigError, GameError, ZelkovaError
from zelkova.learning.schedule import Limits, Pace
from zelkova.train import Run, read_pace, train

KEEP = (
    "checkpoint.keep=2",
    "replay.capacity=60",
    "replay.min_window=60",
    "selfplay.random_opening=0.3",
    "learning.ema_decay=0.9",
)
ROUNDS = 6


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a run of six rounds that was never stopped."""
    folder = tmp_path_factory.mktemp("straight")
    begin(folder, *KEEP, rounds=ROUNDS).wheel.close()
    return folder


@pytest.fixture
def started(straight: Path, tmp_path: Path) -> Path:
    """Give a copy of it to do anything to."""
    return Path(shutil.copytree(straight, tmp_path / "run"))


def finish(folder: Path) -> None:
    """Go on to the last round as a new process would."""
    run, _ = resume(folder)
    turn(run, ROUNDS - run.wheel.round)
    run.wheel.close()


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_a_run_killed_before_any_write_or_removal_goes_on_exactly(
    straight: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    """Every state that a kill can leave on disk: before each rename and removal, a line cut in its middle."""
    live, copies = tmp_path / "live", tmp_path / "copies"

    def keep() -> None:
        if (live / "config.toml").exists():
            shutil.copytree(live, copies / str(len(list(copies.iterdir()))))

    def watched(name: str) -> None:
        original = getattr(Path, name)

        def operate(path: Path, *arguments: object, **words: object) -> object:
            if live in path.parents:
                keep()
            return original(path, *arguments, **words)

        monkeypatch.setattr(Path, name, operate)

    copies.mkdir()
    watched("replace")
    watched("unlink")
    begin(live, *KEEP, rounds=ROUNDS - 1).wheel.close()
    monkeypatch.undo()
    states = sorted(copies.iterdir(), key=lambda path: int(path.name))
    assert len(states) >= 8
    assert any(list(state.glob("*/.*.tmp")) for state in states)
    assert any(not list(state.glob("checkpoints/*.safetensors")) for state in states)
    for state in states[::every]:
        if (state / "metrics.jsonl").exists():
            with (state / "metrics.jsonl").open("a") as file:
                file.write('{"round": 6, "st')
        finish(state)
        assert_same_run(straight, state)


def test_a_stop_between_two_checkpoints_is_no_stop(straight: Path, tmp_path: Path) -> None:
    """A stop saves at an odd round; a kill in that save leaves a replay chunk that must not come back."""
    run = begin(tmp_path / "run", *KEEP, rounds=3)
    run.save()
    run.wheel.close()
    (tmp_path / "run" / "checkpoints" / "00000003.safetensors").unlink()
    assert (tmp_path / "run" / "replay" / "00000003.safetensors").exists()
    run, refused = resume(tmp_path / "run")
    assert (run.wheel.round, refused) == (2, [])
    turn(run, 3)
    run.wheel.close()
    run, refused = resume(tmp_path / "run")
    assert (run.wheel.round, refused) == (4, [])
    turn(run, ROUNDS - 4)
    run.wheel.close()
    assert_same_run(straight, tmp_path / "run")


@pytest.mark.parametrize("limits", [Limits(steps=20), Limits(minutes=0.0), Limits(minutes=1e-9, steps=1000)])
def test_limits(tmp_path: Path, limits: Limits) -> None:
    run = begin(tmp_path / "run")
    shares: list[float] = []
    train(run, limits, lambda figures, share: shares.append(share), lambda: False)
    assert run.saved_round == run.wheel.round == len(shares)
    if limits.minutes is None:
        assert shares == sorted(shares)
        assert shares[-1] == 1.0
        steps = [int(line["step"]) for line in metrics(run.folder)]
        assert steps[-1] >= 20 > steps[-2]
    else:
        assert len(shares) == (0 if limits.minutes == 0.0 else 1)
    before = run.wheel.round
    if (
        limits.steps is not None and limits.minutes is None
    ):  # the end is reached already: nothing more happens
        train(run, limits, lambda figures, share: shares.append(share), lambda: False)
        assert run.wheel.round == before
    train(run, Limits(), lambda figures, share: shares.append(share), lambda: len(shares) > before + 1)
    assert run.wheel.round in (before + 1, before + 2)
    assert run.saved_round == run.wheel.round
    run.wheel.close()


def test_a_limit_that_is_none_is_refused() -> None:
    for minutes in (-1.0, math.nan):
        with pytest.raises(ConfigError, match="--minutes is"):
            Limits(minutes=minutes)


@pytest.mark.parametrize("what", ["checkpoints", "replay"])
def test_a_damaged_newest_checkpoint_is_passed_over_and_set_aside(
    started: Path, straight: Path, what: str
) -> None:
    file = started / what / f"{ROUNDS:08d}.safetensors"
    file.write_bytes(file.read_bytes()[:100])
    run, refused = resume(started)
    assert run.wheel.round == 4
    assert len(refused) == 1
    assert f"{ROUNDS:08d}.safetensors is damaged" in refused[0]
    turn(run, 1)
    run.save()  # at round 5: round 6 is of a future that did not come
    run.wheel.close()
    names = sorted(path.name for path in (started / "checkpoints").iterdir())
    assert names == ["00000004.safetensors", "00000005.safetensors", "00000006.safetensors.superseded"]
    assert not file.exists()
    finish(started)
    assert_same_run(straight, started)


def test_nothing_to_go_on_from_is_one_message(started: Path) -> None:
    for file in (started / "checkpoints").iterdir():
        file.write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"no intact checkpoint .*00000006.*00000004.*begin a new run"):
        resume(started)
    shutil.rmtree(started / "checkpoints")
    with pytest.raises(CheckpointError, match="it holds none"):
        resume(started)


def test_damage_to_the_metrics_does_no_harm(started: Path, straight: Path) -> None:
    path = started / "metrics.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines) + b'\xff\x00\n[1]\n{"round": "x"}\n{"round": 9}\n{"round": 7, "st')
    finish(started)
    assert path.read_bytes().splitlines(keepends=True) == lines
    assert_same_run(straight, started)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("network.channels=16", r"`network\.channels` was 8 when this run was trained and is 16 now"),
        ("game.name=connect_four", r"`game\.name` was 'tic_tac_toe' .* is 'connect_four' now"),
        ("selfplay.games=4", r"`selfplay\.games` was 8"),
        ("selfplay.groups=1", r"`selfplay\.groups` was 2"),
        ("seed=3", r"`seed` was 0"),
        ("learning.optimizer=sgd", r"`learning\.optimizer` was 'adamw'"),
        ("learning.ema_decay=0", "does not fit this network and optimiser"),
    ],
)
def test_what_a_run_depends_on_can_not_change(started: Path, override: str, message: str) -> None:
    files = {path: path.read_bytes() for path in started.rglob("*") if path.is_file()}
    with pytest.raises(ZelkovaError, match=message):
        resume(started, override)
    assert {path: path.read_bytes() for path in started.rglob("*") if path.is_file()} == files


def test_a_config_edited_by_hand_is_refused_in_the_same_words(started: Path) -> None:
    path = started / "config.toml"
    path.write_text(path.read_text().replace("channels = 8", "channels = 4", 1))
    with pytest.raises(ConfigError, match=r"`network\.channels` was 8 .* is 4 now.*config\.toml"):
        resume(started)


def test_what_may_change_is_kept(started: Path) -> None:
    run, _ = resume(started, "learning.learning_rate=0.001", "search.num_simulations=6")
    turn(run, 1).wheel.close()
    again = load_config(str(started / "config.toml"))
    assert (again.learning.learning_rate, again.search.num_simulations) == (0.001, 6)


def test_a_new_run_does_not_begin_in_what_is_left_of_another(started: Path) -> None:
    (started / "config.toml").unlink()
    with pytest.raises(CheckpointError, match="checkpoints is left from another run"):
        begin(started)


def test_a_checkpoint_of_another_making_is_refused(started: Path) -> None:
    store = Run(tiny("checkpoint.keep=5"), started).checkpoints
    whole = newest(started)
    store.save(dataclasses.replace(whole, number=7, description={"game": "x"}))
    store.save(dataclasses.replace(whole, number=8, extra={}))
    store.save(dataclasses.replace(whole, number=9, generators={}))
    run, refused = resume(started)
    run.wheel.close()
    assert (run.wheel.round, len(refused)) == (6, 3)
    assert all("is incomplete: it lacks" in message for message in refused)


@contextmanager
def little_space() -> Iterator[None]:
    """Let no file grow beyond 16 KB."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16384, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_public_checkpoint_3_a_full_disk_ends_the_run_and_harms_nothing(
    started: Path, straight: Path
) -> None:
    run, _ = resume(started)
    kept = {path: path.read_bytes() for path in (started / "checkpoints").iterdir()}
    with (
        little_space(),
        pytest.raises(CheckpointError, match=r"no space to write .*; free some space and resume"),
    ):
        turn(run, 2)
    run.wheel.close()
    assert {path: path.read_bytes() for path in (started / "checkpoints").iterdir()} == kept
    assert not list(started.glob("*/.*.tmp"))
    with little_space():
        (started / "metrics.jsonl").write_bytes(b" " * 16384)
        with pytest.raises(CheckpointError, match=r"metrics\.jsonl can't be written: File too large"):
            run.log.append({"round": 1})
    shutil.copy(straight / "metrics.jsonl", started)
    finish(started)
    assert_same_run(straight, started)


def test_learning_that_diverges_is_said_and_not_saved(tmp_path: Path) -> None:
    sets = ("learning.learning_rate=1e30", "learning.grad_clip=0", "learning.warmup_steps=0")
    run = begin(tmp_path / "run", *sets)
    with pytest.raises(ZelkovaError, match=r"learning diverged: after step \d+ .*it is 1e\+30"):
        turn(run, 12)
    run.wheel.close()
    assert all(math.isfinite(value) for line in metrics(run.folder) for value in line.values())
    for name, tensor in newest(run.folder).learner.tensors.items():
        assert tensor.isfinite().all() or name.startswith("optimizer"), name


def test_a_stop_at_once_leaves_within_a_move(
    started: Path, straight: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = resume(started)
    monkeypatch.setattr(run.wheel.selfplay, "play_round", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        run.turn()
    assert run.wheel.is_abandoned
    assert all(group.is_abandoned for group in run.wheel.selfplay.groups)
    assert all(group.play(1000) == [] for group in run.wheel.selfplay.groups)
    run.wheel.close()
    finish(started)
    assert_same_run(straight, started)


GAME = (Path(games.__file__).parent / "tic_tac_toe" / "rules.py").read_text()


def test_a_users_file_trains_and_goes_on_from_another_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(GAME)
    run = begin(tmp_path / "run", rounds=2, source="mine.py")
    run.wheel.close()
    assert run.wheel.title == "mine"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again, _ = resume(tmp_path / "run")
    turn(again, 1).wheel.close()
    agent = load_agent(tmp_path / "run", num_simulations=4)
    assert agent.act(agent.game.initial_states(np.zeros(1, np.uint64))).visit_counts.sum() == 4
    moved = tmp_path / "elsewhere" / "mine.py"
    (tmp_path / "mine.py").rename(moved)
    with pytest.raises(GameError, match=r"no such game file: .*mine\.py"):
        resume(tmp_path / "run")
    again, _ = resume(tmp_path / "run", f"game.name={moved}")
    again.wheel.close()
    moved.write_text(GAME.replace("OBSERVATION_SHAPE = (", "OBSERVATION_SHAPE = (1 + "))
    with pytest.raises(CheckpointError, match="does not fit this network"):
        resume(tmp_path / "run")


ALONE = """
import numpy as np

STATE = np.dtype([("total", np.int8), ("to_play", np.int8)], align=True)
NUM_PLAYERS, NUM_ACTIONS, OBSERVATION_SHAPE = 1, 2, (1, 1, 6)
RETURN_RANGE, VIEW = (0.0, 1.0), "mover"


def init(state, seed):
    state["total"] = 0
    state["to_play"] = 0


def legal_actions(state, out):
    if state["total"] >= 5:
        return 0
    out[0] = 0
    out[1] = 1
    return 2


def step(state, action):
    state["total"] += action + 1


def is_terminal(state):
    return state["total"] >= 5


def returns(state, out):
    out[0] = 1.0 if state["total"] == 5 else 0.0


def observe(state, planes):
    planes[0, 0, min(state["total"], 5)] = 1.0
"""


def test_a_game_for_one_trains_and_is_rated_by_playing_apart(tmp_path: Path) -> None:
    (tmp_path / "alone.py").write_text(ALONE)
    run = begin(tmp_path / "run", "rating.every_rounds=1", source=str(tmp_path / "alone.py"))
    train(run, Limits(steps=2), lambda figures, share: None, lambda: False)
    run.wheel.close()
    assert run.saved_round == run.wheel.round > 0
    rated = [line for line in metrics(run.folder) if "eval/return" in line]
    assert rated
    assert all(0.0 <= line["eval/return"] <= 1.0 and "eval/elo" in line for line in rated)


def test_the_last_weights_are_saved_before_they_are_rated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begin(tmp_path / "run", "rating.every_rounds=1000", "checkpoint.every_rounds=1000")

    def rate() -> dict[str, float]:
        assert run.saved_round == run.wheel.round == 1
        return {"eval/elo": 1.0}

    monkeypatch.setattr(run, "rate", rate)
    seen: list[dict[str, float]] = []
    train(run, Limits(minutes=1e-9), lambda figures, share: seen.append(figures), lambda: False)
    assert ["eval/elo" in figures for figures in seen] == [False, True]
    assert not run.rate_last()  # once is enough
    run.wheel.close()


def traced_bytes() -> int:
    """Give what is held, but for what libraries keep for each graph made of a network (20 kB a round)."""
    gc.collect()
    libraries = ("*/torch/fx/*", "*/linecache.py", "*/numpy/ctypeslib/*")
    kept = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(False, name) for name in libraries])
    return sum(trace.size for trace in kept.traces)


def test_public_learning_3_memory_stays_flat(tmp_path: Path) -> None:
    run = begin(tmp_path / "run", *KEEP, rounds=12)
    tracemalloc.start()
    turn(run, 8)  # so much, that all that is replaced in turn was allocated while it was traced
    before = traced_bytes()
    for _ in range(12):
        turn(run, 1)
        assert len(run.wheel.buffer) <= 60
        assert len(list((run.folder / "replay").iterdir())) <= 5
        assert len(list((run.folder / "checkpoints").iterdir())) == 2
    grown = traced_bytes() - before
    tracemalloc.stop()
    assert grown < 20_000  # a round's games are 10 kB and more
    run.wheel.close()


def test_one_batch_is_overfitted(straight: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, _ = resume(straight)
    wheel = run.wheel
    rows = wheel.buffer.sample(16, np.random.default_rng(0))
    monkeypatch.setattr(wheel.buffer, "sample", lambda size, rng: rows)
    figures = [wheel.learn_once() for _ in range(400)]
    excess = [figure["policy_loss"] - figure["policy_target_entropy"] for figure in figures]
    assert np.mean(excess[-5:]) < 0.25 * np.mean(excess[:5])
    assert figures[-1]["value_loss"] < 0.5 * figures[0]["value_loss"]
    wheel.close()


@pytest.mark.slow
def test_tic_tac_toe_is_learned_in_seconds(tmp_path: Path) -> None:
    sets = (
        "selfplay.games=64", "search.num_simulations=16", "learning.batch_size=64", "replay.capacity=20000",
        "learning.samples_per_position=4", "rating.every_rounds=20", 'rating.opponents=["random"]',
        "checkpoint.every_rounds=20", "network.channels=16",
    )  # fmt: skip
    run = begin(tmp_path / "run", *sets, rounds=40)
    run.wheel.close()
    lines = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    learned = [line for line in lines if "learn/value_loss" in line]
    for name in ("learn/value_loss", "learn/policy_loss"):
        first, last = (np.mean([line[name] for line in part]) for part in (learned[:5], learned[-5:]))
        assert last < 0.97 * first, name
    assert lines[-1]["eval/score_random"] > 0.93


def test_the_settings_of_these_tests_are_known() -> None:
    assert tiny().search.num_simulations == 4
    assert len(TINY) == len({text.partition("=")[0] for text in TINY})


def test_another_ratio_of_samples_is_not_made_up_for(started: Path) -> None:
    """The past pays at the old ratio, its last round too; what comes at ten times that pays for itself."""
    run, _ = resume(started)
    before, positions, owed = run.wheel.learner.steps, run.wheel.buffer.total_added, run.wheel.steps_due
    run.wheel.close()
    ratio = tiny().learning.samples_per_position
    again, _ = resume(started, f"learning.samples_per_position={10 * ratio}")
    assert again.wheel.steps_due == owed
    turn(again, 2)
    batch, added = again.config.learning.batch_size, again.wheel.buffer.total_added - positions
    assert 0 < again.wheel.learner.steps - before <= owed + added * 10 * ratio / batch
    again.save()
    pace = again.wheel.pace
    again.wheel.close()
    third, _ = resume(started, f"learning.samples_per_position={10 * ratio}")
    assert third.wheel.pace == pace
    third.wheel.close()


def test_a_run_of_an_older_version_keeps_the_pace_of_its_settings(started: Path) -> None:
    saved = newest(started)
    learning = tiny().learning
    extra = {name: told for name, told in saved.extra.items() if name != "pace"}
    older = dataclasses.replace(saved, extra=extra)
    assert read_pace(older) == Pace(learning.samples_per_position, learning.batch_size)
    once = {"ratio": 0.1, "positions": 7, "steps": 2}  # as it was kept for a while
    older = dataclasses.replace(saved, extra={**extra, "pace": once})
    assert read_pace(older) == Pace(learning.samples_per_position, learning.batch_size, 7, 2)
