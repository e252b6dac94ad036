"""Reads a run's folder for a report, whatever state it was left in.

A run may have been killed within a line, resumed (a round then stands twice, and the later line holds),
edited, or come from a stranger: what can't be read is left out and remarked upon, never an error.
"""

import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zelkova.errors import ConfigError, hint
from zelkova.games import load, names, refuse_inside
from zelkova.games.check import refuse_broken
from zelkova.games.game import Position

Round = dict[str, float]

_LARGEST = 1e300  # figures beyond are left out, infinite ones among them
_GAME = re.compile(r"^(?:game|episode) \d+: ")  # before the moves, which ` ; returns ...` ends
_DEEPEST = 20  # tables within tables of a config that are looked at
LONGEST_SAMPLE = 100_000  # characters of a file of games that are looked at


@dataclass(frozen=True)
class Sample:
    """One game of the run, replayed."""

    origin: str  # name of its file
    moves: tuple[str, ...]  # as text
    position: Position  # the last one


@dataclass(frozen=True)
class Run:
    """A run as a report sees it."""

    folder: Path
    config: dict[str, Any]  # nested tables, as resolved; empty where it can't be read
    rounds: list[Round]  # one for each round, ascending; finite numbers only
    sample: Sample | None = None
    remarks: list[str] = field(default_factory=list)  # what could not be read, in words

    @property
    def game(self) -> str:
        """The game's or environment's name, `unknown game` where the config doesn't tell."""
        env = environment_of(self.config)
        if env is not None:
            return env
        table = self.config.get("game")
        name = table.get("name") if isinstance(table, dict) else None
        return name if isinstance(name, str) else "unknown game"

    def series(self, name: str) -> list[tuple[int, float]]:
        """Give a metric's values with the index of their round."""
        return [(index, figures[name]) for index, figures in enumerate(self.rounds) if name in figures]

    def names(self) -> list[str]:
        """Give every metric's name, in the order of first appearance."""
        return list(dict.fromkeys(name for figures in self.rounds for name in figures))


def environment_of(config: dict[str, Any]) -> str | None:
    """Give the name of the environment that a run's agent acts in; None where it plays a game."""
    table = config.get("env")
    name = table.get("id") if config.get("model") == "learned" and isinstance(table, dict) else None
    return name if isinstance(name, str) and name else None


def read_run(folder: Path) -> Run:
    """Read what a report needs.

    Args:
        folder: of the run.
    Raises:
        ConfigError: there is no such folder, or it is no run's.
    """
    if not folder.is_dir():
        near = folder.parent if folder.parent.is_dir() else Path(".")
        known = [str(near / place.name) for place in near.iterdir() if (place / "config.toml").is_file()]
        raise ConfigError(f"no such run: {folder}; {hint(str(folder), known)}")
    if not (folder / "config.toml").exists() and not (folder / "metrics.jsonl").exists():
        raise ConfigError(
            f"{folder} is no run: it has neither config.toml nor metrics.jsonl; "
            "next: name the folder that was given to train --out"
        )
    remarks: list[str] = []
    config = _read_config(folder / "config.toml", remarks)
    rounds = _read_rounds(folder / "metrics.jsonl", remarks)
    return Run(folder, config, rounds, _read_sample(folder, config, remarks), remarks)


def _read_config(path: Path, remarks: list[str]) -> dict[str, Any]:
    try:
        config = tomllib.loads(path.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError, RecursionError) as error:  # ValueError: also numbers of thousands of digits
        remarks.append(f"config.toml can't be read: {_reason(error)}")
        return {}
    level = [config]
    for _ in range(_DEEPEST + 1):
        level = [value for table in level for value in table.values() if isinstance(value, dict)]
    if level:
        remarks.append(f"config.toml can't be read: its tables are nested deeper than {_DEEPEST}")
    return {} if level else config


def _read_rounds(path: Path, remarks: list[str]) -> list[Round]:
    """Read the rounds, the last line of each; remark on lines that are damaged."""
    rounds: dict[float, Round] = {}
    damaged = []
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                figures = _read_line(line)
                if figures is None:
                    damaged.append(number)
                elif figures:
                    rounds[figures.get("round", float(number))] = figures
    except OSError as error:
        remarks.append(f"metrics.jsonl can't be read: {_reason(error)}")
    if damaged:
        lines = ", ".join(map(str, damaged[:10])) + (", ..." if len(damaged) > 10 else "")
        remarks.append(f"metrics.jsonl: damaged lines were left out: {lines}")
    return [rounds[key] for key in sorted(rounds)]


def _read_line(line: str) -> Round | None:
    """Give the finite numbers of a line; nothing for a blank line, None for a damaged one."""
    if not line.strip():
        return {}
    try:
        table = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(table, dict):
        return None
    figures = {}
    for name, value in table.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and name.isprintable() and abs(value) < _LARGEST:  # a NaN is below nothing
            figures[name] = float(value)
    return figures


def _read_sample(folder: Path, config: dict[str, Any], remarks: list[str]) -> Sample | None:
    """Replay the first game of the newest file of games; None where there is none or it can't be replayed."""
    files = sorted((folder / "games").glob("*.txt"))
    table = config.get("game")
    if environment_of(config) is not None:  # its episodes are no game's
        return None
    if not files or not isinstance(table, dict) or not is_trusted(table.get("name"), folder):
        return None
    try:
        with files[-1].open(encoding="utf-8", errors="replace") as file:
            lines = file.read(LONGEST_SAMPLE).splitlines()
        line = next((line for line in lines if line.strip() and not line.startswith("#")), "")
        text = _GAME.sub("", line).partition(" ; ")[0]
        options = {key: value for key, value in table.items() if key != "name"}
        game = load(table["name"], options)
        refuse_broken(game)
        position = game.position()
        is_numbered = config.get("model") == "learned"  # which is told no notation
        if is_numbered and game.has_chance:  # nor are outcomes kept
            return None
        moves = []
        for move in text.split():
            if position.is_terminal:
                break
            moves.append(position.action_to_text(int(move)) if is_numbered else move)
            position.play(int(move) if is_numbered else move)
    except Exception as error:  # a notation of a user's may raise any
        remarks.append(f"games/{files[-1].name} can't be replayed: {_reason(error)}")
        return None
    return Sample(files[-1].name, tuple(moves), position) if moves else None


def is_trusted(name: object, folder: Path) -> bool:
    """Say whether a game may be loaded: a built-in one, or a file that did not come with the run's folder.

    A report must not run code out of a folder that someone sent.
    """
    if not isinstance(name, str) or "\0" in name:
        return False
    try:
        refuse_inside(name, folder)
    except ValueError:  # a GameError, or no path at all
        return False
    path = Path(name)
    return name in names() or (name.endswith(".py") and path.is_absolute() and path.is_file())


def _reason(error: Exception) -> str:
    """Say in a line what was wrong."""
    text = (error.strerror if isinstance(error, OSError) else None) or str(error)
    text = "".join(sign if sign.isprintable() or sign == "\n" else "?" for sign in text)
    return text.splitlines()[0][:200] if text.strip() else type(error).__name__
