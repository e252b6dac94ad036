"""Numbers and settings that no search can use: one clear error, never an answer in silence."""

from typing import Any

import numpy as np
import pytest
import torch

from zelkova import search
from zelkova.errors import ConfigError, SearchError, ShapeError
from zelkova.search import Gumbel, Plan, Puct, Regularised, Root, SearchConfig, SquashedGaussian, Step
from zelkova.search.mvc import evaluate_by_variance
from zelkova.search.planning import Streams, root_noise
from zelkova.search.view import TreeView, explain
from zelkova.search.view.branches import read_priors

POSITION = torch.zeros(2, 4)


def answer(
    policy: Any, root: dict[str, Any] | None = None, step: dict[str, Any] | None = None, **call: Any
) -> Plan:
    """Search actions that pay 1, 0 and -1, with some of the model's outputs changed."""

    def at_root(position: Any) -> Root:
        told = {"embedding": position, "prior_logits": torch.zeros(2, 3), "value": torch.zeros(2)}
        return Root(**{**told, **(root or {})})

    def after(embedding: Any, action: Any) -> Step:
        rows = len(action)
        told = {"embedding": embedding, "prior_logits": torch.zeros(rows, 3), "value": torch.zeros(rows)}
        return Step(**{**told, "reward": 1.0 - action, **(step or {})})

    return search.plan((at_root, after), POSITION, policy, **{"seed": 0, **call})


@pytest.mark.parametrize("policy", [Puct(16), Gumbel(16), Regularised(16), Regularised(16, "mpo")])
@pytest.mark.parametrize(
    "step", [{"value": torch.tensor([3e38, -3e38])}, {"value": torch.tensor([1e38, -1e38]), "discount": 0.9}]
)
def test_numbers_that_overflow(policy: search.Policy, step: dict[str, Any]) -> None:
    """NaN scores once opened an edge that was not there and wrote beyond the tree."""
    step = {"reward": torch.tensor([3e38, -3e38]), **step}
    for _ in range(3):
        with pytest.raises(SearchError, match="float32"):
            answer(policy, step=step)


@pytest.mark.parametrize("rule", ["trpo", "mpo"])
def test_a_penalty_of_nothing(rule: Any) -> None:
    with pytest.raises(ConfigError, match="c_init"):
        SearchConfig(policy=rule, c_init=0.0)
    with pytest.raises(ConfigError, match="c_init"):
        SearchConfig(policy="gumbel", interior=rule, c_init=1e-9)
    assert np.allclose(answer(Regularised(16, rule, c_init=1e-6)).action_weights, [1, 0, 0], atol=1e-4)
    SearchConfig(policy="puct", interior=rule, c_init=0.0)  # PUCT reads no interior


@pytest.mark.parametrize("rule", ["puct", "trpo", "mpo"])
def test_candidates_of_gumbel_alone(rule: Any) -> None:
    with pytest.raises(ConfigError, match="replacement"):
        SearchConfig(policy=rule, candidates="replacement")


def test_settings_of_wrong_kinds() -> None:
    wrong: dict[str, Any] = {
        "policy": np.array(["puct"]),
        "dirichlet_alpha": np.ones(3),
        "c_init": np.ones(2),
    }
    for name, value in wrong.items():
        with pytest.raises(ConfigError, match=name):
            SearchConfig(**{name: value})


def test_tiny_alpha_still_picks_corners() -> None:
    config = Puct(4, dirichlet_alpha=1e-5).config()
    noise = root_noise(config, np.full(64, 3, np.int32), 3, Streams(0, 0))
    assert np.allclose(noise.max(axis=1), 1)
    assert set(noise.argmax(axis=1)) == {0, 1, 2}


@pytest.mark.parametrize("policy", [Puct(16, solve=True), Gumbel(16, solve=True)])
def test_proofs_beyond_the_range(policy: search.Policy) -> None:
    """With a return of 1 as the best that there is, 5 beside it would never be looked for."""
    rewards = {"discount": 0.0, "legal": torch.zeros(2, 3, dtype=torch.bool)}
    assert answer(policy, step=rewards).index.tolist() == [0, 0]
    for reward in (5.0, -5.0):
        with pytest.raises(SearchError, match="q_range"):
            answer(policy, step={**rewards, "reward": reward})


VALUE, LOGITS = torch.zeros(2), torch.zeros(2, 3)
MASK = torch.ones(2, 3, dtype=torch.bool)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("value", 0.0), ("value", [0.0, 0.0]), ("value", VALUE.numpy()), ("value", torch.tensor(0.0)),
        ("value", torch.zeros(2, 1, 1)), ("value", torch.zeros(0)), ("value", VALUE.to(torch.complex64)),
        ("prior_logits", LOGITS.numpy()), ("prior_logits", None), ("prior_logits", [[0.0] * 3] * 2),
        ("prior_logits", LOGITS.to(torch.complex64)), ("prior_logits", LOGITS.to_sparse()),
        ("embedding", torch.zeros(1, 4)), ("embedding", torch.zeros(3, 4)), ("embedding", torch.tensor(1.0)),
        ("embedding", None), ("legal", MASK.numpy()), ("legal", LOGITS), ("legal", MASK[:1]),
        ("to_play", None), ("to_play", 0.5), ("to_play", 2**40), ("to_play", np.zeros(2, int)),
    ],
)  # fmt: skip
def test_roots_of_wrong_kinds(name: str, given: Any) -> None:
    with pytest.raises(ShapeError, match=name):
        answer(Gumbel(4), {name: given})


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("value", None), ("value", 0.5), ("value", VALUE.numpy()), ("value", torch.zeros(2, 2)),
        ("prior_logits", LOGITS.numpy()), ("prior_logits", torch.zeros(2, 4)),
        ("reward", None), ("reward", "1"), ("reward", [1.0, 2.0]), ("reward", np.zeros(2)),
        ("reward", torch.tensor(1.0)), ("discount", np.ones(2)), ("discount", torch.ones(2, 1)),
        ("embedding", torch.zeros(2, 5)), ("embedding", (torch.zeros(2, 4),)),
        ("embedding", torch.zeros(2, 4, dtype=torch.complex64)), ("legal", MASK.numpy()),
        ("to_play", 0.5), ("to_play", "0"),
    ],
)  # fmt: skip
def test_steps_of_wrong_kinds(name: str, given: Any) -> None:
    with pytest.raises(ShapeError, match=name):
        answer(Gumbel(4), step={name: given})


@pytest.mark.parametrize("mover", [0.5, -1.5, float("nan"), 1e9])
def test_movers_are_whole_numbers(mover: float) -> None:
    for name in ("root", "step"):
        with pytest.raises(
            SearchError, match=rf"tree 1 .*{name}\(\) gives to_play = {mover:g}".replace("+", ".")
        ):
            answer(Gumbel(4), **{name: {"to_play": torch.tensor([0, mover])}})


@pytest.mark.parametrize("mover", [1, -2, -9])
def test_movers_are_players(mover: int) -> None:
    for name in ("root", "step"):
        for given in (mover, torch.full((2,), mover)):
            with pytest.raises(
                SearchError, match=rf"tree 0 .*{name}\(\) gives to_play = {mover}; allowed: 0 to 0,"
            ):
                answer(Gumbel(4), **{name: {"to_play": given}})


@pytest.mark.parametrize("discount", [-1.0, -0.02, 1.02, 1e30, float("nan"), float("inf")])
def test_discounts(discount: float) -> None:
    for given, row in ((discount, 0), (torch.tensor([1.0] * 3 + [discount]), 3)):
        with pytest.raises(
            SearchError, match=rf"tree {row // 2} \(row {row}\): step.*discount = .*; allowed: 0 to 1"
        ):
            answer_twice(discount=given)
    one_ulp = (1.0 + float(torch.finfo(kind).eps) for kind in (torch.float32, torch.float16, torch.bfloat16))
    for near in (-0.009, 0.0, 0, 1, 1.009, *one_ulp):
        answer_twice(discount=near)


def answer_twice(**step: Any) -> Plan:
    """Search with two leaves of each of two trees at a time."""

    def after(embedding: Any, action: Any) -> Step:
        return Step(embedding, torch.zeros(4, 3), torch.zeros(4), 1.0 - action, **step)

    model = (lambda position: Root(position, LOGITS, VALUE), after)
    return search.plan(model, POSITION, Puct(6, num_leaves=2), seed=0)


def test_discounts_that_nobody_reads() -> None:
    """The first tree is proven at once; from then on nobody looks at what its rows say."""
    calls = []

    def step(embedding: Any, action: Any) -> Step:
        calls.append(action)
        first = 0.0 if len(calls) == 1 else float("nan")
        ended, open_ = torch.zeros(3, dtype=torch.bool), torch.ones(3, dtype=torch.bool)
        return Step(
            embedding, LOGITS, VALUE, torch.tensor([1.0, 0.0]), torch.tensor([first, 1.0]),
            0, torch.stack([ended, open_]),
        )  # fmt: skip

    found = search.plan(
        (lambda position: Root(position, LOGITS, VALUE), step), POSITION, Puct(6, solve=True), seed=0
    )
    assert len(calls) == 6
    assert found.visit_counts[1].sum() == 6


@pytest.mark.parametrize("kind", [torch.uint8, torch.int32, torch.int64, torch.float64])
def test_whole_numbers_are_numbers(kind: torch.dtype) -> None:
    numbers = {"prior_logits": torch.tensor([[2, 1, 0]] * 2), "value": torch.tensor([3, 1])}
    after = {**numbers, "reward": torch.tensor([1, 0]), "discount": torch.ones(2)}
    found, same = (
        answer(
            Puct(8, dirichlet_fraction=0.0),
            {name: given.to(dtype) for name, given in numbers.items()},
            {name: given.to(dtype) for name, given in after.items()},
        )
        for dtype in (kind, torch.float32)
    )
    assert np.array_equal(found.visit_counts, same.visit_counts)
    assert np.array_equal(found.value, same.value)
    assert found.raw_value.tolist() == [[3.0], [1.0]]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("prior_logits", torch.ones(2, 3, dtype=torch.bool)), ("value", torch.ones(2, dtype=torch.bool)),
        ("value", torch.ones(2, 1, dtype=torch.bool)), ("to_play", torch.zeros(2, dtype=torch.bool)),
        ("to_play", False), ("reward", torch.ones(2, dtype=torch.bool)), ("reward", True),
        ("discount", torch.ones(2, dtype=torch.bool)), ("discount", True),
    ],
)  # fmt: skip
def test_booleans_are_no_numbers(name: str, given: Any) -> None:
    for source in ("step",) if name in ("reward", "discount") else ("root", "step"):
        with pytest.raises(
            ShapeError, match=rf"{source}\(\) gives {name} as booleans; allowed: .*; next: .*float"
        ):
            answer(Gumbel(4), **{source: {name: given}})


def test_an_embedding_keeps_its_type_and_its_keys() -> None:
    whole = {"embedding": torch.zeros(2, 4, dtype=torch.int64)}
    with pytest.raises(ShapeError, match=r"float32.*int64"):
        answer(Gumbel(4), whole, {"embedding": torch.full((2, 4), 0.7)})
    first, second = torch.zeros(2, 1), torch.ones(2, 1)
    with pytest.raises(ShapeError, match=r"\['a', 'c'\].*\['a', 'b'\]"):
        answer(Gumbel(4), {"embedding": {"a": first, "b": second}}, {"embedding": {"a": first, "c": second}})
    seen = []

    def step(embedding: Any, action: Any) -> Step:
        seen.append((embedding["a"].tolist(), embedding["b"].tolist()))
        return Step({"b": embedding["b"], "a": embedding["a"]}, LOGITS, VALUE)

    search.plan((lambda _: Root({"a": first, "b": second}, LOGITS, VALUE), step), POSITION, Puct(6), seed=0)
    assert seen == [([[0.0]] * 2, [[1.0]] * 2)] * 6


@pytest.mark.parametrize("legal", ["all", np.ones((2, 3), int), np.ones(3, bool), np.ones((2, 7), bool)])
@pytest.mark.parametrize("own", [None, MASK])
def test_masks_of_a_call(legal: Any, own: Any) -> None:
    with pytest.raises(ShapeError, match=r"legal.*\(2, 3\)"):
        answer(Gumbel(4), {"legal": own}, legal=legal)


@pytest.mark.parametrize("std", [0.0, -0.5, float("nan")])
def test_distributions_without_width(std: float) -> None:
    with pytest.raises(SearchError, match="std"):
        answer(Puct(4), {"prior_logits": SquashedGaussian(torch.zeros(2, 1), torch.full((2, 1), std))})


@pytest.mark.parametrize(
    "given",
    [
        SquashedGaussian(torch.zeros(2), torch.ones(2)), SquashedGaussian(torch.zeros(2, 1), torch.ones(1)),
        SquashedGaussian(torch.zeros(1, 1), torch.ones(1, 1)),
        SquashedGaussian(torch.zeros(2, 1), 0.5),  # type: ignore[arg-type]
        SquashedGaussian(0.0, torch.ones(2, 1)),  # type: ignore[arg-type]
        search.Proposal(torch.zeros(2)), search.Proposal(None),  # type: ignore[arg-type]
        search.Proposal(torch.zeros(2, 4), torch.zeros(4), torch.zeros(2, 4)),
        search.Proposal(torch.zeros(2, 4), torch.zeros(2, 4)),
    ],
)  # fmt: skip
def test_distributions_of_other_shapes(given: Any) -> None:
    with pytest.raises(ShapeError):
        answer(Puct(4), {"prior_logits": given})


def test_spread_is_above_0() -> None:
    with pytest.raises(ConfigError, match="spread"):
        answer(Puct(4), {"prior_logits": SquashedGaussian(torch.zeros(2, 1), torch.ones(2, 1), 0.0)})


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, "x", True, [1], [1, 2, 3], [[1, 2]], [0.5, 1.5], object()])
def test_seeds(seed: Any) -> None:
    with pytest.raises(ConfigError, match="seed"):
        answer(Gumbel(4), seed=seed)


def test_whole_numbers_of_any_kind_are_seeds() -> None:
    expected = answer(Gumbel(8), seed=3).visit_counts
    for seed in (np.int64(3), np.array(3), np.uint8(3), torch.tensor(3)):
        assert np.array_equal(answer(Gumbel(8), seed=seed).visit_counts, expected)


@pytest.mark.parametrize("heat", [-1.0, float("nan"), float("inf"), "1", None, [1.0] * 3, [[1.0], [1.0]], 1j])
def test_temperatures(heat: Any) -> None:
    with pytest.raises(ConfigError, match="temperature"):
        answer(Puct(4), temperature=heat)


@pytest.mark.parametrize("policy", ["gumbel", Gumbel, None])
def test_policies_of_wrong_kinds(policy: Any) -> None:
    with pytest.raises(ConfigError, match="policy"):
        answer(policy)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"q_range": 5}, "q_range"), ({"q_range": (1,)}, "q_range"), ({"q_range": "ab"}, "q_range"),
        ({"q_range": (0, 1, 2)}, "q_range"), ({"q_range": (-1e300, 1e300)}, "q_range"),
        ({"q_range": (1, 1 + 1e-12)}, "q_range"), ({"proposal_tau": "a"}, "proposal_tau"),
        ({"proposal_tau": 1e-300}, "proposal_tau"), ({"num_leaves": 10**12}, "num_leaves"),
    ],
)  # fmt: skip
def test_settings_of_a_call(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        Puct(4, **given)


def test_names_and_parts_of_wrong_kinds() -> None:
    wrong: list[Any] = [3, []]
    for name in wrong:
        with pytest.raises(ConfigError, match="named"):
            Puct.named(name)
    with pytest.raises(ConfigError, match=r"num_sims.*num_simulations"):
        Puct.named("muzero", num_sims=3)
    with pytest.raises(ConfigError, match="penalty"):
        Regularised(4, "puct")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="settings"):
        search.Custom(settings=5)  # type: ignore[arg-type]
    for model in (5, (len,), [len, len], (len, 3)):
        with pytest.raises(ConfigError, match="model"):
            search.plan(model, POSITION, Puct(4), seed=0)


def test_memory_that_no_machine_has() -> None:
    with pytest.raises(ConfigError, match="GiB"):
        search.BatchSearch(SearchConfig(num_simulations=10**8), 1000, 3, 1)
    with pytest.raises(ConfigError, match="GiB"):
        answer(Puct(10**5, num_samples=10**6))
    wide = torch.zeros(2, 1).expand(2, 10**11)
    with pytest.raises(ConfigError, match="GiB"):
        answer(Puct(100), {"embedding": wide})


def test_a_searcher_is_for_one_call_at_a_time() -> None:
    asked: list[str] = []

    def root(position: Any) -> Root:
        return Root(position, LOGITS, VALUE)

    def step(embedding: Any, action: Any) -> Step:
        if not asked:
            with pytest.raises(SearchError, match="Searcher for each") as told:
                searcher.plan(POSITION, seed=0)
            asked.append(str(told.value))
        return Step(embedding, LOGITS, VALUE, 1.0 - action)

    searcher = search.Searcher((root, step), Gumbel(8))
    found = searcher.plan(POSITION, seed=0)
    again = searcher.plan(POSITION, seed=0)
    assert asked
    assert np.array_equal(found.visit_counts, again.visit_counts)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, None])
def test_a_searcher_goes_on_after_an_error(error: Any) -> None:
    """An error of the model, a break by the user, or numbers that are refused, in the middle of a search."""
    left = [5]

    def step(embedding: Any, action: Any) -> Step:
        left[0] -= 1
        if left[0] == 0 and error is not None:
            raise error
        value = torch.full((4,), float("nan") if left[0] == 0 else 0.0)
        return Step(embedding, torch.zeros(4, 3), value, 1.0 - action)

    searcher = search.Searcher(
        (lambda position: Root(position, LOGITS, VALUE), step), Gumbel(24, num_leaves=2)
    )
    with pytest.raises(error or SearchError):
        searcher.plan(POSITION, seed=0)
    found = searcher.plan(POSITION, seed=0)
    assert np.array_equal(found.visit_counts, searcher.plan(POSITION, seed=0).visit_counts)
    assert found.visit_counts.sum() == 48


def test_trees_that_hold_nothing_are_not_read() -> None:
    """The evaluator once walked memory that no search had written."""
    blank = search.BatchSearch(SearchConfig(), 2, 3, 1)
    for read in (lambda: evaluate_by_variance(blank, 0.25), lambda: TreeView(blank), lambda: explain(blank)):
        with pytest.raises(SearchError, match="set_roots"):
            read()
    tree = answer(Puct(8)).tree
    for number in (-1, 2):
        with pytest.raises(SearchError, match="0 to 1"):
            TreeView(tree, number)
        with pytest.raises(SearchError, match="0 to 1"):
            explain(tree, number)
    for beta in (1e308, "a"):
        with pytest.raises((ConfigError, SearchError), match="beta"):
            evaluate_by_variance(tree, beta)  # type: ignore[arg-type]


def test_priors_of_a_root_with_a_rule_of_its_own() -> None:
    logits = torch.tensor([[1.0, 0.0, -1.0]] * 2)
    tree = answer(Regularised(12, interior="puct"), {"prior_logits": logits}).tree
    assert np.allclose(read_priors(tree), logits[0].softmax(0).numpy(), atol=1e-6)
