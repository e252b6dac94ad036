"""Environments that misbehave, and runs over learned models that are stopped the hard way."""

import os
import resource
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from tests.envs.toys import Toy
from tests.training import metrics, newest

from zelkova.agents.learned.load import load_learned
from zelkova.cli.main import main
from zelkova.config import load_config
from zelkova.envs.config import EnvConfig
from zelkova.envs.make import make_batch
from zelkova.errors import CheckpointError, EnvError
from zelkova.evaluation.episodes import play_episodes
from zelkova.train import Run

TINY = (
    "size=tiny", "selfplay.moves_per_round=10", "checkpoint.every_rounds=1", "search.num_simulations=2",
    "learning.batch_size=8", "learning.warmup_steps=0",
)  # fmt: skip
ROUNDS = 4
MADE: list["Spoilt"] = []


class Spoilt(Toy):
    """Gives something wrong from the 25th step that its class has taken on, until it is mended."""

    habit, steps = "", 0

    def __init__(self, **_: Any) -> None:
        super().__init__(7, observation_space=spaces.Box(-1.0, 1e3, (2,), np.float32))
        MADE.append(self)
        if self.habit == "window":
            raise RuntimeError("no available video device")
        if self.habit == "exit at once":
            sys.exit(3)
        if self.habit == "goes elsewhere":
            os.chdir("/")

    def see(self) -> Any:
        return np.array([self.count, 1.0], np.float32)

    def step(self, action: Any) -> Any:
        observation, reward, *rest = super().step(action)
        Spoilt.steps += 1
        if self.habit == "prints":
            print("a word from the environment")
        if Spoilt.steps > 25:
            if self.habit == "exit":
                sys.exit(5)
            if self.habit == "raise":
                raise RuntimeError("the motor\nis stuck")
            if self.habit == "nan":
                observation = observation * np.nan
            if self.habit == "shape":
                observation = np.zeros(3, np.float32)
            reward = {"reward nan": np.nan, "reward inf": np.inf, "reward large": 1e300}.get(
                self.habit, reward
            )
        return observation, reward, *rest


@pytest.fixture(autouse=True)
def spoilt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    MADE.clear()
    Spoilt.steps, Spoilt.habit = 0, ""
    gymnasium.register("Spoilt-v0", Spoilt, disable_env_checker=True)
    yield
    gymnasium.registry.pop("Spoilt-v0")


def begin(folder: Path, source: str = "Spoilt-v0", *overrides: str, rounds: int = 0) -> Run:
    folder.mkdir(parents=True, exist_ok=True)
    run = Run(load_config(source, [*TINY, *overrides]), folder)
    run.begin()
    for _ in range(rounds):
        run.turn()
    return run


def finish(folder: Path) -> None:
    """Go on to the last round as a new process would."""
    run = Run(load_config(str(folder / "config.toml")), folder)
    run.resume()
    while run.wheel.round < ROUNDS:
        run.turn()
    run.wheel.close()


def assert_same_run(one: Path, other: Path) -> None:
    a, b = newest(one), newest(other)
    assert (a.number, a.learner.steps, a.replay_total) == (b.number, b.learner.steps, b.replay_total)
    assert a.learner.steps > 0
    for name, tensor in a.learner.tensors.items():
        assert torch.equal(tensor, b.learner.tensors[name]), name
    assert a.arrays.keys() == b.arrays.keys()
    for name, array in a.arrays.items():
        assert array.tobytes() == b.arrays[name].tobytes(), name
    assert metrics(one) == metrics(other)


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a run of CartPole that was never stopped."""
    folder = tmp_path_factory.mktemp("straight")
    begin(folder, "gumbel-muzero-cartpole", rounds=ROUNDS).wheel.close()
    return folder


def leave(capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in arguments])
    said = capfd.readouterr()
    assert "Traceback" not in said.err
    return int(left.value.code or 0), said.out, said.err


SETS = [word for text in TINY for word in ("--set", text)]


@pytest.mark.parametrize(
    ("habit", "message"),
    [
        ("nan", r"it gives the observation [nan, nan]; allowed: finite numbers"),
        ("reward nan", "it gives the reward nan; allowed: finite numbers"),
        ("reward inf", "it gives the reward inf"),
        ("reward large", "it gives the reward 1e+300; allowed: finite numbers of 32 bits"),
        ("shape", "an observation of shape (3,); its space says (2,)"),
        ("raise", "it raises RuntimeError: the motor is stuck"),
        ("exit", "it raises SystemExit: 5"),
    ],
)
def test_what_goes_wrong_within_a_run_ends_it_in_one_line_and_it_goes_on_where_that_is_mended(
    habit: str, message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Spoilt.habit = habit
    code, out, err = leave(capfd, "train", "Spoilt-v0", *SETS, "--steps", "1000", "--out", "run")
    assert (code, out) == (2, "")
    last = err.splitlines()[-1]
    assert last.startswith("error: Spoilt-v0, environment ")
    assert message in last
    assert newest(tmp_path / "run").number == 1  # 20 steps are a round, and the 26th went wrong
    Spoilt.habit = ""
    finish(tmp_path / "run")
    begin(tmp_path / "straight", rounds=ROUNDS).wheel.close()
    assert_same_run(tmp_path / "straight", tmp_path / "run")


@pytest.mark.parametrize(
    ("habit", "message"),
    [
        ("window", "Spoilt-v0 can't be made with {}: RuntimeError: no available video device"),
        ("exit at once", "Spoilt-v0 can't be made with {}: SystemExit: 3"),
    ],
)
def test_what_can_t_be_made_is_one_message(
    habit: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Spoilt.habit = habit
    code, out, err = leave(capfd, "train", "Spoilt-v0", *SETS, "--out", "run")
    assert (code, out) == (2, "")
    assert message in err.splitlines()[-1]


def test_what_an_environment_prints_is_no_result(capfd: pytest.CaptureFixture[str]) -> None:
    Spoilt.habit = "prints"
    code, out, err = leave(capfd, "train", "Spoilt-v0", *SETS, "--steps", "3", "--out", "run")
    assert code == 0
    assert out.startswith("run: round ")
    assert len(out.splitlines()) == 1
    assert "a word from the environment" in err
    for arguments in (("arena", "run", "--games", "2"), ("report", "run")):
        code, out, _ = leave(capfd, *arguments)
        assert code == 0
        assert "a word" not in out
    code, out, err = leave(capfd, "play", "run")
    assert (code, out) == (2, "")
    assert "acts in Spoilt-v0" in err
    Spoilt.habit, Spoilt.steps = "nan", 100
    code, _, err = leave(capfd, "arena", "run", "--games", "2")
    assert code == 2
    assert "allowed: finite numbers" in err.splitlines()[-1]


def test_an_environment_may_change_the_working_folder(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Spoilt.habit = "goes elsewhere"
    code, _, _ = leave(capfd, "train", "Spoilt-v0", *SETS, "--steps", "3", "--out", "run", "--json", "a.json")
    assert code == 0
    assert Path.cwd() == Path("/")
    assert {"config.toml", "checkpoints", "metrics.jsonl", "games"} <= {
        path.name for path in (tmp_path / "run").iterdir()
    }
    assert not [*tmp_path.glob(".a.json*")]
    assert (tmp_path / "a.json").stat().st_size > 0


@pytest.mark.parametrize("mode", ["human", "ansi", "none", "3", "[]", ""])
def test_no_window_is_opened(capfd: pytest.CaptureFixture[str], mode: str) -> None:
    code, _, err = leave(capfd, "train", "Spoilt-v0", "--set", f"env.render_mode={mode}", "--out", "run")
    assert code == 2
    (line,) = err.splitlines()
    assert f"env.render_mode is `{mode}`" in line
    assert "allowed: rgb_array; next: leave it out" in line
    assert not Path("run").exists()


def test_a_run_of_an_environment_that_is_gone_is_one_message(capfd: pytest.CaptureFixture[str]) -> None:
    begin(Path("run"), rounds=1).wheel.close()
    spec = gymnasium.registry.pop("Spoilt-v0")
    for arguments in (("train", "--resume", "run"), ("arena", "run", "--games", "2")):
        code, _, err = leave(capfd, *arguments)
        assert code == 2
        assert "unknown environment `Spoilt-v0`" in err.splitlines()[-1]
    assert leave(capfd, "report", "run")[0] == 0
    gymnasium.registry["Spoilt-v0"] = spec


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("nowhere_at_all:Mine-v0", "there is no module `nowhere_at_all`; next: stand in the folder"),
        ("CartPole-v99", "CartPole"),
        ("LunarLander-v2", "v3"),
    ],
)
def test_a_name_that_leads_nowhere(given: str, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = leave(capfd, "train", given, "--out", "run")
    assert (code, out) == (2, "")
    assert message in err.splitlines()[-1]


def test_pub_install_2_a_missing_extra_at_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ale_py", None)
    code, out, err = leave(capfd, "train", "ALE/Pong-v5", "--steps", "10", "--out", "run")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].endswith("pip install 'zelkova[atari]'")


def test_masks_of_the_infos_hold() -> None:
    name = max(name for name in gymnasium.registry if name.startswith("Taxi-v"))
    envs = make_batch(EnvConfig(id=name), 2)
    now = envs.reset([0, 1])
    assert envs.spec.num_actions == 6
    rng = np.random.default_rng(0)
    for _ in range(20):
        truth = np.stack([env.unwrapped.action_mask(env.unwrapped.s) for env in envs.envs])  # type: ignore[attr-defined]
        np.testing.assert_array_equal(now.legal, truth.astype(np.bool_))
        now = envs.step(np.array([rng.choice(np.flatnonzero(row)) for row in now.legal], np.int32))
    assert not now.legal.all()
    envs.close()


def test_an_empty_mask_in_the_infos_is_refused() -> None:
    class Stuck(Toy):
        def step(self, action: Any) -> Any:
            return *super().step(action)[:4], {"action_mask": np.zeros(2, np.int8)}

    gymnasium.register("Stuck-v0", lambda **_: Stuck())
    envs = make_batch(EnvConfig(id="Stuck-v0"), 1)
    envs.reset([0])
    with pytest.raises(EnvError, match="step 1: its mask `action_mask` allows 0 of 2 actions"):
        envs.step(np.array([0], np.int32))
    gymnasium.registry.pop("Stuck-v0")


@pytest.mark.parametrize(
    ("space", "numbers", "taken"),
    [
        (spaces.Discrete(3, start=-1), 3, {-1, 0, 1}),
        (spaces.MultiDiscrete([3, 2]), 6, {(a, b) for a in range(3) for b in range(2)}),
    ],
)
def test_pub_env_1_only_indices_are_seen_inside(
    space: Any, numbers: int, taken: set[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Train 50 steps, save, reload, evaluate: the environment sees its own actions, all else indices."""
    made: list[Toy] = []

    def make(**_: Any) -> Toy:
        made.append(Toy(7, action_space=space))
        return made[-1]

    gymnasium.register("Numbered-v0", make, disable_env_checker=True)
    run = begin(tmp_path / "run", "Numbered-v0")
    network, seen = run.wheel.learner.network, set()
    advance = network.advance

    def watched(latent: Any, action: Any) -> Any:
        seen.update(action.tolist())
        return advance(latent, action)

    monkeypatch.setattr(network, "advance", watched)
    while run.wheel.learner.steps < 50:
        run.turn()
    run.save()
    buffer = run.wheel.buffer
    held = buffer.take("actions", np.arange(len(buffer)))
    run.wheel.close()
    assert set(held.tolist()) == seen == set(range(numbers))
    assert buffer.take("policy", np.arange(1)).shape[1] == numbers
    trained = {tuple(action) if np.ndim(action) else int(action) for env in made for action in env.taken}
    assert trained == taken
    made.clear()
    parts = load_learned(tmp_path / "run", device="cpu")
    envs = make_batch(EnvConfig(id="Numbered-v0"), 2, is_training=False)
    result = play_episodes(envs, parts.agent.act, 4)
    assert result.lengths.tolist() == [7] * 4
    assert all(space.contains(action) for env in made for action in env.taken)
    gymnasium.registry.pop("Numbered-v0")


def test_a_kill_before_any_write_or_removal_goes_on_exactly(
    straight: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every second state that a kill can leave on disk: before each rename and removal."""
    live, copies = tmp_path / "live", tmp_path / "copies"
    copies.mkdir()

    def watched(name: str) -> None:
        original = getattr(Path, name)

        def operate(path: Path, *arguments: object, **words: object) -> object:
            if live in path.parents and (live / "config.toml").exists():
                shutil.copytree(live, copies / str(len(list(copies.iterdir()))))
            return original(path, *arguments, **words)

        monkeypatch.setattr(Path, name, operate)

    watched("replace")
    watched("unlink")
    begin(live, "gumbel-muzero-cartpole", rounds=ROUNDS - 1).wheel.close()
    monkeypatch.undo()
    states = sorted(copies.iterdir(), key=lambda path: int(path.name))
    assert len(states) >= 8
    for state in states[::3]:
        finish(state)
        assert_same_run(straight, state)


def test_a_stop_at_once_loses_the_round_alone(
    straight: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C twice within a round."""
    run = begin(tmp_path / "run", "gumbel-muzero-cartpole", rounds=2)
    run.wheel.close()
    from zelkova.selfplay.acting import Actors

    def play_round(actors: Actors) -> Any:
        actors._tick()
        for _ in range(2):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Actors, "play_round", play_round)
    code, _, err = leave(capfd, "train", "--resume", tmp_path / "run")
    monkeypatch.undo()
    assert code == 130
    assert "go on from round 2" in err
    finish(tmp_path / "run")
    assert_same_run(straight, tmp_path / "run")


@contextmanager
def little_space() -> Iterator[None]:
    """Let no file grow beyond 8 KB."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_ends_the_run_and_harms_nothing(straight: Path, tmp_path: Path) -> None:
    run = begin(tmp_path / "run", "gumbel-muzero-cartpole", rounds=2)
    kept = {path: path.read_bytes() for path in (run.folder / "checkpoints").iterdir()}
    with little_space(), pytest.raises(CheckpointError, match=r"no space to write .*; free some space"):
        run.turn()
    run.wheel.close()
    assert {path: path.read_bytes() for path in (run.folder / "checkpoints").iterdir()} == kept
    assert not list(run.folder.glob("*/.*.tmp"))
    finish(run.folder)
    assert_same_run(straight, run.folder)
