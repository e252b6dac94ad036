"""Finds a game by name or by the path of a user's file."""

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from zelkova.errors import GameError, hint
from zelkova.games.game import Game, build_game

BUILT_IN: dict[str, tuple[str, dict[str, Any]]] = {
    "tic_tac_toe": ("tic_tac_toe", {}),
    "connect_four": ("connect_four", {}),
    "connect_four_3p": ("connect_four", {"players": 3, "width": 8}),
    "othello": ("othello", {}),
    "othello_6x6": ("othello", {"size": 6}),
    "gomoku": ("gomoku", {}),
    "hex": ("hex", {}),
    "breakthrough": ("breakthrough", {}),
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
        rules = _import_file(path)
        return build_game(path.stem, str(path), rules, options, notation=rules, drawing=rules)
    if name_or_path not in BUILT_IN:
        raise GameError(f"unknown game `{name_or_path}`; {hint(name_or_path, BUILT_IN)}; a file is given as path/to/game.py")
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


def _import_file(path: Path) -> ModuleType:
    """Run a user's file as a module of its own name.

    Raises:
        GameError: the file is missing, unreadable or raises when it is run.
    """
    if not path.is_file():
        raise GameError(f"no such game file: {path}; next: check the path, or name one of {', '.join(BUILT_IN)}")
    module_name = f"zelkova_game_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise GameError(f"{path} can't be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise GameError(f"{path}, line {error.lineno}: {error.msg}") from error
    except Exception as error:
        line = _line_in(path, error)
        raise GameError(f"{path}{line} raised {type(error).__name__}: {error}") from error
    return module


def _line_in(path: Path, error: Exception) -> str:
    """Say at which line of the file an error was raised."""
    trace, line = error.__traceback__, 0
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename) == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f", line {line}," if line else ""
