from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from zelkova.agents.learned.agent import LearnedAgent
from zelkova.agents.learned.config import PlanningConfig
from zelkova.agents.learned.model import LearnedModel, Observed
from zelkova.networks.learned.config import LearnedConfig
from zelkova.networks.learned.network import LearnedNetwork, ModelSizes, build_learned
from zelkova.search.config import SearchConfig
from zelkova.search.models.torch_draws import SquashedGaussian


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Written(LearnedNetwork):
    """Two actions; the latent is a node's number, and the prefix of each node is written down.

    Node n leads to 2 n + 1 and 2 n + 2.
    """

    def __init__(self, prefixes: dict[int, float]) -> None:
        config = LearnedConfig(
            width=1, heads="scalar", transform=False, latent_norm="none", value_prefix=True, prefix_hidden=1
        )
        super().__init__(config, ModelSizes((1,), 2, 0, 1))
        self.prefixes = prefixes
        self.seen: list[float] = []  # memories that came in

    def represent(self, observation: Tensor) -> Tensor:
        return observation

    def advance(self, latent: Tensor, action: Tensor) -> Tensor:
        return 2 * latent + 1 + action[:, None]

    def predict(self, latent: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        return torch.zeros(len(latent), 2), torch.zeros(len(latent), 1, 1), None

    def rewards(self, latent: Tensor, hidden: Any = None) -> tuple[Tensor, Any]:
        self.seen += hidden[0].ravel().tolist()
        found = [self.prefixes.get(int(node), 0.0) for node in latent.ravel()]
        return torch.tensor(found).view(-1, 1, 1), tuple(state + 1 for state in hidden)


def observed(*rows: list[float]) -> Observed:
    return Observed(torch.tensor(rows), torch.zeros(len(rows), dtype=torch.int64))


def chain(model: LearnedModel, actions: list[int]) -> list[float]:
    """Rewards along one line from node 0."""
    embedding, rewards = model.root(observed([0.0])).embedding, []
    for action in actions:
        step = model.step(embedding, torch.tensor([action]))
        embedding = step.embedding
        assert isinstance(step.reward, Tensor)
        rewards.append(step.reward.item())
    return rewards


def test_n8_rewards_are_recovered_from_prefixes_over_a_reset() -> None:
    nodes = [2**depth - 1 for depth in range(1, 7)]
    network = Written(dict(zip(nodes, [1.0, 1, 3, 3, 6, 4], strict=True)))
    assert chain(LearnedModel(network, discount=1.0, prefix_reset=5), [0] * 6) == [1, 0, 2, 0, 3, 4]
    assert network.seen == [0, 1, 2, 3, 4, 0]


N16 = {1: 1.0, 2: 2.0, 3: 3.0}  # A, B, and A1 below A


def test_n16_each_child_is_compared_with_its_own_parent() -> None:
    model = LearnedModel(Written(N16), discount=1.0, prefix_reset=5)
    root = model.root(observed([0.0])).embedding
    rewards = {}
    a = model.step(root, torch.tensor([0]))
    b = model.step(root, torch.tensor([1]))
    below = model.step(a.embedding, torch.tensor([0]))
    again = model.step(root, torch.tensor([0]))  # after others were asked
    for name, step in (("A", a), ("B", b), ("A1", below), ("A again", again)):
        assert isinstance(step.reward, Tensor)
        rewards[name] = step.reward.item()
    assert rewards == {"A": 1.0, "B": 2.0, "A1": 2.0, "A again": 1.0}


def test_nodes_of_different_depths_are_answered_in_one_call() -> None:
    model = LearnedModel(Written({1: 1.0, 2: 2.0, 3: 3.0, 7: 10.0}), discount=1.0, prefix_reset=2)
    root = model.root(observed([0.0])).embedding
    first = model.step(root, torch.tensor([0])).embedding
    second = model.step(first, torch.tensor([0])).embedding
    joined = tuple(torch.cat(parts) for parts in zip(root, first, second, strict=True))
    step = model.step(joined, torch.tensor([1, 0, 0]))
    assert isinstance(step.reward, Tensor)
    assert step.reward.ravel().tolist() == [2.0, 2.0, 10.0]  # the third began anew: 10 and not 10 - 3


@pytest.mark.parametrize("simulations", [6, 12])
def test_n16_in_a_search_the_root_s_edges_earn_their_own_rewards(simulations: int) -> None:
    agent = LearnedAgent(
        Written({1: 1.0, 2: 2.0}),
        SearchConfig(policy="puct", num_simulations=simulations, dirichlet_fraction=0.0),
        PlanningConfig(),
        discount=1.0,
        prefix_reset=1,
    )
    plan = agent.search(np.zeros((1, 1), np.float32), np.zeros(1, np.int8), None, seed=0)
    assert (plan.visit_counts > 0).all()
    assert plan.q_values[0].tolist() == [1.0, 2.0]


def test_n16_in_a_search_a_path_earns_its_last_prefix() -> None:
    agent = LearnedAgent(
        Written(dict.fromkeys(range(1, 4096), 4.0)),
        SearchConfig(policy="puct", num_simulations=20, dirichlet_fraction=0.0),
        PlanningConfig(),
        discount=1.0,
        prefix_reset=100,
    )
    plan = agent.search(np.zeros((1, 1), np.float32), np.zeros(1, np.int8), None, seed=0)
    np.testing.assert_allclose(plan.q_values, [[4.0, 4.0]])  # 4 once, then 4 - 4 on every edge below


def real(dims: int = 0, players: int = 1, turns: bool = False, **settings: Any) -> LearnedNetwork:
    config = LearnedConfig(**{"width": 8, "hidden": 16, "prefix_hidden": 6, **settings})
    network = build_learned(
        config, ModelSizes((3,), 0 if dims else 2, dims, players, learns_turns=turns)
    ).eval()
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return network


@pytest.mark.parametrize("reset", [1, 2, 3, 10])
def test_the_tree_reads_prefixes_as_the_training_unroll_makes_them(reset: int) -> None:
    network = real(value_prefix=True)
    model, hidden, total = LearnedModel(network, discount=1.0, prefix_reset=reset), None, torch.zeros(4, 1)
    seen = Observed(torch.randn(4, 3), torch.zeros(4, dtype=torch.int64))
    embedding, latent = model.root(seen).embedding, network.represent(seen.observation)
    for step in range(7):
        action = torch.tensor([0, 1, step % 2, 1])
        answer = model.step(embedding, action)
        embedding = answer.embedding
        latent = network.advance(latent, action)
        if step % reset == 0:
            hidden, total = network.fresh_hidden(4), torch.zeros(4, 1)
        logits, hidden = network.rewards(latent, hidden)
        reached = network.reward_of(logits)
        assert isinstance(answer.reward, Tensor)
        torch.testing.assert_close(answer.reward, reached - total)
        total = reached


def test_without_a_prefix_rewards_are_the_head_s_own() -> None:
    network = real()
    model = LearnedModel(network, discount=0.9)
    root = model.root(observed([1.0, 2.0, 3.0]))
    step = model.step(root.embedding, torch.tensor([1]))
    found = network.recurrent_inference(root.embedding[0], torch.tensor([1]))
    assert found.reward is not None
    assert isinstance(step.reward, Tensor)
    torch.testing.assert_close(step.reward, network.reward_of(found.reward))
    torch.testing.assert_close(step.value, network.value_of(found.value))
    assert len(step.embedding) == 2
    assert step.discount == 0.9
    assert step.legal is None


@pytest.mark.parametrize(("players", "wanted"), [(1, [0, 0]), (2, [1, 0]), (3, [1, 2])])
def test_players_take_turns_where_no_head_says_otherwise(players: int, wanted: list[int]) -> None:
    model = LearnedModel(real(players=players), discount=1.0)
    root = model.root(Observed(torch.randn(2, 3), torch.tensor([0, min(1, players - 1)])))
    step = model.step(root.embedding, torch.tensor([0, 1]))
    assert isinstance(step.to_play, Tensor)
    assert step.to_play.tolist() == wanted
    assert step.value.shape == (2, players)


def test_a_head_that_learnt_whose_turn_it_is_is_believed() -> None:
    network = real(players=3, turns=True)
    model = LearnedModel(network, discount=1.0)
    root = model.root(Observed(torch.randn(50, 3), torch.zeros(50, dtype=torch.int64)))
    step = model.step(root.embedding, torch.zeros(50, dtype=torch.int64))
    turns = network.predict(step.embedding[0])[2]
    assert turns is not None
    assert isinstance(step.to_play, Tensor)
    assert step.to_play.tolist() == turns.argmax(1).tolist()


def test_seats_are_counted_on_where_the_network_sees_the_mover_s_side() -> None:
    network = real(players=3, turns=True)
    network.sizes = network.sizes._replace(is_turned=True)
    model = LearnedModel(network, discount=1.0)
    before = torch.arange(60) % 3
    root = model.root(Observed(torch.randn(60, 3), before))
    step = model.step(root.embedding, torch.zeros(60, dtype=torch.int64))
    found = network.recurrent_inference(root.embedding[0], torch.zeros(60, dtype=torch.int64))
    assert found.to_play is not None
    assert isinstance(step.to_play, Tensor)
    said = found.to_play.argmax(1)
    assert said.any()
    assert step.to_play.tolist() == ((before + said) % 3).tolist()
    own = step.value.gather(1, step.to_play.unsqueeze(1))[:, 0]
    torch.testing.assert_close(own, network.value_of(found.value)[:, 0])  # the mover's value comes first


def test_the_root_of_a_continuous_policy_is_drawn_wider_and_the_tree_is_not() -> None:
    network = real(dims=2)
    model = LearnedModel(network, discount=1.0, spread=2.5)
    root = model.root(observed([1.0, 2.0, 3.0]))
    step = model.step(root.embedding, torch.tensor([[0.5, -0.5]]))
    assert isinstance(root.prior_logits, SquashedGaussian)
    assert isinstance(step.prior_logits, SquashedGaussian)
    assert (root.prior_logits.spread, step.prior_logits.spread) == (2.5, 1.0)
    mean, std = network.gaussian(network.predict(root.embedding[0])[0])
    torch.testing.assert_close(root.prior_logits.mean, mean)
    torch.testing.assert_close(root.prior_logits.std, std)


class Seated(Written):
    """Two players in turn; the written prefix is that of player 0, and player 1 has its negative."""

    def __init__(self, prefixes: dict[int, float]) -> None:
        super().__init__(prefixes)
        self.sizes, self.num_players = self.sizes._replace(num_players=2, is_turned=True), 2

    def predict(self, latent: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        return torch.zeros(len(latent), 2), torch.zeros(len(latent), 2, 1), None

    def rewards(self, latent: Tensor, hidden: Any = None) -> tuple[Tensor, Any]:
        found, hidden = super().rewards(latent, hidden)
        turn = torch.log2(latent + 1).long() % 2  # the depth of a node decides whose turn it is there
        sign = 1 - 2 * turn[:, :, None]
        return torch.cat([sign * found, -sign * found], dim=1), hidden


def test_prefixes_that_begin_with_the_mover_are_compared_player_by_player() -> None:
    nodes = [2**depth - 1 for depth in range(1, 5)]
    network = Seated(dict(zip(nodes, [1.0, 1, 3, 7], strict=True)))
    model, rewards = LearnedModel(network, discount=1.0, prefix_reset=3), []
    embedding = model.root(observed([0.0])).embedding
    for _ in nodes:
        step = model.step(embedding, torch.tensor([0]))
        embedding = step.embedding
        assert isinstance(step.reward, Tensor)
        rewards.append(step.reward[0].tolist())
    assert rewards == [[1, -1], [0, 0], [2, -2], [7, -7]]
