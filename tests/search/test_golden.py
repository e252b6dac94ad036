"""The search gives mctx's answers and mctx's trees."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.search.golden_cases import GOLDEN, STOCHASTIC, search_of, stochastic_search_of

from zelkova.errors import SearchError
from zelkova.search import run
from zelkova.search.models.table_model import Stepwise
from zelkova.search.rules.gumbel import halving_table, halving_visits

CASES = GOLDEN["cases"]
TOLERANCE = 2e-5


def rows_of(case: dict[str, Any]) -> list[int]:
    """Rows whose root has a legal action."""
    invalid = case["invalid_actions"]
    rows = range(len(case["root_states"]))
    return [b for b in rows if invalid is None or not all(invalid[b])]


def dense(result_row: Any, actions: Any, count: int, size: int) -> Any:
    """Spread one row over all actions of the game."""
    out = np.zeros(size, np.asarray(result_row).dtype)
    out[actions[:count]] = result_row[:count]
    return out


@pytest.mark.parametrize("natively", [True, False])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_root_answers(case: dict[str, Any], natively: bool) -> None:
    keep = rows_of(case)
    search, model, noise = search_of(case, keep)
    found = run(search, model if natively else Stepwise(model), noise)
    expected, size = case["expected"], case["model"]["num_actions"]
    np.testing.assert_array_equal(found.action, np.array(expected["action"])[keep])
    np.testing.assert_allclose(found.value[:, 0], np.array(expected["root"]["value"])[keep], atol=TOLERANCE)
    for i, b in enumerate(keep):
        spread = partial(dense, actions=found.actions[i], count=found.count[i], size=size)
        np.testing.assert_array_equal(spread(found.visit_counts[i]), expected["root"]["visit_counts"][b])
        np.testing.assert_allclose(
            spread(found.action_weights[i]), expected["action_weights"][b], atol=TOLERANCE
        )
        visited = spread(found.visit_counts[i]) > 0
        np.testing.assert_allclose(
            spread(found.q_values[i])[visited],
            np.array(expected["root"]["qvalues"][b])[visited],
            atol=TOLERANCE,
        )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_whole_tree(case: dict[str, Any]) -> None:
    keep = rows_of(case)
    search, model, noise = search_of(case, keep)
    run(search, model, noise)
    forest, golden = search.forest, case["expected"]["tree"]
    for i, b in enumerate(keep):
        same = {0: 0}  # mctx's node -> ours
        compared = 0
        while same:
            theirs, ours = same.popitem()
            node = forest.nodes[i, ours]
            mover = node["to_play"]
            compared += 1
            assert node["visits"] == golden["node_visits"][b][theirs]
            mean = forest.sums[i, ours, mover] / node["visits"]
            assert mean == pytest.approx(golden["node_values"][b][theirs], abs=TOLERANCE)
            assert forest.raw[i, ours, mover] == pytest.approx(golden["raw_values"][b][theirs], abs=TOLERANCE)
            kids = forest.kids[i, node["kids"] : node["kids"] + node["num_kids"]]
            children = {}
            for kid in kids[kids["visits"] > 0]:
                action = forest.actions[i, node["edges"] + kid["edge"]]
                children[int(action)] = kid
            wanted = {a: c for a, c in enumerate(golden["children_index"][b][theirs]) if c >= 0}
            assert children.keys() == wanted.keys()
            for action, child in wanted.items():
                kid = children[action]
                assert kid["visits"] == golden["children_visits"][b][theirs][action]
                q = golden["children_rewards"][b][theirs][action]
                q += (
                    golden["children_discounts"][b][theirs][action]
                    * golden["children_values"][b][theirs][action]
                )
                assert kid["q"] == pytest.approx(q, abs=TOLERANCE)
                same[child] = int(kid["child"])
        assert compared == sum(visits > 0 for visits in golden["node_visits"][b])


@pytest.mark.parametrize("natively", [True, False])
@pytest.mark.parametrize("case", STOCHASTIC["cases"], ids=lambda case: case["name"])
def test_chance_nodes(case: dict[str, Any], natively: bool) -> None:
    search, model = stochastic_search_of(case)
    found = run(search, model if natively else Stepwise(model))
    expected, golden, forest = case["expected"], case["expected"]["tree"], search.forest
    size = case["model"]["num_actions"]
    np.testing.assert_array_equal(found.action, expected["action"])
    np.testing.assert_allclose(found.value[:, 0], expected["root"]["value"], atol=TOLERANCE)
    for b in range(len(case["root_states"])):
        spread = partial(dense, actions=found.actions[b], count=found.count[b], size=size)
        np.testing.assert_array_equal(spread(found.visit_counts[b]), expected["root"]["visit_counts"][b])
        np.testing.assert_allclose(spread(found.q_values[b]), expected["root"]["qvalues"][b], atol=TOLERANCE)
    np.testing.assert_array_equal(forest.nodes["visits"], golden["node_visits"])
    np.testing.assert_array_equal(forest.nodes["parent"], golden["parents"])
    np.testing.assert_array_equal(forest.nodes["to_play"] == 0, golden["is_decision_node"])
    means = forest.sums[:, :, 0] / forest.nodes["visits"]
    np.testing.assert_allclose(means, golden["node_values"], atol=TOLERANCE)
    np.testing.assert_allclose(forest.raw[:, :, 0], golden["raw_values"], atol=TOLERANCE)


def test_a_root_without_legal_actions_is_refused() -> None:
    case = next(c for c in CASES if c["name"] == "gumbel_one_or_no_valid")
    search, model, noise = search_of(case)
    with pytest.raises(SearchError, match=r"tree 1 .*no legal action"):
        run(search, model, noise)


def test_halving_tables() -> None:
    for key, expected in GOLDEN["halving"].items():
        considered, simulations = map(int, key.split(","))
        assert halving_visits(considered, simulations) == expected, key
    table = halving_table(16, 50)
    assert table.shape == (17, 50)
    assert table.dtype == np.int32
