"""One run in one folder: a lock that the system lets go when its process ends, however it ends."""

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import IO

from zelkova.errors import CheckpointError

NAME = "run.lock"

if sys.platform == "win32":
    import msvcrt

    def _take(file: IO[str]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _take(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class RunLock:
    """Holds a run folder while its `with` block lasts; a file left by a killed process does not bar it."""

    def __init__(self, folder: Path) -> None:
        """Name the folder, which exists."""
        self.path = folder.absolute() / NAME
        self._file: IO[str] | None = None

    def __enter__(self) -> "RunLock":
        """Take the lock.

        Raises:
            CheckpointError: another process holds it, or the folder can't be written.
        """
        try:
            file = self.path.open("a+", encoding="utf-8")
        except OSError as error:
            raise CheckpointError(
                f"{self.path} can't be written: {error.strerror}; give a folder that can be written"
            ) from error
        try:
            _take(file)
        except OSError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            file.close()
            raise CheckpointError(
                f"another run (process {holder}) works in {self.path.parent}; wait for it or stop it, or give"
                " another folder with --out"
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        self._file = file
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go; the file stays, since removing it would race with the next run."""
        if self._file is not None:
            self._file.close()
            self._file = None
