"""The error classes of every floor, and the hint that names the nearest known word.

Each message says what was given, what is allowed and the next step. The command line prints it
without a traceback and exits with code 2.
"""

import difflib
import os
import re
from collections.abc import Iterable

LARGEST_SEED = 2**63 - 1
"""The largest seed that every random stream and every file of settings takes."""


class ZelkovaError(ValueError):
    """Something the user can mend; the message says how."""


class GameError(ZelkovaError):
    """A game breaks its contract: the message names the function, the line and the promise."""


class EnvError(ZelkovaError):
    """An environment breaks its promises: the message names it, the step and what it did."""


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


def quote_lines(message: str) -> str:
    r"""Write the ends of lines within a given word, `a\nb`, as such; a message's own lines remain.

    Args:
        message: in which what was given stands in backticks.
    """
    return re.sub("`[^`]*`", lambda word: word[0].replace("\n", "\\n").replace("\r", "\\r"), message)


def first_line(error: BaseException) -> str:
    """Give the first line of what an error says: what follows it is a board.

    Args:
        error: of ours.
    """
    return quote_lines(str(error)).partition("\n")[0]


def word_failure(error: BaseException) -> str:
    """Word what code that is not ours raised, in one line: its class and what it says, if it says anything.

    Args:
        error: anything that can be raised; asking it for its words may fail, too.
    """
    try:
        said = " ".join(str(error).split())
    except Exception:
        said = "it has no words"
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def require_memory(num_bytes: int, what: str) -> None:
    """Refuse what the machine can't hold, before the system ends the process for asking.

    Args:
        num_bytes: that it needs at least.
        what: needs them, with the settings that decide how many.
    Raises:
        ConfigError: that is more than the machine's memory; where its size can't be told, nothing is refused.
    """
    try:
        held = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if 0 < held < num_bytes:
        raise ConfigError(
            f"{what} needs {num_bytes / 2**30:,.3g} GiB of memory and this machine has {held / 2**30:,.3g};"
            " next: ask for less"
        )
