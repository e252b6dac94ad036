"""What agents pick and see, and what environments take and give."""

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from tests.envs.toys import Toy, batch

from zelkova.envs.config import EnvConfig
from zelkova.envs.spaces import ObservationMap, action_map
from zelkova.errors import ConfigError, EnvError


def test_the_first_action_may_have_any_number() -> None:  # public case pub-env-1
    env = Toy(length=9, action_space=spaces.Discrete(3, start=-1))
    envs = batch(env)
    assert envs.spec.num_actions == 3
    envs.reset([0])
    for index in range(3):
        envs.step(np.array([index]))
    assert env.taken == [-1, 0, 1]


def test_joint_choices_are_numbered_the_last_dimension_fastest() -> None:  # public case pub-env-1
    env = Toy(length=9, action_space=spaces.MultiDiscrete([3, 2]))
    envs = batch(env)
    assert envs.spec.num_actions == 6
    envs.reset([0])
    for index in range(6):
        envs.step(np.array([index]))
    assert [action.tolist() for action in env.taken] == [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]]


@pytest.mark.parametrize(
    "space",
    [
        spaces.MultiDiscrete([3, 2], start=[5, -1]),
        spaces.MultiDiscrete(np.array([[2, 3], [1, 2]])),
        spaces.MultiBinary(3),
        spaces.MultiBinary((2, 2)),
    ],
)
def test_every_joint_choice_is_reached_once(space: Any) -> None:
    find = action_map(space, EnvConfig(), "toy")
    taken = [find(index) for index in range(find.num_actions)]
    assert all(space.contains(action) for action in taken)
    assert len({action.tobytes() for action in taken}) == find.num_actions


@pytest.mark.parametrize("action", [-1, 2])
def test_an_index_that_stands_for_no_action_is_refused(action: int) -> None:
    envs = batch(Toy())
    envs.reset([0])
    with pytest.raises(EnvError, match=r"toy, environment 0.*given the action -?\d; allowed: 0 to 1"):
        envs.step(np.array([action]))


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        (spaces.Box(0, 10, (1,), np.int64), [0, 5, 10]),
        (spaces.Box(2.0, 2.0, (1,), np.float32), [2, 2, 2]),
        (spaces.Box(-4.0, 2.0, (1,), np.float32), [-4, -1, 2]),
    ],
)
def test_the_interval_is_stretched_to_the_limits(space: Any, expected: list[float]) -> None:
    stretch = action_map(space, EnvConfig(), "toy")  # public case pub-env-3
    taken = [stretch(np.array([value], np.float32)) for value in (-1, 0, 1)]
    assert [float(action[0]) for action in taken] == expected
    assert all(space.contains(action) for action in taken)


@pytest.mark.parametrize("low", [-np.inf, 0.0])
def test_actions_without_limits_are_refused_until_they_have_some(low: float) -> None:  # public case pub-env-3
    space = spaces.Box(low, np.inf, (1,), np.float32)
    with pytest.raises(
        ConfigError, match=r"toy has the actions Box\(.*inf.*env.action_low and env.action_high"
    ):
        action_map(space, EnvConfig(), "toy")
    stretch = action_map(space, EnvConfig(action_low=-3.0, action_high=5.0), "toy")
    rng = np.random.default_rng(0)
    taken = np.array([stretch(rng.normal(size=1) * 9) for _ in range(100)])
    assert np.isfinite(taken).all()
    assert taken.min() == max(low, -3.0)
    assert taken.max() == 5.0


@pytest.mark.parametrize("vector", [[np.nan], [0.0, 0.0]])
def test_a_vector_that_is_no_action_is_refused(vector: list[float]) -> None:
    envs = batch(Toy(action_space=spaces.Box(-1.0, 1.0, (1,), np.float32)))
    envs.reset([0])
    with pytest.raises(EnvError, match="allowed: 1 numbers"):
        envs.step(np.array([vector]))


@pytest.mark.parametrize(
    "space", [spaces.Text(3), spaces.Tuple([spaces.Discrete(2)]), spaces.MultiDiscrete([1000, 1000])]
)
def test_spaces_that_no_agent_acts_in_are_refused_by_name(space: Any) -> None:
    with pytest.raises(ConfigError, match=type(space).__name__):
        action_map(space, EnvConfig(), "toy")


@pytest.mark.parametrize(("layout", "shape"), [("hwc", (5, 4, 3)), ("chw", (3, 5, 4))])
def test_images_become_planes(layout: Any, shape: tuple[int, ...]) -> None:
    space = spaces.Box(0, 255, shape, np.uint8)
    see = ObservationMap(space, EnvConfig(layout=layout), 2, "toy")
    assert see.shape == (3, 5, 4)
    assert see.dtype == np.uint8
    planes = np.arange(60, dtype=np.uint8).reshape(3, 5, 4)
    image = np.moveaxis(planes, 0, -1) if layout == "hwc" else planes
    np.testing.assert_array_equal(see(image)[0], planes)


@pytest.mark.parametrize("layout", ["hwc", "chw"])
@pytest.mark.parametrize("is_grey", [True, False])
def test_stacked_images_become_planes_the_oldest_first(layout: Any, is_grey: bool) -> None:
    planes = np.arange(120, dtype=np.uint8).reshape(2, 3, 5, 4)
    stack = planes[:, 0] if is_grey else np.moveaxis(planes, 1, -1) if layout == "hwc" else planes
    see = ObservationMap(
        spaces.Box(0, 255, stack.shape, np.uint8), EnvConfig(layout=layout, frame_stack=2), 2, "toy"
    )
    seen = see(stack)[0]
    assert seen.shape == see.shape == ((2, 5, 4) if is_grey else (6, 5, 4))
    np.testing.assert_array_equal(seen, planes[:, 0] if is_grey else planes.reshape(6, 5, 4))


def test_flat_observations_are_one_hot_where_they_are_numbers() -> None:
    see = ObservationMap(spaces.Discrete(4), EnvConfig(), 2, "toy")
    np.testing.assert_array_equal(see(2)[0], [0, 0, 1, 0])


DICTIONARY = spaces.Dict(
    {
        "board": spaces.Box(-1.0, 1.0, (2, 2), np.float32),
        "phase": spaces.Discrete(2),
        "action_mask": spaces.MultiBinary(3),
    }
)
SEEN = {"board": np.ones((2, 2), np.float32), "phase": 1, "action_mask": np.array([0, 1, 1], np.int8)}


def test_a_dictionary_is_flattened_without_its_mask() -> None:
    see = ObservationMap(DICTIONARY, EnvConfig(), 3, "toy")
    array, legal = see(SEEN)
    assert array.tolist() == [1, 1, 1, 1, 0, 1]
    assert legal.tolist() == [False, True, True]


def test_one_key_of_a_dictionary_is_seen() -> None:
    see = ObservationMap(DICTIONARY, EnvConfig(observation="board", layout="chw"), 3, "toy")
    array, legal = see(SEEN)
    assert array.shape == (1, 2, 2)
    assert legal.tolist() == [False, True, True]


def test_a_stacked_mask_is_the_newest() -> None:
    stacked = spaces.Dict(
        {"a": spaces.Box(0.0, 1.0, (2, 1), np.float32), "action_mask": spaces.MultiBinary((2, 2))}
    )
    see = ObservationMap(stacked, EnvConfig(frame_stack=2), 2, "toy")
    assert see({"a": np.zeros((2, 1)), "action_mask": np.array([[1, 0], [0, 1]])})[1].tolist() == [
        False,
        True,
    ]


def test_an_unknown_key_and_an_image_that_is_none_are_refused() -> None:
    with pytest.raises(ConfigError, match="no observation `bord`; known: board, phase"):
        ObservationMap(DICTIONARY, EnvConfig(observation="bord"), 3, "toy")
    with pytest.raises(ConfigError, match=r"next: env.layout = flat"):
        ObservationMap(spaces.Box(0.0, 1.0, (4,)), EnvConfig(layout="hwc"), 3, "toy")
    with pytest.raises(ConfigError, match=r"env.observation"):
        ObservationMap(spaces.Sequence(spaces.Discrete(2)), EnvConfig(), 3, "toy")


@pytest.mark.parametrize(
    "settings", [{"layout": "whc"}, {"frame_stack": 0}, {"action_low": 1.0, "action_high": 1.0}]
)
def test_bad_settings_are_refused_by_name(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"env.{next(iter(settings))}"):
        EnvConfig(**settings)
