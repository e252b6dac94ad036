from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.replay.made_trajectories import column, fill, make_trajectory, pick, random_trajectory

from zelkova.errors import ConfigError
from zelkova.replay.config import UnrollConfig
from zelkova.replay.trajectories import TrajectoryBuffer
from zelkova.replay.unroll import (
    Fresh,
    UnrollBatch,
    bootstrap_rows,
    cycle_of,
    draw_changes,
    horizons,
    make_unroll,
    prefixes,
    turn_to_mover,
)

REWARDS, VALUES = [1.0, 0.0, 2.0, 0.0, 3.0], [5.0, 4.0, 3.0, 2.0, 1.0]


def known(terminated: bool, last: float = 2.5) -> TrajectoryBuffer:
    return fill(make_trajectory(REWARDS, [*VALUES, 0.0 if terminated else last], terminated))


def unroll(buffer: TrajectoryBuffer, *rows: int, **settings: Any) -> UnrollBatch:
    config = UnrollConfig(**{"unroll_steps": 5, "td_steps": 2, "discount": 0.9, **settings})
    return make_unroll(buffer, pick(buffer, *rows), config, np.random.default_rng(0), needs_next=True)


def along(batch: UnrollBatch) -> list[float]:
    found: list[float] = batch.values[0, :, 0].tolist()
    return found


def test_n1_terminated_targets() -> None:
    assert along(unroll(known(True), 0)) == pytest.approx([3.43, 3.42, 2.81, 2.7, 3.0, 0.0], abs=1e-6)


def test_n2_truncated_targets_begin_with_the_final_value() -> None:
    got = along(unroll(known(False), 0))
    assert got == pytest.approx([3.43, 3.42, 2.81, 4.725, 5.25, 2.5], abs=1e-6)


@pytest.mark.parametrize("steps", [10, 0])
def test_n3_a_horizon_beyond_the_end(steps: int) -> None:
    got = along(unroll(known(True), 0, td_steps=steps))
    assert got == pytest.approx([4.5883, 3.987, 4.43, 2.7, 3.0, 0.0], abs=1e-6)


@pytest.mark.parametrize("terminated", [True, False])
@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5, 6, 0])
def test_every_start_and_horizon_by_the_formula(terminated: bool, steps: int) -> None:
    buffer, total = known(terminated), len(REWARDS)
    values = [*VALUES, 0.0 if terminated else 2.5]
    for start in range(total):
        n = steps or 100
        reach = min(n, total - start)
        wanted = sum(0.9**i * REWARDS[start + i] for i in range(reach))
        if start + reach < total or not terminated:
            wanted += 0.9**reach * values[start + reach]
        assert along(unroll(buffer, start, td_steps=steps))[0] == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("start", range(5))
def test_a_horizon_that_reaches_exactly_the_end(start: int) -> None:
    steps = 5 - start
    rest = sum(0.9**i * reward for i, reward in enumerate(REWARDS[start:]))
    assert along(unroll(known(True), start, td_steps=steps))[0] == pytest.approx(rest)
    cut = along(unroll(known(False), start, td_steps=steps))[0]
    assert cut == pytest.approx(rest + 0.9**steps * 2.5)


def test_an_ending_never_bootstraps_whatever_is_stored_there() -> None:
    buffer = fill(make_trajectory(REWARDS, [*VALUES, 99.0], True))
    assert along(unroll(buffer, 0)) == pytest.approx([3.43, 3.42, 2.81, 2.7, 3.0, 0.0], abs=1e-6)


def test_bootstrap_rows_at_both_kinds_of_end() -> None:
    config = UnrollConfig(unroll_steps=6, td_steps=2)
    ended, cut = known(True), known(False)
    assert bootstrap_rows(ended, pick(ended, 0), config).tolist() == [[2, 3, 4, -1, -1, -1, -1]]
    assert bootstrap_rows(cut, pick(cut, 0), config).tolist() == [[2, 3, 4, 5, 5, 5, -1]]


def test_n4_unroll_past_a_terminal_state() -> None:
    batch = unroll(known(True), 3, unroll_steps=3)
    assert batch.rewards[0, :, 0].tolist() == [0, 3, 0]
    assert along(batch) == pytest.approx([2.7, 3, 0, 0])
    assert batch.policy_mask.tolist() == [[True, True, False, False]]
    assert batch.value_mask.all()
    assert batch.reward_mask.all()


def test_the_absorbing_state_can_be_masked() -> None:
    batch = unroll(known(True), 3, unroll_steps=3, absorbing="mask")
    assert batch.value_mask.tolist() == [[True, True, False, False]]
    assert batch.reward_mask.tolist() == [[True, True, False]]
    assert batch.policy_mask.tolist() == [[True, True, False, False]]


@pytest.mark.parametrize("absorbing", ["train", "mask"])
def test_n5_and_n6_unroll_past_a_cut(absorbing: str) -> None:
    batch = unroll(known(False), 3, unroll_steps=3, absorbing=absorbing)
    assert batch.value_mask.tolist() == [[True, True, True, False]]
    assert batch.policy_mask.tolist() == [[True, True, False, False]]
    assert batch.reward_mask.tolist() == [[True, True, False]]
    assert along(batch)[:3] == pytest.approx([4.725, 5.25, 2.5])


@pytest.mark.parametrize("terminated", [True, False])
def test_next_observations_end_with_the_final_one(terminated: bool) -> None:
    batch = unroll(known(terminated), 3, unroll_steps=4)
    assert batch.next_observations[0, :, 0].tolist() == [4, 5, 5, 5]
    assert batch.next_mask.tolist() == [[True, True, False, False]]
    assert batch.observations.tolist() == [[3, 30]]


def test_nothing_of_the_neighbouring_trajectory_is_seen() -> None:
    alone, first = known(False), make_trajectory(REWARDS, [*VALUES, 2.5], False)
    other = make_trajectory([7.0] * 4, [8.0] * 5, True, policy=np.full((4, 3), 1 / 3, np.float32))
    both = fill(first, other)
    for start in range(5):
        one, two = unroll(alone, start), unroll(both, start)
        for name in UnrollBatch._fields:
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)


def test_actions_beyond_an_end_are_drawn_and_those_before_are_the_taken_ones() -> None:
    batch = unroll(fill(*[random_trajectory(s) for s in range(40)]), *(7 * k + 4 for k in range(40)))
    assert batch.actions.dtype == np.int32
    for row in range(40):
        wanted = random_trajectory(row).actions[4:]
        np.testing.assert_array_equal(batch.actions[row, :2], wanted)
    assert set(batch.actions[:, 2:].ravel().tolist()) == {0, 1, 2}


def test_continuous_actions_beyond_an_end_stay_in_range() -> None:
    batch = unroll(fill(*[random_trajectory(s, dims=2) for s in range(40)]), *(7 * k + 4 for k in range(40)))
    assert batch.actions.dtype == np.float32
    assert batch.actions.shape == (40, 5, 2)
    np.testing.assert_array_equal(batch.actions[3, :2], random_trajectory(3, dims=2).actions[4:])
    beyond = batch.actions[:, 2:]
    assert np.abs(beyond).max() <= 1
    assert beyond.min() < -0.8
    assert beyond.max() > 0.8
    assert batch.candidates.shape == (40, 6, 4, 2)
    np.testing.assert_array_equal(batch.candidates[3, :2], random_trajectory(3, dims=2).candidates[4:])  # type: ignore[index]


def test_n7_prefixes_start_anew_every_five_steps() -> None:
    rewards = np.array([1, 0, 2, 0, 3, 4], np.float32)[None, :, None]
    assert prefixes(rewards, 5).ravel().tolist() == [1, 1, 3, 3, 6, 4]
    assert prefixes(rewards, 1).ravel().tolist() == [1, 0, 2, 0, 3, 4]


def test_a_prefix_is_not_discounted_and_begins_at_the_drawn_decision() -> None:
    buffer = fill(make_trajectory([1, 0, 2, 0, 3, 4, 1], [0.0] * 8, True))
    settings = {"value_prefix": True, "unroll_steps": 6, "discount": 0.5}
    assert unroll(buffer, 0, **settings).rewards[0, :, 0].tolist() == [1, 1, 3, 3, 6, 4]
    assert unroll(buffer, 2, **settings).rewards[0, :, 0].tolist() == [2, 2, 5, 9, 10, 0]


def test_n14_a_decision_of_four_frames_is_discounted_four_times() -> None:
    buffer = fill(make_trajectory([0.0, 0.0], [0.0, 1.0, 0.0], True))
    got = along(unroll(buffer, 0, td_steps=1, discount=0.997**4))[0]
    assert got == pytest.approx(0.988054, abs=1e-6)


def test_n15_old_data_gets_shorter_horizons() -> None:
    buffer = fill(make_trajectory([1.0] * 9, [0.0] * 10, True))
    config = UnrollConfig(td_steps=5, correction=True, correction_span=100_000)
    found = []
    for age in (0, 29999, 30000, 65000, 100_000, 160_000):
        buffer.total_added = age
        found.append(int(horizons(buffer, pick(buffer, 0), config)[0, 0]))
    assert found == [5, 5, 4, 3, 2, 1]
    assert along(make_unroll(buffer, pick(buffer, 0), config, np.random.default_rng(0)))[0] == 1.0


def test_segments_need_a_horizon_that_ends_within_the_next_part() -> None:
    with pytest.raises(ConfigError, match="segment = 200 cuts episodes"):
        UnrollConfig(td_steps=0, segment=200)


def test_correction_needs_a_horizon() -> None:
    with pytest.raises(ConfigError, match="td_steps"):
        UnrollConfig(td_steps=0, correction=True)


@pytest.mark.parametrize(("discount", "wanted"), [(1.0, [1, -1, 1]), (0.9, [0.81, -0.9, 1.0])])
def test_pub_learning_1_each_player_sees_the_winner_s_reward(discount: float, wanted: list[float]) -> None:
    rewards = np.array([[0, 0], [0, 0], [1, -1]], np.float32)
    to_play = np.array([0, 1, 0, 1], np.int8)
    game = make_trajectory(
        [0] * 3, [0] * 4, True, rewards=rewards, root_values=np.zeros((4, 2), np.float32), to_play=to_play
    )
    batch = unroll(fill(game), 0, unroll_steps=4, td_steps=10, discount=discount)
    got = [float(batch.values[0, ply, to_play[ply]]) for ply in range(3)]
    assert got == pytest.approx(wanted)
    assert (batch.values[0, 3:] == 0).all()
    assert batch.to_play.tolist() == [[0, 1, 0, 1, 1]]


@pytest.mark.parametrize("steps", [1, 5, 0])
def test_an_environment_of_one_step(steps: int) -> None:
    ended = unroll(fill(make_trajectory([2.0], [9.0, 0.0], True)), 0, td_steps=steps, unroll_steps=2)
    assert along(ended) == [2.0, 0.0, 0.0]
    assert ended.rewards[0, :, 0].tolist() == [2.0, 0.0]
    cut = unroll(fill(make_trajectory([2.0], [9.0, 4.0], False)), 0, td_steps=steps, unroll_steps=2)
    assert along(cut)[:2] == pytest.approx([2.0 + 0.9 * 4.0, 4.0])
    assert cut.value_mask.tolist() == [[True, True, False]]


@pytest.mark.parametrize(
    ("steps", "terminated", "wanted"),
    [
        (1, True, [1 + 0.9 * 7.0, 2.0, 0.0]),
        (2, True, [1 + 0.9 * 2, 2.0, 0.0]),
        (1, False, [1 + 0.9 * 7.0, 2 + 0.9 * 4, 4.0]),
        (2, False, [1 + 0.9 * 2 + 0.81 * 4, 2 + 0.9 * 4, 4.0]),
        (3, False, [1 + 0.9 * 2 + 0.81 * 4, 2 + 0.9 * 4, 4.0]),
    ],
)
def test_an_environment_of_two_steps(steps: int, terminated: bool, wanted: list[float]) -> None:
    buffer = fill(make_trajectory([1.0, 2.0], [9.0, 7.0, 0.0 if terminated else 4.0], terminated))
    assert along(unroll(buffer, 0, td_steps=steps, unroll_steps=2)) == pytest.approx(wanted)


def fresh_policy(batch: int, steps: int) -> NDArray[np.float32]:
    return np.broadcast_to(column([0.2, 0.3, 0.5]).T, (batch, steps, 3)).copy()


def test_fresh_policies_stand_only_where_they_are_fresh() -> None:
    buffer, config = known(True), UnrollConfig(unroll_steps=2)
    picks = pick(buffer, 0, 3)
    is_fresh = np.array([[True, False, True], [False, True, False]])
    plain = make_unroll(buffer, picks, config, np.random.default_rng(0))
    mixed = make_unroll(
        buffer, picks, config, np.random.default_rng(0), Fresh(policy=fresh_policy(2, 3), is_fresh=is_fresh)
    )
    np.testing.assert_array_equal(mixed.policy[~is_fresh], plain.policy[~is_fresh])
    np.testing.assert_allclose(mixed.policy[is_fresh], np.tile([0.2, 0.3, 0.5], (3, 1)), atol=1e-6)


def test_fresh_values_stand_in_for_bootstrap_values_alone() -> None:
    buffer, config = known(True), UnrollConfig(unroll_steps=5, td_steps=2, discount=0.9)
    fresh = Fresh(values=np.full((1, 6, 1), 10.0, np.float32))
    got = along(make_unroll(buffer, pick(buffer, 0), config, np.random.default_rng(0), fresh))
    wanted = [1 + 0 + 8.1, 0 + 1.8 + 8.1, 2 + 0 + 8.1, 0 + 2.7, 3.0, 0.0]
    assert got == pytest.approx(wanted)


def seated(to_play: list[int], rewards: list[list[float]]) -> TrajectoryBuffer:
    """Give two players' trajectory; to_play ends with that of the final observation."""
    moves = len(rewards)
    return fill(
        make_trajectory(
            [0.0] * moves,
            [0.0] * (moves + 1),
            True,
            rewards=np.array(rewards, np.float32),
            root_values=np.zeros((moves + 1, 2), np.float32),
            to_play=np.array(to_play, np.int8),
        )
    )


@pytest.mark.parametrize(
    ("discount", "wanted"), [(1.0, [1.0, -1.0, 1.0, 0.0]), (0.9, [0.81, -0.9, 1.0, 0.0])]
)
def test_pub_learning_1_targets_are_those_of_whoever_is_to_move(discount: float, wanted: list[float]) -> None:
    buffer = seated([0, 1, 0, 1], [[0, 0], [0, 0], [1, -1]])
    batch = turn_to_mover(unroll(buffer, 0, td_steps=10, discount=discount, unroll_steps=3))
    np.testing.assert_allclose(batch.values[0, :, 0], wanted, atol=1e-6)
    np.testing.assert_allclose(batch.values[0, :, 1], -np.array(wanted), atol=1e-6)


def test_where_turns_are_learnt_the_recorded_mover_comes_first_and_turns_are_counted_on() -> None:
    buffer = seated([0, 0, 1, 1], [[0, 0], [0, 0], [-1, 1]])  # 0 moves twice, and 1 stays at the end
    batch = unroll(buffer, 0, td_steps=0, discount=1.0, unroll_steps=4)
    assert batch.to_play.tolist() == [[0, 0, 1, 1, 1]]
    turned = turn_to_mover(batch, learns_turns=True)
    assert turned.values[0].tolist() == [[-1, 1], [-1, 1], [1, -1], [0, 0], [0, 0]]
    assert turned.rewards[0].tolist() == [[0, 0], [0, 0], [1, -1], [0, 0]]
    assert turned.to_play.tolist() == [[0, 0, 1, 0, 0]]


def test_turns_that_do_not_go_around_are_refused_where_they_should() -> None:
    batch = unroll(seated([0, 0, 1, 1], [[0, 0], [0, 0], [-1, 1]]), 0, unroll_steps=2)
    with pytest.raises(ConfigError, match=r"do not go around.*latent\.turns = learned"):
        turn_to_mover(batch)
    around = unroll(seated([0, 1, 0, 0], [[0, 0], [0, 0], [1, -1]]), 0, unroll_steps=5)
    assert cycle_of(around).tolist() == [
        [0, 1, 0, 1, 0, 1]
    ]  # whose turn the end says it is counts for nothing


@pytest.mark.parametrize("moves", [2, 3, 4])
def test_a_time_limit_at_or_beside_the_end_of_an_unroll(moves: int) -> None:
    buffer = fill(make_trajectory([1.0] * moves, [0.0] * moves + [10.0], False))
    batch = unroll(buffer, 0, unroll_steps=3, td_steps=2, discount=0.5)
    tail = {2: [4.0, 6.0, 10.0], 3: [1.5, 4.0, 6.0, 10.0], 4: [1.5, 1.5, 4.0, 6.0]}[moves]
    assert batch.values[0, : len(tail), 0].tolist() == tail
    assert batch.value_mask[0].tolist() == [step <= moves for step in range(4)]
    assert batch.policy_mask[0].tolist() == [step < moves for step in range(4)]
    assert batch.reward_mask[0].tolist() == [step < moves for step in range(3)]


def test_changes_of_images_are_within_their_limits_and_drawn_apart_for_each_step() -> None:
    buffer = fill(*(random_trajectory(seed) for seed in range(4)))
    config = UnrollConfig(unroll_steps=3)
    picks = buffer.sample(500, np.random.default_rng(0))
    batch = make_unroll(buffer, picks, config, np.random.default_rng(0))
    assert batch.augment is None
    changes = draw_changes(batch, 4, 0.05, np.random.default_rng(1)).augment
    assert changes.shape == (500, 4, 3)
    assert changes.dtype == np.float32
    assert np.unique(changes[..., :2]).tolist() == list(range(-4, 5))
    assert np.bincount((changes[..., 0] + 4).astype(int).ravel()).min() > 150  # of 222 expected
    assert abs(changes[..., 2] - 1.0).max() <= 0.1 + 1e-6
    assert changes[..., 2].std() == pytest.approx(0.05 * 0.96, rel=0.05)  # cut at two deviations
    assert (changes[:, 0] != changes[:, 1]).any(axis=1).all()
    again = draw_changes(batch, 4, 0.05, np.random.default_rng(1)).augment
    assert np.array_equal(changes, again)
    still = draw_changes(batch, 0, 0.0, np.random.default_rng(1)).augment
    assert (still == [0, 0, 1]).all()
