"""Losses against numbers worked out by hand and the verification list (M13, A7-A11)."""

import math

import pytest
import torch
from torch import Tensor

from zelkova.errors import ShapeError
from zelkova.learning.losses import ValueSettings, mix_values, policy_loss, value_loss

TWO = ValueSettings((-1.0, 1.0), True, 0.5)
LOG = math.log


def batch(*rows: list[float]) -> Tensor:
    return torch.tensor(rows)


def actions(*rows: list[int]) -> Tensor:
    return torch.tensor(rows)


def test_policy_loss_by_hand_and_blind_to_illegal_actions() -> None:
    logits = batch([LOG(6.0), 100.0, LOG(3.0), LOG(1.0)])  # 0.6, illegal, 0.3, 0.1
    legal, target = actions([0, 2, 3, -1]), batch([0.5, 0.25, 0.25, 0.0])
    got = policy_loss(logits, legal, target)
    assert got.loss.item() == pytest.approx(-(0.5 * LOG(0.6) + 0.25 * LOG(0.3) + 0.25 * LOG(0.1)), abs=1e-6)
    assert got.entropy.item() == pytest.approx(-(0.6 * LOG(0.6) + 0.3 * LOG(0.3) + 0.1 * LOG(0.1)), abs=1e-6)
    assert got.target_entropy.item() == pytest.approx(1.5 * LOG(2.0), abs=1e-6)
    assert got.agreement.item() == 1.0
    logits.requires_grad_(True)
    policy_loss(logits, legal, target).loss.backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    torch.testing.assert_close(logits.grad, batch([0.1, 0.0, 0.05, -0.15]), atol=1e-6, rtol=0)


def test_legal_actions_may_come_in_any_order() -> None:
    logits = torch.randn(4, 6, generator=torch.manual_seed(3))
    legal, target = actions(*[[0, 2, 5, -1]] * 4), batch(*[[0.5, 0.2, 0.3, 0.0]] * 4)
    turned = policy_loss(logits, legal[:, [2, 0, 1, 3]], target[:, [2, 0, 1, 3]])
    torch.testing.assert_close(policy_loss(logits, legal, target).loss, turned.loss)


@pytest.mark.parametrize(("count", "floor"), [(18, 1.981546), (2, 0.313262)])
def test_a7_a8_no_second_softmax(count: int, floor: float) -> None:
    """Through a second softmax the loss could never fall below the floor; here it reaches 0."""
    target = torch.zeros(1, count)
    target[0, 0] = 1.0
    legal = torch.arange(count)[None]
    assert policy_loss(100.0 * target, legal, target).loss.item() < 1e-6
    assert policy_loss(torch.softmax(100.0 * target, 1), legal, target).loss.item() == pytest.approx(
        floor, abs=1e-6
    )


def test_a9_log_probabilities_are_logits() -> None:
    target = batch([0.7, 0.2, 0.1])
    got = policy_loss(target.log(), actions([0, 1, 2]), target)
    assert got.loss.item() == pytest.approx(got.target_entropy.item(), abs=1e-6)


def test_a10_a11_a_confident_mistake_keeps_its_loss_and_gradient() -> None:
    logits = batch([0.0, 40.0]).requires_grad_(True)
    loss = policy_loss(logits, actions([0, 1]), batch([1.0, 0.0])).loss
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == pytest.approx(40.0)
    assert logits.grad is not None
    assert logits.grad[0, 0].item() == pytest.approx(-1.0)


def test_value_loss_by_hand() -> None:
    logits = batch([LOG(0.5), LOG(0.3), LOG(0.2)])  # win, loss, draw: value 0.2 of -1..1, 0.6 of 0..1
    got = value_loss(logits, batch([0.0, 0.0, 1.0]), batch([-0.4, 0.4]), None, TWO)
    assert got.outcome.item() == pytest.approx(-LOG(0.2), abs=1e-6)
    assert got.root_value.item() == pytest.approx(2 * (0.6 - 0.3) ** 2, abs=1e-6)
    assert got.loss.item() == pytest.approx(0.5 * -LOG(0.2) + 0.5 * 0.18, abs=1e-6)
    assert got.accuracy.item() == 0.0
    assert got.error.item() == pytest.approx(abs(0.6 - 0.5 * (0.5 + 0.3)), abs=1e-6)  # both seats alike


def test_three_players_share_the_draw() -> None:
    logits = batch([0.4, 0.1, 0.2, 0.3]).log()
    settings = ValueSettings((0.0, 1.0), True, 1.0, root_value_weight=2.0)
    got = value_loss(logits, batch([1.0, 0.0, 0.0, 0.0]), batch([0.5, 0.3, 0.2]), None, settings)
    assert got.root_value.item() == pytest.approx(0.0**2 + 0.1**2 + 0.1**2, abs=1e-6)
    assert got.loss.item() == pytest.approx(2.0 * 0.02, abs=1e-6)
    assert got.accuracy.item() == 1.0


def test_one_player_is_a_share_of_the_range() -> None:
    logits = batch([0.25, 0.75]).log()
    got = value_loss(logits, batch([0.5, 0.5]), batch([50.0]), None, ValueSettings((0.0, 200.0), True, 0.5))
    assert got.outcome.item() == pytest.approx(-0.5 * (LOG(0.25) + LOG(0.75)), abs=1e-6)
    assert got.root_value.item() == pytest.approx(0.0, abs=1e-6)


def test_outcomes_that_can_not_happen_have_no_part() -> None:
    logits, won = batch([LOG(0.3), LOG(0.1), 5.0]), batch([1.0, 0.0, 0.0])
    without = value_loss(logits, won, batch([0.5, -0.5]), None, ValueSettings((-1.0, 1.0), False, 0.5))
    assert without.outcome.item() == pytest.approx(-LOG(0.75), abs=1e-6)
    assert without.root_value.item() == pytest.approx(0.0, abs=1e-6)
    logits = batch([LOG(0.3), 7.0, LOG(0.1), LOG(0.1)]).requires_grad_(True)
    alive = torch.tensor([[True, False, True]])
    got = value_loss(
        logits,
        batch([1.0, 0.0, 0.0, 0.0]),
        batch([0.6, 0.0, 0.4]),
        alive,
        ValueSettings((0.0, 1.0), True, 0.0),
    )
    got.loss.backward()  # type: ignore[no-untyped-call]
    assert got.loss.item() == pytest.approx(-LOG(0.6), abs=1e-6)
    assert logits.grad is not None
    assert logits.grad[0, 1].item() == 0.0


def test_an_even_position_pulls_alike_from_both_parts() -> None:
    """root_value_weight 1: near an even position the squared error is as steep as the cross-entropy."""
    gradients = []
    for mix in (0.0, 1.0):
        logits = batch([0.0, 0.0]).requires_grad_(True)
        padded = torch.cat([logits, torch.full((1, 1), -50.0)], 1)
        target = batch([0.51, 0.49, 0.0])
        settings = ValueSettings((-1.0, 1.0), True, mix)
        value_loss(padded, target, batch([0.02, -0.02]), None, settings).loss.backward()  # type: ignore[no-untyped-call]
        assert logits.grad is not None
        gradients.append(logits.grad)
    torch.testing.assert_close(gradients[0], gradients[1], atol=1e-5, rtol=1e-3)


def test_m13_mixed_target() -> None:
    got = mix_values(batch([0.0, 1.0, 0.0]), batch([0.5, 0.3, 0.2]), 0.5)
    torch.testing.assert_close(got, batch([0.25, 0.65, 0.1]))


def test_shapes_that_do_not_fit_are_named() -> None:
    with pytest.raises(ShapeError, match=r"policy_logits \[2, 3\], legal \[1, 3\]"):
        policy_loss(torch.zeros(2, 3), actions([0, 1, 2]), torch.zeros(1, 3))
    with pytest.raises(ShapeError, match=r"root_values \[1, 3\]"):
        value_loss(torch.zeros(1, 3), torch.zeros(1, 3), torch.zeros(1, 3), None, TWO)
    with pytest.raises(ShapeError, match=r"alive \[1, 3\]"):
        value_loss(
            torch.zeros(1, 3), torch.zeros(1, 3), torch.zeros(1, 2), torch.ones(1, 3, dtype=torch.bool), TWO
        )
