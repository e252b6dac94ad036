from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tests.replay.made_trajectories import ACTIONS, fill, make_trajectory, pick, random_trajectory

from zelkova.agents.learned.agent import LearnedAgent
from zelkova.agents.learned.config import PlanningConfig
from zelkova.errors import ConfigError
from zelkova.networks.learned.config import LearnedConfig
from zelkova.networks.learned.network import ModelSizes, build_learned
from zelkova.replay.config import UnrollConfig
from zelkova.replay.trajectories import Picks, TrajectoryBuffer
from zelkova.replay.unroll import Fresh, UnrollBatch, make_unroll
from zelkova.search.config import SearchConfig
from zelkova.selfplay.config import ReanalyseConfig, Values
from zelkova.selfplay.reanalyse import Reanalyser


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


UNROLL = UnrollConfig(unroll_steps=3, td_steps=2, discount=0.9)


class Teller:
    """Answers in a way that shows what was asked: values 100 + t, searched values 200 + t, policy by t."""

    def __init__(self) -> None:
        self.searched: list[float] = []
        self.evaluated: list[float] = []

    def values(self, observations: NDArray[Any], to_play: NDArray[np.int8]) -> NDArray[np.float32]:
        assert len(to_play) == len(observations)
        self.evaluated += observations[:, 0].tolist()
        return (100 + observations[:, :1]).astype(np.float32)

    def search(
        self, observations: NDArray[Any], to_play: NDArray[np.int8], legal: NDArray[np.bool_], *, seed: Any
    ) -> Any:
        self.searched += observations[:, 0].tolist()
        assert len(to_play) == len(legal) == len(observations)
        assert legal.all()
        policy = np.zeros((len(observations), ACTIONS), np.float32)
        policy[:, 0] = observations[:, 0] / 10
        policy[:, 1] = 1 - policy[:, 0]
        return SimpleNamespace(
            action_weights=policy, sampled_actions=None, value=(200 + observations[:, :1]).astype(np.float32)
        )


def buffer_of(terminated: bool) -> TrajectoryBuffer:
    return fill(make_trajectory([1.0] * 6, [5, 4, 3, 2, 1, 7, 0 if terminated else 9], terminated))


def refresh(
    buffer: TrajectoryBuffer,
    picks: Picks,
    share: float,
    values: Values,
    seed: int = 0,
    steps_taken: int = 100,
) -> tuple[Fresh, Teller]:
    teller = Teller()
    config = ReanalyseConfig(policy_share=share, values=values, mixed_after=100, mixed_newest=4)
    reanalyser = Reanalyser(cast(LearnedAgent, teller), config, UNROLL)
    return reanalyser.refresh(buffer, picks, np.random.default_rng(seed), steps_taken), teller


def batch_of(buffer: TrajectoryBuffer, picks: Picks, fresh: Fresh) -> UnrollBatch:
    return make_unroll(buffer, picks, UNROLL, np.random.default_rng(0), fresh)


def test_nothing_is_asked_where_nothing_is_to_be_refreshed() -> None:
    buffer = buffer_of(True)
    fresh, teller = refresh(buffer, pick(buffer, 0, 4), 0.0, "stored")
    assert fresh == Fresh()
    assert teller.searched == teller.evaluated == []


def test_all_policies_are_replaced_and_each_decision_is_searched_once() -> None:
    buffer = buffer_of(True)
    picks = pick(buffer, 0, 1, 4, 1)
    fresh, teller = refresh(buffer, picks, 1.0, "stored")
    assert sorted(teller.searched) == [0, 1, 2, 3, 4, 5]
    assert teller.evaluated == []
    batch, plain = batch_of(buffer, picks, fresh), batch_of(buffer, picks, Fresh())
    wanted = np.array([[0, 1, 2, 3], [1, 2, 3, 4], [4, 5, -1, -1], [1, 2, 3, 4]]) / 10
    inside = wanted >= 0
    np.testing.assert_allclose(batch.policy[..., 0][inside], wanted[inside], atol=1e-6)
    np.testing.assert_array_equal(batch.policy_mask, inside)
    np.testing.assert_array_equal(batch.policy[~inside], plain.policy[~inside])
    np.testing.assert_array_equal(batch.values, plain.values)


def test_policies_are_replaced_only_in_the_chosen_unrolls() -> None:
    parts = [random_trajectory(seed) for seed in range(40)]
    buffer = fill(*parts)
    picks = pick(buffer, *range(0, 280, 7))
    fresh, _ = refresh(buffer, picks, 0.5, "stored")
    chosen = np.random.default_rng(0).random(40) < 0.5
    assert 10 < chosen.sum() < 30
    batch, plain = batch_of(buffer, picks, fresh), batch_of(buffer, picks, Fresh())
    np.testing.assert_array_equal(batch.policy[~chosen], plain.policy[~chosen])
    assert (batch.policy[chosen][..., 2] == 0).all()
    assert (plain.policy[chosen][..., 2] > 0).all()
    for name in ("rewards", "values", "actions", "observations", "policy_mask"):
        np.testing.assert_array_equal(getattr(batch, name), getattr(plain, name))
    again, _ = refresh(buffer, picks, 0.5, "stored")
    np.testing.assert_array_equal(again.policy, fresh.policy)


def test_the_replay_itself_stays_as_it_was() -> None:
    buffer = buffer_of(False)
    before = {name: array.copy() for name, array in buffer.columns.items()}
    refresh(buffer, pick(buffer, 0, 1, 2), 1.0, "search")
    for name, array in buffer.columns.items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize(
    ("terminated", "wanted"),
    [
        (True, [1.9 + 0.81 * 105, 1.9, 1.0, 0.0]),
        (False, [1.9 + 0.81 * 105, 1.9 + 0.81 * 106, 1 + 0.9 * 106, 106]),
    ],
)
def test_values_of_the_target_network_are_those_of_the_true_later_observation(
    terminated: bool, wanted: list[float]
) -> None:
    buffer = buffer_of(terminated)
    picks = pick(buffer, 3)
    fresh, teller = refresh(buffer, picks, 0.0, "target")
    assert teller.searched == []
    np.testing.assert_allclose(batch_of(buffer, picks, fresh).values[0, :, 0], wanted, rtol=1e-6)


def test_values_of_fresh_searches_stand_where_there_are_such_and_stored_ones_elsewhere() -> None:
    buffer = buffer_of(False)
    picks = pick(buffer, 1)
    fresh, teller = refresh(buffer, picks, 1.0, "search")
    assert sorted(teller.searched) == [1, 2, 3, 4]
    wanted = [1.9 + 0.81 * 203, 1.9 + 0.81 * 204, 1.9 + 0.81 * 7, 1.9 + 0.81 * 9]
    np.testing.assert_allclose(batch_of(buffer, picks, fresh).values[0, :, 0], wanted, rtol=1e-6)
    untouched, _ = refresh(buffer, picks, 1e-12, "search")
    assert untouched == Fresh()


STEPS = [1.9 + 0.81 * 102, 1.9 + 0.81 * 103, 1.9 + 0.81 * 104, 1.9 + 0.81 * 105]  # n = 2, target network


@pytest.mark.parametrize(
    ("steps_taken", "row", "wanted"),
    [
        (99, 0, STEPS),  # too early: nothing is stale
        (100, 0, [200, 201, *STEPS[2:]]),  # 0 and 1 are older than the newest 4 of 6
        (100, 2, [*STEPS[2:], 1.9, 1.0]),  # none is, and the episode ends
    ],
)
def test_mixed_values_are_searched_for_stale_decisions_and_n_step_for_others(
    steps_taken: int, row: int, wanted: list[float]
) -> None:
    buffer = buffer_of(True)
    picks = pick(buffer, row)
    fresh, teller = refresh(buffer, picks, 0.0, "mixed", steps_taken=steps_taken)
    batch, plain = batch_of(buffer, picks, fresh), batch_of(buffer, picks, Fresh())
    np.testing.assert_allclose(batch.values[0, :, 0], wanted, rtol=1e-6)
    np.testing.assert_array_equal(batch.policy, plain.policy)
    assert teller.searched == [value - 200 for value in wanted if value >= 200]


def test_mixed_values_and_fresh_policies_come_of_the_same_searches() -> None:
    buffer = buffer_of(True)
    picks = pick(buffer, 0)
    fresh, teller = refresh(buffer, picks, 1.0, "mixed")
    assert teller.searched == [0, 1, 2, 3]
    assert fresh.is_fresh.tolist() == [[True] * 4]
    assert fresh.is_estimated.tolist() == [[True, True, False, False]]
    np.testing.assert_allclose(
        batch_of(buffer, picks, fresh).values[0, :, 0], [200, 201, *STEPS[2:]], rtol=1e-6
    )


@pytest.mark.parametrize("dims", [0, 2])
def test_a_real_agent_gives_policies_over_its_own_candidates(dims: int) -> None:
    sizes = ModelSizes((2,), 0 if dims else ACTIONS, dims, 1)
    agent = LearnedAgent(
        build_learned(LearnedConfig(width=8, hidden=8), sizes),
        SearchConfig(num_simulations=4),
        PlanningConfig(num_samples=4 if dims else 0),
        discount=0.9,
    )
    buffer = fill(random_trajectory(0, dims=dims), random_trajectory(1, terminated=False, dims=dims))
    picks = pick(buffer, 0, 4, 11)
    reanalyser = Reanalyser(agent, ReanalyseConfig(policy_share=1.0, values="search"), UNROLL)
    fresh = reanalyser.refresh(buffer, picks, np.random.default_rng(0))
    batch, plain = batch_of(buffer, picks, fresh), batch_of(buffer, picks, Fresh())
    mask = batch.policy_mask
    np.testing.assert_allclose(batch.policy[mask].sum(-1), 1.0, atol=1e-5)
    assert (batch.policy[mask] != plain.policy[mask]).any()
    if dims:
        assert batch.candidates.shape == plain.candidates.shape
        assert (batch.candidates[mask] != plain.candidates[mask]).all(-1).any()
        np.testing.assert_array_equal(batch.candidates[~mask], plain.candidates[~mask])
    twice = reanalyser.refresh(buffer, picks, np.random.default_rng(0))
    np.testing.assert_array_equal(twice.policy, fresh.policy)


@pytest.mark.parametrize(
    "wrong", [{"values": "new"}, {"policy_share": 1.5}, {"target_steps": 0}, {"mixed_after": -1}]
)
def test_settings_that_can_t_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"reanalyse.{next(iter(wrong))}"):
        ReanalyseConfig(**wrong)
