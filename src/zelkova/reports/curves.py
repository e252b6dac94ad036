"""Chooses which curves of a run are worth a picture, and lays them over the training's time."""

import numpy as np

from zelkova.reports.charts import Chart, Curve, as_curve
from zelkova.reports.metrics import show_opponent
from zelkova.reports.run import Run

_HOUR = 7200.0  # seconds of training from which the axis counts hours

_MOST_CURVES = 14  # of a chart

_STAGES = {"selfplay": "self-play", "learn": "learning", "eval": "evaluation", "save": "saving"}

_PLAIN = (
    (
        "Losses",
        "nats",
        {
            "learn/policy_loss": "policy",
            "learn/value_loss": "value",
            "learn/reward_loss": "reward",
            "learn/turn_loss": "turn",
        },
        1.0,
    ),
    ("Consistency of latents", "1 - cosine", {"learn/consistency_loss": "consistency loss"}, 1.0),
    ("Targets outside the supports", "of a batch", {"learn/outside_support": "targets"}, 1.0),
    (
        "Entropy of the policy",
        "nats",
        {"learn/policy_entropy": "network", "learn/policy_target_entropy": "search"},
        1.0,
    ),
    (
        "How often the network is right",
        "%",
        {"learn/policy_agreement": "the search's move", "learn/value_accuracy": "the outcome"},
        100.0,
    ),
    ("Speed of self-play", "games/s", {"selfplay/games_per_s": "games/s"}, 1.0),
    ("Network", "%", {"selfplay/network_share": "network busy", "selfplay/cache_hits": "cache hits"}, 100.0),
    ("Length of games", "moves", {"selfplay/game_length": "moves"}, 1.0),
    (
        "Length of episodes",
        "decisions",
        {"selfplay/episode_length": "in training", "eval/episode_length": "when rated"},
        1.0,
    ),
    ("Learning rate", "learning rate", {"learn/learning_rate": "learning rate"}, 1.0),
    ("Replay", "positions", {"replay/positions": "positions"}, 1.0),
)
"""Title, unit, label of each metric, and the factor from the metric to the unit."""


def choose_charts(run: Run) -> list[Chart]:
    """Give the charts that a run has figures for, the most telling first.

    Args:
        run: as read.
    """
    label, x = _axis(run)
    charts = [_scores(run, label, x), _elo(run, label, x), _returns(run, label, x), *_plain(run, label, x)]
    charts[4:4] = [_time_shares(run, label, x), _winners(run, label, x)]
    return [chart for chart in charts if chart is not None]


def _axis(run: Run) -> tuple[str, np.ndarray]:
    """Give the x axis: training time where every round has it, and it does not run back; rounds otherwise."""
    seconds = np.array([figures.get("seconds", np.nan) for figures in run.rounds])
    if len(seconds) and np.all(np.isfinite(seconds)) and np.all(np.diff(seconds) >= 0):
        return ("hours", seconds / 3600) if seconds[-1] >= _HOUR else ("minutes", seconds / 60)
    return "round", np.array(
        [figures.get("round", index + 1) for index, figures in enumerate(run.rounds)], np.float64
    )


def _curve(run: Run, x: np.ndarray, name: str, label: str, factor: float = 1.0) -> Curve | None:
    points = [(float(x[index]), factor * value) for index, value in run.series(name)]
    return as_curve(label, points) if points else None


def _chart(
    title: str,
    x_label: str,
    unit: str,
    curves: list[Curve | None],
    y_range: tuple[float, float] | None = None,
) -> Chart | None:
    """Make a chart of the curves that are there; None where none is."""
    there = tuple(curve for curve in curves if curve is not None)
    return Chart(title, x_label, unit, there, y_range=y_range) if there else None


def _scores(run: Run, label: str, x: np.ndarray) -> Chart | None:
    names = [name for name in run.names() if name.startswith("eval/score_")][:_MOST_CURVES]
    curves = [_curve(run, x, name, show_opponent(name), 100.0) for name in names]
    return _chart("Score against fixed opponents", label, "%", curves, (-2.0, 102.0))


def _elo(run: Run, label: str, x: np.ndarray) -> Chart | None:
    keys = ("eval/elo", "eval/elo_low", "eval/elo_high")
    rows = [
        (float(x[index]), *(figures.get(key, figures["eval/elo"]) for key in keys))
        for index, figures in enumerate(run.rounds)
        if "eval/elo" in figures
    ]
    if not rows:
        return None
    places, elo, low, high = np.array(rows).T
    return Chart("Elo, with its 95 % interval", label, "Elo", (Curve("Elo", places, elo, low, high),))


def _returns(run: Run, label: str, x: np.ndarray) -> Chart | None:
    """Draw the mean return, of ratings with its standard error, and of the episodes of training."""
    points = [
        (float(x[index]), mean, run.rounds[index].get("eval/return_error", 0.0))
        for index, mean in run.series("eval/return")
    ]
    curves = [_curve(run, x, "selfplay/episode_return", "in training")]
    if points:
        places, mean, error = np.array(points).T
        curves.insert(0, Curve("when rated", places, mean, mean - error, mean + error))
    return _chart("Mean return, with its standard error", label, "rewards", curves)


def _plain(run: Run, label: str, x: np.ndarray) -> list[Chart | None]:
    return [
        _chart(title, label, unit, [_curve(run, x, name, word, factor) for name, word in metrics.items()])
        for title, unit, metrics, factor in _PLAIN
    ]


def _time_shares(run: Run, label: str, x: np.ndarray) -> Chart | None:
    """Stack the share of each round's time that its stages took."""
    names = [name for name in run.names() if name.endswith("/seconds")]
    spent = np.array([[max(figures.get(name, 0.0), 0.0) for name in names] for figures in run.rounds])
    kept = spent.sum(axis=1) > 0 if names else np.zeros(0, bool)
    if not kept.any():
        return None
    shares = 100 * spent[kept] / spent[kept].sum(axis=1, keepdims=True)
    curves = tuple(
        Curve(_STAGES.get(stage, stage), x[kept], shares[:, column])
        for column, stage in enumerate(name.removesuffix("/seconds") for name in names)
    )
    return Chart("Where the time goes", label, "% of the round", curves, stacked=True, y_range=(0.0, 100.0))


def _winners(run: Run, label: str, x: np.ndarray) -> Chart | None:
    seats = sorted(name for name in run.names() if name.startswith("selfplay/win_share_seat"))
    curves = [
        _curve(run, x, name, f"seat {name.removeprefix('selfplay/win_share_seat')} wins", 100.0)
        for name in seats
    ]
    curves.append(_curve(run, x, "selfplay/draw_share", "draw", 100.0))
    return _chart("Who wins in self-play", label, "% of games", curves, (-2.0, 102.0))
