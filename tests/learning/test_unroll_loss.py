import math
from typing import Any

import numpy as np
import pytest
import torch
from tests.replay.made_trajectories import fill, pick, random_trajectory
from torch import Tensor, nn

from zelkova.errors import ConfigError, ShapeError
from zelkova.learning.config import UnrollLossConfig
from zelkova.learning.unroll_loss import (
    UnrollObjective,
    gaussian_entropy,
    gaussian_log_prob,
    scale_gradient,
)
from zelkova.networks.learned.config import LearnedConfig
from zelkova.networks.learned.network import LearnedNetwork, ModelSizes, build_learned
from zelkova.replay.config import UnrollConfig
from zelkova.replay.unroll import UnrollBatch, draw_changes, make_unroll

ALL: dict[str, Any] = {"consistency_weight": 2.0, "entropy_weight": 0.01}


def tensors(batch: UnrollBatch) -> UnrollBatch:
    return UnrollBatch(*(None if part is None else torch.from_numpy(np.array(part)) for part in batch))


def make_batch(dims: int = 0, **settings: Any) -> UnrollBatch:
    """Six rows, of which some reach beyond an ending and some beyond a cut."""
    buffer = fill(*(random_trajectory(seed, terminated=seed % 2 == 0, dims=dims) for seed in range(4)))
    picks = pick(buffer, 0, 4, 9, 12, 19, 26)
    config = UnrollConfig(**{"unroll_steps": 3, "absorbing": "mask", **settings})
    return tensors(make_unroll(buffer, picks, config, np.random.default_rng(0), needs_next=True))


def build(dims: int = 0, **settings: Any) -> LearnedNetwork:
    sizes = ModelSizes((2,), 0 if dims else 3, dims, 1, learns_turns=True)
    sizing = {"width": 16, "hidden": 32, "projection": 8, "prefix_hidden": 8}
    network = build_learned(LearnedConfig(**{**sizing, **settings}), sizes, seed=2)
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.1)
    return network


def loss_and_gradient(
    network: LearnedNetwork, batch: UnrollBatch, prefix_reset: int = 0, **settings: Any
) -> tuple[Tensor, Tensor]:
    loss, _, _ = UnrollObjective(UnrollLossConfig(**settings), prefix_reset)(network, batch)
    parameters = list(network.parameters())
    found = torch.autograd.grad(loss, parameters, allow_unused=True)
    return loss.detach(), torch.cat([g.flatten() for g in found if g is not None])


class Still(LearnedNetwork):
    """Latents are observations, nothing moves them, and the value is the latent's mean."""

    def __init__(self, width: int) -> None:
        config = LearnedConfig(width=width, heads="scalar", transform=False, latent_norm="none")
        super().__init__(config, ModelSizes((width,), 3, 0, 1))

    def represent(self, observation: Tensor) -> Tensor:
        return observation

    def advance(self, latent: Tensor, action: Tensor) -> Tensor:
        return latent + 0.0

    def predict(self, latent: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        return torch.zeros(len(latent), 3), latent.mean(1)[:, None, None], None

    def rewards(self, latent: Tensor, hidden: Any = None) -> tuple[Tensor, Any]:
        return latent.mean(1)[:, None, None], hidden

    def project(self, latent: Tensor, is_predicted: bool) -> Tensor:
        return latent


def still_batch(observation: Tensor, steps: int, **others: Any) -> UnrollBatch:
    """Values and rewards of 0.5 wanted nowhere, one row."""
    fields: dict[str, Any] = {
        "observations": observation,
        "actions": torch.zeros(1, steps, dtype=torch.int32),
        "rewards": torch.full((1, steps, 1), 0.5),
        "values": torch.full((1, steps + 1, 1), 0.5),
        "policy": torch.full((1, steps + 1, 3), 1 / 3),
        "candidates": None,
        "reward_mask": torch.zeros(1, steps, dtype=torch.bool),
        "value_mask": torch.zeros(1, steps + 1, dtype=torch.bool),
        "policy_mask": torch.zeros(1, steps + 1, dtype=torch.bool),
        "next_observations": None,
        "next_mask": None,
        "to_play": torch.zeros(1, steps + 1, dtype=torch.int8),
        "weights": torch.ones(1),
    }
    return UnrollBatch(**fields | others)


def factors(head: str, **settings: Any) -> list[float]:
    """Gradient at the first latent of a loss at each step alone; (v - 0.5)^2 at v = 1 has slope 1."""
    found = []
    for step in range(6 if head == "value" else 5):
        observation = torch.ones(1, 1, requires_grad=True)
        batch = still_batch(observation, 5)
        getattr(batch, f"{head}_mask")[0, step] = True
        loss, _, _ = UnrollObjective(UnrollLossConfig(value_weight=1.0, **settings))(Still(1), batch)
        (gradient,) = torch.autograd.grad(loss, observation)
        found.append(float(gradient))
    return found


def test_n11_gradients_are_halved_where_a_latent_enters_the_dynamics() -> None:
    assert factors("value") == pytest.approx([1, 0.2, 0.1, 0.05, 0.025, 0.0125])
    assert factors("reward") == pytest.approx([0.2, 0.1, 0.05, 0.025, 0.0125])


def test_n12_the_other_variant_halves_a_step_s_own_heads_too() -> None:
    assert factors("value", scaled_at="output") == pytest.approx([1, 0.1, 0.05, 0.025, 0.0125, 0.00625])


def test_everything_can_weigh_one_over_k() -> None:
    assert factors("value", scale="all") == pytest.approx([0.2, 0.2, 0.1, 0.05, 0.025, 0.0125])


def test_gradients_can_be_left_whole() -> None:
    assert factors("value", gradient_scale=1.0) == pytest.approx([1, 0.2, 0.2, 0.2, 0.2, 0.2])


def test_scaling_a_gradient_leaves_the_numbers() -> None:
    x = torch.tensor([0.5, -3.0], requires_grad=True)
    scaled = scale_gradient(x, 0.25)
    assert scaled.tolist() == x.tolist()
    assert torch.autograd.grad(scaled.sum(), x)[0].tolist() == [0.25, 0.25]


def test_a15_consistency_is_one_less_the_cosine() -> None:
    seen = torch.tensor([[[1.0, 1.0], [1.0, 0.0]]])
    batch = still_batch(
        torch.tensor([[1.0, 0.0]], requires_grad=True), 2,
        next_observations=seen, next_mask=torch.tensor([[True, False]]),
    )  # fmt: skip
    objective = UnrollObjective(UnrollLossConfig(consistency_weight=2.0))
    loss, _, figures = objective(Still(2), batch)
    assert float(figures["consistency_loss"]) - 1.0 == pytest.approx(-0.707107, abs=1e-6)
    assert loss.item() == pytest.approx(2.0 * 0.5 * (1 - 0.707107), abs=1e-6)


def test_no_gradient_runs_into_what_was_seen() -> None:
    seen = torch.tensor([[[1.0, 1.0]]], requires_grad=True)
    batch = still_batch(
        torch.tensor([[1.0, 0.0]], requires_grad=True),
        1,
        next_observations=seen,
        next_mask=torch.tensor([[True]]),
    )
    loss, _, _ = UnrollObjective(UnrollLossConfig(consistency_weight=2.0))(Still(2), batch)
    assert torch.autograd.grad(loss, [batch.observations, seen], allow_unused=True)[1] is None


WILD = {
    "rewards": "reward_mask",
    "values": "value_mask",
    "policy": "policy_mask",
    "candidates": "policy_mask",
    "next_observations": "next_mask",
    "to_play": "value_mask",
}


@pytest.mark.parametrize(
    ("field", "dims"), [(field, dims) for field in WILD for dims in (0, 2) if dims or field != "candidates"]
)
@pytest.mark.parametrize("heads", ["categorical", "scalar"])
def test_a_masked_target_changes_nothing(dims: int, heads: str, field: str) -> None:
    batch, network = make_batch(dims), build(dims, heads=heads)
    target, mask = getattr(batch, field), getattr(batch, WILD[field])
    assert (~mask).any()
    before = loss_and_gradient(network, batch, **ALL)
    wild = target.clone()
    wild[~mask] = 0 if field == "to_play" else torch.full_like(wild[~mask], 0.77)
    if field == "values":
        wild[~mask] = 1e6
    after = loss_and_gradient(network, batch._replace(**{field: wild}), **ALL)
    assert torch.equal(before[0], after[0])
    assert torch.equal(before[1], after[1])
    if field != "to_play":  # one player: it is always the same one's turn
        other = target.clone()
        other[mask] += 0.5
        changed = loss_and_gradient(network, batch._replace(**{field: other}), **ALL)
        assert not torch.equal(before[0], changed[0])


@pytest.mark.parametrize("dims", [0, 2])
def test_actions_beyond_an_end_change_nothing_where_it_is_masked(dims: int) -> None:
    batch, network = make_batch(dims), build(dims)
    beyond = ~batch.reward_mask
    actions = batch.actions.clone()
    actions[beyond] = 0 if not dims else torch.full_like(actions[beyond], 0.123)
    assert not torch.equal(actions, batch.actions)
    before = loss_and_gradient(network, batch, **ALL)
    after = loss_and_gradient(network, batch._replace(actions=actions), **ALL)
    assert torch.equal(before[0], after[0])
    assert torch.equal(before[1], after[1])


def one_row(batch: UnrollBatch, row: int) -> UnrollBatch:
    return UnrollBatch(*(None if part is None else part[row : row + 1] for part in batch))


@pytest.mark.parametrize("dims", [0, 2])
@pytest.mark.parametrize("reset", [0, 2])
def test_each_row_s_whole_loss_is_weighed_by_its_own_weight(dims: int, reset: int) -> None:
    weights = torch.tensor([1.0, 0.25, 0.5, 0.0, 0.75, 0.1])
    batch = make_batch(dims)._replace(weights=weights)
    network = build(dims, value_prefix=reset > 0)
    single = [one_row(batch, row)._replace(weights=torch.ones(1)) for row in range(6)]
    parts = [loss_and_gradient(network, row, reset, **ALL) for row in single]
    loss, gradient = loss_and_gradient(network, batch, reset, **ALL)
    torch.testing.assert_close(loss, sum(w * part[0] for w, part in zip(weights, parts, strict=True)) / 6)
    wanted = torch.stack([w * part[1] for w, part in zip(weights, parts, strict=True)]).sum(0) / 6
    torch.testing.assert_close(gradient, wanted, rtol=1e-3, atol=1e-5)


def test_errors_are_distances_of_values_at_the_first_step() -> None:
    batch, network = make_batch(), build()
    _, errors, _ = UnrollObjective(UnrollLossConfig())(network, batch)
    value = network.value_of(network.initial_inference(batch.observations).value)
    assert errors is not None
    torch.testing.assert_close(errors, (value - batch.values[:, 0]).abs()[:, 0])


def test_numbers_beyond_the_support_are_counted_where_they_are_targets() -> None:
    batch, network = make_batch(), build(value_limit=2.0, reward_limit=2.0)
    values, rewards = torch.zeros_like(batch.values), torch.zeros_like(batch.rewards)
    values[0, 0], rewards[0, :2] = 1000.0, -1000.0
    values[~batch.value_mask] = 1e6
    _, _, figures = UnrollObjective(UnrollLossConfig())(
        network, batch._replace(values=values, rewards=rewards)
    )
    assert int(figures["outside_support"]) == 3


def test_a_value_prefix_is_trained_along_the_unroll_with_a_memory_that_starts_anew() -> None:
    batch, network = make_batch(), build(value_prefix=True)
    latent, hidden, wanted = network.represent(batch.observations), None, torch.zeros(())
    for step in range(3):
        latent = network.advance(latent, batch.actions[:, step].long())
        logits, hidden = network.rewards(latent, None if step == 2 else hidden)
        share = network.heads.reward_support.encode(batch.rewards[:, step])
        losses = -(share * torch.log_softmax(logits, -1)).sum((-1, -2))
        wanted = wanted + (losses * batch.reward_mask[:, step]).sum() / 6 / 3
    only = UnrollLossConfig(policy_weight=0.0, value_weight=0.0, turn_weight=0.0)
    loss, _, _ = UnrollObjective(only, prefix_reset=2)(network, batch)
    torch.testing.assert_close(loss, wanted)


def test_the_density_of_squashed_actions_integrates_to_one() -> None:
    mean, std = torch.tensor([0.4], dtype=torch.float64), torch.tensor([0.3], dtype=torch.float64)
    grid = torch.linspace(-0.9985, 0.9985, 20_001, dtype=torch.float64)
    density = gaussian_log_prob(mean, std, grid[:, None]).exp()
    assert float(torch.trapezoid(density, grid)) == pytest.approx(1.0, abs=1e-4)
    at = torch.tanh(torch.tensor([[0.4]], dtype=torch.float64))
    wanted = -math.log(0.3) - 0.5 * math.log(2 * math.pi) - math.log(1 - math.tanh(0.4) ** 2)
    assert float(gaussian_log_prob(mean, std, at)) == pytest.approx(wanted)


def test_the_entropy_of_a_continuous_policy_is_that_of_its_normals() -> None:
    std = torch.tensor([[1.0, 0.5], [2.0, 0.1]])
    wanted = torch.distributions.Normal(torch.zeros(2, 2), std).entropy()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(gaussian_entropy(std), wanted.sum(-1))
    assert float(gaussian_entropy(torch.ones(1))) == pytest.approx(1.418939)


def test_actions_at_the_very_edge_have_finite_densities() -> None:
    found = gaussian_log_prob(torch.zeros(2), torch.full((2,), 0.1), torch.tensor([[1.0, -1.0]]))
    assert found.isfinite().all()


def test_the_best_candidate_alone_or_all_by_weight() -> None:
    batch, network = make_batch(2), build(2)
    only: dict[str, Any] = {"value_weight": 0.0, "reward_weight": 0.0, "turn_weight": 0.0}
    best = torch.nn.functional.one_hot(batch.policy.argmax(-1), 4).float()
    one = loss_and_gradient(network, batch, continuous="best", **only)[0]
    torch.testing.assert_close(one, loss_and_gradient(network, batch._replace(policy=best), **only)[0])
    assert abs(float(one - loss_and_gradient(network, batch, **only)[0])) > 1e-3


def overfit(network: LearnedNetwork, batch: UnrollBatch, steps: int, **settings: Any) -> dict[str, float]:
    objective = UnrollObjective(UnrollLossConfig(**{"value_weight": 1.0, **settings}))
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    for _ in range(steps):
        loss, errors, figures = objective(network, batch)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert errors is not None
    return {"error": float(errors.max()), **{name: float(figure) for name, figure in figures.items()}}


def test_one_batch_of_numbered_actions_is_learnt_by_heart() -> None:
    batch, network = make_batch(), build()
    got = overfit(network, batch, 150, consistency_weight=1.0)
    assert got["error"] < 0.1
    assert got["policy_loss"] - got["policy_target_entropy"] < 0.02
    assert got["consistency_loss"] < 0.02
    reached = network.recurrent_inference(network.represent(batch.observations), batch.actions[:, 0].long())
    assert reached.reward is not None
    torch.testing.assert_close(network.reward_of(reached.reward), batch.rewards[:, 0], rtol=0, atol=0.2)


def test_one_batch_of_continuous_actions_is_learnt_by_heart() -> None:
    batch, network = make_batch(2), build(2)
    got = overfit(network, batch, 150, continuous="best")
    assert got["error"] < 0.1
    mean, std = network.gaussian(network.initial_inference(batch.observations).policy)
    best = batch.candidates[torch.arange(6), 0, batch.policy[:, 0].argmax(-1)]
    torch.testing.assert_close(torch.tanh(mean), best, rtol=0, atol=0.15)
    assert std.mean() < 0.4


def test_another_kind_of_network_is_refused() -> None:
    with pytest.raises(ShapeError, match="needs a LearnedNetwork"):
        UnrollObjective(UnrollLossConfig())(nn.Linear(1, 1), make_batch())


@pytest.mark.parametrize("wrong", [{"value_weight": -1.0}, {"scale": "steps"}, {"scaled_at": "both"}])
def test_settings_that_can_t_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"loss.{next(iter(wrong))}"):
        UnrollLossConfig(**wrong)


def test_changed_images_are_what_the_network_sees_and_none_is_the_same_bits() -> None:
    sizes = ModelSizes((1, 4, 4), 3, 0, 1)
    settings = LearnedConfig(kind="conv", width=4, hidden=8, projection=8, head_channels=2)
    network = build_learned(settings, sizes, seed=2).eval()
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (5, 1, 4, 4), dtype=np.uint8)
    buffer = fill(*(random_trajectory(seed, moves=4) for seed in range(2)))
    buffer.columns["observations"] = np.resize(images, (len(buffer.columns["policy"]), 1, 4, 4))
    config = UnrollConfig(unroll_steps=3)
    plain = make_unroll(buffer, pick(buffer, 0, 5), config, np.random.default_rng(0), needs_next=True)
    objective = UnrollObjective(UnrollLossConfig(consistency_weight=2.0))
    losses = [
        objective(network, tensors(batch))[0].item()
        for batch in (
            plain,
            draw_changes(plain, 0, 0.0, np.random.default_rng(1)),
            draw_changes(plain, 2, 0.0, np.random.default_rng(1)),
        )
    ]
    assert losses[0] == losses[1]
    assert losses[0] != losses[2]
    moved = plain._replace(
        observations=np.concatenate([plain.observations[:, :, :1], plain.observations[:, :, :-1]], axis=2)
    )
    down = np.tile(np.array([0, 0, 1], np.float32), (2, 4, 1))
    down[:, 0, 0] = 1  # the first image alone
    shifted = plain._replace(augment=down)
    assert objective(network, tensors(moved))[0].item() == objective(network, tensors(shifted))[0].item()


@pytest.mark.parametrize(("name", "value"), [("shift_pixels", -1), ("shift_pixels", 65), ("intensity", 0.6)])
def test_changes_out_of_range_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"loss.{name} is .*; allowed: "):
        UnrollLossConfig(**{name: value})
