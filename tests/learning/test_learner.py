import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from zelkova.errors import CheckpointError, ConfigError, ShapeError
from zelkova.learning.config import CheckpointConfig, LearningConfig
from zelkova.learning.learner import Learner, LearnerState
from zelkova.learning.schedule import Pace, learning_rate

SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"optimizer": "sgd", "schedule": "cosine", "decay_steps": 20, "learning_rate": 0.05},
    {"ema_decay": 0.9, "warmup_steps": 3, "schedule": "step", "decay_steps": 4},
    {"precision": "bfloat16", "grad_clip": 0.1},
    {"optimizer": "sgd", "momentum": 0.0},
)


@pytest.mark.parametrize("players", [1, 2, 3])
def test_one_batch_is_overfitted(
    make_learner: Callable[..., Learner], make_data: Callable[..., Any], players: int
) -> None:
    learner = make_learner(players, learning_rate=1e-2, warmup_steps=0, weight_decay=0.0, value_mix=0.0)
    batch = make_data(0, players=players)
    first, _ = learner.step(batch)
    for _ in range(250):
        last, _ = learner.step(batch)
    assert first["value_accuracy"] < 0.9
    assert last["policy_loss"] - last["policy_target_entropy"] < 0.02
    assert last["outcome_loss"] < 0.05
    assert last["policy_agreement"] == last["value_accuracy"] == 1.0
    assert learner.steps == 251
    assert learner.samples == 251 * 16


def test_fresh_losses_are_those_of_uniform_answers(
    make_learner: Callable[..., Learner], make_data: Callable[..., Any]
) -> None:
    targets = make_data(1)
    figures, errors = make_learner().step(targets)
    assert errors is None
    legal = (targets.legal >= 0).sum(axis=1)
    assert figures["policy_loss"] == pytest.approx(np.log(legal).mean(), abs=1e-5)
    assert figures["policy_entropy"] == pytest.approx(np.log(legal).mean(), abs=1e-5)
    assert figures["outcome_loss"] == pytest.approx(np.log(3), abs=1e-5)
    halves = ((targets.root_values + 1) / 2 - 0.5) ** 2
    assert figures["root_value_loss"] == pytest.approx(halves.sum(axis=1).mean(), abs=1e-5)
    expected = figures["policy_loss"] + 0.5 * figures["outcome_loss"] + 0.5 * figures["root_value_loss"]
    assert figures["loss"] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_target_that_is_no_finite_number_stops_before_the_weights(
    make_learner: Callable[..., Learner], make_data: Callable[..., Any], number: float
) -> None:
    learner, batch = make_learner(), make_data(1)
    learner.step(batch)
    before = learner.state()
    values = batch.root_values.copy()
    values[3, 1] = number
    with pytest.raises(CheckpointError, match=rf"after step 1: `root_values` .* {number} at \[3, 1\]"):
        learner.step(batch._replace(root_values=values))
    after = learner.state()
    assert (after.steps, after.samples) == (1, before.samples)
    for name, tensor in before.tensors.items():
        assert torch.equal(tensor, after.tensors[name]), name


@pytest.mark.parametrize("settings", SETTINGS)
def test_stop_and_resume_is_no_stop(
    make_learner: Callable[..., Learner], make_data: Callable[..., Any], settings: dict[str, Any]
) -> None:
    straight, stopped = make_learner(**settings), make_learner(**settings)
    for seed in range(6):
        straight.step(make_data(seed))
        stopped.step(make_data(seed))
    state = stopped.state()
    resumed = make_learner(**settings)
    resumed.step(make_data(99))  # whatever it was before does not matter
    resumed.load_state(state)
    for seed in range(6, 12):
        expected = straight.step(make_data(seed))
        assert resumed.step(make_data(seed)) == expected
    ours, theirs = resumed.state(), straight.state()
    assert (ours.steps, ours.samples) == (theirs.steps, theirs.samples) == (12, 192)
    assert ours.tensors.keys() == theirs.tensors.keys()
    for name, tensor in theirs.tensors.items():
        assert torch.equal(ours.tensors[name], tensor), name


def test_a_fresh_learner_can_be_resumed(
    make_learner: Callable[..., Learner], make_data: Callable[..., Any]
) -> None:
    first, second = make_learner(), make_learner()
    second.step(make_data(5))
    second.load_state(first.state())
    assert second.step(make_data(0)) == first.step(make_data(0))


def test_another_network_or_optimiser_is_refused_and_changes_nothing(
    make_learner: Callable[..., Learner], make_data: Callable[..., Any]
) -> None:
    learner, other = make_learner(), make_learner(optimizer="sgd")
    for one in (learner, other):
        one.step(make_data(0))
    before = learner.state()
    with pytest.raises(CheckpointError, match=r"exp_avg` is missing; .* resume with the settings"):
        learner.load_state(other.state())
    with pytest.raises(CheckpointError, match=r"has shape \[4, 64\], not \[3, 64\]"):
        learner.load_state(make_learner(players=3).state())
    odd = LearnerState({**before.tensors, "network.extra": torch.zeros(1)}, 1, 16)
    with pytest.raises(CheckpointError, match=r"`network\.extra` is unknown"):
        learner.load_state(odd)
    after = learner.state()
    assert all(torch.equal(after.tensors[name], tensor) for name, tensor in before.tensors.items())


def test_the_running_mean_is_what_acts(
    make_learner: Callable[..., Learner], make_data: Callable[..., Any]
) -> None:
    learner = make_learner(ema_decay=0.5, learning_rate=0.01, warmup_steps=0)
    seen = []
    for seed in range(3):
        learner.step(make_data(seed))
        seen.append(learner.network.state_dict()["policy_out.weight"].clone())
    mean = torch.zeros_like(seen[0])  # fresh weights of the last layer are zero
    for step, weights in enumerate(seen, start=1):
        decay = min(0.5, step / (step + 10))
        mean = decay * mean + (1 - decay) * weights
    acting = learner.acting_network
    torch.testing.assert_close(acting.state_dict()["policy_out.weight"], mean)
    assert acting is not learner.network
    assert make_learner().acting_network is not None
    counted = acting.state_dict()["stem.1.num_batches_tracked"]
    assert counted.item() == 3


def test_weights_decay_but_biases_and_scales_do_not(
    make_learner: Callable[..., Learner], make_data: Callable[..., Any]
) -> None:
    learner = make_learner(learning_rate=0.1, warmup_steps=0, weight_decay=0.5, value_weight=0.0)
    before = {name: p.detach().clone() for name, p in learner.network.named_parameters()}
    learner.step(make_data(0))
    after = dict(learner.network.named_parameters())
    torch.testing.assert_close(after["value_hidden.weight"], before["value_hidden.weight"] * 0.95)
    torch.testing.assert_close(after["value_hidden.bias"], before["value_hidden.bias"])


def test_gradients_are_clipped(make_learner: Callable[..., Learner], make_data: Callable[..., Any]) -> None:
    settings = {
        "optimizer": "sgd",
        "momentum": 0.0,
        "learning_rate": 1.0,
        "warmup_steps": 0,
        "weight_decay": 0.0,
    }
    learner = make_learner(grad_clip=0.01, **settings)
    before = [p.detach().clone() for p in learner.network.parameters()]
    figures, _ = learner.step(make_data(0))
    moved = [(p - q).square().sum() for p, q in zip(learner.network.parameters(), before, strict=True)]
    assert figures["gradient_norm"] > 0.1
    assert torch.stack(moved).sum().sqrt().item() == pytest.approx(0.01, rel=1e-3)


def test_targets_of_another_batch_are_refused(
    make_learner: Callable[..., Learner], make_data: Callable[..., Any]
) -> None:
    batch = make_data(0)
    with pytest.raises(ShapeError, match="do not fit together"):
        make_learner().step(batch._replace(planes=batch.planes[:8]))


def test_schedules_count_steps() -> None:
    def rates(schedule: str, *steps: int) -> list[float]:
        config = LearningConfig(
            learning_rate=1.0, warmup_steps=4, schedule=schedule, decay_steps=100, decay_factor=0.1  # type: ignore[arg-type]
        )  # fmt: skip
        return [learning_rate(config, step) for step in steps]

    assert rates("constant", 0, 1, 3, 4, 10**6) == pytest.approx([0.2, 0.4, 0.8, 1.0, 1.0])
    assert rates("cosine", 3, 4, 54, 104, 9999) == pytest.approx([0.8, 1.0, 0.55, 0.1, 0.1])
    assert rates("step", 4, 103, 104, 204) == pytest.approx([1.0, 1.0, 0.1, 0.01])
    assert rates("inverse_sqrt", 4, 104, 404) == pytest.approx([1.0, 1.0, 0.5])


def test_a_ramp_holds_a_low_rate_and_then_rises() -> None:
    """A distilled network's rate of 0.002 for three generations of 100 steps, then up to 0.02 over five."""
    config = LearningConfig(learning_rate=0.02, warmup_steps=0, ramp_from=0.1, ramp_start=300, ramp_steps=500)
    rates = [learning_rate(config, step) for step in (0, 299, 300, 301, 550, 799, 800, 10**6)]
    assert rates == pytest.approx([0.002, 0.002, 0.002, 0.002036, 0.011, 0.019964, 0.02, 0.02])
    falling = dataclasses.replace(config, schedule="step", decay_steps=1000, decay_factor=0.5, warmup_steps=4)
    assert learning_rate(falling, 1) == pytest.approx(0.002 * 2 / 5)  # the warm-up stays
    assert learning_rate(falling, 550) == pytest.approx(0.011)
    assert learning_rate(falling, 1004) == pytest.approx(0.01)
    assert learning_rate(dataclasses.replace(config, ramp_steps=0), 0) == 0.02
    later = dataclasses.replace(config, ramp_begin=100)
    assert [learning_rate(later, step) for step in (99, 100, 800)] == pytest.approx([0.02, 0.002, 0.02])


def test_steps_due_keep_the_ratio_whatever_the_pieces() -> None:
    config = LearningConfig(batch_size=64, samples_per_position=3.0)
    pace = Pace(config.samples_per_position, config.batch_size)
    positions = steps = 0
    for new in np.random.default_rng(0).integers(0, 200, 300):
        positions += int(new)
        steps += pace.steps_due(positions, steps)
        assert abs(steps * 64 - 3 * positions) < 64
    assert pace.steps_due(positions, steps) == 0
    assert pace.steps_due(0, 5) == 0


@pytest.mark.parametrize("ratio", [0.5, 12.0])
def test_another_ratio_holds_from_then_on(ratio: float) -> None:
    """3 samples a position for 6,400, in batches of 64: 300 steps; what comes then pays for itself."""
    first = Pace(samples=3.0, batch=64)
    assert first.steps_due(6400, 0) == 300
    assert first.go_on(3.0, 64, 6400, 300) is first
    later = first.go_on(ratio, 64, 6400, 300)
    assert later.steps_due(6400, 300) == 0
    assert later.steps_due(6400 + 640, 300) == 10 * ratio
    owing = first.go_on(ratio, 64, 6400, 290)
    assert owing.steps_due(6400 + 640, 290) == 10 + 10 * ratio  # and what was owed is paid


def test_a_ratio_that_binary_numbers_do_not_hold_is_no_step_late() -> None:
    assert Pace(samples=0.6, batch=48).steps_due(80, 0) == 1  # 80 * (0.6 / 48) is below 1 in floating point


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"optimizer": "adam"}, "unknown learning.optimizer `adam`; .* did you mean `adamw`"),
        ({"schedule": "cosin"}, "did you mean `cosine`"),
        ({"precision": "bf16"}, "learning.precision"),
        ({"batch_size": 0}, "learning.batch_size is 0; allowed: whole numbers from 1"),
        ({"batch_size": 2.5}, "learning.batch_size"),
        ({"ramp_from": 1.5}, "learning.ramp_from is 1.5; allowed: numbers from 0 to 1"),
        ({"ramp_steps": -1}, "learning.ramp_steps is -1; allowed: whole numbers from 0"),
        ({"value_mix": 1.5}, "learning.value_mix is 1.5; allowed: numbers from 0 to 1"),
        ({"learning_rate": 0.0}, "learning.learning_rate is 0"),
        ({"learning_rate": float("nan")}, "learning.learning_rate is nan"),
        ({"grad_clip": float("inf")}, "learning.grad_clip is infinite"),
        ({"ema_decay": 1.0}, "learning.ema_decay is 1, which never moves"),
        ({"weight_decay": True}, "learning.weight_decay is True"),
    ],
)
def test_settings_out_of_range_are_named(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        LearningConfig(**settings)


def test_checkpoint_settings_out_of_range_are_named() -> None:
    with pytest.raises(ConfigError, match=r"checkpoint\.keep is 0"):
        CheckpointConfig(keep=0)
