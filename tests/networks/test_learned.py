from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zelkova.errors import ConfigError, ShapeError
from zelkova.networks.learned.config import LearnedConfig
from zelkova.networks.learned.network import LearnedNetwork, ModelSizes, build_learned

FLAT = ModelSizes((4,), 3, 0, 1)
IMAGE = ModelSizes((2, 9, 6), 3, 0, 2, learns_turns=True)
VECTOR = ModelSizes((4,), 0, 2, 1)


def build(sizes: ModelSizes = FLAT, seed: int = 0, **settings: Any) -> LearnedNetwork:
    sizing = {"width": 8, "hidden": 16, "projection": 8, "prefix_hidden": 5, "head_channels": 2}
    config = LearnedConfig(
        **{**sizing, "kind": "conv" if len(sizes.observation_shape) == 3 else "mlp", **settings}
    )
    return build_learned(config, sizes, seed).eval()


def shake(network: LearnedNetwork, seed: int = 1) -> LearnedNetwork:
    """Give all weights values, the last layers' too."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return network


class Given(nn.Module):
    """Answers the same whatever it is asked."""

    def __init__(self, answer: list[float]) -> None:
        super().__init__()
        self.answer = torch.tensor([answer])

    def forward(self, asked: Tensor) -> Tensor:
        return self.answer.expand(len(asked), -1)


def test_n13_latents_are_brought_to_zero_to_one() -> None:
    network = build(width=4)
    network.parts.representation = Given([2.0, -1.0, 0.5, 5.0])  # type: ignore[assignment]
    got = network.represent(torch.zeros(2, 4))
    torch.testing.assert_close(got, torch.tensor([[0.5, 0.0, 0.25, 1.0]] * 2))
    network.parts.dynamics = Given([2.0, -1.0, 0.5, 5.0])  # type: ignore[assignment]
    after = network.advance(torch.zeros(1, 4), torch.tensor([0]))
    torch.testing.assert_close(after, torch.tensor([[0.5, 0.0, 0.25, 1.0]]))


def test_a_latent_of_equal_numbers_stays_finite() -> None:
    network = build(width=4)
    network.parts.representation = Given([3.0] * 4)  # type: ignore[assignment]
    assert network.represent(torch.zeros(1, 4)).tolist() == [[0.0] * 4]


def test_normalisation_can_be_left_out() -> None:
    network = build(width=4, latent_norm="none")
    network.parts.representation = Given([2.0, -1.0, 0.5, 5.0])  # type: ignore[assignment]
    assert network.represent(torch.zeros(1, 4)).tolist() == [[2.0, -1.0, 0.5, 5.0]]


def test_planes_are_normalised_over_all_their_numbers() -> None:
    latent = shake(build(IMAGE)).represent(torch.randn(3, 2, 9, 6))
    assert latent.flatten(1).amin(1).tolist() == [0.0] * 3
    torch.testing.assert_close(latent.flatten(1).amax(1), torch.ones(3))
    assert (latent.amax((2, 3)) < 1).any()


@pytest.mark.parametrize("sizes", [FLAT, IMAGE, VECTOR])
@pytest.mark.parametrize("heads", ["categorical", "scalar"])
@pytest.mark.parametrize("prefix", [False, True])
def test_answers_have_the_promised_shapes(sizes: ModelSizes, heads: str, prefix: bool) -> None:
    network = build(sizes, heads=heads, value_prefix=prefix, value_limit=7.0, reward_limit=3.0)
    first = network.initial_inference(torch.randn(5, *sizes.observation_shape))
    action = torch.randn(5, 2) if network.is_continuous else torch.tensor([0, 1, 2, 0, 1])
    then = network.recurrent_inference(first.latent, action)
    players = sizes.num_players
    assert first.reward is None
    assert then.reward is not None
    for found in (first, then):
        assert found.policy.shape == (5, 4 if network.is_continuous else 3)
        assert found.value.shape == (5, players, 1 if heads == "scalar" else 15)
        assert network.value_of(found.value).shape == (5, players)
        assert (found.to_play is not None) == sizes.learns_turns
    assert then.latent.shape == first.latent.shape
    assert then.reward.shape == (5, players, 1 if heads == "scalar" else 7)
    assert network.reward_of(then.reward).shape == (5, players)
    assert (then.hidden is not None) == prefix
    assert network.project(then.latent, True).shape == network.project(first.latent, False).shape == (5, 8)


@pytest.mark.parametrize("sizes", [FLAT, IMAGE, VECTOR])
def test_at_first_all_is_worth_nothing_and_policies_are_even(sizes: ModelSizes) -> None:
    network = build(sizes)
    first = network.initial_inference(torch.randn(5, *sizes.observation_shape))
    action = torch.zeros(5, 2) if network.is_continuous else torch.zeros(5, dtype=torch.int64)
    then = network.recurrent_inference(first.latent, action)
    assert then.reward is not None
    for number in (network.value_of(first.value), network.reward_of(then.reward)):
        torch.testing.assert_close(number, torch.zeros_like(number), rtol=0, atol=1e-5)
    assert (first.policy == 0).all()
    if network.is_continuous:
        mean, std = network.gaussian(first.policy)
        assert (mean == 0).all()
        torch.testing.assert_close(std, torch.full_like(std, 1.1), rtol=0, atol=0.01)


@pytest.mark.parametrize("sizes", [FLAT, IMAGE])
def test_each_row_is_answered_as_if_it_were_alone(sizes: ModelSizes) -> None:
    network = shake(build(sizes, value_prefix=True))
    seen, action = torch.randn(6, *sizes.observation_shape), torch.tensor([0, 1, 2, 0, 1, 2])
    first = network.initial_inference(seen)
    then = network.recurrent_inference(first.latent, action)
    for row in range(6):
        alone = network.initial_inference(seen[row : row + 1])
        after = network.recurrent_inference(alone.latent, action[row : row + 1])
        torch.testing.assert_close(alone.value[0], first.value[row])
        torch.testing.assert_close(after.value[0], then.value[row])
        assert after.reward is not None
        assert then.reward is not None
        torch.testing.assert_close(after.reward[0], then.reward[row])


@pytest.mark.parametrize("sizes", [FLAT, IMAGE, VECTOR])
def test_the_action_matters(sizes: ModelSizes) -> None:
    network = shake(build(sizes))
    latent = network.represent(torch.randn(1, *sizes.observation_shape))
    actions = [torch.tensor([[0.3, -0.2]]), torch.tensor([[0.3, 0.2]])]
    if not network.is_continuous:
        actions = [torch.tensor([1]), torch.tensor([2])]
    one, two = (network.advance(latent, action) for action in actions)
    assert (one - two).abs().max() > 1e-3


def test_bytes_are_images_of_zero_to_one() -> None:
    network = shake(build(IMAGE))
    image = torch.randint(0, 256, (2, 2, 9, 6), dtype=torch.uint8)
    torch.testing.assert_close(network.represent(image), network.represent(image.float() / 255))


@pytest.mark.parametrize(("times", "shape"), [(0, (8, 9, 6)), (1, (8, 5, 3)), (2, (8, 3, 2))])
def test_halving_an_image_gives_the_latent_it_says(times: int, shape: tuple[int, ...]) -> None:
    network = build(IMAGE, downsample=times)
    assert network.parts.latent_shape == shape
    assert network.represent(torch.randn(2, 2, 9, 6)).shape == (2, *shape)


def test_a_prefix_s_memory_that_begins_is_one_of_zeros() -> None:
    network = shake(build(value_prefix=True))
    latent = network.represent(torch.randn(4, 4))
    bare, hidden = network.rewards(latent)
    zeros, again = network.rewards(latent, network.fresh_hidden(4))
    torch.testing.assert_close(bare, zeros)
    torch.testing.assert_close(hidden[1], again[1])
    later, _ = network.rewards(latent, hidden)
    assert (later - bare).abs().max() > 1e-3


def test_a_gaussian_is_kept_within_bounds() -> None:
    network = build(VECTOR, min_std=0.2)
    mean, std = network.gaussian(torch.tensor([[100.0, -100.0, -100.0, 3.0]]))
    torch.testing.assert_close(mean, torch.tensor([[5.0, -5.0]]))
    assert std[0, 0] == pytest.approx(0.2)
    assert std[0, 1] > 3


def test_the_predictor_is_for_the_unrolled_branch_alone() -> None:
    network = shake(build())
    latent = network.represent(torch.randn(2, 4))
    torch.testing.assert_close(
        network.predictor(network.project(latent, False)), network.project(latent, True)
    )


def test_the_same_seed_builds_the_same_weights_and_the_global_generator_stays() -> None:
    before = torch.random.get_rng_state()
    one, two, other = build(seed=3), build(seed=3), build(seed=4)
    assert torch.equal(torch.random.get_rng_state(), before)
    weights = [dict(network.state_dict()) for network in (one, two, other)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert any(not torch.equal(weights[0][name], weights[2][name]) for name in weights[0])


def test_convolutions_need_planes() -> None:
    with pytest.raises(ShapeError, match="latent.kind = mlp"):
        build(FLAT, kind="conv")


@pytest.mark.parametrize(
    "wrong",
    [{"width": 0}, {"kind": "rnn"}, {"latent_norm": "max"}, {"value_limit": 0.0}, {"support_step": 11.0}],
)
def test_settings_that_can_t_be_built_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"latent.{next(iter(wrong))}"):
        build(**wrong)


def test_a_support_whose_steps_miss_its_end_is_refused() -> None:
    with pytest.raises(ConfigError, match="whole number of steps"):
        build(support_step=0.3)
