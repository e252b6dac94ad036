"""`zelkova train`: raise an agent, or go on with a run."""

import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from zelkova.cli import console
from zelkova.cli.options import Device, Json, Overrides, Seed, Size, as_overrides
from zelkova.cli.user_game import refuse_broken
from zelkova.errors import ConfigError

if TYPE_CHECKING:
    from zelkova.cli.figures import Figures
    from zelkova.config import RunConfig
    from zelkova.learning.schedule import Limits
    from zelkova.replay.trajectory import Trajectory
    from zelkova.train import Run

OFFLINE = (  # laid under the settings given where a data set is all there is
    "replay.offline_steps=100",
    "reanalyse.policy_share=1.0",
    "reanalyse.values=target",
)
SHOWN = {  # what the progress line shows of a round
    "games": "games",
    "selfplay/positions_per_s": "positions/s",
    "learn/policy_loss": "policy loss",
    "learn/value_loss": "value loss",
}


class Stop:
    """Ctrl-C once: finish the round, save, leave; twice: leave at once, with the last checkpoint intact."""

    def __init__(self) -> None:
        self.is_asked = False

    def ask(self, number: int, frame: FrameType | None) -> None:
        """Take a signal in."""
        if self.is_asked:
            raise KeyboardInterrupt
        self.is_asked = True
        text = "\nstopping: this round is finished and saved first; once more stops at once\n"
        try:  # past the stream's buffer, which the interrupted code may be writing to
            os.write(sys.stderr.fileno(), text.encode())
        except (OSError, ValueError):
            pass


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Listen to Ctrl-C and to SIGTERM while the block lasts.

    Once a stop was asked for and all is saved, another one has nothing left to stop: it is not heard.
    """
    stop = Stop()
    before = {number: signal.signal(number, stop.ask) for number in (signal.SIGINT, signal.SIGTERM)}
    is_finished = False
    try:
        yield stop
        is_finished = stop.is_asked
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if is_finished else handler)


def train(
    source: Annotated[
        str | None,
        typer.Argument(metavar="PRESET|GAME|FILE", help="A preset, a game, or a .toml or .py file."),
    ] = None,
    resume: Annotated[Path | None, typer.Option(metavar="RUN", help="Go on with this run's folder.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of a new run; runs/NAME where not given.")] = None,
    offline: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Learn from this data alone: a run, its chunks, .npz; repeatable."),
    ] = None,
    minutes: Annotated[float | None, typer.Option(min=0.0, help="Stop after so many minutes.")] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Stop at the round that reaches so many optimiser steps in all.")
    ] = None,
    overrides: Overrides = None,
    seed: Seed = None,
    size: Size = None,
    device: Device = None,
    json: Json = None,
) -> None:
    """Raise an agent from the rules and results alone.

    Ctrl-C (or SIGTERM) once: the round is finished and saved, exit code 0. Twice: stops at once, exit code
    130, and the last checkpoint is intact. Either way --resume RUN goes on exactly.
    """
    from zelkova.cli.figures import Figures
    from zelkova.learning.schedule import Limits

    if (source is None) == (resume is None):
        raise ConfigError("give either a preset, game or file to begin with, or --resume RUN to go on")
    limits = Limits(minutes, steps)
    given = as_overrides(overrides, seed=seed, size=size, device=device)
    data = offline or []
    with Figures(json) as figures, open_run(source, resume, out, given, data) as run:
        turn_wheel(run, limits, figures)


def _nothing(run: "Run") -> str:
    return ""


def turn_wheel(
    run: "Run", limits: "Limits", figures: "Figures", more: "Callable[[Run], str]" = _nothing
) -> None:
    """Say where it runs, compile, and train until a limit or a stop.

    Args:
        run: begun or resumed.
        limits: when to stop.
        figures: takes those of the last round.
        more: gives, at the end, the options with which the run is to go on besides --resume.
    """
    from zelkova.search.notice import NOTICE, compile_notice

    wheel = run.wheel
    where = f"{wheel.device} ({wheel.device_reason})"
    console.note(f"{wheel.title} on {where}, network by {wheel.engine_name}")
    console.note(NOTICE)
    compile_notice.told()
    wheel.warm_up()
    spend(run, limits, more)
    for name, value in run.last_metrics.items():
        figures.add(name if "/" in name else f"train/{name}", value, run=str(run.folder))


@contextmanager
def open_run(
    source: str | None, resume: Path | None, out: Path | None, overrides: list[str], data: Sequence[Path] = ()
) -> Iterator["Run"]:
    """Begin a run or go on with one, alone in its folder.

    Args:
        source: of a new run's settings.
        resume: folder of the run to go on with, instead.
        out: folder of a new run.
        overrides: of settings.
        data: what a new run learns from instead of acting.
    Raises:
        ConfigError: a setting is refused, or the folder of a new run holds one already.
        CheckpointError: another process works there, or there is nothing to go on from.
        DeviceError, GameError: see refuse_unusable.
    """
    from zelkova.config import load_config, refuse_own_code
    from zelkova.learning.lock import RunLock

    if resume is not None:
        if out is not None:
            raise ConfigError(
                "--out names the folder of a new run; --resume goes on in its own; give one of them"
            )
        if data:
            raise ConfigError(
                "--offline is for a new run, which keeps the data for itself; next: --resume without it"
            )
        if not (resume / "config.toml").is_file():
            raise ConfigError(
                f"{resume} is no run: it has no config.toml; next: give the folder that --out named"
            )
        config, folder = load_config(str(resume / "config.toml"), overrides), resume
        refuse_own_code(config, resume)
    else:
        assert source is not None
        config = load_config(source, [*(OFFLINE if data else ()), *overrides])
        folder = out or free_folder(Path("runs") / name_run(config))
    refuse_unusable(config)
    with unless_refused(folder), RunLock(folder), built(config, folder, is_new=resume is None) as run:
        if resume is None:
            run.begin(read_offline(run, data) if data else ())
        else:
            for message in run.resume():
                console.note(f"passed over: {message}")
            console.note(f"going on at round {run.wheel.round}, step {run.wheel.learner.steps}")
        yield run


@contextmanager
def unless_refused(folder: Path) -> Iterator[None]:
    """Make a run's folder; take it away again where it is new and what fails left no more than a lock in it.

    Args:
        folder: that may be there.
    Raises:
        CheckpointError: it can't be made.
    """
    from zelkova.learning.checkpoint import make_folder
    from zelkova.learning.lock import NAME

    is_new = not folder.exists()
    make_folder(folder)
    try:
        yield
    except BaseException:
        if is_new and [path.name for path in folder.glob("*")] == [NAME]:
            with suppress(OSError):
                (folder / NAME).unlink()
                folder.rmdir()
        raise


def read_offline(run: "Run", paths: Sequence[Path]) -> "list[Trajectory]":
    """Read the data set of a new run, and say what it is.

    Raises:
        ConfigError, CheckpointError, ShapeError: see read_data.
    """
    from zelkova.wheel.dataset import read_data
    from zelkova.wheel.learned import LearnedWheel

    if not isinstance(run.wheel, LearnedWheel):
        raise ConfigError(
            "--offline trains learned models, and model = rules; next: a preset such as muzero-cartpole"
        )
    reanalyse = run.config.reanalyse
    found, passed = read_data(paths, run.wheel.trajectory_spec, reanalyse)
    for message in passed:
        console.note(f"passed over: {message}")
    decisions = sum(part.num_recorded for part in found)
    earned = sum(float(part.rewards[: part.num_recorded, 0].sum()) for part in found) / len(found)
    console.note(f"data set: {len(found)} episodes or parts, {decisions} decisions, mean return {earned:.4g}")
    if reanalyse.policy_share == 0.0 and reanalyse.values == "stored":
        console.note("nothing is reanalysed, so the data's own policies and values are all that is learnt")
    return found


@contextmanager
def built(config: "RunConfig", folder: Path, *, is_new: bool) -> Iterator["Run"]:
    """Set a run up and let its threads go at the end.

    Raises:
        ConfigError: a new run is to begin where there is one already.
    """
    if is_new and (folder / "config.toml").exists():
        raise ConfigError(f"{folder} holds a run already; next: {go_on(folder)}, or another --out")
    from zelkova.train import Run

    run = Run(config, folder)
    try:
        yield run
    finally:
        run.wheel.close()


def refuse_unusable(config: "RunConfig") -> None:
    """Refuse a game or a device that a run can't be set up with, before a folder is made for it.

    A user's game is held to the contract before its compiled code is let loose on memory.

    Raises:
        ConfigError: an option of the game is unknown or refused.
        DeviceError: the device asked for is not there.
        GameError: the game can't be loaded or breaks a promise; the message names function and line.
    """
    from zelkova import games
    from zelkova.networks.inference import resolve_device

    game = games.load(config.game.name, config.game.options)
    resolve_device(config.device)
    refuse_broken(game)


def go_on(folder: Path, more: str = "") -> str:
    """Give the command that goes on with a run, with more options if there are any."""
    return " ".join(filter(None, ("zelkova train --resume", shlex.quote(str(folder)), more)))


def name_run(config: "RunConfig") -> str:
    """Name a run after its preset, or after its game where the preset is the one for all games."""
    from zelkova.config import GENERAL_PRESET

    return Path(config.game.name if config.preset == GENERAL_PRESET else config.preset).stem


def free_folder(wanted: Path) -> Path:
    """Give the folder, or the first of folder-2, folder-3, ... that is not there."""
    folder, number = wanted, 1
    while folder.exists():
        number += 1
        folder = wanted.with_name(f"{wanted.name}-{number}")
    return folder


def new_alarms(metrics: Mapping[str, float], alarmed: set[str]) -> list[str]:
    """Give a line for each alarm that a round gives for the first time.

    Args:
        metrics: of the round.
        alarmed: names of the alarms so far; grows.
    """
    from zelkova.reports.metrics import ALARM, METRICS

    fresh = [
        name for name, value in metrics.items() if name.startswith(ALARM) and value and name not in alarmed
    ]
    alarmed.update(fresh)
    return [
        f"alarm in round {metrics['round']:.0f}, {name.removeprefix(ALARM)}: {METRICS[name].meaning}"
        for name in fresh
    ]


def spend(run: "Run", limits: "Limits", more: "Callable[[Run], str]" = _nothing) -> None:
    """Train until a limit or a signal, showing how it goes and how to go on; see turn_wheel."""
    from zelkova.reports.metrics import show_opponent
    from zelkova.train import train

    alarmed: set[str] = set()

    with stop_on_signals() as stop, console.Progress("training") as progress:

        def watch(metrics: dict[str, float], done: float) -> None:
            if "eval/elo" in metrics:
                scores = ", ".join(
                    f"{value:.0%} against {show_opponent(name)}"
                    for name, value in metrics.items()
                    if name.startswith("eval/score_")
                )
                mean = f"; mean return {metrics['eval/return']:.4g}" if "eval/return" in metrics else ""
                progress.say(f"round {metrics['round']:.0f}: {scores}; Elo {metrics['eval/elo']:.0f}{mean}")
            for line in new_alarms(metrics, alarmed):
                progress.say(line)
            figures = {word: metrics[name] for name, word in SHOWN.items() if name in metrics}
            progress.update(done, {"round": metrics["round"], **figures})

        try:
            train(run, limits, watch, lambda: stop.is_asked)
        except KeyboardInterrupt:
            command = go_on(run.folder, more(run))
            progress.say(f"stopped at once; go on from round {run.saved_round} with: {command}")
            raise
    where = run.folder
    console.result(
        f"{where}: round {run.wheel.round}, step {run.wheel.learner.steps}, {run.wheel.games} games"
    )
    verb, what = ("measure it", "arena") if run.config.env.id else ("play it", "play")
    console.note(f"go on with: {go_on(where, more(run))}; {verb}: zelkova {what} {shlex.quote(str(where))}")
