"""Finds files of games and reads those that are text.

`.json` and `.jsonl` hold a game's own records (a game with a module `record` beside its rules), one in a file
or one a line. `.txt` is what a run writes into `games/` (`game 7: moves ; returns 1 -1`, a game a line) and
what `save` writes at the board (remarks with the game, its options and its seed, then the moves).
"""

import ast
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import NotationError, ZelkovaError, first_line
from zelkova.games.game import Game
from zelkova.games.played import PlayedGame, lay_on_chances, replay_moves
from zelkova.games.registry import BUILT_IN, beside, load

CHUNK = ".safetensors"
TEXTS = (".json", ".jsonl", ".txt")
_GAME = re.compile(r"(?:game|episode) (\d+): (.*?)(?: ; returns (.*))?")
_GIVE = "next: give a run's folder, or files of games: " + ", ".join((*TEXTS, CHUNK))


@dataclass(frozen=True)
class NamedGame:
    """The game that a file says it is of."""

    name: str
    options: dict[str, Any]


def find_files(paths: Iterable[Path]) -> list[Path]:
    """List the files of games that are meant, those of a folder by name.

    Args:
        paths: files, folders of files, or runs: of these the replay, else `games/`.
    Raises:
        NotationError: a path is not there, or has no games.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            files = _files_of(path)
            if not files:
                raise NotationError(f"{path} has no games: no {', '.join((*TEXTS, CHUNK))} in it; {_GIVE}")
            found += files
        elif not path.exists():
            raise NotationError(f"no such file or folder: {path}; {_GIVE}")
        elif path.suffix not in (*TEXTS, CHUNK):
            raise NotationError(f"{path} is no file of games by its name; {_GIVE}")
        else:
            found.append(path)
    return list(dict.fromkeys(found))


def _files_of(folder: Path) -> list[Path]:
    """List a folder's files of games; a run's replay before its texts, which hold a few of the same games."""
    if (folder / "config.toml").is_file():
        for place, suffix in (("replay", CHUNK), ("games", ".txt")):
            files = sorted((folder / place).glob(f"*{suffix}"))
            if files:
                return files
        return []
    return sorted(path for path in folder.iterdir() if path.suffix in (*TEXTS, CHUNK) and path.is_file())


def find_game(path: Path) -> NamedGame | None:
    """Say which game a file of text names; None where it names none.

    Args:
        path: of a file.
    Raises:
        NotationError: it is no file of games.
    """
    if path.suffix == CHUNK:
        return None
    if path.suffix == ".txt":
        head = _read_head(_read_lines(path))
        if "game" not in head:
            return None
        options = [part.partition("=") for part in head.get("options", "").split()]
        return NamedGame(head["game"], {key: _literal(value) for key, _, value in options})
    for where, text in _records_in(path):
        name = _name_in(where, text)
        if name not in BUILT_IN:
            raise NotationError(f"{where}: the record is of `{name[:40]}`; allowed: {', '.join(BUILT_IN)}")
        read = getattr(beside(load(name), "record"), "read_options", None)
        with _Named(where):
            return NamedGame(name, read(text) if read is not None else {})
    return None


def read_games(game: Game, path: Path, *, is_numbered: bool = False) -> list[PlayedGame]:
    """Read the games of a file of text and play them again.

    Args:
        game: that they are of.
        path: `.json`, `.jsonl` or `.txt`.
        is_numbered: moves of a `.txt` are numbers of actions.
    Raises:
        NotationError: names the file, the line where there are several, and the ply or field that is wrong.
    """
    if path.suffix == ".txt":
        return _read_text(game, path, is_numbered)
    read = getattr(beside(game, "record"), "read_played", None)
    games = []
    for where, text in _records_in(path):
        name = _name_in(where, text)
        if name != game.name:
            raise NotationError(
                f"{where}: the record is of `{name[:40]}`; allowed: {game.name}, as the others are"
            )
        if read is None:
            raise NotationError(
                f"{where}: {game.name} has no JSON records; next: give .txt, or a run's folder"
            )
        with _Named(where):
            games.append(read(game, text, where))
    return games


class _Named:
    """Puts the file before what is wrong with a record, in one line."""

    def __init__(self, where: str) -> None:
        self._where = where

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ZelkovaError):
            raise NotationError(f"{self._where}: {first_line(error)}") from None


def _records_in(path: Path) -> list[tuple[str, str]]:
    """Part a file into records: (where it stands, its text)."""
    lines = [(number, line) for number, line in enumerate(_read_lines(path), 1) if line.strip()]
    if not lines:
        raise NotationError(f"{path} is empty; {_GIVE}")
    if path.suffix == ".json" and not _is_object(lines[0][1]):
        return [(str(path), "\n".join(line for _, line in lines))]
    if len(lines) == 1:
        return [(str(path), lines[0][1])]
    return [(f"{path}, line {number}", line) for number, line in lines]


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _name_in(where: str, text: str) -> str:
    """Give the game that a JSON record names."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotationError(f"{where}: the record is no JSON: {error}; next: mend the file") from None
    name = given.get("game") if isinstance(given, dict) else None
    if not isinstance(name, str):
        raise NotationError(f"{where}: the record is no object with the field `game`; next: mend the file")
    return name


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").split("\n")  # splitlines parts JSON texts at U+2028, too
    except UnicodeDecodeError as error:
        raise NotationError(f"{path} is no text: {error.reason} at byte {error.start}; {_GIVE}") from None


def _read_head(lines: Sequence[str]) -> dict[str, str]:
    """Read the remarks `# key: value`."""
    parts = [line.lstrip("# ").partition(":") for line in lines if line.startswith("#")]
    return {key.strip(): value.strip() for key, _, value in parts}


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # the last two: deep nesting
        return text


def _read_text(game: Game, path: Path, is_numbered: bool) -> list[PlayedGame]:
    """Read a file of moves."""
    lines = _read_lines(path)
    head = _read_head(lines)
    _check_head(game, path, head)
    games = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        origin = f"{path}, line {number}"
        match = _GAME.fullmatch(line.strip())
        moves = (match[2] if match else line).split()
        seed = head.get("seed", "0")
        position = game.position(int(seed) if seed.isdecimal() and len(seed) < 19 else 0)
        played = replay_moves(position, moves, origin, is_numbered=is_numbered)
        returns = _returns_of(game, played, match[3] if match else None, head, origin)
        chances = played.chances
        if returns is not None and played.returns is None:
            chances = np.concatenate([chances[:-1], lay_on_chances(game, returns[None])])
        games.append(replace(played, returns=returns, chances=chances))
    if not games:
        raise NotationError(f"{path} holds no game; {_GIVE}")
    return games


def _check_head(game: Game, path: Path, head: Mapping[str, str]) -> None:
    """Refuse a file that says it is of another game, or of other options."""
    named = head.get("game", game.name)
    if named not in (game.name, game.source):
        raise NotationError(f"{path} is of `{named[:40]}`; allowed: {game.name}, as the others are")
    if "options" in head and game.options is not None:
        own = " ".join(f"{key}={value}" for key, value in asdict(game.options).items())
        if head["options"] != own:
            raise NotationError(
                f"{path} was played with `{head['options'][:200]}`; allowed: {own}, as the game is loaded;"
                " next: give it alone, or the options with --set game.KEY=VALUE"
            )


def _returns_of(
    game: Game, played: PlayedGame, given: str | None, head: Mapping[str, str], origin: str
) -> NDArray[np.float32] | None:
    """Give a game's returns: those of its last position, or those that the file tells where it stops."""
    if given is not None:
        try:
            told = np.array([float(word) for word in given.split()], np.float32)
        except ValueError:
            told = np.zeros(0, np.float32)
        low, high = game.return_range
        if len(told) != game.num_players or not ((told >= low) & (told <= high)).all():
            raise NotationError(
                f"{origin}: returns `{given[:40]}`; allowed: {game.num_players} numbers"
                f" from {low:g} to {high:g}"
            )
        if played.returns is None and game.has_chance:
            return told
        if played.returns is None or not np.allclose(told, played.returns, rtol=1e-3):
            leads = "a game that goes on" if played.returns is None else played.returns.tolist()
            raise NotationError(
                f"{origin}, ply {played.num_moves}: returns `{given[:40]}`; the moves lead to {leads}"
            )
    resigned = re.fullmatch(r"player ([12]) resigned", head.get("result", ""))
    if resigned and game.num_players == 2 and played.returns is None:
        low, high = game.return_range
        return np.array([low, high] if resigned[1] == "1" else [high, low], np.float32)
    return played.returns
