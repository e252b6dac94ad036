"""Holds a user's game to the contract before a command lets its compiled code loose on memory."""

import hashlib
from pathlib import Path

import zelkova
from zelkova.cli import console
from zelkova.games import Game


def refuse_broken(game: Game) -> None:
    """Refuse a user's game that breaks the contract; tests hold the package's own games to it.

    What passed is not held to it again: an empty file among the compiled code, named after the text of the
    game's file and its options, tells so. Without such a place every start checks.

    Raises:
        GameError: a promise is broken; the message names function and line.
    """
    if game.stamp is None:
        return
    passed = _marker(game)
    if passed is not None and passed.exists():
        return
    from zelkova.games import check

    console.note(f"holding {game.source} to the contract of games")
    check.refuse_broken(game)
    if passed is not None:
        try:
            passed.touch()
        except OSError:  # then the next start checks again
            pass


def _marker(game: Game) -> Path | None:
    """Name the file that tells that a game passed; None where none may be kept.

    The folder's name changes with every source of the package that compiles, the check among them.
    """
    if zelkova.COMPILED is None or not game.is_current():
        return None
    digest = hashlib.sha256(Path(game.source).read_bytes())
    digest.update(repr(game.options).encode())
    return zelkova.COMPILED / f"checked-{digest.hexdigest()}"
