"""Finds a game by name or by the path of a user's file."""

import dataclasses
import importlib
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from zelkova.errors import GameError, hint, word_failure
from zelkova.games.form import build_game
from zelkova.games.game import Game, stamp_of

BUILT_IN: dict[str, tuple[str, dict[str, Any]]] = {
    "tic_tac_toe": ("tic_tac_toe", {}),
    "connect_four": ("connect_four", {}),
    "connect_four_3p": ("connect_four", {"players": 3, "width": 8}),
    "othello": ("othello", {}),
    "othello_6x6": ("othello", {"size": 6}),
    "gomoku": ("gomoku", {}),
    "hex": ("hex", {}),
    "breakthrough": ("breakthrough", {}),
    "2048": ("game_2048", {}),
    "shogi3": ("shogi3", {}),
}
"""The games that come with the package: for each name its folder, and options that it sets."""


def names() -> tuple[str, ...]:
    """Give the names of the games that come with the package."""
    return tuple(BUILT_IN)


def load(name_or_path: str, options: Mapping[str, Any] | None = None) -> Game:
    """Load a game by its registry name or from a Python file.

    Args:
        name_or_path: `connect_four`, or `path/to/mygame.py`.
        options: values for the game's Options by name.
    Raises:
        GameError: there is no such game or file, or it breaks the contract's form.
        ConfigError: an option is unknown or refused.
    """
    if name_or_path.endswith(".py"):
        path = Path(name_or_path)
        rules, stamp = _import_file(path)
        game = build_game(path.stem, str(path), rules, options, notation=rules, drawing=rules)
        return dataclasses.replace(game, stamp=stamp)
    if name_or_path not in BUILT_IN:
        raise GameError(
            f"unknown game `{name_or_path}`; {hint(name_or_path, BUILT_IN)}; "
            "a file is given as path/to/game.py"
        )
    folder, preset = BUILT_IN[name_or_path]
    package = f"zelkova.games.{folder}"
    return build_game(
        name_or_path,
        name_or_path,
        importlib.import_module(f"{package}.rules"),
        {**preset, **(options or {})},
        notation=importlib.import_module(f"{package}.notation"),
        drawing=importlib.import_module(f"{package}.drawing"),
    )


def beside(game: Game, name: str) -> ModuleType | None:
    """Find a module that lies beside a game's rules, such as `record` or `study`; a user's file is its own.

    Args:
        game: as loaded.
        name: of the module.
    Returns: None where the game has none.
    """
    if game.stamp is not None:
        return game.notation
    folder = BUILT_IN[game.name][0]
    full = f"zelkova.games.{folder}.{name}"
    return importlib.import_module(full) if importlib.util.find_spec(full) is not None else None


def refuse_inside(name_or_path: str, folder: Path) -> None:
    """Refuse a game's file that lies in a run's folder: a run that came from someone else must not run code.

    Call it with what a run or its checkpoint names, before `load`.

    Args:
        name_or_path: as for `load`; a name is never refused.
        folder: of the run.
    Raises:
        GameError: the file, or what a link in its place leads to, is in the folder or below it.
    """
    if not name_or_path.endswith(".py"):
        return
    path = Path(name_or_path)
    above = {*path.resolve().parents, *Path(os.path.abspath(path)).parents}
    runs = [run for run in runs_around(folder) if run.exists()]
    if any(parent.exists() and parent.samefile(run) for parent in above for run in runs):
        raise GameError(
            f"the run in {folder} names the game file {path}, which lies in the run's own folder; a file that"
            " may have come with a run is never executed; next: read it, and if you trust it, move it out of"
            " the folder and name it there: zelkova train --resume RUN --set game.name=path/to/game.py"
        )


def runs_around(folder: Path) -> list[Path]:
    """Give a folder, and the runs that it lies in: what came inside a run came with it.

    Args:
        folder: of a run, or of a checkpoint that lies somewhere in one.
    """
    above = {*folder.resolve().parents, *Path(os.path.abspath(folder)).parents}
    return [
        folder,
        *(run for run in above if (run / "config.toml").is_file() and (run / "checkpoints").is_dir()),
    ]


def _import_file(path: Path) -> tuple[ModuleType, tuple[int, int]]:
    """Run a user's file as a module of its own name; give it with the file's time and size.

    The source is read afresh, never from a bytecode cache, which would not see two edits in a second.

    Raises:
        GameError: the file is missing, unreadable or raises when it is run.
    """
    if not path.is_file():
        raise GameError(
            f"no such game file: {path}; next: check the path, or name one of {', '.join(BUILT_IN)}"
        )
    module = ModuleType(f"zelkova_game_{path.stem}")
    module.__file__ = str(path.resolve())
    try:
        stamp = stamp_of(path)
        code = compile(path.read_bytes(), module.__file__, "exec")
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise GameError(f"{path}{line}: {getattr(error, 'msg', error)}; next: mend the file") from error
    except OSError as error:
        raise GameError(f"{path} can't be read: {error.strerror}; next: check its permissions") from error
    sys.modules[module.__name__] = module
    try:
        exec(code, module.__dict__)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a file may even ask to leave
        line = _line_in(Path(module.__file__), error)
        raise GameError(f"{path}{line} raised {word_failure(error)}; next: mend the file") from error
    return module, stamp


def _line_in(path: Path, error: BaseException) -> str:
    """Say at which line of the file an error was raised."""
    trace, line = error.__traceback__, 0
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename) == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f", line {line}," if line else ""
