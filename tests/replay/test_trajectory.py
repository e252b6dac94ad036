import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.replay.made_trajectories import ACTIONS, fill, make_trajectory, pick, random_trajectory

from zelkova.errors import ShapeError
from zelkova.replay.config import ReplayConfig, UnrollConfig
from zelkova.replay.packing import pack_trajectories, unpack_trajectories
from zelkova.replay.trajectories import SMALLEST, Picks, TrajectoryBuffer
from zelkova.replay.trajectory import Trajectory
from zelkova.replay.unroll import UnrollBatch, make_unroll

FIELDS = tuple(Trajectory.__dataclass_fields__)


def assert_same(one: Trajectory, two: Trajectory) -> None:
    for name in FIELDS:
        a, b = getattr(one, name), getattr(two, name)
        assert getattr(a, "dtype", None) == getattr(b, "dtype", None), name
        np.testing.assert_array_equal(a, b, err_msg=name)


def assert_same_batch(one: UnrollBatch, two: UnrollBatch) -> None:
    for name in UnrollBatch._fields:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)


@pytest.mark.parametrize(
    ("field", "array"),
    [
        ("observations", np.zeros((3, 2), np.float32)),
        ("observations", np.zeros((2, 2), np.float32)),
        ("rewards", np.zeros((2, 1), np.float32)),
        ("rewards", np.zeros(3, np.float32)),
        ("rewards", np.zeros((3, 1), np.float64)),
        ("legal", np.ones((3, 2), np.bool_)),
        ("legal", np.ones((3, ACTIONS), np.int8)),
        ("policy", np.ones((2, ACTIONS), np.float32)),
        ("root_values", np.zeros((3, 1), np.float32)),
        ("root_values", np.zeros((4, 2), np.float32)),
        ("to_play", np.zeros(3, np.int8)),
        ("to_play", np.zeros(4, np.int64)),
        ("candidates", np.zeros((3, ACTIONS, 1), np.float32)),
    ],
)
def test_arrays_that_do_not_fit_are_refused(field: str, array: NDArray[Any]) -> None:
    with pytest.raises(ShapeError, match="trajectory 7"):
        make_trajectory([1, 2, 3], [0, 0, 0, 0], True, **{"seed": 7, field: array})


def test_an_empty_trajectory_is_refused() -> None:
    with pytest.raises(ShapeError, match="1 action or more"):
        make_trajectory([], [0.0], True)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("field", "shape"), [("rewards", 3), ("root_values", 4), ("observations", 4)])
def test_numbers_that_are_not_finite_are_refused_at_every_place(
    field: str, shape: int, number: float
) -> None:
    for place in range(shape):
        array = np.zeros((shape, 1), np.float32)
        array[place] = number
        with pytest.raises(ShapeError, match=f"decision {place}"):
            make_trajectory([1, 2, 3], [0] * 4, True, **{field: array})


@pytest.mark.parametrize("field", ["actions", "candidates"])
def test_vector_actions_that_are_not_finite_are_refused(field: str) -> None:
    given = random_trajectory(3, dims=2)
    array = getattr(given, field).copy()
    array[4, ..., 1] = np.nan
    with pytest.raises(ShapeError, match="trajectory 3, decision 4 of 6"):
        Trajectory(**{name: getattr(given, name) for name in FIELDS} | {field: array})


@pytest.mark.parametrize("policy", [[0.5, 0.4, 0.0], [1.2, -0.2, 0.0], [0.5, 0.0, 0.5], [np.nan, 0.5, 0.5]])
def test_policies_that_are_none_are_refused(policy: list[float]) -> None:
    legal = np.array([[True, True, False]] * 2)
    rows = np.array([[0.25, 0.75, 0.0], policy], np.float32)
    with pytest.raises(ShapeError, match="decision 1"):
        make_trajectory([1, 2], [0] * 3, True, policy=rows, legal=legal)


def test_candidates_go_with_vector_actions() -> None:
    assert len(random_trajectory(0, dims=2)) == random_trajectory(0, dims=2).num_recorded == 6
    with pytest.raises(ShapeError, match="candidates"):
        make_trajectory(
            [1, 2], [0] * 3, True,
            actions=np.zeros((2, 2), np.float32), candidates=np.zeros((2, ACTIONS, 1), np.float32),
        )  # fmt: skip


@pytest.mark.parametrize("dims", [0, 2])
def test_packed_trajectories_come_back_as_they_were(dims: int) -> None:
    parts = [random_trajectory(s, moves=1 + s, terminated=s % 2 == 0, dims=dims) for s in range(5)]
    back = unpack_trajectories(pack_trajectories(parts))
    assert len(back) == 5
    for one, two in zip(parts, back, strict=True):
        assert_same(one, two)


def test_images_stay_bytes_when_packed() -> None:
    images = np.arange(3 * 2 * 2, dtype=np.uint8).reshape(3, 1, 2, 2)
    part = make_trajectory([1, 2], [0] * 3, True, observations=images)
    (back,) = unpack_trajectories(pack_trajectories([part]))
    assert_same(part, back)


def test_trajectories_unlike_each_other_are_not_packed() -> None:
    wide = make_trajectory([1], [0, 0], True, observations=np.zeros((2, 5), np.float32))
    with pytest.raises(ShapeError, match="can't be joined"):
        pack_trajectories([random_trajectory(0), wide])
    with pytest.raises(ShapeError, match="can't be joined"):
        pack_trajectories([])


def test_packs_that_do_not_add_up_are_refused() -> None:
    packed = pack_trajectories([random_trajectory(0), random_trajectory(1)])
    older = unpack_trajectories({key: array for key, array in packed.items() if key != "recorded"})
    assert [part.recorded for part in older] == [6, 6]
    for name in packed.keys() - {"recorded"}:
        with pytest.raises(ShapeError):
            unpack_trajectories({key: array for key, array in packed.items() if key != name})
        with pytest.raises(ShapeError):
            unpack_trajectories({**packed, name: packed[name][:-1]})
    with pytest.raises(ShapeError):
        unpack_trajectories({**packed, "length": np.array([12, 0])})


def settled(buffer: TrajectoryBuffer, priorities: list[float]) -> None:
    """Give the decisions of one trajectory these priorities."""
    errors = np.array(priorities, np.float32) - np.float32(SMALLEST)
    buffer.update_priorities(pick(buffer, *range(len(priorities))), errors)


@pytest.mark.parametrize(
    ("alpha", "beta", "chances", "weights"),
    [
        (1.0, 1.0, [0.5, 0.25, 0.125, 0.125], [0.25, 0.5, 1.0, 1.0]),
        (0.6, 0.4, [0.395209, 0.260741, 0.172025, 0.172025], [0.716978, 0.846745, 1.0, 1.0]),
    ],
)
def test_n9_and_n10_draws_follow_priorities_and_weights_make_up(
    alpha: float, beta: float, chances: list[float], weights: list[float]
) -> None:
    buffer = fill(random_trajectory(0, moves=4), priority_alpha=alpha, priority_beta=beta)
    settled(buffer, [2.0, 1.0, 0.5, 0.5])
    picks = buffer.sample(200_000, np.random.default_rng(0))
    share = np.bincount(picks.rows, minlength=4) / len(picks.rows)
    np.testing.assert_allclose(share, chances, atol=0.005)
    for row in range(4):
        np.testing.assert_allclose(picks.weights[picks.rows == row], weights[row], atol=2e-6)


def test_without_priorities_draws_are_uniform_and_weigh_alike() -> None:
    buffer = fill(*[random_trajectory(s, moves=2 + s) for s in range(4)])
    settled(buffer, [100.0])
    picks = buffer.sample(100_000, np.random.default_rng(0))
    finals = [2, 6, 11, 17]
    share = np.bincount(picks.rows, minlength=18) / len(picks.rows)
    assert share[finals].tolist() == [0.0] * 4
    np.testing.assert_allclose(np.delete(share, finals), 1 / 14, atol=0.005)
    assert (picks.weights == 1.0).all()
    assert set(picks.last.tolist()) == set(finals)


def test_what_is_new_gets_the_largest_priority_so_far() -> None:
    buffer = fill(random_trajectory(0, moves=3), priority_alpha=1.0)
    settled(buffer, [8.0, 1.0, 1.0])
    settled(buffer, [2.0])
    buffer.add(random_trajectory(1, moves=2))
    np.testing.assert_allclose(buffer.priority_state(), [2, 1, 1, 0, 8, 8, 0, 8], atol=1e-6)


def test_an_error_of_zero_is_still_drawn() -> None:
    buffer = fill(random_trajectory(0, moves=2), priority_alpha=1.0)
    buffer.update_priorities(pick(buffer, 0, 1), np.zeros(2, np.float32))
    picks = buffer.sample(1000, np.random.default_rng(0))
    assert set(picks.rows.tolist()) == {0, 1}
    assert np.isfinite(picks.weights).all()


def test_an_empty_buffer_has_nothing_to_draw() -> None:
    buffer = TrajectoryBuffer(ReplayConfig())
    assert buffer.nbytes == 0
    with pytest.raises(ShapeError, match="empty replay"):
        buffer.sample(1, np.random.default_rng(0))


@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_the_same_seed_gives_the_same_batch(alpha: float) -> None:
    config = UnrollConfig(value_prefix=True)

    def draw(seed: int) -> UnrollBatch:
        buffer, rng = (
            fill(*map(random_trajectory, range(9)), priority_alpha=alpha),
            np.random.default_rng(seed),
        )
        return make_unroll(buffer, buffer.sample(32, rng), config, rng, needs_next=True)

    assert_same_batch(draw(3), draw(3))
    assert (draw(3).observations != draw(4).observations).any()


def turn(buffer: TrajectoryBuffer, rng: np.random.Generator) -> UnrollBatch:
    """One step of a run: draw, make, and take over new errors."""
    picks = buffer.sample(16, rng)
    buffer.update_priorities(picks, rng.random(16).astype(np.float32) * 3)
    config = UnrollConfig(td_steps=5, correction=True, correction_span=100)
    return make_unroll(buffer, picks, config, rng, needs_next=True)


def cut(whole: Trajectory, start: int, stop: int, recorded: int) -> Trajectory:
    """Take a part of an episode, with decisions behind the recorded ones."""
    fields = {name: getattr(whole, name) for name in FIELDS}
    for name in ("actions", "rewards", "legal", "policy"):
        fields[name] = fields[name][start:stop]
    for name in ("observations", "root_values", "to_play"):
        fields[name] = fields[name][start : stop + 1]
    is_end = stop == len(whole)
    return Trajectory(**fields | {"recorded": recorded, "terminated": whole.terminated and is_end})


def test_parts_that_overlap_train_on_the_targets_of_the_whole() -> None:
    """K = 2 and n = 3, so a part reads 5 decisions behind those it is drawn at."""
    whole = random_trajectory(1, moves=17)
    config = UnrollConfig(unroll_steps=2, td_steps=3, absorbing="mask")
    one = fill(whole)
    parts = fill(cut(whole, 0, 11, 6), cut(whole, 6, 17, 11))
    assert (len(parts), parts.total_added) == (17, 17)
    drawn = np.unique(parts.sample(2000, np.random.default_rng(0)).rows)
    assert drawn.tolist() == [*range(6), *range(12, 23)]
    assert parts.take("number", drawn).tolist() == list(range(17))
    batches = [
        make_unroll(buffer, pick(buffer, *rows), config, np.random.default_rng(0), needs_next=True)
        for buffer, rows in ((one, range(17)), (parts, drawn.tolist()))
    ]
    assert_same_batch(*batches)


def test_parts_that_overlap_leave_by_what_they_record() -> None:
    whole = random_trajectory(1, moves=17)
    buffer = fill(cut(whole, 0, 11, 6), cut(whole, 6, 17, 11), capacity=16, min_window=16)
    assert (len(buffer), buffer.first, buffer.total_added) == (11, 6, 17)
    last = cut(whole, 0, 11, 6)
    buffer = fill(last, random_trajectory(2), last, capacity=12, min_window=12)
    assert len(buffer) == 12
    assert buffer.sample(500, np.random.default_rng(0)).rows.max() == 7 + 5
    for recorded in (0, 18):
        with pytest.raises(ShapeError, match="allowed: 1 to all"):
            make_trajectory([1] * 17, [0] * 18, True, recorded=recorded)
    (back,) = unpack_trajectories(pack_trajectories([last]))
    assert_same(back, last)


@pytest.mark.parametrize("dims", [0, 2])
@pytest.mark.parametrize("capacity", [60, 100_000])
def test_a_buffer_filled_again_goes_on_with_the_very_same_batches(dims: int, capacity: int) -> None:
    settings = {"capacity": capacity, "min_window": 40, "priority_alpha": 0.6, "priority_beta": 0.4}
    going, rng, added = TrajectoryBuffer(ReplayConfig(**settings)), np.random.default_rng(1), []  # type: ignore[arg-type]
    for seed in range(60):
        added.append(random_trajectory(seed, moves=1 + seed % 11, terminated=seed % 3 > 0, dims=dims))
        going.add(added[-1])
        turn(going, rng)
    total, kept = 0, []
    for part in added:
        if total >= going.first:
            kept.append(part)
        total += len(part)
    resumed = TrajectoryBuffer(ReplayConfig(**settings))  # type: ignore[arg-type]
    resumed.start_at(going.first)
    for part in unpack_trajectories(pack_trajectories(kept)):
        resumed.add(part)
    resumed.load_priorities(going.priority_state())
    assert (len(resumed), resumed.first, resumed.total_added) == (len(going), going.first, going.total_added)
    np.testing.assert_array_equal(resumed.priority_state(), going.priority_state())
    again = np.random.default_rng()
    again.bit_generator.state = rng.bit_generator.state
    for seed in range(60, 75):
        new = random_trajectory(seed, dims=dims)
        going.add(new)
        resumed.add(new)
        assert_same_batch(turn(going, rng), turn(resumed, again))


def test_priorities_of_another_replay_are_refused() -> None:
    buffer = fill(random_trajectory(0))
    with pytest.raises(ShapeError, match="priorities"):
        buffer.load_priorities(np.ones(3))


def test_whole_trajectories_leave_and_the_rest_stays_in_order() -> None:
    parts = [random_trajectory(seed, moves=4) for seed in range(10)]
    buffer = fill(*parts, capacity=14, min_window=14)
    assert (len(buffer), buffer.first, buffer.total_added) == (12, 28, 40)
    rows = np.arange(15)
    wanted = np.concatenate([part.observations for part in parts[7:]])
    np.testing.assert_array_equal(buffer.take("observations", rows), wanted)
    assert buffer.take("to_go", rows).tolist() == [4, 3, 2, 1, 0] * 3
    assert buffer.take("number", rows).tolist() == [*range(28, 33), *range(32, 37), *range(36, 41)]
    picks = buffer.sample(500, np.random.default_rng(0))
    assert set(picks.rows.tolist()) == set(range(15)) - {4, 9, 14}


def test_memory_is_bounded_however_much_comes() -> None:
    buffer, sizes = TrajectoryBuffer(ReplayConfig(capacity=1000, min_window=1000)), []
    for seed in range(2000):
        buffer.add(make_trajectory([1.0] * 10, [0.0] * 11, True, seed=seed))
        assert len(buffer) <= 1000
        sizes.append(buffer.nbytes)
    assert buffer.total_added == 20_000
    assert sizes[-1] == sizes[500]
    assert all(len(array) <= 2048 for array in buffer.columns.values())


def test_the_ring_grows_in_order_and_over_its_seam() -> None:
    parts = [random_trajectory(seed, moves=30) for seed in range(120)]
    buffer = fill(*parts, capacity=2500, min_window=900, window_scale=0.4)
    count = len(buffer) // 30
    assert 1024 < count * 31 <= 2048
    wanted = np.concatenate([part.observations for part in parts[-count:]])
    np.testing.assert_array_equal(buffer.take("observations", np.arange(count * 31)), wanted)


def test_an_episode_longer_than_the_window_stands_alone_and_leaves_next() -> None:
    buffer = fill(random_trajectory(0), capacity=8, min_window=8)
    buffer.add(random_trajectory(1, moves=20))
    assert len(buffer) == 20
    buffer.add(random_trajectory(2, moves=3))
    assert len(buffer) == 3


def test_another_environment_s_trajectory_is_refused_and_nothing_changes() -> None:
    buffer = fill(random_trajectory(0))
    others = [
        random_trajectory(1, dims=2),
        make_trajectory([1], [0, 0], True, observations=np.zeros((2, 5), np.float32)),
        make_trajectory([1], [0, 0], True, observations=np.zeros((2, 2), np.uint8)),
    ]
    for other in others:
        with pytest.raises(ShapeError, match="one environment"):
            buffer.add(other)
    assert (len(buffer), buffer.total_added) == (6, 6)


def test_a_trajectory_without_candidates_among_those_with_is_refused() -> None:
    given = random_trajectory(0, dims=2)
    fields = {name: getattr(given, name) for name in FIELDS} | {"candidates": None}
    buffer = fill(given)
    with pytest.raises(ShapeError, match="one environment"):
        buffer.add(Trajectory(**fields))
    with pytest.raises(ShapeError):
        pack_trajectories([Trajectory(**fields), given])
    with pytest.raises(ShapeError):
        pack_trajectories([given, Trajectory(**fields)])


def test_picks_name_the_final_observation_of_their_own_trajectory() -> None:
    buffer = fill(*[random_trajectory(s, moves=1 + s) for s in range(6)])
    picks: Picks = buffer.sample(200, np.random.default_rng(0))
    assert (buffer.take("to_go", picks.last) == 0).all()
    assert (buffer.take("to_go", picks.rows) == picks.last - picks.rows).all()


def test_pub_learning_3_memory_stays_flat_once_the_replay_is_full() -> None:
    """20,000 positions of 9x9 planes into a replay of 1,000; nothing waits beside it: a round hands over."""
    buffer = TrajectoryBuffer(ReplayConfig(capacity=1000, min_window=1000, priority_alpha=0.6))
    rng, shape, moves = np.random.default_rng(0), (3, 9, 9), 50
    held: dict[int, tuple[int, int]] = {}
    tracemalloc.start()
    try:
        for number in range(400):
            seen = rng.integers(0, 2, (moves + 1, *shape), dtype=np.uint8)
            buffer.add(
                make_trajectory([0.0] * moves, [0.0] * (moves + 1), True, seed=number, observations=seen)
            )
            buffer.update_priorities(buffer.sample(32, rng), np.ones(32, np.float32))
            assert len(buffer) <= 1000
            if buffer.total_added in (5000, 20_000):
                held[buffer.total_added] = tracemalloc.get_traced_memory()[0], buffer.nbytes
    finally:
        tracemalloc.stop()
    assert held[20_000][0] <= 1.1 * held[5000][0]
    assert held[20_000][1] == held[5000][1]
