"""The border where failures become messages: one line for the user, the trace only on request."""

import errno
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

from zelkova.cli import console
from zelkova.errors import ZelkovaError, quote_lines, word_failure

TRACEBACK = "ZELKOVA_TRACEBACK"

FAULT, USER, INTERRUPTED, PIPE_CLOSED = 1, 2, 130, 141

LONGEST = 4000  # characters of a message that are shown; a word given can be as long as the system lets it
_OUT_OF_MEMORY = ("allocate memory", "bad_alloc", "out of memory")  # PyTorch, OpenVINO, CUDA

_NEXT_STEPS = {
    errno.ENOSPC: "free some space and run the same command again; what was saved before is intact",
    errno.EDQUOT: "your quota is used up: free some space and run the same command again",
    errno.EACCES: "choose a place that you may write to, for instance with --out",
    errno.EPERM: "choose a place that you may write to, for instance with --out",
    errno.EROFS: "the file system is read-only: choose another place, for instance with --out",
    errno.ENOENT: "check the path",
    errno.ENOTDIR: "check the path",
    errno.EISDIR: "give a file, not a folder",
    errno.EMFILE: "too many files are open: raise the limit with ulimit -n",
}


@contextmanager
def errors_as_messages() -> Iterator[None]:
    """Turn what goes wrong inside into one message on stderr and an exit code.

    Raises:
        SystemExit: instead of the failure.
    """
    try:
        yield
        sys.stdout.flush()
    except (typer.Exit, typer.Abort, SystemExit, GeneratorExit):
        raise
    except BrokenPipeError:
        _silence_stdout()
        raise SystemExit(PIPE_CLOSED) from None
    except KeyboardInterrupt:
        _leave("interrupted", INTERRUPTED)
    except EOFError:
        _leave("the input ended before an answer came; nothing is asked where there is no terminal", USER)
    except ZelkovaError as error:
        _leave(f"error: {error}", USER)
    except OSError as error:
        if error.filename is None and error.errno not in _NEXT_STEPS:
            _leave_with_fault(error)
        _leave(f"error: {word_os_error(error)}", USER)
    except MemoryError as error:
        _leave(_word_memory(error), USER)
    except BaseException as error:  # code of a user's may raise any
        if isinstance(error, RuntimeError) and any(words in str(error) for words in _OUT_OF_MEMORY):
            _leave(_word_memory(error), USER)
        if hasattr(error, "exit_code"):  # a wrong use of the command line, which Typer words itself
            raise
        _leave_with_fault(error)


def word_os_error(error: OSError) -> str:
    """Word a failure of the file system: the path, what is wrong and the next step.

    Args:
        error: with or without a path.
    """
    path = f"{error.filename}: " if error.filename is not None else ""
    step = _NEXT_STEPS.get(error.errno or 0)
    return f"{path}{error.strerror or error}" + (f"; {step}" if step else "")


def _word_memory(error: Exception) -> str:
    """Word a lack of memory, with the numbers that most often ask for too much."""
    text = " ".join(str(error).split()) or "no more to be had"
    return (
        f"error: not enough memory: {text}; next: ask for less (search.num_simulations, selfplay.games,"
        " selfplay.cache_positions, network.channels, the games of a match), or use a larger machine"
    )


def shorten(message: str) -> str:
    """Leave out the middle of a message that is longer than anybody reads."""
    half = LONGEST // 2
    if len(message) <= LONGEST:
        return message
    return f"{message[:half]} [{len(message) - LONGEST} characters left out] {message[-half:]}"


def _leave(message: str, code: int) -> NoReturn:
    """Say the message, show the trace where it was asked for, and exit."""
    try:
        sys.stdout.flush()
    except OSError:
        _silence_stdout()
    if os.environ.get(TRACEBACK):
        traceback.print_exc(file=sys.stderr)
    console.note(shorten(quote_lines(message)))
    raise SystemExit(code) from None


def _leave_with_fault(error: BaseException) -> NoReturn:
    """Say that the program itself is at fault and how to see where."""
    _leave(
        f"internal error: {word_failure(error)}; set {TRACEBACK}=1 to see where, and please report it", FAULT
    )


def _silence_stdout() -> None:
    """Send what is still to be written nowhere, so that Python's own last flush can't fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
