"""Says why a search chose its action: what it knew of each action, and each phase of Sequential Halving."""

from dataclasses import dataclass, field
from html import escape

import numpy as np

from zelkova.search.batch import BatchSearch
from zelkova.search.kernels.tree import UNPROVEN
from zelkova.search.model import Model
from zelkova.search.rules.puct import first_play_value, puct_range, running_mean_q
from zelkova.search.view.branches import read_own_priors, read_priors, require_tree
from zelkova.search.view.replay import Phase, read_scores, replay_halving, require_model
from zelkova.search.view.text import Names, html_table, name_of, show_table

COLUMNS = {
    "gumbel": ("gumbel", "sigma(Q)", "policy"),
    "puct": ("noise", "explore", "weight"),
    "trpo": ("noise", "y", "weight"),
    "mpo": ("noise", "y", "weight"),
}
"""Heads of the columns noise, term and weight, by policy. PUCT has one more, mixed, after its noise."""


@dataclass(frozen=True)
class Reason:
    """What a search knew of one action of the root."""

    action: int
    prior: float  # 0..1, the model's own, as in `Plan`; the noise where that has all of dirichlet_fraction
    noise: float  # the root noise that was given: Gumbel, scaled, or the Dirichlet draw; 0 without
    mixed: float  # the prior searched with; puct: (1 - f) prior + f noise, f the dirichlet_fraction
    visits: int
    q: float | None  # the mover's; None where unvisited
    term: float  # gumbel: sigma(completed Q); puct: the exploration term of the next simulation; trpo, mpo: y
    score: float  # gumbel: noise + logit + sigma; puct: Q + exploration, normalised; else y - N / (1 + S)
    weight: float  # gumbel: improved policy; puct: share of visits; else y; 1 at a proven root's best action
    is_candidate: bool  # gumbel: considered at all; others: always


@dataclass(frozen=True)
class Explanation:
    """Why a search chose its action. Notebooks show it as tables."""

    policy: str  # puct, gumbel, trpo or mpo
    chosen: int  # action number
    reasons: tuple[Reason, ...]  # of every legal action, largest weight first
    phases: tuple[Phase, ...] | None  # gumbel: of Sequential Halving; None where they were not run again
    names: Names = field(default=str, repr=False)  # gives an action's text
    is_proven: bool = False  # the root's value is proven, and the action is its best

    def summary(self) -> str:
        """Say in one sentence what decided."""
        reason = next(reason for reason in self.reasons if reason.action == self.chosen)
        name, visits = name_of(self.names, self.chosen), reason.visits
        if self.is_proven:
            return f"{name} is played: proven best, with {visits} visits"
        if self.policy == "puct":
            return f"{name} is played: most visits, {visits}"
        if self.policy != "gumbel":
            return f"{name} is played: largest y, {reason.weight:.4f}, with {visits} visits"
        if not reason.is_candidate:
            return f"{name} is played: all candidates are proven losses, and it leads the others"
        return (
            f"{name} is played: largest gumbel + logit + sigma(Q), {reason.score:.3f}, "
            f"of the candidates that came furthest, with {visits} visits"
        )

    def tables(self) -> list[tuple[str, list[list[str]]]]:
        """Give titles and tables as rows of cells, a head first."""
        noise, term, weight = COLUMNS[self.policy]
        is_mixed = self.policy == "puct"
        rows = [["action", "prior", noise, *["mixed"] * is_mixed, "visits", "Q", term, "score", weight, ""]]
        for reason in self.reasons:
            mark = "played" if reason.action == self.chosen else "" if reason.is_candidate else "left out"
            rows.append(
                [
                    name_of(self.names, reason.action),
                    f"{reason.prior:.4f}",
                    f"{reason.noise:.3f}",
                    *[f"{reason.mixed:.4f}"] * is_mixed,
                    f"{reason.visits}",
                    "-" if reason.q is None else f"{reason.q:.4f}",
                    f"{reason.term:.3f}",
                    f"{reason.score:.3f}",
                    f"{reason.weight:.4f}",
                    mark,
                ]
            )
        tables = [("actions", rows)]
        for number, phase in enumerate(self.phases or (), 1):
            title = (
                f"phase {number}: simulations {phase.start + 1} to {phase.end}, "
                f"{len(phase.considered)} considered, {len(phase.kept)} kept"
            )
            tables.append((title, self._phase_rows(phase)))
        return tables

    def text(self) -> str:
        """Write it as text in aligned columns."""
        parts = [self.summary()]
        parts += [f"{title}\n{show_table(rows)}" for title, rows in self.tables()]
        return "\n\n".join([*parts, *self._missing()])

    def html(self) -> str:
        """Write it as HTML; every text is escaped."""
        parts = [f"<p>{escape(self.summary())}</p>"]
        parts += [f"<h4>{escape(title)}</h4>{html_table(rows)}" for title, rows in self.tables()]
        parts += [f"<p>{escape(line)}</p>" for line in self._missing()]
        return "<div>" + "\n".join(parts) + "</div>"

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return self.html()

    def _missing(self) -> list[str]:
        if self.policy == "gumbel" and self.phases is None:
            return ["the phases of Sequential Halving are told where the model is given: explain(model=...)"]
        return []

    def _phase_rows(self, phase: Phase) -> list[list[str]]:
        rows = [["action", "visits", "Q", "score", ""]]
        for k, action in enumerate(phase.considered):
            numbers = [f"{phase.visits[k]}", f"{phase.q[k]:.4f}", f"{phase.scores[k]:.3f}"]
            rows.append([name_of(self.names, action), *numbers, "kept" if action in phase.kept else ""])
        return rows


def explain(
    search: BatchSearch, tree: int = 0, *, names: Names = str, model: Model | None = None
) -> Explanation:
    """Say why a search chose its action.

    Everything but the phases is read from the statistics as they stand. Those don't tell who was ahead when
    an earlier phase of Sequential Halving ended; with a model, the search is run again, to the same end, and
    looked at after each phase (see `replay_halving`), which costs what the search did.

    Args:
        search: with nothing waiting for an evaluation; it may have been ended early.
        tree: which of the batch.
        names: gives an action's text.
        model: that answered for the search, with the same positions at its roots: `searcher.model` after a
            `Searcher`'s plan over numbered actions. None leaves the phases out.
    Raises:
        SearchError: rows wait for an evaluation, or the model answered otherwise when run again.
        ConfigError: search holds no trees at all, or model is none of a search.
    """
    require_tree(search, tree, "explain()")
    policy = search.config.policy
    is_gumbel = policy == "gumbel"
    if model is not None and not is_gumbel:
        require_model(model)  # as replay_halving does
    found = search.result_so_far()
    is_proven = bool(search.forest.nodes[tree, 0]["proven"] != UNPROVEN)
    phases = replay_halving(search, model, tree) if is_gumbel and model is not None else None
    weights = found.action_weights[tree, : int(found.count[tree])]
    reasons = _gumbel_reasons(search, tree, weights) if is_gumbel else _other_reasons(search, tree, weights)
    return Explanation(
        policy,
        int(found.action[tree]),
        tuple(sorted(reasons, key=lambda reason: (-reason.weight, -reason.visits, reason.action))),
        phases,
        names,
        is_proven,
    )


def _gumbel_reasons(search: BatchSearch, tree: int, weights: np.ndarray) -> list[Reason]:
    scores, priors = read_scores(search, tree), read_own_priors(search, 0, tree)
    candidates = set(scores.candidates.tolist())
    return [
        Reason(
            action=int(scores.actions[i]),
            prior=float(priors[i]),
            noise=float(scores.noise[i]),
            mixed=float(priors[i]),
            visits=int(scores.visits[i]),
            q=float(scores.q[i]) if scores.visits[i] > 0 else None,
            term=float(scores.sigma[i]),
            score=float(scores.scores[i]),
            weight=float(weights[i]),
            is_candidate=i in candidates,
        )
        for i in range(len(weights))
    ]


def _other_reasons(search: BatchSearch, tree: int, weights: np.ndarray) -> list[Reason]:
    forest = search.forest
    own, priors = read_own_priors(search, 0, tree), read_priors(search, 0, tree)
    root = forest.nodes[tree, 0]
    start, first = int(root["edges"]), int(root["kids"])
    kids = {int(kid["edge"]): kid for kid in forest.kids[tree, first : first + int(root["num_kids"])]}
    offset, scale = (np.float32(number) for number in puct_range(forest, tree, 0))
    mean = np.float32(running_mean_q(forest, tree, 0, np.float32(0))) if len(kids) else np.float32(0)
    unvisited = float(first_play_value(forest, tree, 0, offset, scale, mean))
    factor = float(forest.explore[int(root["visits"]) - 1])
    reasons = []
    for i in range(len(weights)):
        kid = kids.get(i)
        visits = 0 if kid is None else int(kid["visits"])
        if search.config.policy == "puct":
            value = unvisited if kid is None else float((kid["q"] - offset) * scale)
            term = factor * float(priors[i]) / (1 + visits)
        else:
            value, term = -visits / int(root["visits"]), float(weights[i])
        reasons.append(
            Reason(
                action=int(forest.actions[tree, start + i]),
                prior=float(own[i]),
                noise=float(forest.noise[tree, i]),
                mixed=float(priors[i]),
                visits=visits,
                q=None if kid is None else float(kid["q"]),
                term=term,
                score=value + term,
                weight=float(weights[i]),
                is_candidate=True,
            )
        )
    return reasons
