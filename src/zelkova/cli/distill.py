"""`zelkova distill`: raise an agent from a teacher's games, to go on with by self-play."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zelkova.cli import console
from zelkova.cli.options import Device, Json, Overrides, Seed, Size, as_overrides
from zelkova.errors import ConfigError

if TYPE_CHECKING:
    from zelkova.train import Run


def distill(
    source: Annotated[str, typer.Argument(metavar="PRESET|GAME|FILE", help="As for train.")],
    teacher: Annotated[
        str, typer.Option(metavar="scaffold:N|RUN", help="Who plays: a game's own judgement, or a run.")
    ],
    positions: Annotated[int, typer.Option(min=1, help="How many the teacher plays and searches.")] = 100_000,
    out: Annotated[Path | None, typer.Option(help="Folder of a new run; runs/NAME where not given.")] = None,
    overrides: Overrides = None,
    seed: Seed = None,
    size: Size = None,
    device: Device = None,
    json: Json = None,
) -> None:
    """Train a new network on a teacher's searches, its policies and its values, as the teacher plays.

    Afterwards `zelkova train --resume RUN` goes on by self-play. Ctrl-C is as for train.
    """
    from zelkova.cli.figures import Figures
    from zelkova.cli.train import open_run, turn_wheel
    from zelkova.config import load_config
    from zelkova.learning.schedule import Limits, Pace

    given = as_overrides(overrides, seed=seed, size=size, device=device)
    for key, option in (("teacher.player", "--teacher"), ("teacher.positions", "--positions")):
        if any(word.partition("=")[0].strip() == key for word in given):
            raise ConfigError(f"--set {key} beside {option}; next: {option} alone")
    given = [*given, f"teacher.player={teacher}", f"teacher.positions={positions}"]
    config = load_config(source, given)
    pace = Pace(config.samples_per_position(is_taught=True), config.learning.batch_size)
    last = max(pace.steps_due(positions, 0), 1)

    def more(run: "Run") -> str:
        """Give the end that is to be told a teacher who is not through: else it would go on by self-play."""
        return f"--steps {last}" if run.wheel.buffer.total_added < positions else ""

    with Figures(json) as figures, open_run(source, None, out, given) as run:
        turn_wheel(run, Limits(None, last), figures, more)
        played = run.wheel.buffer.total_added
        how = f"played {played} of {positions} positions" if more(run) else "is through"
        console.result(f"{run.folder}: the teacher {how}")
