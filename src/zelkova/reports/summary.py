"""A run in a few words, for a terminal and for the head of its page."""

from zelkova.reports.metrics import ALARM, METRICS, show_opponent
from zelkova.reports.run import Run


def show_value(value: float) -> str:
    """Write a figure with four digits that matter, thousands apart."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.4g}"


def show_duration(seconds: float) -> str:
    """Write a duration: 42 s, 7 min, 1 h 05 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def show_size(run: Run) -> str:
    """Say how long the run is: rounds, games, positions, steps, time."""
    if not run.rounds:
        return "no figures yet"
    last = run.rounds[-1]
    parts = [f"{len(run.rounds):,} round{'s' if len(run.rounds) > 1 else ''}"]
    for name, word in (("games", "games"), ("positions", "positions"), ("step", "steps")):
        if name in last:
            parts.append(f"{show_value(last[name])} {word}")
    if "seconds" in last:
        parts.append(show_duration(last["seconds"]))
    return ", ".join(parts)


def show_strength(run: Run) -> list[str]:
    """Say how strength went, a line for each opponent and one for Elo, first and last figure.

    In a game for one player there is a line for the mean return too.
    """
    lines = []
    for name in run.names():
        values = [value for _, value in run.series(name)]
        if name.startswith("eval/score_"):
            lines.append(f"score against {show_opponent(name)}: {_from_to(values, 100.0, ' %', '.1f')}")
        elif name == "eval/elo":
            low, high = (run.series(f"eval/elo_{end}") for end in ("low", "high"))
            between = f" ({low[-1][1]:.0f} to {high[-1][1]:.0f})" if low and high else ""
            lines.append(f"Elo: {_from_to(values, 1.0, '', '.0f')}{between}")
        elif name == "eval/return":
            lines.append(f"mean return: {_from_to(values, 1.0, '', '.4g')}")
    return lines


def show_alarms(run: Run) -> list[str]:
    """Say which alarms the run gave and in which rounds, a line each."""
    lines = []
    for name in (name for name in METRICS if name.startswith(ALARM)):
        series = run.series(name)
        rounds = [run.rounds[index].get("round", index + 1) for index, value in series if value > 0]
        if rounds:
            lines.append(
                f"alarm {name.removeprefix(ALARM)} in {len(rounds)} of {len(series)} rounds, from round"
                f" {rounds[0]:.0f} to {rounds[-1]:.0f}: {METRICS[name].meaning}"
            )
    return lines


def summarise(run: Run) -> list[str]:
    """Give the lines that `zelkova report` writes."""
    lines = [f"{run.game}: {show_size(run)}", *show_strength(run)]
    if run.rounds and len(lines) == 1:
        lines.append("no ratings yet")
    return [*lines, *show_alarms(run), *(f"note: {remark}" for remark in run.remarks)]


def _from_to(values: list[float], factor: float, unit: str, form: str) -> str:
    first, last = (f"{factor * value:{form}}{unit}" for value in (values[0], values[-1]))
    return last if len(values) == 1 else f"{first} at first, {last} at last"
