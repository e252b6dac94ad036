"""The lines of a terminal, a pipe or a file, read so that no input can hurt.

Bytes that are no text become a replacement sign, a line is cut at `LONGEST` characters, and a stream that is
missing, closed or broken is an end of input.
"""

from collections.abc import Callable, Iterator
from typing import TextIO

LONGEST = 1000  # characters of a line that are kept


def is_live(stream: TextIO | None) -> bool:
    """Say whether a person sits at the other end of a stream."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def read_lines(stream: TextIO | None, ask: Callable[[], None] | None = None) -> Iterator[str]:
    """Yield the lines of a stream without their newline; a last line may have none.

    Args:
        stream: to read from; None, as where the process has no input, is at its end.
        ask: is called before each line, to write a prompt.
    """
    if stream is None:
        return
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")
    while True:
        if ask is not None:
            ask()
        line = _read_line(stream)
        if not line:
            return
        yield line.rstrip("\r\n")


def _read_line(stream: TextIO) -> str:
    """Read one line, its newline included where it has one; drop what is too long; empty at the end."""
    try:
        line = stream.readline(LONGEST)
        part = line
        while part and not part.endswith("\n"):
            part = stream.readline(LONGEST)
    except (OSError, ValueError):  # a folder, a closed file
        return ""
    return line
