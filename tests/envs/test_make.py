"""Environments by name: what is missing or mistyped is said in one line."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from zelkova import games
from zelkova.envs.batch import GymBatch
from zelkova.envs.config import EnvConfig
from zelkova.envs.game_env import GameBatch
from zelkova.envs.make import make_batch
from zelkova.errors import ConfigError, EnvError, MissingExtraError

IMAGE = EnvConfig(id="MiniGrid-Empty-5x5-v0", observation="image", layout="hwc")
ATARI = EnvConfig(id="ALE/Pong-v5", atari=True, layout="chw", frame_stack=4)


def act(envs: Any, steps: int = 3) -> Any:
    """Reset, act and close."""
    envs.reset(range(envs.size))
    for _ in range(steps):
        shape = (envs.size, envs.spec.action_dim) if envs.spec.action_dim else (envs.size,)
        found = envs.step(np.zeros(shape, np.float32 if envs.spec.action_dim else np.int32))
    envs.close()
    return found


def test_cartpole_is_made() -> None:
    envs = make_batch(EnvConfig(id="CartPole-v1"), 2)
    assert envs.spec.observation_shape == (4,)
    assert act(envs).rewards.tolist() == [[1], [1]]


def test_a_time_limit_and_arguments_are_handed_on() -> None:
    found = act(make_batch(EnvConfig(id="Pendulum-v1", max_episode_steps=3, make={"g": 0.0}), 1))
    assert found.truncated.tolist() == [True]
    assert found.terminated.tolist() == [False]


def test_frames_are_stacked() -> None:
    envs = make_batch(EnvConfig(id="CartPole-v1", frame_stack=3), 1)
    assert envs.spec.observation_shape == (12,)
    act(envs)


@pytest.mark.parametrize(
    ("given", "nearest"),
    [("cartpol-v1", "CartPole-v1"), ("Acrobat-v1", "Acrobot-v1")],
)
def test_an_unknown_name_gets_the_nearest(given: str, nearest: str) -> None:
    with pytest.raises(ConfigError, match=f"unknown environment `{given}`; .*`{nearest}`") as caught:
        make_batch(EnvConfig(id=given), 1)
    assert len(str(caught.value)) < 400


def test_an_unknown_name_of_a_plug_in_gets_the_nearest() -> None:
    pytest.importorskip("minigrid")
    with pytest.raises(ConfigError, match="`MiniGrid-Empty-5x5-v0`"):
        make_batch(EnvConfig(id="MiniGrid-Emty-5x5-v0"), 1)


@pytest.mark.parametrize(
    ("source", "name", "error", "message"),
    [
        (None, "no_such_module.envs", ConfigError, "no module `no_such_module`; .*PYTHONPATH"),
        ("", "registers_nothing", ConfigError, "`registers_nothing` .* registers no `Own-v0`; .*register"),
        ("import no_such_thing", "misses_one", EnvError, "`misses_one` failed: .*no_such_thing.*mend"),
        ("1 / 0", "breaks", EnvError, "importing `breaks` failed: ZeroDivisionError"),
    ],
)
def test_a_module_of_ones_own_is_told_what_it_lacks(
    source: str | None,
    name: str,
    error: type[Exception],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if source is not None:
        (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(error, match=message):
        make_batch(EnvConfig(id=f"{name}:Own-v0"), 1)


def test_a_wrong_argument_is_named() -> None:
    with pytest.raises(EnvError, match="CartPole-v1 can't be made with .*gravitas"):
        make_batch(EnvConfig(id="CartPole-v1", make={"gravitas": 1}), 1)


def test_environments_are_closed_where_no_agent_can_act(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Any] = []

    def close(env: Any) -> None:
        closed.append(env)

    monkeypatch.setattr(gymnasium.Wrapper, "close", close)
    with pytest.raises(ConfigError, match=r"env.layout = flat"):
        make_batch(EnvConfig(id="CartPole-v1", layout="hwc"), 2)
    assert len(closed) == 2


@pytest.mark.parametrize(
    ("config", "module", "extra"),
    [
        (EnvConfig(id="ALE/Pong-v5"), "ale_py", "atari"),  # public case pub-install-2
        (EnvConfig(id="PongNoFrameskip-v4", atari=True), "ale_py", "atari"),
        (IMAGE, "minigrid", "minigrid"),
        (EnvConfig(id="BabyAI-GoToObj-v0"), "minigrid", "minigrid"),
        (EnvConfig(id="LunarLander-v3"), "Box2D", "box2d"),
    ],
)
def test_a_missing_extra_is_named_with_its_command(
    config: EnvConfig, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    for name in [name for name in sys.modules if name.startswith("gymnasium.envs.box2d")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingExtraError) as caught:
        make_batch(config, 1)
    assert str(caught.value).endswith(f"pip install 'zelkova[{extra}]'")
    assert "\n" not in str(caught.value)


def test_what_preprocesses_atari_games_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ale_py")
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'zelkova\[atari\]'"):
        make_batch(ATARI, 1)


def test_minigrid_is_seen_as_an_image_or_refused_by_name() -> None:
    pytest.importorskip("minigrid")
    envs = make_batch(IMAGE, 2)
    assert envs.spec[1:] == ((3, 7, 7), np.uint8, 7, 0, 1)
    assert act(envs).observations.dtype == np.uint8
    with pytest.raises(ConfigError, match=r"env.observation"):
        make_batch(EnvConfig(id=IMAGE.id), 1)


@pytest.mark.parametrize("options", [{}, {"continuous": True}])
def test_box2d_runs_without_a_display(options: dict[str, Any]) -> None:
    pytest.importorskip("Box2D")
    envs = make_batch(EnvConfig(id="LunarLander-v3", make=options), 1)
    assert (envs.spec.num_actions, envs.spec.action_dim) == ((0, 2) if options else (4, 0))
    act(envs)


@pytest.mark.parametrize("name", ["ALE/Pong-v5", "PongNoFrameskip-v4"])
def test_atari_registers_itself_and_runs_without_a_display(name: str) -> None:
    pytest.importorskip("ale_py")
    envs = make_batch(EnvConfig(id=name, layout="hwc"), 1)
    assert envs.spec.observation_shape == (3, 210, 160)
    act(envs)


def test_preprocessed_atari_games_are_small_and_stacked() -> None:
    pytest.importorskip("ale_py")
    pytest.importorskip("cv2")
    envs = make_batch(ATARI, 1)
    assert envs.spec.observation_shape == (4, 96, 96)
    assert act(envs).observations.dtype == np.uint8


@pytest.mark.parametrize("family", ["CartPole-v1", "MiniGrid-Empty-5x5-v0"])
def test_replay_leads_a_real_environment_to_the_same_state(family: str) -> None:
    if family.startswith("MiniGrid"):
        pytest.importorskip("minigrid")
    config = EnvConfig(id=family) if family == "CartPole-v1" else IMAGE
    envs, again = make_batch(config, 2), make_batch(config, 2)
    envs.reset([7, 8])
    for action in (0, 1, 1):
        found = envs.step(np.array([action, 1 - action]))
    now = again.replay([7, 8], [[0, 1, 1], [1, 0, 0]])
    np.testing.assert_array_equal(found.observations, now.observations)
    envs.close()
    again.close()


def test_a_game_is_made_where_no_environment_is_named() -> None:
    envs = make_batch(EnvConfig(), 2, game=games.load("tic_tac_toe"))
    assert isinstance(envs, GameBatch)
    assert isinstance(make_batch(EnvConfig(id="CartPole-v1"), 1, game=envs.game), GymBatch)
    with pytest.raises(ConfigError, match="env.id is empty and there is no game"):
        make_batch(EnvConfig(), 2)
    with pytest.raises(
        ConfigError, match="env.layout, env.frame_stack can't be set for the game tic_tac_toe"
    ):
        make_batch(EnvConfig(layout="chw", frame_stack=2), 2, game=envs.game)


def test_a_board_game_needs_no_plug_in() -> None:  # public case pub-install-2
    code = (
        "import sys; from zelkova import games; from zelkova.envs.config import EnvConfig;"
        "from zelkova.envs.make import make_batch;"
        "make_batch(EnvConfig(), 1, game=games.load('tic_tac_toe')).reset([0]);"
        "assert not {'ale_py', 'pygame', 'minigrid', 'Box2D', 'cv2'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
