"""Writes a game to a file, in the form that the file's name ends with.

`.txt`: remarks that begin with `#`, then the moves on one line. `.json` and `.jsonl`: the game's own records,
where a module `record` beside its rules has `write_played`. `zelkova analyze` reads all of them.
"""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

from zelkova.errors import NotationError
from zelkova.games.game import Game, Position
from zelkova.games.registry import beside

TEXT = ".txt"
RECORDS = (".json", ".jsonl")


def write_moves(position: Position, seed: int, resigned: int | None = None) -> str:
    """Give a game as text.

    Args:
        position: its last position.
        seed: that the game's initial position was made from.
        resigned: the player who gave up, 0-based.
    """
    game = position.game
    lines = [f"# game: {game.source}", f"# seed: {seed}"]
    if game.options is not None:
        options = dataclasses.asdict(game.options)
        lines.append("# options: " + " ".join(f"{key}={value}" for key, value in options.items()))
    if resigned is not None:
        lines.append(f"# result: player {resigned + 1} resigned")
    elif position.is_terminal:
        lines.append("# result: " + " ".join(f"{value:g}" for value in position.returns))
    else:
        lines.append("# result: not finished")
    return "\n".join([*lines, " ".join(position.moves_played())]) + "\n"


def known_endings(game: Game) -> tuple[str, ...]:
    """List what the name of a game's file may end with."""
    return (TEXT,) if _record_writer(game) is None else (TEXT, *RECORDS)


def save_game(path: Path, position: Position, seed: int, resigned: int | None = None) -> str:
    """Write a game to a new file.

    Args:
        path: of the file; its ending is the form.
        position, seed, resigned: as for write_moves.
    Returns:
        what was written, in words.
    Raises:
        NotationError: the game has no form of that ending, naming those it has; or its own `write_played`
            fails or gives no JSON.
        FileExistsError: there is such a file.
        OSError: it can't be written.
    """
    game, endings = position.game, known_endings(position.game)
    if path.suffix not in endings:
        given = f"ends in {path.suffix}" if path.suffix else "has no ending"
        name = path.with_suffix(TEXT) if path.name not in ("", "..") else f"game{TEXT}"
        raise NotationError(
            f"{path} {given}; games of {game.name} are saved as {', '.join(endings)}; next: save {name}"
        )
    write = _record_writer(game)
    if path.suffix == TEXT or write is None:
        text, what = write_moves(position, seed, resigned), "the moves as text"
    else:
        text, what = _ask_record(write, position.copy(), resigned), "a JSON record"
    with path.open("x", encoding="utf-8") as file:
        file.write(text)
    return what


def _record_writer(game: Game) -> Callable[[Position, int | None], str] | None:
    """Give the game's own function that writes a record on one line; None where it has none."""
    return getattr(beside(game, "record"), "write_played", None)


def _ask_record(
    write: Callable[[Position, int | None], str], position: Position, resigned: int | None
) -> str:
    """Have a game write a record, a line of JSON; a user's own function may do anything."""
    try:
        text = write(position, resigned)
        is_line = isinstance(text, str) and isinstance(json.loads(text), dict) and text.isprintable()
    except (Exception, SystemExit) as error:
        raise NotationError(
            f"write_played of {position.game.name} fails ({type(error).__name__}: {str(error)[:80]!r}); next:"
            f" save as {TEXT}"
        ) from error
    if not is_line:
        raise NotationError(
            f"write_played of {position.game.name} gives no JSON object on one line; next: save as {TEXT}"
        )
    return f"{text}\n"
