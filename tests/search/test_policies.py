"""Policies by name yield the right settings; PUCT's readings of the parent's visits."""

import math
from typing import Any

import numpy as np
import pytest
from tests.search.test_facts import bandit, picks

from zelkova import search
from zelkova.errors import ConfigError
from zelkova.search import Custom, Gumbel, Policy, Puct, SearchConfig
from zelkova.search.memory import explore_table
from zelkova.search.policies import CONSTANT, GUMBEL_CONSTANTS, PUCT_CONSTANTS, as_policy

READINGS = ["one_plus", "sum"]


def constant(reading: Any, **options: Any) -> SearchConfig:
    """PUCT with C = 1.25 and raw Q, 0 for unvisited actions, as the facts take it."""
    return SearchConfig(policy="puct", rescale="none", c_base=CONSTANT, parent_count=reading, **options)


@pytest.mark.parametrize(("reading", "first"), [("one_plus", 1), ("sum", 0)])
def test_exploration_p1(reading: str, first: int) -> None:
    table = explore_table(1.25, 19652.0, 19654, reading)
    for visits, expected in {50: 1.252592, 800: 1.289950, 19652: 1.943173}.items():
        assert table[visits - first] / math.sqrt(visits) == pytest.approx(expected, abs=2e-6)
    assert table[0] == pytest.approx(0 if reading == "sum" else 1.25 + math.log(1 + 2 / 19652), abs=1e-6)
    # P1 at 0 visits is the constant alone: nothing is left of it once it is multiplied by sqrt(0)
    assert 1.25 + math.log((1 + 19652) / 19652) == pytest.approx(1.250051, abs=1e-6)


@pytest.mark.parametrize("reading", READINGS)
def test_bandit_p2_p3(reading: str) -> None:
    found = picks(constant(reading), bandit([0.5, 0.3, 0.2], [0, 0, 1]), 12, 12)
    assert found == [0, 1, 0] + [2] * 9


@pytest.mark.parametrize("reading", READINGS)
def test_first_pick_p4(reading: str) -> None:
    """With sqrt(S) all scores tie at first; the search then takes the largest prior."""
    assert picks(constant(reading), bandit([0.2, 0.3, 0.5], [0, 0, 0]), 1, 1) == [2]
    scores = explore_table(1.25, CONSTANT, 1, reading)[0] * np.array([0.2, 0.3, 0.5])
    assert int(np.argmax(scores)) == (0 if reading == "sum" else 2)


def test_puct_score_p5_and_alphago_p18() -> None:
    with_sum = explore_table(1.25, CONSTANT, 25, "sum")
    assert with_sum[24] * 0.4 / 4 == pytest.approx(0.612372, abs=1e-6)
    assert 0.55 + with_sum[24] * 0.4 / 4 == pytest.approx(1.162372, abs=1e-6)
    config = Puct.named("alphago").config()
    table = explore_table(config.c_init, config.c_base, 100, config.parent_count)
    assert table[99] * 0.2 / 10 == pytest.approx(0.994987, abs=1e-6)


def test_alphazero_and_muzero_formulas_agree() -> None:
    for reading in READINGS:
        parent = np.arange(1, 101) if reading == "one_plus" else np.arange(100)
        muzero = np.sqrt(parent) * (1.25 + np.log((parent + 19652 + 1) / 19652))
        np.testing.assert_allclose(explore_table(1.25, 19652, 100, reading), muzero, rtol=1e-6)


@pytest.mark.parametrize("kind", [Puct, Gumbel])
def test_named_constants(kind: type[Policy]) -> None:
    for name in kind.constants:
        config = kind.named(name).config()
        assert config.policy == kind.rule
        for key, value in kind.constants[name].items():
            assert getattr(config, key) == value
        assert kind.named(name, num_simulations=7).config().num_simulations == 7
    with pytest.raises(ConfigError, match="did you mean"):
        kind.named(next(iter(kind.constants)) + "x")


def test_constants_of_the_papers() -> None:
    assert PUCT_CONSTANTS["alphago"]["c_init"] == 5
    muzero = Puct.named("muzero").config()
    assert (muzero.c_init, muzero.c_base, muzero.rescale, muzero.fpu) == (1.25, 19652, "tree", "zero")
    board, atari = Gumbel.named("board").config(), Gumbel.named("atari").config()
    assert (board.c_visit, board.c_scale, board.max_considered, board.rescale) == (50, 1.0, 16, "fixed")
    assert (atari.c_visit, atari.c_scale, atari.max_considered, atari.rescale) == (50, 0.1, 18, "node")
    mctx = GUMBEL_CONSTANTS["mctx"]
    assert (mctx["rescale_floor"], mctx["rescale_illegal"]) == (1e-8, True)


def test_policies_without_noise() -> None:
    policies: list[Policy] = [
        Puct(),
        Gumbel(),
        Custom(settings=SearchConfig()),
        Custom(settings=constant("sum")),
    ]
    for policy in policies:
        quiet = policy.without_noise()
        assert policy.has_noise
        assert not quiet.has_noise
        assert type(quiet) is type(policy)
    assert not Puct.named("alphago").has_noise


def test_a_config_is_a_policy() -> None:
    config = SearchConfig(num_simulations=9, completion="raw")
    policy = as_policy(config)
    assert policy.config() is config
    assert policy.num_simulations == 9
    assert as_policy(policy) is policy


@pytest.mark.parametrize(
    "options",
    [
        {"num_simulations": 0},
        {"num_leaves": 0},
        {"num_leaves": 1.5},
        {"num_samples": -1},
        {"proposal_tau": 0.0},
        {"proposal_tau": math.nan},
        {"rescale": "no"},
        {"q_range": (1.0, 1.0)},
        {"q_range": (0.0, math.inf)},
    ],
)
def test_bad_values_are_refused(options: dict[str, Any]) -> None:
    for kind in (Puct, Gumbel):
        with pytest.raises(ConfigError, match=next(iter(options))):
            kind(**options)


def test_positions_of_arguments() -> None:
    assert Gumbel(48, 8) == Gumbel(num_simulations=48, max_considered=8)
    assert search.Puct(20).config().num_simulations == 20
