"""Numbers and settings that no search can use: one clear error, never an answer in silence."""

from typing import Any

import numpy as np
import pytest
import torch

from zelkova import search
from zelkova.errors import ConfigError, SearchError
from zelkova.search import Gumbel, Plan, Puct, Regularised, Root, SearchConfig, Step
from zelkova.search.planning import Streams, root_noise

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
    "step", [{"discount": 1e30, "value": torch.ones(2)}, {"value": torch.tensor([3e38, -3e38])}]
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
