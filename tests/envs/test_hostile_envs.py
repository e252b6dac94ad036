"""Environments that break their promises in unusual ways: one error that names them, and nothing escapes."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from tests.envs.toys import Toy, batch

from zelkova.envs.config import EnvConfig
from zelkova.envs.make import make_batch, refuse_inside
from zelkova.envs.spaces import action_map
from zelkova.errors import ConfigError, EnvError


class Leaves(BaseException):
    """What no `except Exception` catches."""


class SpeechlessError(Exception):
    """Fails when it is asked for its words."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Habits(Toy):
    """Does in its step, or at another time, what it was given."""

    def __init__(
        self, raises: BaseException | None = None, when: str = "step", answer: Any = None, **spaces: Any
    ) -> None:
        super().__init__(**spaces)
        self.raises, self.when, self.answer = raises, when, answer
        self.do("init")

    def do(self, when: str) -> None:
        if when == self.when and self.raises is not None:
            raise self.raises

    def step(self, action: Any) -> Any:
        self.do("step")
        return self.answer or super().step(action)

    def close(self) -> None:
        print("closed")
        self.do("close")


def stepped(env: Any, **settings: Any) -> None:
    envs = batch(env, **settings)
    envs.reset([0])
    envs.step(np.zeros(1, np.int32))


@pytest.mark.parametrize("error", [Leaves("away"), GeneratorExit(), SystemExit(0), SpeechlessError()])
def test_whatever_an_environment_raises_names_it(error: BaseException) -> None:
    with pytest.raises(EnvError, match=f"toy, environment 0, step 1: it raises {type(error).__name__}"):
        stepped(Habits(error))


def test_an_interrupt_stays_one() -> None:
    with pytest.raises(KeyboardInterrupt):
        stepped(Habits(KeyboardInterrupt()))


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), Leaves()])
def test_what_is_raised_or_printed_at_closing_does_no_harm(
    error: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    batch(Habits(error, "close"), Habits()).close()
    seen = capsys.readouterr()
    assert (seen.out, seen.err) == ("", "closed\nclosed\n")


def test_a_constructor_that_raises_or_prints(capsys: pytest.CaptureFixture[str]) -> None:
    def make(raises: bool = False, **_: Any) -> Any:
        print("made")
        return Habits(Leaves("away") if raises else None, "init")

    gymnasium.register("HostileMaker-v0", make)
    try:
        make_batch(EnvConfig(id="HostileMaker-v0"), 1).close()
        with pytest.raises(EnvError, match="can't be made with .*Leaves: away"):
            make_batch(EnvConfig(id="HostileMaker-v0", make={"raises": True}), 1)
    finally:
        del gymnasium.registry["HostileMaker-v0"]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        ((np.zeros(1), "1.5", False, False, {}), "gives the reward '1.5'"),
        ((np.zeros(1), 1.0, "False", False, {}), "gives terminated = 'False'"),
        ((np.zeros(1), 1.0, False, np.array([True, False]), {}), "gives truncated = array"),
        ((np.zeros(1), 1.0, float("nan"), False, {}), "gives terminated = nan"),
        ((np.zeros(1, complex), 1.0, False, False, {}), "an observation of complex128"),
        ((np.array(["1"]), 1.0, False, False, {}), "an observation of <U1"),
        (
            (np.zeros(1), 1.0, False, False, {"action_mask": [0.5, np.nan]}),
            "its mask `action_mask` is float64",
        ),
        ((np.zeros(1), 1.0, False, False, {"action_mask": [-np.inf, 0.0]}), "allowed: 1 for legal"),
        ((np.zeros(1), 1.0, False, False, {"action_mask": ["a", ""]}), "its mask `action_mask` is <U1"),
        ((np.zeros(1), 1.0, False, False, {"action_mask": None}), "its mask `action_mask` is object"),
    ],
)
def test_an_answer_that_is_none_is_refused(answer: Any, what: str) -> None:
    with pytest.raises(EnvError, match=what):
        stepped(Habits(answer=answer))


@pytest.mark.parametrize("pixel", [np.nan, 300, -1, 0.5])
def test_pixels_that_are_no_bytes_are_refused(pixel: float) -> None:
    space = spaces.Box(0, 255, (1, 2, 2), np.uint8)
    env = Habits(answer=(np.full((1, 2, 2), pixel), 1.0, False, False, {}), observation_space=space)
    env.see = lambda: np.full((1, 2, 2), 7.0)  # type: ignore[method-assign]
    with pytest.raises(EnvError, match="whole numbers 0 to 255"):
        stepped(env, layout="chw")


@pytest.mark.parametrize("is_nested", [False, True])
def test_a_choice_below_the_first_is_not_counted_from_the_last(is_nested: bool) -> None:
    choice = spaces.Discrete(4)
    env = Habits(observation_space=spaces.Dict({"a": spaces.Tuple((choice,))}) if is_nested else choice)
    env.see = lambda: {"a": (-1,)} if is_nested else -1  # type: ignore[method-assign]
    with pytest.raises(EnvError, match="which is not of"):
        batch(env).reset([0])


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"action_space": spaces.Discrete(2**62)}, "allowed: up to 1000000"),
        ({"observation_space": spaces.Box(0, 1, (0,))}, "nothing to see"),
        ({"observation_space": spaces.Discrete(2**44)}, "of memory"),
    ],
)
def test_spaces_of_nothing_or_of_too_much_are_refused(settings: dict[str, Any], what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        batch(Toy(**settings))


def test_limits_as_far_apart_as_numbers_go() -> None:
    limit = np.finfo(np.float64).max
    act = action_map(spaces.Box(-limit, limit, (3,), np.float64), EnvConfig(id="toy"), "toy")
    assert np.array_equal(act([-1.0, 0.0, 1.0]), [-limit, 0.0, limit])


def test_a_date_is_no_setting_of_an_environment() -> None:
    from zelkova.config import load_config

    with pytest.raises(ConfigError, match=r"env.day is 1979-05-27; allowed: numbers"):
        load_config("gumbel-muzero-cartpole", ["env.day=1979-05-27"])


def test_a_module_in_a_run_around_the_checkpoint_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    (tmp_path / "run" / "config.toml").touch()
    (tmp_path / "run" / "evil_module.py").write_text("raise SystemExit")
    monkeypatch.syspath_prepend(str(tmp_path / "run"))
    with pytest.raises(ConfigError, match="would be imported from the run's own folder"):
        refuse_inside("evil_module:X-v0", tmp_path / "run" / "inner")
