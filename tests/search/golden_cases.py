"""mctx's search trees as cases: discount -1 becomes a second player, illegal root actions are left out."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from zelkova.search import BatchSearch, SearchConfig
from zelkova.search.models.table_model import TableModel, Tables

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "mctx_search.json").read_text())
STOCHASTIC = json.loads((Path(__file__).parent.parent / "golden" / "mctx_stochastic.json").read_text())
RESCALE = {"completed_by_mix_value": "node", "parent_and_siblings": "node", "min_max": "fixed"}


def config_of(case: dict[str, Any]) -> SearchConfig:
    """Translate mctx's parameters."""
    p, q = case["params"], case["params"]["qtransform_kwargs"]
    shared = {
        "num_simulations": case["num_simulations"],
        "max_depth": p["max_depth"] or 0,
        "rescale": RESCALE[p["qtransform"]],
        "rescale_floor": q.get("epsilon", 1e-8),
    }
    if case["policy"] in ("muzero", "stochastic_muzero"):
        return SearchConfig(
            policy="puct", c_init=p["pb_c_init"], c_base=p["pb_c_base"], dirichlet_fraction=0.0, **shared
        )  # fmt: skip
    if not q["rescale_values"]:
        shared["rescale"] = "none"
    return SearchConfig(
        policy="gumbel",
        max_considered=p["max_num_considered_actions"],
        gumbel_scale=p["gumbel_scale"],
        c_visit=q["maxvisit_init"],
        c_scale=q["value_scale"],
        rescale_illegal=True,
        completion="mixed" if q["use_mixed_value"] else "raw",
        **shared,
    )  # fmt: skip


def tables_of(case: dict[str, Any]) -> tuple[Tables, np.ndarray[Any, Any]]:
    """Make tables over (state, mover) pairs, state * players + mover, and append each root's legal actions.

    mctx's value is the mover's and its discount is -1 where the mover changes; here values are vectors, the
    discount is its size, and a discount of 0 changes the mover too (nothing passes it).
    """
    model = case["model"]
    discount = np.array(model["discount"], np.float32)
    players = 2 if (discount <= 0).any() else 1
    states, actions = discount.shape
    roots = case["root_states"]
    size = states * players + len(roots)
    tables = Tables(
        transition=np.zeros((size, actions), np.int32),
        reward=np.zeros((size, actions, players), np.float32),
        discount=np.zeros((size, actions), np.float32),
        actions=np.tile(np.arange(actions, dtype=np.int32), (size, 1)),
        count=np.full(size, actions, np.int32),
        prior_logits=np.zeros((size, actions), np.float32),
        value=np.zeros((size, players), np.float32),
        to_play=np.zeros(size, np.int32),
    )
    for s in range(states):
        for mover in range(players):
            fill_state(tables, model, s, mover, players, s * players + mover, list(range(actions)))
    invalid = case["invalid_actions"] or [[0] * actions for _ in roots]
    for b, s in enumerate(roots):
        legal = [a for a in range(actions) if not invalid[b][a]]
        fill_state(tables, model, s, 0, players, states * players + b, legal)
    return tables, np.arange(states * players, size, dtype=np.int32)


def fill_state(
    tables: Tables, model: dict[str, Any], s: int, mover: int, players: int, row: int, legal: list[int]
) -> None:
    """Write one row of the tables."""
    sign = np.where(np.arange(players) == mover, 1, -1)
    tables.count[row] = len(legal)
    tables.value[row] = model["value"][s] * sign
    tables.to_play[row] = mover
    for i, a in enumerate(legal):
        discount = model["discount"][s][a]
        after = mover if discount > 0 else (mover + 1) % players
        tables.transition[row, i] = model["transition"][s][a] * players + after
        tables.reward[row, i] = model["reward"][s][a] * sign
        tables.discount[row, i] = abs(discount)
        tables.prior_logits[row, i] = model["prior_logits"][s][a]
        tables.actions[row, i] = a


def search_of(
    case: dict[str, Any], keep: list[int] | None = None
) -> tuple[BatchSearch, TableModel, np.ndarray[Any, Any] | None]:
    """Make the search, the model and the root noise of a case, of the rows to keep."""
    tables, roots = tables_of(case)
    keep = list(range(len(roots))) if keep is None else keep
    config = config_of(case)
    actions, players = tables.actions.shape[1], tables.value.shape[1]
    q_range = (-1.0, 1.0)
    if case["params"]["qtransform"] == "min_max":
        kwargs = case["params"]["qtransform_kwargs"]
        q_range = (kwargs["min_value"], kwargs["max_value"])
    search = BatchSearch(config, len(keep), actions, players, q_range)
    model = TableModel(tables, roots[keep], config.num_simulations + 1)
    noise = None
    if "root_gumbel" in case:
        noise = np.zeros((len(keep), actions), np.float32)
        drawn = np.array(case["root_gumbel"], np.float32)[keep]
        for b, root in enumerate(roots[keep]):
            legal = tables.actions[root, : tables.count[root]]
            noise[b, : len(legal)] = drawn[b, legal]
    return search, model, noise


def stochastic_search_of(case: dict[str, Any]) -> tuple[BatchSearch, TableModel]:
    """Make the search and the model of a case with chance nodes: states, afterstates, then the roots."""
    model, roots = case["model"], case["root_states"]
    states, afterstates = model["num_states"], model["num_afterstates"]
    actions, outcomes = model["num_actions"], model["num_chance"]
    width, size = max(actions, outcomes), states + afterstates + len(roots)
    tables = Tables(
        transition=np.zeros((size, width), np.int32),
        reward=np.zeros((size, width, 1), np.float32),
        discount=np.ones((size, width), np.float32),
        actions=np.tile(np.arange(width, dtype=np.int32), (size, 1)),
        count=np.full(size, actions, np.int32),
        prior_logits=np.zeros((size, width), np.float32),
        value=np.zeros((size, 1), np.float32),
        to_play=np.zeros(size, np.int32),
    )
    after = slice(states, states + afterstates)
    tables.transition[:states, :actions] = np.array(model["afterstate"]) + states
    tables.prior_logits[:states, :actions] = model["prior_logits"]
    tables.value[:states, 0] = model["value"]
    tables.transition[after, :outcomes] = model["transition"]
    tables.reward[after, :outcomes, 0] = model["reward"]
    tables.discount[after, :outcomes] = model["discount"]
    tables.prior_logits[after, :outcomes] = model["chance_logits"]
    tables.value[after, 0] = model["afterstate_value"]
    tables.count[after], tables.to_play[after] = outcomes, -1
    invalid = case["invalid_actions"] or [[0] * actions for _ in roots]
    for b, state in enumerate(roots):
        row, legal = states + afterstates + b, [a for a in range(actions) if not invalid[b][a]]
        tables.count[row], tables.value[row] = len(legal), tables.value[state]
        for name in ("transition", "prior_logits", "actions"):
            getattr(tables, name)[row, : len(legal)] = getattr(tables, name)[state, legal]
    config = config_of(case)
    search = BatchSearch(config, len(roots), width, 1)
    where = np.arange(states + afterstates, size, dtype=np.int32)
    return search, TableModel(tables, where, config.num_simulations + 1)
