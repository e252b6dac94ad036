"""Says once a process that the search is being compiled, where it has to be: a start would seem to hang."""

import logging
from typing import Any

from numba.core import event

COMPILES = "numba:compile"  # comes where nothing was found on disk, never where compiled code is loaded
NOTICE = "compiling what this machine has not compiled yet: a minute at the first start, then nothing"


class CompileNotice(event.Listener):  # type: ignore[misc]
    """Logs a warning of `zelkova.search` when the first of the package's functions compiles inside a `with`.

    Without settings of one's own Python's logging writes warnings to stderr.
    """

    def __init__(self) -> None:
        self.was_said = False

    def on_start(self, happened: Any) -> None:
        """Say it, unless it was said or something else compiles."""
        function = getattr(happened.data["dispatcher"], "py_func", None)
        if not self.was_said and str(getattr(function, "__module__", "")).startswith("zelkova."):
            self.was_said = True
            logging.getLogger("zelkova.search").warning(NOTICE)

    def on_end(self, happened: Any) -> None:
        """Say nothing."""

    def told(self) -> None:
        """Keep quiet: a person has been told already."""
        self.was_said = True

    def __enter__(self) -> None:
        event.register(COMPILES, self)

    def __exit__(self, *error: object) -> None:
        event.unregister(COMPILES, self)


compile_notice = CompileNotice()
