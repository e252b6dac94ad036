"""What a person or a program reads: results on stdout, everything else on stderr.

Nothing here depends on colour, on UTF-8 or on a terminal: a sign that the stream's encoding lacks is
replaced, never an error.
"""

import os
import sys
import time
import unicodedata
from collections.abc import Callable, Mapping
from typing import IO, Self, TextIO

EVERY_SECONDS = 60.0  # between plain lines, where there is no terminal
LIVE_SECONDS = 0.2  # between redrawings of the live line
_STEERING = ("Cc", "Cf", "Zl", "Zp")  # controls, marks of direction, other ends of lines


def prepare_streams() -> None:
    """Stand in for closed streams, and let signs that an encoding lacks be replaced instead of raising."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open as long as the process
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def escape_controls(text: str) -> str:
    r"""Write signs that steer a terminal or turn its text around as `\x1b` and the like; lines stay lines.

    Args:
        text: anything; names of files, moves and comments in it may come from a stranger.
    """
    if text.isprintable():
        return text
    return "".join(
        sign.encode("unicode_escape").decode()
        if unicodedata.category(sign) in _STEERING and sign not in "\n\t"
        else sign
        for sign in text
    )


def result(text: str = "") -> None:
    """Write a result to stdout."""
    draw(escape_controls(text))


def draw(text: str) -> None:
    """Write a result that may hold colours, such as a board, to stdout."""
    print(text, flush=True)


def note(text: str) -> None:
    """Write anything that is not a result to stderr; a stderr that is gone is no reason to fail."""
    try:
        print(escape_controls(text), file=sys.stderr, flush=True)
    except OSError:
        pass


def has_colour(stream: IO[str]) -> bool:
    """Say whether a stream shows colour: a terminal, and NO_COLOR is not set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def has_unicode(stream: TextIO) -> bool:
    """Say whether a stream's encoding can write the signs of boards and charts."""
    try:
        "●○─│▁█·".encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def format_figure(value: float | int | str) -> str:
    """Write a figure with four digits that matter, thousands apart."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def format_seconds(seconds: float) -> str:
    """Write a duration as a person says it: 42 s, 7 min, 1 h 05 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


class Progress:
    """One live line on a terminal, one plain line a minute elsewhere, with rates and the time left."""

    def __init__(
        self, what: str, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Start the clock.

        Args:
            what: is going on, the first word of each line.
            stream: where to write; stderr by default.
            clock: seconds, ever growing.
        """
        self._what = what
        self._stream = stream or sys.stderr
        self._clock = clock
        self._is_live = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._start = clock()
        self._written = self._start - (LIVE_SECONDS if self._is_live else 0.0)
        self._width = 0

    def __enter__(self) -> Self:
        """Give the progress line itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the cursor on a fresh line, whatever happened."""
        self.clear()

    def update(self, fraction: float, figures: Mapping[str, float | int | str]) -> None:
        """Show how far the work is, if it is time for a line.

        Args:
            fraction: of the work that is done, 0..1; 0 where it can't be told.
            figures: name (with its unit) and value, shown in this order.
        """
        now = self._clock()
        if now - self._written < (LIVE_SECONDS if self._is_live else EVERY_SECONDS):
            return
        self._written = now
        self._write(self._line(min(max(fraction, 0.0), 1.0), figures, now - self._start))

    def say(self, text: str) -> None:
        """Write a lasting line, such as a finished rating, above the live one."""
        self.clear()
        self._put(text + "\n")

    def clear(self) -> None:
        """Take the live line away."""
        if self._is_live and self._width:
            self._put("\r" + " " * self._width + "\r")
            self._width = 0

    def _line(self, fraction: float, figures: Mapping[str, float | int | str], seconds: float) -> str:
        between = " · " if has_unicode(self._stream) else " | "
        parts = [f"{self._what} {fraction:4.0%}"]
        parts += [f"{name} {format_figure(value)}" for name, value in figures.items()]
        parts.append(f"{format_seconds(seconds)} so far")
        if fraction > 0:
            parts.append(f"{format_seconds(seconds * (1 - fraction) / fraction)} left")
        return between.join(parts)

    def _write(self, line: str) -> None:
        if not self._is_live:
            self._put(line + "\n")
            return
        line = line[: max(_columns(self._stream) - 1, 10)]
        self._put("\r" + line.ljust(self._width))
        self._width = len(line)

    def _put(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except UnicodeEncodeError:
            self._stream.write(text.encode("ascii", "replace").decode("ascii"))
            self._stream.flush()
        except OSError:  # nobody is watching any more; the work goes on
            self._is_live = False


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
