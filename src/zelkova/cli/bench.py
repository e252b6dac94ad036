"""`zelkova bench`: the speed of every stage, beside its limit and beside peers run in turn with it."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zelkova.cli import console
from zelkova.cli.options import Json
from zelkova.errors import ConfigError, hint

if TYPE_CHECKING:
    from zelkova.bench import Figure

NAMES = ("rules", "search", "selfplay", "network")
HEAD = ("figure", "at", "value", "beside", "its value", "ratio")
RIGHT = {2, 4, 5}  # columns of numbers

Row = tuple[str, ...]


def bench(
    parts: Annotated[
        list[str] | None,
        typer.Argument(metavar="[rules|search|selfplay|network]...", help="All where none is named."),
    ] = None,
    peers: Annotated[
        Path | None,
        typer.Option(metavar="VENV", help="The peers' virtual environment; .venv-peers is found by itself."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Seconds only, to see that all runs; figures mean little.")
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables in Markdown.")] = False,
    json: Json = None,
) -> None:
    """Measure the speed of every stage, beside its limit and beside other programs that are here."""
    for part in parts or ():
        if part not in NAMES:
            raise ConfigError(f"unknown part `{part}`; {hint(part, NAMES)}")
    from zelkova.bench import BenchConfig
    from zelkova.bench import bench as measure
    from zelkova.cli.figures import Figures

    config = BenchConfig(0.02, 1, peers, True) if quick else BenchConfig(peers=peers)
    with Figures(json) as figures:
        for part in parts or NAMES:
            found = []
            with console.Progress(f"bench {part}") as progress:
                for figure in measure(part, config, progress.say):
                    found.append(figure)
                    progress.update(0.0, {figure.name: figure.value})
                    for record in figure.records():
                        figures.add(record["name"], record["value"], **record["params"])
            for line in (as_markdown if markdown else as_text)(to_rows(found)):
                console.result(line)
            for note in notes_on(found):
                console.result(note)
            console.result()


def to_rows(found: "Sequence[Figure]") -> list[Row]:
    """Make a table's rows: one for each figure and rival.

    Args:
        found: the figures of one part.
    """
    rows: list[Row] = []
    for figure in found:
        where = " ".join(f"{key}={value}" for key, value in figure.params.items())
        lead = (figure.name, where, console.format_figure(figure.value))
        for index, rival in enumerate(figure.rivals):
            ratio = console.format_figure(figure.value / rival.value)
            rows.append(
                (
                    *(lead if index == 0 else ("", "", "")),
                    rival.name,
                    console.format_figure(rival.value),
                    ratio,
                )
            )
        if not figure.rivals:
            rows.append((*lead, "", "", ""))
    return rows


def as_text(rows: Sequence[Row]) -> Iterable[str]:
    """Align the rows under their head."""
    wide = [max(len(row[column]) for row in (HEAD, *rows)) for column in range(len(HEAD))]
    for row in (HEAD, *rows):
        cells = [
            cell.rjust(width) if c in RIGHT else cell.ljust(width)
            for c, (cell, width) in enumerate(zip(row, wide, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def as_markdown(rows: Sequence[Row]) -> Iterable[str]:
    """Write the rows as a Markdown table."""
    yield "| " + " | ".join(HEAD) + " |"
    yield "|" + "".join("---:|" if column in RIGHT else "---|" for column in range(len(HEAD)))
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def notes_on(found: "Sequence[Figure]") -> list[str]:
    """Say at which settings each peer was measured, a line each."""
    return sorted(
        {f"{rival.name}: {rival.settings}" for figure in found for rival in figure.rivals if rival.settings}
    )
