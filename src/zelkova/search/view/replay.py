"""Searches a Gumbel root once more, phase by phase, and tells what Sequential Halving saw in each.

The statistics at a search's end don't show earlier phases: Q, and with it the candidates' order, went on to
change. So the same search is run again with the same noise and the same model, and looked at when a phase
ends. That is exact where the model answers the same again; whether it did is checked at the end.
"""

import inspect
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from zelkova.errors import ConfigError, SearchError
from zelkova.search.batch import BatchSearch, run_until
from zelkova.search.kernels.native import F32, I32
from zelkova.search.kernels.tree import GUMBEL
from zelkova.search.model import Evaluation, Model
from zelkova.search.rules.gumbel import halving_phases
from zelkova.search.rules.qtransforms import completed_q


@dataclass(frozen=True, eq=False)
class Scores:
    """What decides at a Gumbel root, for each of its legal actions; E edges."""

    actions: I32  # [E] action numbers
    logits: F32  # [E] prior logits
    noise: F32  # [E] Gumbel noise, scaled
    visits: I32  # [E]
    q: F32  # [E] completed Q of the mover: the value that stands in where there are no visits
    sigma: F32  # [E] sigma(completed Q)
    scores: F32  # [E] noise + logits + sigma
    candidates: I32  # [m] the edges that are considered at all, largest noise + logit first


@dataclass(frozen=True)
class Phase:
    """One phase of Sequential Halving; actions by number."""

    start: int  # simulations before it
    end: int  # simulations at its end
    considered: tuple[int, ...]  # actions that it visited, best score at its end first
    kept: tuple[int, ...]  # those that the next phase visited; at the end, what the search plays
    visits: tuple[int, ...]  # aligned with considered: visits at its end
    q: tuple[float, ...]  # aligned: the mover's Q at its end
    scores: tuple[float, ...]  # aligned: noise + logit + sigma(Q) at its end


def read_scores(search: BatchSearch, tree: int = 0) -> Scores:
    """Read what decides at a Gumbel root, as the statistics stand.

    Args:
        search: of policy gumbel, with nothing waiting for an evaluation.
        tree: which of the batch.
    """
    forest = search.forest
    root = forest.nodes[tree, 0]
    start, first, count = int(root["edges"]), int(root["kids"]), int(root["num_edges"])
    kids = forest.kids[tree, first : first + int(root["num_kids"])]
    value, offset, factor = (np.float32(number) for number in completed_q(forest, tree, 0, GUMBEL))
    visits, q = np.zeros(count, np.int32), np.full(count, value, np.float32)
    seen = kids[kids["visits"] > 0]
    visits[seen["edge"]], q[seen["edge"]] = seen["visits"], seen["q"]
    logits, noise = forest.priors[tree, start : start + count].copy(), forest.noise[tree, :count].copy()
    sigma = (q - offset) * factor
    return Scores(
        actions=forest.actions[tree, start : start + count].copy(),
        logits=logits,
        noise=noise,
        visits=visits,
        q=q,
        sigma=sigma,
        scores=noise + logits + sigma,
        candidates=kids["edge"].astype(np.int32),
    )


def require_model(model: Any) -> None:
    """Refuse what can't answer for a search once more, such as a network in the place of the search's model.

    Raises:
        ConfigError: it is no `Model`.
    """
    is_model = isinstance(model, Model)
    if is_model:
        try:
            inspect.signature(model.root).bind()
        except (TypeError, ValueError):
            is_model = False
    if not is_model:
        raise ConfigError(
            f"explain(model=...) got a {type(model).__name__}; allowed: `searcher.model`, which answered for"
            " the search, and not your own module; next: plan with searcher = search.Searcher(module,"
            " policy), or explain without a model, which leaves the phases out"
        )


def replay_halving(search: BatchSearch, model: Model, tree: int = 0) -> tuple[Phase, ...]:
    """Run a Gumbel search again and describe each of its phases.

    Phases end exactly where the schedule says when leaves are taken one by one; a search that takes several
    at a time passes the end of a phase by some of them, and is then looked at after that step.

    Args:
        search: with nothing waiting for an evaluation; all its trees are searched again.
        model: that answered for it, with the same positions at its roots.
        tree: whose phases are told.
    Raises:
        SearchError: no Gumbel root, candidates drawn with replacement, or the model answered otherwise.
        ConfigError: model is no `Model`.
    """
    require_model(model)
    if search.config.candidates == "replacement":
        raise SearchError(
            "candidates that were drawn with replacement are not drawn again; next: explain without a model"
        )
    if search.config.policy != "gumbel":
        raise SearchError(f"policy {search.config.policy} has no phases to replay; allowed: gumbel")
    before, total = read_scores(search, tree), int(search.forest.heads["done"][tree])
    chosen = int(search.result_so_far().action[tree])
    roots = model.root()
    if not isinstance(roots, Evaluation):
        raise ConfigError(
            f"explain(model=...) got a model whose root() gives a {type(roots).__name__}; allowed: a"
            " search.Evaluation; next: `searcher.model` in the place of your own module"
        )
    search.begin_again(roots)
    seen = [read_scores(search, tree)]
    spans: list[tuple[int, int]] = []
    planned = 0
    for width, rounds in halving_phases(len(before.candidates), search.num_simulations):
        start = int(search.forest.heads["done"][tree])
        if start >= total:
            break
        planned = min(planned + width * rounds, total)
        run_until(search, model, planned)
        spans.append((start, int(search.forest.heads["done"][tree])))
        seen.append(read_scores(search, tree))
    after = seen[-1]
    if not (np.array_equal(before.visits, after.visits) and np.array_equal(before.q, after.q)):
        raise SearchError(
            "the search took another way when it was run again: this model did not answer for it, does not"
            " answer the same twice, or draws actions (policy.num_samples); next: the model of this search,"
            " or explain without one, which leaves the phases out"
        )
    return _phases(seen, spans, chosen)


def _phases(seen: list[Scores], spans: list[tuple[int, int]], chosen: int) -> tuple[Phase, ...]:
    """Tell each phase by what was seen before and after it."""
    visited = [np.flatnonzero(new.visits > old.visits) for old, new in itertools.pairwise(seen)]
    phases = []
    for k, ((start, end), edges) in enumerate(zip(spans, visited, strict=True)):
        now = seen[k + 1]
        order = edges[np.argsort(-now.scores[edges], kind="stable")]
        actions = tuple(int(action) for action in now.actions[order])
        later = set(now.actions[visited[k + 1]].tolist()) if k + 1 < len(visited) else {chosen}
        phases.append(
            Phase(
                start,
                end,
                considered=actions,
                kept=tuple(action for action in actions if action in later),
                visits=tuple(int(count) for count in now.visits[order]),
                q=tuple(float(q) for q in now.q[order]),
                scores=tuple(float(score) for score in now.scores[order]),
            )
        )
    return tuple(phases)
