"""The part of a report that tells how far a learned model can be trusted, from figures that were measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from zelkova.reports.charts import Chart, Curve

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Findings:
    """What was measured of a learned model on episodes that it played."""

    figures: Mapping[str, float]  # named as metrics, diagnosis/...
    by_depth: Mapping[str, Floats]  # [S + 1] of depths 0..S of an unroll, NaN where nothing was measured
    by_decision: Mapping[str, Floats]  # [T] mean gains of the search: policy, choice
    unroll_steps: int  # K, as deep as the model was trained
    about: str  # what was played, in words
    film: bytes | None = None  # a GIF of an episode
    film_about: str = ""  # what it shows; without a film, why there is none
    remarks: Sequence[str] = field(default_factory=tuple)  # what could not be measured


def choose_diagnosis(findings: Findings) -> list[Chart]:
    """Give the charts of what was measured, the most telling first."""
    deep = "steps of the unroll"
    trained = f" (trained to {findings.unroll_steps})"
    curves = findings.by_depth
    drift = {"drift": "distance", "drift_angle": "1 - cosine", "drift_still": "distance, had it not moved"}
    error = {"error": "the model", "spread": "always saying the mean"}
    both = {"predicted": "predicted", "real": "real"}
    charts = [
        _chart("Value along an unroll" + trained, deep, "rewards", _named(curves, "value", both)),
        _chart("Error of the value", deep, "mean absolute error", _named(curves, "value", error)),
        _chart("Reward along an unroll" + trained, deep, "rewards", _named(curves, "reward", both)),
        _chart("Error of the reward", deep, "mean absolute error", _named(curves, "reward", error)),
        _chart(
            "Drift of the latent" + trained,
            deep,
            "of unrelated observations' distance",
            {label: curves[name] for name, label in drift.items() if name in curves},
        ),
        _chart(
            "What the search adds to the prior",
            "decision of an episode",
            "rewards",
            {
                word: findings.by_decision[name]
                for name, word in (("choice", "what it plays"), ("policy", "its policy"))
                if name in findings.by_decision
            },
        ),
    ]
    return [chart for chart in charts if chart is not None]


def _named(curves: Mapping[str, Floats], what: str, words: Mapping[str, str]) -> dict[str, Floats]:
    return {word: curves[f"{what}_{name}"] for name, word in words.items() if f"{what}_{name}" in curves}


def _chart(title: str, x_label: str, y_label: str, curves: Mapping[str, Floats]) -> Chart | None:
    """Make a chart of what is finite; None where nothing is."""
    there = []
    for label, values in curves.items():
        places = np.flatnonzero(np.isfinite(values))
        if len(places):
            there.append(Curve(label, places.astype(np.float64), values[places]))
    return Chart(title, x_label, y_label, tuple(there)) if there else None


def describe_findings(findings: Findings) -> list[str]:
    """Say in a few sentences what was found."""
    lines = [findings.about]
    lines += filter(None, (_errors(findings, what) for what in ("value", "reward")))
    drift = findings.by_depth.get("drift", np.zeros(0))
    told = [f"{drift[depth]:.2g} after {depth}" for depth in _depths(findings, drift) if depth]
    if told:
        lines.append(
            "Latents drift from those of what was really seen by "
            + ", ".join(told)
            + " steps, where 1 is the distance of unrelated observations."
        )
    figures = findings.figures
    if "diagnosis/search_gain" in figures:
        lines.append(
            f"By its own Q, the search's policy is worth {figures['diagnosis/search_gain']:.3g} more than the"
            f" prior, and what it plays {figures['diagnosis/choice_gain']:.3g} more; in"
            f" {100 * figures['diagnosis/changed_choices']:.3g} % of decisions the prior liked another action"
            " best."
        )
    return [*lines, *findings.remarks]


def _depths(findings: Findings, values: Floats) -> list[int]:
    """Give the depths that are told in words: 0, 1, K and the last one."""
    wanted = {0, 1, findings.unroll_steps, len(values) - 1}
    return sorted(depth for depth in wanted if 0 <= depth < len(values) and np.isfinite(values[depth]))


def _errors(findings: Findings, what: str) -> str:
    """Say how an error grows with depth, beside that of always saying the mean."""
    errors = findings.by_depth.get(f"{what}_error", np.zeros(0))
    spread = findings.by_depth.get(f"{what}_spread", np.zeros(0))
    depths = _depths(findings, errors)
    if not depths:
        return ""
    told = ", ".join(f"{errors[depth]:.3g} at depth {depth}" for depth in depths)
    return (
        f"{what.capitalize()}s are off by {told}; always saying the mean is off by {spread[depths[0]]:.3g}."
    )
