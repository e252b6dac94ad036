"""The error classes of every floor, and the hint that names the nearest known word.

Each message says what was given, what is allowed and the next step. The command line prints it
without a traceback and exits with code 2.
"""

import difflib
from collections.abc import Iterable


class ZelkovaError(ValueError):
    """Something the user can mend; the message says how."""


class GameError(ZelkovaError):
    """A game breaks its contract: the message names the function, the line and the promise."""


class IllegalActionError(ZelkovaError):
    """An action is not legal in the position."""


class NotationError(ZelkovaError):
    """A text is not a move, a position or a record."""


class ConfigError(ZelkovaError):
    """A setting is unknown, of the wrong type or out of range."""


class ShapeError(ZelkovaError):
    """An array has another shape or dtype than the call needs."""


class SearchError(ZelkovaError):
    """A search was given numbers it can't use; the message names the tree."""


class CheckpointError(ZelkovaError):
    """A file of a run is missing, damaged, foreign or can't be written."""


class DeviceError(ZelkovaError):
    """The device asked for is not there."""


class MissingExtraError(ZelkovaError):
    """An optional package is not installed; the message names the install command."""


def hint(given: str, known: Iterable[str]) -> str:
    """Say which words are known and which of them is nearest to the one given.

    Args:
        given: the word that is not known.
        known: the words that are.
    """
    words = sorted(known)
    listed = ", ".join(words) if words else "none"
    near = difflib.get_close_matches(given, words, n=1, cutoff=0.5)
    return f"known: {listed}" + (f"; hint: did you mean `{near[0]}`?" if near else "")
