"""`zelkova report`: what a run looks like, in one file."""

from pathlib import Path
from typing import Annotated

import typer

from zelkova.cli import console
from zelkova.cli.options import Json

Folder = Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.")]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE.html", help="The file to write; report.html in the run's folder by default."),
]


def report(run: Folder, out: Out = None, json: Json = None) -> None:
    """Write a run's curves and figures into one HTML file that opens without a network."""
    from zelkova.cli.figures import Figures
    from zelkova.reports.page import write_page
    from zelkova.reports.run import read_run
    from zelkova.reports.summary import summarise

    with Figures(json) as figures:
        read = read_run(run)
        path = out or run / "report.html"
        write_page(read, path)
        for line in summarise(read):
            console.result(line)
        for name in read.names():
            index, value = read.series(name)[-1]
            figures.add(name, value, run=str(run), round=read.rounds[index].get("round", index + 1))
        console.result(f"report: {path}")
