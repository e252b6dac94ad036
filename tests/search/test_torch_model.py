"""The search's door to PyTorch: the same answers as tables, shapes, seeds, masks, chance, drawn actions."""

import itertools
import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from tests.search.golden_cases import GOLDEN, STOCHASTIC, search_of, stochastic_search_of
from tests.search.slow_search import random_game
from tests.search.test_golden import TOLERANCE, dense, rows_of

from zelkova import search
from zelkova.errors import ConfigError, SearchError, ShapeError
from zelkova.search import (
    BatchSearch,
    Custom,
    Gumbel,
    Model,
    Proposal,
    Puct,
    Root,
    Searcher,
    SquashedGaussian,
    Step,
    TorchModel,
    run,
)
from zelkova.search.models.table_model import TableModel, Tables
from zelkova.search.models.torch_draws import merge_draws
from zelkova.search.models.torch_model import random_mlp, two_player_value
from zelkova.search.speed import overhead_share

POLICIES = [Puct(24), Gumbel(24)]
ids = partial(map, lambda policy: type(policy).__name__)


class TableModule(torch.nn.Module):
    """Tables as a module: an embedding is the state's number, action numbers are dense."""

    def __init__(self, tables: Tables, num_actions: int) -> None:
        super().__init__()
        states = len(tables.actions)
        spread: dict[str, Any] = {}
        for name in ("transition", "reward", "discount", "prior_logits"):
            array = getattr(tables, name)
            spread[name] = np.zeros((states, num_actions, *array.shape[2:]), array.dtype)
        legal = np.zeros((states, num_actions), bool)
        for s in range(states):
            numbers = tables.actions[s, : tables.count[s]]
            legal[s, numbers] = True
            for name, array in spread.items():
                array[s, numbers] = getattr(tables, name)[s, : len(numbers)]
        self.legal = torch.from_numpy(legal)
        self.tables = {name: torch.from_numpy(array) for name, array in spread.items()}
        self.value = torch.from_numpy(tables.value)
        self.to_play = torch.from_numpy(tables.to_play)

    def about(self, state: torch.Tensor) -> dict[str, Any]:
        return {
            "embedding": state,
            "prior_logits": self.tables["prior_logits"][state],
            "value": self.value[state],
            "to_play": self.to_play[state],
            "legal": self.legal[state],
        }

    def root(self, observation: Any) -> Root:
        return Root(**self.about(torch.as_tensor(observation, dtype=torch.int64)))

    def step(self, embedding: torch.Tensor, action: torch.Tensor) -> Step:
        after = self.tables["transition"][embedding, action].long()
        reward = self.tables["reward"][embedding, action]
        return Step(reward=reward, discount=self.tables["discount"][embedding, action], **self.about(after))


def game(seed: int = 1, players: int = 2) -> tuple[Tables, Any, TableModule]:
    tables = random_game(np.random.default_rng(seed), states=40, actions=7, players=players)
    roots = np.flatnonzero(tables.count)[:12].astype(np.int32)
    return tables, roots, TableModule(tables, 12)


def assert_equal(one: Any, other: Any, rows: Any = slice(None)) -> None:
    for name, array in vars(one).items():
        if isinstance(array, np.ndarray):
            np.testing.assert_array_equal(array, getattr(other, name)[rows], err_msg=name)


@pytest.mark.parametrize("leaves", [1, 3])
@pytest.mark.parametrize("players", [1, 2, 3])
@pytest.mark.parametrize("policy", POLICIES, ids=ids(POLICIES))
def test_same_answers_as_tables(policy: Any, players: int, leaves: int) -> None:
    tables, roots, module = game(players=players)
    policy = type(policy)(24, num_leaves=leaves)
    found = search.plan(module, roots, policy.without_noise())
    trees = BatchSearch(policy.without_noise().config(), len(roots), 12, players, num_leaves=leaves)
    wide = tables._replace(**{
        name: np.pad(getattr(tables, name), [(0, 0), (0, 5)] + [(0, 0)] * (getattr(tables, name).ndim - 2))
        for name in ("transition", "reward", "discount", "actions", "prior_logits")
    })  # fmt: skip
    other = run(trees, TableModel(wide, roots, 25, leaves))
    np.testing.assert_array_equal(found.action, other.action)
    np.testing.assert_array_equal(found.value, other.value)
    for b in range(len(roots)):
        for name in ("action_weights", "visit_counts", "q_values"):
            mine = dense(getattr(other, name)[b], other.actions[b], other.count[b], 12)
            np.testing.assert_array_equal(getattr(found, name)[b], mine)
        assert set(np.flatnonzero(found.legal[b])) == set(other.actions[b, : other.count[b]])
    assert isinstance(TorchModel(module, policy), Model)


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_mctx_answers(case: dict[str, Any]) -> None:
    keep = rows_of(case)
    trees, tables, noise = search_of(case, keep)
    size = case["model"]["num_actions"]
    model = TorchModel(TableModule(tables.tables, size), Custom(settings=trees.config))
    model.observe(tables.roots)
    found = run(trees, model, noise)
    expected = case["expected"]
    np.testing.assert_array_equal(found.action, np.array(expected["action"])[keep])
    np.testing.assert_allclose(found.value[:, 0], np.array(expected["root"]["value"])[keep], atol=TOLERANCE)
    for i, b in enumerate(keep):
        spread = partial(dense, actions=found.actions[i], count=found.count[i], size=size)
        np.testing.assert_array_equal(spread(found.visit_counts[i]), expected["root"]["visit_counts"][b])
        weights = spread(found.action_weights[i])
        np.testing.assert_allclose(weights, expected["action_weights"][b], atol=TOLERANCE)


@pytest.mark.parametrize("case", STOCHASTIC["cases"], ids=lambda case: case["name"])
def test_chance_nodes(case: dict[str, Any]) -> None:
    trees, tables = stochastic_search_of(case)
    width = tables.tables.actions.shape[1]
    found = search.plan(TableModule(tables.tables, width), tables.roots, trees.config)
    np.testing.assert_array_equal(found.action, case["expected"]["action"])
    np.testing.assert_allclose(found.value[:, 0], case["expected"]["root"]["value"], atol=TOLERANCE)
    np.testing.assert_array_equal(found.tree.forest.nodes["visits"], case["expected"]["tree"]["node_visits"])


@pytest.mark.parametrize("samples", [0, 3])
@pytest.mark.parametrize("policy", POLICIES, ids=ids(POLICIES))
def test_a_row_alone_is_the_row_in_the_batch(policy: Any, samples: int) -> None:
    _, roots, module = game()
    policy = type(policy)(24, num_samples=samples)
    seeds = list(range(100, 112))
    many = search.plan(module, roots, policy, seed=seeds, temperature=1.0)
    back = search.plan(module, roots[::-1].copy(), policy, seed=seeds[::-1], temperature=1.0)
    for b, seed in enumerate(seeds):
        alone = search.plan(module, roots[b : b + 1], policy, seed=seed, temperature=1.0)
        assert_equal(alone, many, slice(b, b + 1))
        assert_equal(alone, back, slice(11 - b, 12 - b))


@pytest.mark.parametrize("alpha", ["auto", 0.3])
def test_one_seed_for_all_rows(alpha: Any) -> None:
    _, roots, module = game()
    for policy in (Gumbel(12), Puct(12, dirichlet_alpha=alpha, dirichlet_fraction=0.9)):
        one, same, other = (search.plan(module, roots, policy, seed=seed) for seed in (5, 5, 6))
        assert_equal(one, same)
        assert (one.visit_counts != other.visit_counts).any()
        generated = search.plan(module, roots, policy, seed=np.random.default_rng(0))
        assert_equal(generated, search.plan(module, roots, policy, seed=np.random.default_rng(0)))
        mixed = search.plan(module, np.r_[roots[:6], roots[:6]], policy, seed=5)
        for name in ("action", "visit_counts", "action_weights"):  # neighbours change nothing
            np.testing.assert_array_equal(getattr(mixed, name)[:6], getattr(one, name)[:6])
        assert (mixed.visit_counts[:6] != mixed.visit_counts[6:]).any()


def test_a_search_that_draws_needs_a_seed() -> None:
    _, roots, module = game()
    for policy, heat in ((Gumbel(4), 0.0), (Gumbel(4, gumbel_scale=0.0), 1.0)):
        with pytest.raises(ConfigError, match=r"give seed"):
            search.plan(module, roots, policy, temperature=heat)
    with pytest.raises(ConfigError, match="3 seeds for 12 rows"):
        search.plan(module, roots, Puct(4, dirichlet_fraction=0.0), seed=[1, 2, 3])
    with pytest.raises(ConfigError, match="seed = -1"):
        search.plan(module, roots, Puct(4), seed=-1)


def test_temperature_draws_by_visits() -> None:
    _, roots, module = game()
    policy = Puct(50, dirichlet_fraction=0.0)
    many = np.repeat(roots[:1], 400)
    found = search.plan(module, many, policy, seed=0, temperature=1.0)
    share = np.bincount(found.action, minlength=12) / 400
    np.testing.assert_allclose(share, found.action_weights[0], atol=0.08)
    cold = np.where(np.arange(400) < 200, 0.0, 1.0)
    mixed = search.plan(module, many, policy, seed=0, temperature=cold)
    assert (mixed.action[:200] == np.argmax(found.visit_counts[0])).all()


def test_temperature_with_replacement() -> None:
    """The candidates are some of the legal actions; what is played and told stays in the order of all."""
    _, roots, module = game()
    policy = Gumbel(8, max_considered=4, candidates="replacement")
    cold, warm = (search.plan(module, roots, policy, seed=3, temperature=heat) for heat in (0.0, 1.0))
    for name in ("legal", "prior", "visit_counts", "action_weights", "q_values"):
        np.testing.assert_array_equal(getattr(warm, name), getattr(cold, name))
    assert warm.prior.sum(axis=1) == pytest.approx(np.ones(12), abs=1e-5)
    assert (warm.legal.sum(axis=1) > 4).any()
    assert (warm.visit_counts[np.arange(12), warm.action] > 0).all()


def test_a_seed_may_be_a_number_of_numpy() -> None:
    _, roots, module = game()
    one, same = (search.plan(module, roots, Gumbel(8), seed=seed) for seed in (5, np.int64(5)))
    assert_equal(one, same)


@pytest.mark.parametrize("policy", POLICIES, ids=ids(POLICIES))
def test_permuted_actions(policy: Any) -> None:
    _, roots, module = game()
    order = np.random.default_rng(2).permutation(12)  # new number of each action
    turned = game()[2]
    old = np.argsort(order)
    turned.legal = module.legal[:, old]
    turned.tables = {name: table[:, old] for name, table in module.tables.items()}
    one = search.plan(module, roots, policy.without_noise())
    two = search.plan(turned, roots, policy.without_noise())
    np.testing.assert_array_equal(two.action, order[one.action])
    np.testing.assert_array_equal(two.visit_counts[:, order], one.visit_counts)
    np.testing.assert_allclose(two.action_weights[:, order], one.action_weights, atol=1e-6)


def bandit(logits: Any, q: Any, **more: Any) -> tuple[Any, Any]:
    """One decision: rewards q, then an ending."""
    logits, q = torch.as_tensor(logits), torch.as_tensor(q)

    def root(observation: Any) -> Root:
        return Root(torch.zeros(len(logits), 1), logits, torch.zeros(len(logits)), **more)

    def step(embedding: Any, action: Any) -> Step:
        none = torch.zeros_like(logits, dtype=torch.bool)
        reward = q.gather(1, action[:, None])[:, 0]
        return Step(embedding, logits, torch.zeros(len(q)), reward, torch.zeros(len(q)), legal=none)

    return root, step


def test_legal_actions_at_the_root() -> None:
    legal = torch.tensor([[True, True, True], [False, True, False], [True, False, True]])
    model = bandit([[9.0, 0.0, 0.0]] * 3, [[0.0, 1.0, 2.0]] * 3, legal=legal)
    found = search.plan(model, None, Gumbel(8), seed=0)
    assert found.action.tolist()[1] == 1
    assert found.action_weights[1].tolist() == [0, 1, 0]
    assert found.prior[1].tolist() == [0, 1, 0]
    assert (found.action_weights[~found.legal] == 0).all()
    given = np.array([[False, True, True]] * 3)
    narrow = search.plan(model, None, Gumbel(8), seed=0, legal=given)
    np.testing.assert_array_equal(narrow.legal, given & legal.numpy())
    with pytest.raises(SearchError, match=r"tree 1 .*no legal action at the root; next: allow one"):
        search.plan(model, None, Gumbel(8), seed=0, legal=np.array([[True, False, True]] * 3))
    with pytest.raises(ShapeError, match=r"needs \(3, 3\) and bool"):
        search.plan(model, None, Gumbel(8), seed=0, legal=np.ones((3, 3)))  # type: ignore[arg-type]


def test_all_mass_on_illegal_actions() -> None:
    """Published case: a prior that forgot the legal moves became NaN and action -1."""
    legal = torch.tensor([[True, True, False]] * 2)
    model = bandit([[-80.0, -81.0, 80.0]] * 2, [[0.0, 0.0, 5.0]] * 2, legal=legal)
    found = search.plan(model, None, Gumbel(4, gumbel_scale=0.0))
    assert found.action.tolist() == [0, 0]
    np.testing.assert_allclose(found.prior, [[0.731059, 0.268941, 0]] * 2, atol=1e-6)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_bad_numbers_name_the_tree(bad: float) -> None:
    logits = torch.zeros(4, 3)
    logits[2, 1] = bad
    root, step = bandit(torch.zeros(4, 3), torch.zeros(4, 3))
    quiet = Gumbel(8, gumbel_scale=0.0)
    with pytest.raises(SearchError, match=r"tree 2 .*root\(\) gives prior_logits = .* for action 1"):
        search.plan((lambda o: root(o)._replace(prior_logits=logits), step), None, quiet)
    with pytest.raises(SearchError, match=r"tree 2 .*step\(\) gives prior_logits = .* for action 1"):
        search.plan((root, lambda e, a: step(e, a)._replace(prior_logits=logits, legal=None)), None, quiet)
    value = torch.tensor([0.0, 0.0, 0.0, bad])
    with pytest.raises(SearchError, match=r"tree 3 .*step\(\) gives value = "):
        search.plan((root, lambda e, a: step(e, a)._replace(value=value)), None, quiet)
    with pytest.raises(SearchError, match=r"tree 3 .*step\(\) gives reward = "):
        search.plan((root, lambda e, a: step(e, a)._replace(reward=value)), None, quiet)


class Nested(torch.nn.Module):
    """A learned model whose embedding is a dict of a tuple and a tensor of another type."""

    def __init__(self, dtype: Any = torch.float32) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.head = torch.nn.Linear(9, 8), torch.nn.Linear(8, 6)
        self.to(dtype)
        self.dtype = dtype

    def root(self, observation: Any) -> Root:
        rows = torch.as_tensor(observation).to(self.dtype)
        depth = torch.zeros(len(rows), 2, 2, dtype=torch.int64)
        out = self.head(rows)
        return Root({"latent": (rows, rows[:, :3]), "depth": depth}, out[:, :5], out[:, 5])

    def step(self, embedding: Any, action: Any) -> Step:
        (latent, part), depth = embedding["latent"], embedding["depth"]
        assert torch.equal(latent[:, :3], part)
        rows = torch.tanh(self.layer(torch.cat([latent, action[:, None].to(self.dtype)], dim=1)))
        out = self.head(rows)
        after = {"latent": (rows, rows[:, :3]), "depth": depth + 1}
        return Step(after, out[:, :5], out[:, 5:], out[:, 0] / 4, 0.9)


def test_nested_embeddings_and_memory() -> None:
    rows = np.random.default_rng(0).standard_normal((5, 8), dtype=np.float32)
    searcher = Searcher(Nested(), Puct(16, num_leaves=2))
    one = searcher.plan(rows, seed=1)
    model = searcher.model
    kept = [model._embeddings, model._outlet, searcher._search]
    two = searcher.plan(rows, seed=1)
    assert_equal(one, two)
    assert [model._embeddings, model._outlet, searcher._search] == kept
    depth = next(b.tensor for b in model._embeddings.buffers if b.dtype == torch.int64)  # type: ignore[union-attr]
    assert depth.max() > 1
    wider = searcher.plan(np.r_[rows, rows], seed=1)
    assert wider.action.shape == (10,)
    assert_equal(searcher.plan(rows, seed=1), one)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_float_types(dtype: Any) -> None:
    rows = np.random.default_rng(0).standard_normal((5, 8), dtype=np.float32)
    exact = search.plan(Nested(), rows, Gumbel(16), seed=1)
    found = search.plan(Nested(dtype), rows, Gumbel(16), seed=1)
    assert found.action_weights.dtype == np.float32
    np.testing.assert_allclose(found.raw_value, exact.raw_value, atol=0.02)
    np.testing.assert_allclose(found.prior, exact.prior, atol=0.02)


def test_modules_keep_their_mode_and_take_no_gradients() -> None:
    module = Nested().train()
    search.plan(module, np.zeros((2, 8), np.float32), Gumbel(4), seed=0)
    assert module.training
    module.head(torch.zeros(1, 8)).sum().backward()
    assert module.head.weight.grad is not None


def test_wrong_answers_are_refused() -> None:
    root, step = bandit(torch.zeros(4, 3), torch.zeros(4, 3))
    quiet = Gumbel(4, gumbel_scale=0.0)

    def other(**changes: Any) -> Any:
        return lambda embedding, action: step(embedding, action)._replace(**changes)

    wide = torch.zeros(4, 2)
    drawn = Proposal(torch.zeros(4, 3))
    wrong: list[tuple[str, Any, Any]] = [
        ("root.. gives a tuple", lambda o: tuple(root(o)), step),
        ("step.. gives a dict", root, lambda e, a: {}),
        (r"step\(\) gives value of shape \(4, 2\) .*; needs \(4, 1\)", root, other(value=wide)),
        (r"step\(\) gives prior_logits of shape \(4, 2\)", root, other(prior_logits=wide)),
        (r"root\(\) gives legal of shape \(4, 2\)", lambda o: root(o)._replace(legal=wide > 0), step),
        (r"root\(\) gives to_play of shape \(4, 2\)", lambda o: root(o)._replace(to_play=wide), step),
        (r"root\(\) .* Proposal's", lambda o: root(o)._replace(prior_logits=Proposal(wide[0])), step),
        (r"embedding of shape \(4, 2\); .* needs \(4, 1\)", root, other(embedding=wide)),
        (r"root\(\) gives an embedding that holds a str", lambda o: root(o)._replace(embedding="no"), step),
        ("embedding as a tuple of 2; .* needs a Tensor", root, other(embedding=(wide, wide))),
        ("other drawn actions", root, other(prior_logits=drawn)),
    ]
    for message, first, second in wrong:
        with pytest.raises(ShapeError, match=message):
            search.plan((first, second), None, quiet)
    with pytest.raises(ShapeError, match="observe"):
        TorchModel((root, step), quiet).root()


def test_both_players_values() -> None:
    value = two_player_value(torch.tensor([0.4, 0.4]), torch.tensor([0, 1]))
    assert value.tolist() == [
        [pytest.approx(0.4), pytest.approx(-0.4)],
        [pytest.approx(-0.4), pytest.approx(0.4)],
    ]


def test_both_players_values_of_other_shapes() -> None:
    wanted = [[0.5, -0.5], [-0.25, 0.25]]
    assert two_player_value(torch.tensor([[0.5], [0.25]]), torch.tensor([0, 1])).tolist() == wanted
    assert two_player_value(torch.tensor([[0.5], [-0.25]]), 0).tolist() == wanted
    assert two_player_value(torch.tensor([-0.5, 0.25]), 1).tolist() == wanted
    assert (
        two_player_value(torch.tensor([0.5, 0.25], dtype=torch.float16), torch.tensor([0, 1])).dtype
        == torch.float16
    )
    assert two_player_value(torch.tensor([1, 0], dtype=torch.uint8), 0).tolist() == [[1, -1], [0, 0]]
    value, first = torch.zeros(2), torch.zeros(2, dtype=torch.int64)
    wrong: list[tuple[Any, Any]] = [
        (torch.zeros(2, 2), first), (torch.zeros(2, 1, 1), first), (torch.tensor(0.0), 0), (0.5, 0),
        (value > 0, first), (value, first[:, None]), (value, first[:1]), (value, 2), (value, 0.0),
        (value, None),
    ]  # fmt: skip
    for given, to_play in wrong:
        with pytest.raises(ShapeError, match=r"two_player_value\(\) got .*; needs"):
            two_player_value(given, to_play)


def test_draws_that_are_equal_are_merged() -> None:
    actions = torch.tensor([[3, 3, 7, 9], [1, 2, 1, 1]])
    own = merge_draws(Proposal(actions))
    assert own.legal is not None
    assert own.legal.tolist() == [[True, False, True, True], [True, True, False, False]]
    weight = own.logits.exp() * own.legal
    np.testing.assert_allclose(
        weight / weight.sum(1, keepdim=True), [[0.5, 0, 0.25, 0.25], [0.75, 0.25, 0, 0]]
    )
    log_prior = torch.tensor([0.5, 0.3, 0.2]).log()
    draws = torch.tensor([[0, 0, 1, 2]])
    s3 = merge_draws(Proposal(draws, log_prior[draws], torch.full((1, 4), -math.log(3))))
    weight = s3.logits.exp() * torch.as_tensor(s3.legal)
    np.testing.assert_allclose(weight / weight.sum(), [[2 / 3, 0, 0.2, 0.133333]], atol=1e-6)
    with pytest.raises(ShapeError, match="both"):
        merge_draws(Proposal(draws, log_prior[draws]))


def test_squashed_gaussian() -> None:
    given = SquashedGaussian(torch.tensor([[0.3, -1.0]]), torch.tensor([[0.5, 2.0]]))
    actions = given.propose(torch.randn(1, 50, 2, generator=torch.Generator().manual_seed(0))).actions
    assert actions.abs().max() <= 0.999
    base = torch.distributions.Normal(given.mean, given.std)
    exact = torch.distributions.TransformedDistribution(base, torch.distributions.transforms.TanhTransform())
    clipped = actions.clamp(-0.99, 0.99)
    density = exact.log_prob(clipped[0]).sum(-1)  # type: ignore[no-untyped-call]
    np.testing.assert_allclose(given.log_prob(clipped), density[None], atol=1e-3)
    assert torch.isfinite(given.log_prob(torch.ones(1, 1, 2))).all()
    wide = given._replace(spread=2.0).propose(torch.tensor([[[0.5, -0.2]]]))
    assert wide.policy_log_prob is not None
    assert wide.proposal_log_prob is not None
    broad = given._replace(std=given.std * 2)
    ratio = given.log_prob(wide.actions) - broad.log_prob(wide.actions)
    np.testing.assert_allclose(wide.policy_log_prob - wide.proposal_log_prob, ratio, atol=1e-4)


def reach(target: float, spread: float = 1.0) -> tuple[Any, Any]:
    """Two pushes of a point towards a target; the policy knows nothing and the value is 0."""

    def policy(x: torch.Tensor) -> SquashedGaussian:
        return SquashedGaussian(torch.zeros_like(x), torch.full_like(x, 0.5), spread)

    def root(observation: Any) -> Root:
        x = torch.as_tensor(observation)
        return Root({"x": x, "t": torch.zeros(len(x))}, policy(x), torch.zeros(len(x)))

    def step(embedding: Any, action: torch.Tensor) -> Step:
        x, t = embedding["x"] + action, embedding["t"] + 1
        reward = -((x - target) ** 2)[:, 0]
        return Step({"x": x, "t": t}, policy(x), torch.zeros(len(x)), reward, (t < 2).float())

    return root, step


@pytest.mark.parametrize("spread", [1.0, 1.5])
@pytest.mark.parametrize(
    "policy", [Puct(100, fpu="parent"), Gumbel(100, c_scale=1.0)], ids=["Puct", "Gumbel"]
)
def test_continuous_actions_beat_the_mean_of_the_prior(policy: Any, spread: float) -> None:
    rows = np.zeros((8, 1), np.float32)
    found = search.plan(reach(0.6, spread), rows, policy, seed=3)
    assert found.action.shape == (8, 1)
    assert found.sampled_actions is not None
    assert found.sampled_actions.shape == (8, 20, 1)
    np.testing.assert_array_equal(found.action[:, 0], found.sampled_actions[np.arange(8), found.index, 0])
    loss = (found.action[:, 0] - 0.6) ** 2
    assert loss.mean() < 0.15  # the mean of the prior stays at 0 and loses 0.36
    alone = search.plan(reach(0.6, spread), rows[:1], policy, seed=[3])
    again = search.plan(reach(0.6, spread), rows, policy, seed=[3, *range(7)])
    assert_equal(alone, again, slice(0, 1))
    few = search.plan(reach(0.6), rows, type(policy)(10, num_samples=5), seed=3)
    assert few.visit_counts.shape == (8, 5)
    with pytest.raises((ConfigError, ShapeError), match="seed"):
        search.plan(reach(0.6), rows, policy.without_noise())


def test_proposals_of_the_models_own() -> None:
    """The model draws numbers of a large set itself; steps get the numbers."""
    generator = torch.Generator().manual_seed(0)
    seen = []

    def drawn(rows: int) -> Proposal:
        return Proposal(torch.randint(0, 1000, (rows, 6), generator=generator))

    def root(observation: Any) -> Root:
        return Root(torch.zeros(3, 1), drawn(3), torch.zeros(3))

    def step(embedding: Any, action: torch.Tensor) -> Step:
        seen.append(action.clone())
        return Step(embedding, drawn(3), torch.zeros(3), action / 1000)

    found = search.plan((root, step), None, Puct(20, dirichlet_fraction=0.0))
    assert found.sampled_actions is not None
    assert found.action.shape == (3,)
    assert (found.action == found.sampled_actions[np.arange(3), found.index]).all()
    first = torch.stack(seen[:1]).numpy()[0]
    assert all(first[b] in found.sampled_actions[b] for b in range(3))


def test_masks_of_draws() -> None:
    """A mask beside drawn actions is one of the draws; one of all actions ended in PyTorch's own error."""
    draws = Proposal(torch.tensor([[0, 1, 2, 1]] * 2))
    root, step = bandit([[0.0] * 4] * 2, [[0.0] * 4] * 2)

    def asked(own: Any = None, after: Any = None, legal: Any = None) -> Any:
        model = (
            lambda o: root(o)._replace(prior_logits=draws, legal=own),
            lambda e, a: step(e, a.clamp(max=3))._replace(prior_logits=draws, legal=after, discount=1.0),
        )
        return search.plan(model, None, Puct(8), seed=0, legal=legal)

    mask = torch.tensor([[True, False, True, True]] * 2)
    assert asked(mask).legal.tolist() == [[True, False, True, False]] * 2
    assert asked(legal=mask.numpy()).legal.tolist() == [[True, False, True, False]] * 2
    wide: Any = torch.ones(2, 7, dtype=torch.bool)
    for wrong in (wide, mask.numpy(), mask.float()):
        with pytest.raises(ShapeError, match=r"root\(\) gives legal .*\(2, 4\).* for the draws; next"):
            asked(wrong)
        with pytest.raises(ShapeError, match=r"step\(\) gives legal .*\(2, 4\).* for the draws; next"):
            asked(after=wrong)
    with pytest.raises(ShapeError, match=r"plan\(legal=.*\(2, 7\).*\(2, 4\).* for the draws; next"):
        asked(legal=wide.numpy())
    numbered = bandit([[0.0] * 3] * 2, [[0.0] * 3] * 2, legal=torch.tensor([[True, True, False]] * 2))
    given = np.array([[False, True, True]] * 2)
    assert search.plan(numbered, None, Puct(8, num_samples=5), seed=0, legal=given).action.tolist() == [1, 1]
    with pytest.raises(ShapeError, match=r"root\(\) gives legal .*\(2, 7\)"):
        search.plan((lambda o: numbered[0](o)._replace(legal=wide), step), None, Puct(4), seed=0, legal=given)


def test_the_share_of_the_search_is_measured() -> None:
    record = overhead_share("gumbel", seconds=0.01, width=16)
    assert record["name"] == "search/overhead_share"
    assert 0 < record["value"] < 1
    root, step = random_mlp(8, 4)
    assert (
        step(root(np.zeros((2, 8), np.float32)).embedding, torch.zeros(2, dtype=torch.int64)).discount == 0.99
    )


def test_numbers_for_all_rows_and_tensors_in_turn() -> None:
    """What stood in all rows before does not stay: alternating forms give what tensors alone give."""

    def model(forms: str) -> tuple[Any, Any]:
        calls = itertools.count()

        def root(position: Any) -> Root:
            return Root(position, torch.zeros(2, 3), torch.zeros(2))

        def step(embedding: Any, action: Any) -> Step:
            k = next(calls)
            discount, reward = (1.0, 0.5, 0.5, 0.9)[k % 4], (0.25, 0.25, -0.5, 0.25, 1.0)[k % 5]
            value = 0.1 * action.float() + 0.01 * k
            as_tensor = forms[k % len(forms)] == "t"
            gain: Any = torch.full((2,), reward) if as_tensor else reward
            kept: Any = torch.full((2,), discount) if as_tensor else discount
            return Step(embedding, torch.zeros(2, 3), value, gain, kept)

        return root, step

    plans = [search.plan(model(forms), torch.zeros(2, 1), Puct(24), seed=0) for forms in ("t", "n", "ntnnt")]
    for other in plans[1:]:
        assert np.array_equal(plans[0].visit_counts, other.visit_counts)
        assert np.array_equal(plans[0].q_values, other.q_values)
