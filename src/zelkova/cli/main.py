"""The program `zelkova`: finds the subcommand, runs it, and turns every failure into one clear message.

A subcommand is one module beside this one with one function of the same name, and one line in `COMMANDS`.
The module is imported only when its command is run, so `zelkova --help` stays quick.

Exit codes: 0 done (or stopped by one Ctrl-C, all saved), 1 a fault of the program, 2 something the user can
mend, 130 interrupted, 141 the reader of the output went away.
"""

import importlib
import re
import sys
from typing import Any

import typer
from typer.core import TyperGroup

import zelkova
from zelkova.cli import boundary, console
from zelkova.errors import ZelkovaError, hint

COMMANDS = {
    "check": "hold a game to the contract of rules, yours or a built-in one",
    "train": "raise an agent for a game from its rules alone, or go on with a run",
    "distill": "raise an agent from a teacher's games, to go on with by self-play",
    "arena": "measure who is stronger: score, Elo and intervals",
    "games": "list the games that come with the package",
    "play": "play against a run or a reference opponent in the terminal",
    "report": "write a run's curves and figures into one HTML file",
    "analyze": "see what games tell, and what an agent thinks of a position",
    "bench": "measure the speed of every stage beside limits and peers",
}
"""Name of each subcommand, which is the name of its module and function, and what it does."""

_PROGRAM = "Describe a game once; get an agent that plans ahead, trained, measured and shipped."
_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}


class LazyGroup(TyperGroup):
    """Lists the subcommands from the table and imports one only to run it."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Give the names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Give what the list of commands shows: the name and its one line."""
        if cmd_name not in COMMANDS:
            return None
        app = typer.Typer(add_completion=False)
        app.command(cmd_name, help=COMMANDS[cmd_name])(lambda: None)
        return typer.main.get_command(app)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the subcommand that is to be run.

        Raises:
            ZelkovaError: there is no such command; the message names the nearest.
        """
        name = args[0]
        if name not in COMMANDS:
            raise ZelkovaError(f"unknown command `{name}`; {hint(name, COMMANDS)}")
        refuse_empty(args)
        module = importlib.import_module(f"zelkova.cli.{name}")
        app = typer.Typer(add_completion=False, context_settings=_SETTINGS)
        app.command(name)(getattr(module, name))
        return name, typer.main.get_command(app), args[1:]

    def invoke(self, ctx: Any) -> Any:
        """Run the subcommand inside the boundary that words its failures."""
        with boundary.errors_as_messages():
            return super().invoke(ctx)


def refuse_empty(arguments: list[str]) -> None:
    """Refuse an empty argument: a path of no letters would be the folder one happens to be in.

    Raises:
        ZelkovaError: names its place.
    """
    for place, word in enumerate(arguments):
        if not word or re.fullmatch(r"--[a-z-]+=", word):
            what = f"`{word}`" if word else f"the argument after `{arguments[place - 1]}`"
            raise ZelkovaError(
                f"{what} is empty; next: leave it out, or see if a variable of the shell is unset"
            )


def _show_version(asked: bool) -> None:
    if asked:
        console.result(f"zelkova {zelkova.__version__}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """Hold the options that stand before a subcommand."""


def main(arguments: list[str] | None = None) -> None:
    """Run the program and leave with its exit code.

    Args:
        arguments: after the program's name; those of the process where None.
    Raises:
        SystemExit: always, with the exit code.
    """
    console.prepare_streams()
    app = typer.Typer(
        cls=LazyGroup, help=_PROGRAM, no_args_is_help=True, add_completion=False, context_settings=_SETTINGS
    )
    app.callback()(_options)
    with boundary.errors_as_messages():
        typer.main.get_command(app).main(
            args=sys.argv[1:] if arguments is None else arguments, prog_name="zelkova"
        )
