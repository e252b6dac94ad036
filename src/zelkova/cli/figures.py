"""The file behind `--json`: a list of records, each a name, a value and the parameters it was measured at."""

import json
import math
import os
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self, SupportsFloat

from zelkova.errors import ConfigError


class Figures:
    """Collects figures and writes them all at once when the work ends well.

    The place is tried before the work begins, so that hours of measuring are not lost to a wrong path.
    Nothing is written where no file was asked for.
    """

    def __init__(self, path: Path | None) -> None:
        """Open a file beside the one that is wanted.

        Args:
            path: of the file to write; None to write none.
        Raises:
            ConfigError: there is no such folder, it can't be written, or a file of another kind is there.
        """
        self.records: list[dict[str, Any]] = []
        self._path = path.absolute() if path is not None else None
        self._draft: Path | None = None
        if path is None:
            return
        if path.is_dir():
            raise ConfigError(f"--json {path} is a folder; give the name of a file in it")
        try:
            if path.is_file() and _begin_of(path) not in (b"", b"["):
                raise ConfigError(
                    f"--json {path} is there and holds no figures; allowed: a new file, or older figures,"
                    " which are replaced; next: another name"
                )
            if path.exists() and not path.is_file():  # a pipe or a device is written as it is
                path.open("a").close()
                return
            handle, name = tempfile.mkstemp(
                prefix=f".{path.name}-", suffix=".part", dir=path.absolute().parent
            )
        except OSError as error:
            raise ConfigError(
                f"--json {path} can't be written: {error.strerror}; choose a folder that exists and is yours"
            ) from error
        os.close(handle)
        self._draft = Path(name)

    def add(self, name: str, value: SupportsFloat, **params: object) -> None:
        """Add one figure.

        Args:
            name: stage/quantity_unit, such as `rules/moves_per_s`.
            value: the figure; a value that is no finite number is written as null.
            params: what it was measured at, such as `game="connect_four"`.
        """
        number = float(value)
        self.records.append(
            {"name": name, "value": number if math.isfinite(number) else None, "params": params}
        )

    def __enter__(self) -> Self:
        """Give the collector itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write the file where all went well; leave no draft behind in any case."""
        if self._path is None:
            return
        try:
            if kind is None:
                self._write(self._path)
        finally:
            if self._draft is not None:
                self._draft.unlink(missing_ok=True)

    def _write(self, path: Path) -> None:
        text = json.dumps(self.records, indent=1, default=_plain) + "\n"
        if self._draft is None:
            path.write_text(text, encoding="utf-8")
            return
        with self._draft.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        self._draft.chmod(0o666 & ~mask)
        os.replace(self._draft, path)


def _begin_of(path: Path) -> bytes:
    """Give the first byte of a file; nothing where it is empty."""
    with path.open("rb") as file:
        return file.read(1)


def _plain(value: Any) -> object:
    """Give a NumPy number as Python's, and anything else as text."""
    return value.item() if hasattr(value, "item") else str(value)
