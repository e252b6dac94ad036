"""`zelkova report`: what a run looks like, in one file."""

from pathlib import Path
from typing import Annotated

import typer

from zelkova.cli import console
from zelkova.cli.options import Json, refuse_one_file

Folder = Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.")]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE.html", help="The file to write; report.html in the run's folder by default."),
]
NoDiagnosis = Annotated[
    bool,
    typer.Option(
        "--no-diagnosis", help="Of a learned model: play no episodes to look into, which takes seconds."
    ),
]


def report(run: Folder, out: Out = None, no_diagnosis: NoDiagnosis = False, json: Json = None) -> None:
    """Write a run's curves and figures into one HTML file that opens without a network."""
    from zelkova.cli.diagnosis import diagnose
    from zelkova.cli.figures import Figures
    from zelkova.reports.diagnosis import describe_findings
    from zelkova.reports.page import refuse_place, write_page
    from zelkova.reports.run import read_run
    from zelkova.reports.summary import summarise

    path = out or run / "report.html"
    refuse_one_file(path, json)
    with Figures(json) as figures:
        read = read_run(run)
        refuse_place(path)
        findings = None if no_diagnosis else diagnose(read)
        write_page(read, path, findings)
        for line in [*summarise(read), *(describe_findings(findings) if findings is not None else [])]:
            console.result(line)
        for name in read.names():
            index, value = read.series(name)[-1]
            figures.add(name, value, run=str(run), round=read.rounds[index].get("round", index + 1))
        if findings is not None:
            for name, value in findings.figures.items():
                figures.add(name, value, run=str(run))
            for name, values in findings.by_depth.items():
                for depth, value in enumerate(values.tolist()):
                    figures.add(f"diagnosis/{name}", value, run=str(run), depth=depth)
        console.result(f"report: {path}")
