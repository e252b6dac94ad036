"""Chooses where Numba keeps compiled code, before Numba is imported.

Numba looks for a place beside each source file, then in the user's home, and raises where neither can be
written (read-only installs, containers without a home). Here the place is found first:

1. `$NUMBA_CACHE_DIR` where it is set; 2. `$XDG_CACHE_HOME/zelkova` or `~/.cache/zelkova`;
3. a folder of this user alone under the temporary directory; 4. none: caching is off, with one warning.

Compiled code is loaded back with pickle, so a place that another user owns or may write to is refused.
Numba's own stamp covers the file of a function, not the files of the functions it calls: the folder's name
therefore carries a digest of every room that compiles, and an upgrade never meets code of older sources.
Numba writes each file under another name and renames it, so two processes may start at once.
"""

import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_PREFIX = "zelkova-numba-"
_FORGET_SECONDS = 30 * 24 * 3600.0


def choose_place(version: str) -> Path | None:
    """Point Numba to a folder that this process may use, and return it; None where caching is off.

    Args:
        version: of the package, part of the folder's name.
    """
    package = Path(__file__).parent
    if not package.is_dir():
        _switch_off("the package runs from an archive")
        return None
    name = _PREFIX + source_digest(package, version)
    for parent in _candidates():
        place = parent / name
        if _is_private_and_writable(place):
            _forget_old(place)
            os.environ["NUMBA_CACHE_DIR"] = str(place)
            if "numba" in sys.modules:
                sys.modules["numba"].config.CACHE_DIR = str(place)
            return place
    _switch_off("no folder for it can be written; set NUMBA_CACHE_DIR to one that can")
    return None


def source_digest(package: Path, version: str) -> str:
    """Digest the sources of every room of the package that compiles, with its version.

    Args:
        package: the folder that holds the rooms.
        version: of the package.
    """
    digest = hashlib.sha256(version.encode())
    for room in sorted(entry for entry in package.iterdir() if entry.is_dir()):
        sources = [(path, path.read_bytes()) for path in sorted(room.rglob("*.py"))]
        if any(b"numba" in text for _, text in sources):
            for path, text in sources:
                digest.update(f"{path.relative_to(package)}:{len(text)}:".encode())
                digest.update(text)
    return digest.hexdigest()[:16]


def _candidates() -> Iterator[Path]:
    """Yield the folders to try, the most wanted first."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        path = Path(given)
        # A child process inherits the folder that its parent chose.
        yield path.parent if path.name.startswith(_PREFIX) else path
    xdg = os.environ.get("XDG_CACHE_HOME")
    if xdg and os.path.isabs(xdg):
        yield Path(xdg) / "zelkova"
    home = os.path.expanduser("~")
    if os.path.isdir(home):  # a home that does not exist is not ours to make
        yield Path(home) / ".cache" / "zelkova"
    try:
        temporary = tempfile.gettempdir()
    except FileNotFoundError:  # nothing at all can be written
        return
    yield Path(temporary) / f"zelkova-cache-{os.getuid() if hasattr(os, 'getuid') else 'user'}"


def _forget_old(place: Path) -> None:
    """Mark a folder as used, and remove those beside it that no start has used for a month."""
    now = time.time()
    os.utime(place)
    for other in place.parent.glob(_PREFIX + "*"):
        try:
            if now - other.stat().st_mtime > _FORGET_SECONDS:
                shutil.rmtree(other, ignore_errors=True)
        except FileNotFoundError:  # another process was quicker
            continue


def _is_private_and_writable(place: Path) -> bool:
    """Make the folder where it is missing and say whether it is safe to load code from."""
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.mkdir(mode=0o700, exist_ok=True)
        if not (_is_private(place.lstat()) and _is_private(place.parent.stat())):
            return False
        tempfile.TemporaryFile(dir=place).close()
    except OSError:
        return False
    return True


def _is_private(found: os.stat_result) -> bool:
    """Say whether only this user and root can put something in the place of what the folder holds."""
    if not stat.S_ISDIR(found.st_mode):
        return False
    if not hasattr(os, "getuid"):  # Windows guards a user's folders by itself
        return True
    others_may_write = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not found.st_mode & stat.S_ISVTX
    return found.st_uid in (os.getuid(), 0) and not others_may_write


def _switch_off(reason: str) -> None:
    """Turn caching off: Numba has no setting for it, so its two entry points are replaced."""
    from numba.core.ccallback import CFunc
    from numba.core.dispatcher import Dispatcher

    def keep_nothing(self: object) -> None:
        """Take the place of `enable_caching`."""

    entries: tuple[Any, ...] = (CFunc, Dispatcher)
    for entry in entries:
        entry.enable_caching = keep_nothing
    warnings.warn(
        f"compiled code is not kept, so each start compiles anew: {reason}", RuntimeWarning, stacklevel=3
    )
