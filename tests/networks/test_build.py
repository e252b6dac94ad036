"""Networks of every kind and size: shapes, first answers, and that they learn."""

from typing import Any

import pytest
import torch
from torch.nn import functional

from zelkova.errors import ConfigError, ShapeError
from zelkova.networks.build import build_network
from zelkova.networks.config import NetworkConfig
from zelkova.networks.residual import PoolingBlock, ResidualBlock

SIZES = [((3, 6, 7), 7, 2), ((1, 3, 3), 9, 2), ((17, 8, 8), 192, 2), ((4, 1, 5), 3, 1), ((6, 7, 9), 11, 3)]


@pytest.mark.parametrize("kind", ["residual", "mlp"])
@pytest.mark.parametrize(("shape", "actions", "players"), SIZES)
def test_fresh_network_answers_uniformly(
    kind: str, shape: tuple[int, int, int], actions: int, players: int
) -> None:
    module = build_network(NetworkConfig(kind=kind, channels=8, blocks=1), shape, actions, players, True)  # type: ignore[arg-type]
    policy, outcome = module(torch.rand(5, *shape))
    assert policy.shape == (5, actions)
    assert outcome.shape == (5, players + 1)
    assert torch.allclose(torch.softmax(policy, 1), torch.full((5, actions), 1 / actions))
    assert torch.allclose(torch.softmax(outcome, 1), torch.full((5, players + 1), 1 / (players + 1)))


@pytest.mark.parametrize(("kind", "pooling"), [("residual", 0), ("residual", 2), ("mlp", 0)])
def test_one_batch_is_overfitted(kind: str, pooling: int) -> None:
    config = NetworkConfig(kind=kind, channels=16, blocks=2, pooling_every=pooling)  # type: ignore[arg-type]
    module = build_network(config, (2, 4, 5), 6, 2, True)
    generator = torch.Generator().manual_seed(3)
    planes = torch.randint(0, 2, (32, 2, 4, 5), generator=generator).float()
    actions = torch.randint(0, 6, (32,), generator=generator)
    winners = torch.randint(0, 3, (32,), generator=generator)
    optimiser = torch.optim.Adam(module.parameters(), lr=0.01)
    for _ in range(80):
        policy, outcome = module(planes)
        loss = functional.cross_entropy(policy, actions) + functional.cross_entropy(outcome, winners)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    module.eval()
    policy, outcome = module(planes)
    assert (policy.argmax(1) == actions).all()
    assert (outcome.argmax(1) == winners).all()


def test_a_convolution_gives_each_cell_its_own_actions() -> None:
    config = NetworkConfig(channels=8, blocks=0, policy_head="conv", policy_channels=6)
    module = build_network(config, (3, 4, 5), 40, 2, True).eval()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    planes = torch.rand(2, 3, 4, 5, generator=generator)
    moved = planes.roll(1, dims=3)  # by one column: what lies inside moves with it
    before, after = (module(one)[0].view(2, 2, 4, 5) for one in (planes, moved))
    torch.testing.assert_close(after[..., 2:-1], before[..., 1:-2])
    assert before.std() > 0.1


def test_a_convolution_needs_a_whole_number_of_planes() -> None:
    with pytest.raises(ConfigError, match=r"7 actions on 42 cells.*next: linear"):
        build_network(NetworkConfig(policy_head="conv"), (3, 6, 7), 7, 2, True)


def test_draw_is_masked_where_the_game_has_none() -> None:
    for kind in ("residual", "mlp"):
        module = build_network(NetworkConfig(kind=kind), (2, 3, 3), 9, 2, has_draws=False)
        probs = torch.softmax(module(torch.rand(4, 2, 3, 3))[1], 1)
        assert torch.equal(probs[:, 2], torch.zeros(4))
        assert torch.equal(probs[:, :2], torch.full((4, 2), 0.5))


def test_one_player_keeps_both_outcomes_without_draws() -> None:
    module = build_network(NetworkConfig(), (2, 3, 3), 9, 1, has_draws=False)
    assert torch.equal(torch.softmax(module(torch.rand(4, 2, 3, 3))[1], 1), torch.full((4, 2), 0.5))


def test_seed_alone_decides_fresh_weights() -> None:
    torch.manual_seed(5)
    expected_next = torch.rand(1)
    torch.manual_seed(5)
    first, again, other = (build_network(NetworkConfig(), (3, 6, 7), 7, 2, True, seed=s) for s in (1, 1, 2))
    assert torch.equal(torch.rand(1), expected_next)
    states = [module.state_dict() for module in (first, again, other)]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert not torch.equal(states[0]["stem.0.weight"], states[2]["stem.0.weight"])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kind": "residul"}, "did you mean `residual`"),
        ({"channels": 0}, "network.channels is 0; allowed: a whole number"),
        ({"blocks": -1}, "network.blocks is -1"),
        ({"value_hidden": 2.5}, "network.value_hidden is 2.5"),
        ({"pooling_every": -1}, "network.pooling_every is -1"),
        ({"kind": "mlp", "pooling_every": 1}, "whose layers see the whole board; allowed: 0 and false"),
        ({"kind": "mlp", "value_counts": True}, "network.value_counts True with"),
        ({"value_counts": 1}, "network.value_counts is 1; allowed: true, false"),
        ({"policy_head": "cnv"}, "did you mean `conv`"),
        ({"policy_channels": True}, "network.policy_channels is True"),
    ],
)
def test_config_refuses_what_cannot_be_built(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        NetworkConfig(**settings)  # type: ignore[arg-type]


def test_sizes_below_one_are_refused() -> None:
    with pytest.raises(ShapeError, match="0 actions"):
        build_network(NetworkConfig(), (3, 6, 7), 0, 2, True)


@pytest.mark.parametrize("sizes", [{"channels": 1_000_000}, {"kind": "mlp", "channels": 1_000_000}])
def test_a_network_beyond_the_machine_is_refused_before_it_is_made(sizes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="GiB of memory"):
        build_network(NetworkConfig(**sizes), (2, 3, 3), 9, 2, True)


def test_every_second_block_pools_over_the_board() -> None:
    """One cell changes all cells after one such block; two convolutions alone reach two cells far."""
    module = build_network(NetworkConfig(channels=8, blocks=4, pooling_every=2), (1, 9, 9), 3, 2, True)
    kinds = [type(block).__name__ for block in module.get_submodule("tower").children()]
    assert kinds == ["ResidualBlock", "PoolingBlock"] * 2
    reach = {}
    for block in (ResidualBlock(8), PoolingBlock(8)):
        block.state_dict()["second.1.weight"].fill_(1.0)
        torch.manual_seed(0)
        before = torch.rand(1, 8, 9, 9)
        after = before.clone()
        after[0, :, 0, 0] += 5.0
        changed = (block.eval()(after) - block(before)).abs().amax(dim=(0, 1)) > 0
        reach[type(block).__name__] = int(changed.sum())
    assert reach["ResidualBlock"] <= 9
    assert reach["PoolingBlock"] == 81


def test_pooled_channels_shift_the_others_by_mean_and_maximum() -> None:
    """One channel: the first convolution is silent, so that what comes out is relu(shift + skip) by hand."""
    block = PoolingBlock(1).eval()
    state = block.state_dict()
    for name in ("first", "pooled", "second"):
        state[f"{name}.0.weight"].zero_()
    for name in ("pooled", "second"):
        state[f"{name}.0.weight"][0, 0, 1, 1] = 1.0
        state[f"{name}.1.weight"].fill_((1 + 1e-5) ** 0.5)  # undoes the normalisation's own small number
    state["spread.weight"][:] = torch.tensor([2.0, 10.0]).reshape(1, 2, 1, 1)
    hidden = torch.tensor([[[[1.0, 0.0], [4.0, 3.0]]]])
    with torch.inference_mode():
        out = block(hidden)
    # mean 2, maximum 4: shift 2 * 2 + 10 * 4 = 44
    torch.testing.assert_close(out, hidden + 44.0)


def test_counts_are_the_planes_sums_whatever_the_tower_says() -> None:
    """The tower's part of the value head is silenced, so that two positions alike in numbers are alike."""
    config = NetworkConfig(channels=8, blocks=1, value_channels=2, value_hidden=4, value_counts=True)
    module = build_network(config, (2, 3, 3), 9, 3, False).eval()
    state = module.state_dict()
    torch.manual_seed(0)
    for name in ("value_out.weight", "counts.hidden.weight", "counts.outcome.weight"):
        state[name].copy_(torch.rand(state[name].shape))
    state["value_hidden.weight"].zero_()
    planes = torch.zeros(3, 2, 3, 3)
    planes[0, 0, 0, :2] = 1.0  # two pieces, as in the next
    planes[1, 0, 2, 1:] = 1.0
    planes[2, 0, 2, 0] = 1.0  # one
    with torch.inference_mode():
        values = module(planes)[1][:, :3]
    torch.testing.assert_close(values[0], values[1])
    assert not torch.allclose(values[0], values[2])
    share = 2 / 9 / (1 + 1e-5) ** 0.5  # of the board, behind a fresh normalisation
    units = torch.relu(state["value_hidden.bias"] + state["counts.hidden.weight"][:, 0] * share)
    straight = state["counts.outcome.weight"][:3, 0] * share
    torch.testing.assert_close(values[0], state["value_out.weight"][:3] @ units + straight)


def test_names_of_weights_without_pooling_are_what_they_were() -> None:
    plain = build_network(NetworkConfig(channels=8, blocks=2), (3, 6, 7), 7, 2, True).state_dict()
    pooling = build_network(
        NetworkConfig(channels=8, blocks=2, pooling_every=2), (3, 6, 7), 7, 2, True
    ).state_dict()
    assert {name.split(".")[2] for name in plain if name.startswith("tower")} == {"first", "second"}
    added = {".".join(name.split(".")[:3]) for name in pooling if name not in plain}
    assert added == {"tower.1.pooled", "tower.1.spread"}
