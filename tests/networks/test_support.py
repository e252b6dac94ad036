import pytest
import torch
from torch import Tensor

from zelkova.errors import ConfigError
from zelkova.networks.learned.support import Support, squash, stretch

PLAIN = Support(-10.0, 10.0, is_squashed=False)


def number(x: float) -> Tensor:
    return torch.tensor(x, dtype=torch.float64)


def shares(support: Support, x: float) -> dict[int, float]:
    encoded = support.encode(torch.tensor(x))
    return {place: float(share) for place, share in enumerate(encoded) if share > 0}


def logits_of(shares: Tensor) -> Tensor:
    return shares.log().clamp_min(-1e4)


@pytest.mark.parametrize(
    ("x", "wanted"),
    [
        (1.0, 0.415214),
        (-5.0, -1.454490),
        (100.0, 9.149876),
        (0.0, 0.0),
        (8.0, 2.008),
        (-8.0, -2.008),
        (-100.0, -9.149876),
    ],
)
def test_t1_to_t3_and_pub_learning_2_the_transform(x: float, wanted: float) -> None:
    assert float(squash(number(x))) == pytest.approx(wanted, abs=1e-6)


def test_t4_the_inverse_gives_back_what_came() -> None:
    x = torch.arange(-1000, 1001, dtype=torch.float64)
    torch.testing.assert_close(stretch(squash(x)), x, rtol=0, atol=1e-6)


def test_the_inverse_is_good_in_the_float32_that_networks_compute_in() -> None:
    x = torch.arange(-100, 101, dtype=torch.float32)
    torch.testing.assert_close(stretch(squash(x)), x, rtol=1e-6, atol=1e-4)
    large = torch.tensor([1000.0, 50000.0, -50000.0])
    torch.testing.assert_close(stretch(squash(large)), large, rtol=1e-6, atol=0)
    small = torch.tensor([1e-3, -0.05, 0.2])
    torch.testing.assert_close(stretch(squash(small)), small, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("y", "wanted"), [(300.0, 58705.584), (50.0, 2364.4197), (20.0, 422.4361), (10.0, 117.4303)]
)
def test_t5_and_t6_what_supports_reach(y: float, wanted: float) -> None:
    assert float(stretch(number(y))) == pytest.approx(wanted, abs=1e-3)
    assert float(stretch(number(-y))) == pytest.approx(-wanted, abs=1e-3)


@pytest.mark.parametrize(
    ("x", "wanted"),
    [
        (3.7, {13: 0.3, 14: 0.7}),
        (-0.25, {9: 0.25, 10: 0.75}),
        (10.0, {20: 1.0}),
        (-10.0, {0: 1.0}),
        (3.0, {13: 1.0}),
        (25.0, {20: 1.0}),
        (-25.0, {0: 1.0}),
    ],
)
def test_t7_to_t9_and_pub_learning_2_two_atoms_share_a_number(x: float, wanted: dict[int, float]) -> None:
    assert shares(PLAIN, x) == pytest.approx(wanted, abs=1e-6)


def test_t10_a_number_beyond_the_end_decodes_to_the_end_and_is_noticed() -> None:
    encoded = PLAIN.encode(torch.tensor([57.0, -57.0]))
    torch.testing.assert_close(PLAIN.decode(logits_of(encoded)), torch.tensor([10.0, -10.0]))
    outside = PLAIN.is_outside(torch.tensor([57.0, 10.0, 10.01, -10.0, -10.01, 0.0]))
    assert outside.tolist() == [True, False, True, False, True, False]


def test_t11_a_squashed_number_is_shared_and_comes_back() -> None:
    support = Support(-10.0, 10.0)
    assert float(squash(number(3.7))) == pytest.approx(1.171648, abs=1e-6)
    assert shares(support, 3.7) == pytest.approx({11: 0.828352, 12: 0.171648}, abs=1e-6)
    encoded = support.encode(torch.tensor(3.7))
    assert float(support.decode(logits_of(encoded))) == pytest.approx(3.7, abs=1e-5)


def test_t12_the_expectation_comes_before_the_inverse() -> None:
    support = Support(-10.0, 10.0)
    halves = torch.zeros(21)
    halves[[10, 14]] = 0.5
    assert float(support.decode(logits_of(halves))) == pytest.approx(stretch(number(2.0)).item(), abs=1e-5)
    assert float(support.decode(logits_of(halves))) == pytest.approx(7.952349, abs=1e-5)


def test_t13_atoms_closer_than_one() -> None:
    support = Support(-2.0, 2.0, 0.1, is_squashed=False)
    assert support.num_atoms == 41
    assert shares(support, 0.37) == pytest.approx({23: 0.3, 24: 0.7}, abs=1e-5)


def test_t14_a_long_episode_of_ones_fits_twenty_and_not_ten() -> None:
    total = sum(0.997**step for step in range(500))
    assert total == pytest.approx(259.1241, abs=1e-4)
    assert float(squash(number(total))) == pytest.approx(15.3875, abs=1e-4)
    assert not Support(-20.0, 20.0).is_outside(number(total))
    assert Support(-10.0, 10.0).is_outside(number(total))


@pytest.mark.parametrize("is_squashed", [True, False])
@pytest.mark.parametrize("step", [1.0, 0.5, 0.1])
def test_every_encoding_is_a_distribution_and_decodes_to_its_number(is_squashed: bool, step: float) -> None:
    support = Support(-5.0, 5.0, step, is_squashed)
    x = torch.linspace(-5, 5, 401)
    encoded = support.encode(x)
    assert encoded.shape == (401, support.num_atoms)
    assert (encoded >= 0).all()
    assert ((encoded > 0).sum(-1) <= 2).all()
    torch.testing.assert_close(encoded.sum(-1), torch.ones(401))
    torch.testing.assert_close(support.decode(logits_of(encoded)), x, rtol=0, atol=1e-4)


def test_shapes_are_kept_in_front_of_the_atoms() -> None:
    x = torch.randn(2, 3, 4)
    assert PLAIN.encode(x).shape == (2, 3, 4, 21)
    assert PLAIN.decode(PLAIN.encode(x)).shape == (2, 3, 4)


@pytest.mark.parametrize("x", [0.0, 3.0, 10.0, 25.0, -25.0, 1e30])
def test_gradients_stay_finite_where_a_number_is_an_atom_or_beyond(x: float) -> None:
    logits = torch.zeros(21, requires_grad=True)
    loss = -(PLAIN.encode(torch.tensor(x)) * torch.log_softmax(logits, -1)).sum()
    loss = loss + Support(-10.0, 10.0).decode(logits)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert gradient.isfinite().all()


def test_equal_logits_mean_zero() -> None:
    assert float(Support(-20.0, 20.0).decode(torch.zeros(41))) == pytest.approx(0.0, abs=1e-5)


def test_bfloat16_logits_are_decoded_in_float32() -> None:
    logits = torch.randn(8, 41, dtype=torch.bfloat16)
    support = Support(-20.0, 20.0)
    assert support.decode(logits).dtype == torch.float32
    torch.testing.assert_close(support.decode(logits), support.decode(logits.float()))


@pytest.mark.parametrize(
    ("low", "high", "step"), [(1.0, 1.0, 1.0), (1.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, 1.0, 2.0)]
)
def test_supports_without_two_atoms_are_refused(low: float, high: float, step: float) -> None:
    with pytest.raises(ConfigError, match="no two atoms"):
        Support(low, high, step)


def test_steps_that_miss_the_last_atom_are_refused() -> None:
    with pytest.raises(ConfigError, match="whole number of steps"):
        Support(-10.0, 10.0, 0.3)
