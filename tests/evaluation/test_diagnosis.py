"""What a report measures of a learned model, on a model and an environment whose values are known by hand."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from tests.envs.toys import Toy, batch
from torch import Tensor

from zelkova.agents.learned.agent import LearnedAgent, Plan
from zelkova.agents.learned.config import PlanningConfig
from zelkova.envs.batch import GymBatch
from zelkova.errors import EnvError
from zelkova.evaluation.diagnosis.depths import compare_depths, returns_to_go
from zelkova.evaluation.diagnosis.frames import WIDEST, draw_frames
from zelkova.evaluation.diagnosis.records import (
    Record,
    mean_by_decision,
    measure_gains,
    play_records,
    summarise_records,
)
from zelkova.networks.learned.config import LearnedConfig
from zelkova.networks.learned.network import LearnedNetwork, ModelSizes
from zelkova.search.config import SearchConfig


class Counting(LearnedNetwork):
    """Knows `Toy`: the latent is the step's number, which is the reward too; every value is 3."""

    def __init__(self, stride: float = 1.0) -> None:
        config = LearnedConfig(width=1, heads="scalar", transform=False, latent_norm="none")
        super().__init__(config, ModelSizes((1,), 2, 0, 1))
        self.stride = stride

    def represent(self, observation: Tensor) -> Tensor:
        return observation

    def advance(self, latent: Tensor, action: Tensor) -> Tensor:
        return latent + self.stride

    def predict(self, latent: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        return torch.zeros(len(latent), 2), torch.full((len(latent), 1, 1), 3.0), None

    def rewards(self, latent: Tensor, hidden: Any = None) -> tuple[Tensor, Any]:
        return latent.view(-1, 1, 1), None


def agent(stride: float = 1.0) -> LearnedAgent:
    config = SearchConfig(policy="puct", num_simulations=2, dirichlet_fraction=0.0)
    return LearnedAgent(Counting(stride), config, PlanningConfig(), discount=0.5)


def play(most: int = 10, stride: float = 1.0, envs: int = 1) -> list[Record]:
    """Three decisions with the rewards 1, 2, 3."""
    return play_records(batch(*(Toy(3) for _ in range(envs))), agent(stride), most, lambda done: False)


def test_returns_are_discounted_from_the_end() -> None:
    found = returns_to_go(np.array([[1.0], [2.0], [3.0]]), 0.5, np.array([8.0]))
    assert found[:, 0].tolist() == [3.75, 5.5, 7.0, 8.0]


def test_an_episode_is_kept_as_it_was_played() -> None:
    first, second = play(envs=2)
    assert first.observations[:, 0].tolist() == [0, 1, 2, 3]
    assert first.rewards[:, 0].tolist() == [1, 2, 3]
    assert (first.terminated, first.is_cut, len(first)) == (True, False, 3)
    assert second.seed == first.seed + 1
    figures = summarise_records([first, second])
    assert figures["diagnosis/return"] == 6.0
    assert (figures["diagnosis/decisions"], figures["diagnosis/cut_episodes"]) == (6.0, 0.0)


def test_values_rewards_and_latents_by_depth() -> None:
    curves, figures = compare_depths(agent(), play(), 3)
    # real values are 2.75, 3.5 and 3; all predicted ones are 3
    assert curves["count"].tolist() == [3, 2, 1, 0]
    assert curves["value_predicted"][:3].tolist() == [3, 3, 3]
    assert curves["value_real"][:3] == pytest.approx([9.25 / 3, 3.25, 3.0])
    assert curves["value_error"][:3] == pytest.approx([0.25, 0.25, 0.0])
    assert curves["value_spread"][1] == pytest.approx(0.25)
    assert np.isnan(curves["value_error"][3])
    assert np.isnan(curves["reward_error"][0])
    assert curves["reward_real"][1:].tolist() == [2, 2.5, 3]
    assert curves["reward_error"][1:].tolist() == [0, 0, 0]
    # the observations 0, 1, 2 are 2, 1 and 1 away from one that is unrelated
    assert figures["diagnosis/latent_distance"] == pytest.approx(4 / 3)
    assert curves["drift"].tolist() == [0, 0, 0, 0]
    assert curves["drift_still"] == pytest.approx([0, 0.75, 1.5, 2.25])


def test_a_model_that_strides_too_far_drifts_and_errs() -> None:
    curves, _ = compare_depths(agent(stride=2.0), play(), 2)
    assert curves["drift"] == pytest.approx([0, 0.75, 1.5])
    assert curves["reward_error"][1:].tolist() == [1, 2]


def test_a_cut_episode_goes_on_with_the_network_s_value() -> None:
    records = play(most=2)
    assert (records[0].is_cut, records[0].terminated, len(records[0])) == (True, False, 2)
    curves, _ = compare_depths(agent(), records, 1)
    assert curves["value_real"][0] == pytest.approx(
        (2.75 + 3.5) / 2
    )  # 1 + 0.5 * (2 + 0.5 * 3), and the latter
    told: list[int] = []
    play_records(batch(Toy(3)), agent(), 10, lambda done: told.append(done) or done == 2)  # type: ignore[func-returns-value]
    assert told == [1, 2]


def test_latents_that_are_all_alike_have_no_relative_drift() -> None:
    class Blind(Counting):
        def represent(self, observation: Tensor) -> Tensor:
            return torch.zeros_like(observation)

    blind = LearnedAgent(
        Blind(), SearchConfig(policy="puct", num_simulations=2), PlanningConfig(), discount=0.5
    )
    curves, figures = compare_depths(blind, play(), 1)
    assert figures["diagnosis/latent_distance"] == 0.0
    assert np.isnan(curves["drift"]).all()


def plan(**changed: Any) -> Plan:
    """One search over three actions, the last of which was not visited."""
    fields = {
        "prior": np.array([[0.5, 0.25, 0.25]], np.float32),
        "q_values": np.array([[1.0, 0.0, 0.0]], np.float32),
        "visit_counts": np.array([[2, 1, 0]], np.int32),
        "raw_value": np.array([[9.0, 0.4]], np.float32),
        "action_weights": np.array([[1.0, 0.0, 0.0]], np.float32),
        "index": np.array([0], np.int32),
    }
    return cast(Plan, SimpleNamespace(**{**fields, **changed}))


def test_the_gain_of_the_search_by_hand() -> None:
    mover = np.array([1], np.int8)
    # v_mix = (0.4 + 3 * (0.5 / 0.75)) / 4 = 0.6; the prior is worth 0.5 * 1 + 0.25 * 0.6 = 0.65
    gains = measure_gains(plan(), mover)
    assert gains.policy == pytest.approx([0.35])
    assert gains.choice == pytest.approx([0.35])
    assert not gains.is_changed[0]
    gains = measure_gains(plan(index=np.array([2], np.int32)), mover)
    assert gains.choice == pytest.approx([-0.05])
    assert gains.is_changed[0]


def test_a_search_without_visits_gains_nothing() -> None:
    gains = measure_gains(plan(visit_counts=np.zeros((1, 3), np.int32)), np.array([1], np.int8))
    assert gains.policy == pytest.approx([0.0])


def test_gains_by_decision_are_means_over_the_episodes_that_got_there() -> None:
    long, short = play()[0], play(most=1)[0]
    long = replace(long, gains=long.gains._replace(policy=np.array([1.0, 2.0, 3.0])))
    short = replace(short, gains=short.gains._replace(policy=np.array([3.0])))
    assert mean_by_decision([long, short])["policy"].tolist() == [2.0, 2.0, 3.0]


class Painted(Toy):
    """Draws its count as a brightness."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012 - as Gymnasium has it
    width = 8

    def render(self) -> Any:
        return np.full((4, self.width, 3), self.count, np.uint8)


def test_an_episode_is_drawn_as_it_was_played() -> None:
    record = play()[0]
    frames = draw_frames(batch(Painted(3)), record, 10)
    assert [int(frame[0, 0, 0]) for frame in frames] == [0, 1, 2, 3]
    assert len(draw_frames(batch(Painted(3)), record, 2)) == 2
    wide = Painted(3)
    wide.width = 2 * WIDEST + 1
    assert draw_frames(batch(wide), record, 1)[0].shape == (2, WIDEST // 3 * 2 + 1, 3)


def test_what_can_not_be_drawn_is_said() -> None:
    record = play()[0]
    assert batch(Painted(3)).can_draw
    plain = batch(Toy(3))
    assert isinstance(plain, GymBatch)
    assert not plain.can_draw
    with pytest.raises(EnvError, match="step"):
        draw_frames(plain, record, 10)
    other = replace(record, observations=record.observations + 1)
    with pytest.raises(EnvError, match="something else"):
        draw_frames(batch(Painted(3)), other, 10)
