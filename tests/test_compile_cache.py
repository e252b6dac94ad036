"""Where compiled code is kept: always somewhere safe, never code of older sources (case pub-install-1)."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import zelkova
from zelkova import compile_cache

PACKAGE = Path(zelkova.__file__).parent
PLAY_ONE_GAME = """
from zelkova import games
position = games.load("tic_tac_toe").position()
while not position.is_terminal:
    position.play(position.legal_actions()[0])
print("played to the end")
"""


def start(code: str, path: Path, temporary: Path, **environment: str) -> "subprocess.Popen[str]":
    """Run code in a new interpreter which has no home and no chosen cache."""
    kept = {key: os.environ[key] for key in ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT") if key in os.environ}
    extra = {"HOME": "/nonexistent", "TMPDIR": str(temporary), "PYTHONPATH": str(path), **environment}
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**kept, **extra},
        cwd=temporary,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process: "subprocess.Popen[str]") -> tuple[str, str]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out, err


def kept_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.nbc"))


def test_a_read_only_install_without_a_home_plays(tmp_path: Path) -> None:
    install, temporary = tmp_path / "install", tmp_path / "tmp"
    temporary.mkdir()
    shutil.copytree(PACKAGE, install / "zelkova", ignore=shutil.ignore_patterns("__pycache__"))
    for folder, _, _ in os.walk(install):
        os.chmod(folder, 0o555)
    try:
        # Two at once on an empty cache, then one on the full one.
        both = [start(PLAY_ONE_GAME, install, temporary) for _ in range(2)]
        assert [finish(process) for process in both] == [("played to the end\n", "")] * 2
        assert kept_files(temporary)
        assert not list(install.rglob("*.nbc"))
        assert finish(start(PLAY_ONE_GAME, install, temporary)) == ("played to the end\n", "")
    finally:
        for folder, _, _ in os.walk(install):
            os.chmod(folder, 0o755)


def test_an_archive_plays_with_one_warning(tmp_path: Path) -> None:
    archive = tmp_path / "zelkova.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for path in PACKAGE.rglob("*"):
            if path.suffix in (".py", ".toml"):
                packed.write(path, path.relative_to(PACKAGE.parent))
    out, err = finish(start(PLAY_ONE_GAME, archive, tmp_path))
    assert out == "played to the end\n"
    assert err.count("compiled code is not kept") == 1


def test_where_nothing_can_be_written_caching_is_off(tmp_path: Path) -> None:
    code = """
import warnings
from zelkova import compile_cache
compile_cache._candidates = lambda: iter(())
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert compile_cache.choose_place("1") is None
assert len(caught) == 1 and "NUMBA_CACHE_DIR" in str(caught[0].message)
import numba
double = numba.njit(cache=True)(lambda x: 2 * x)
triple = numba.cfunc("int64(int64)", cache=True)(lambda x: 3 * x)
print(double(3), triple.ctypes(3))
"""
    assert finish(start(code, PACKAGE.parent, tmp_path))[0] == "6 9\n"


def test_the_chosen_folder_reaches_numba_and_child_processes(tmp_path: Path) -> None:
    code = """
import numba, os, subprocess, sys, zelkova
print(numba.config.CACHE_DIR)
child = "import os, zelkova; print(os.environ['NUMBA_CACHE_DIR'])"
print(subprocess.run([sys.executable, "-c", child], capture_output=True, text=True).stdout, end="")
"""
    out, _ = finish(start(code, PACKAGE.parent, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "mine")))
    first, second = out.splitlines()
    assert first == second
    assert Path(first).parent == tmp_path / "mine"


def test_places_are_tried_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "given"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path))
    found = list(compile_cache._candidates())
    assert found[:3] == [tmp_path / "given", tmp_path / "xdg" / "zelkova", tmp_path / ".cache" / "zelkova"]
    assert len(found) == 4


def test_folders_of_old_sources_are_forgotten_after_a_month(tmp_path: Path) -> None:
    names = ["zelkova-numba-old", "zelkova-numba-new", "zelkova-numba-mine", "another"]
    for name in names:
        (tmp_path / name).mkdir()
    for name in ("zelkova-numba-old", "zelkova-numba-mine", "another"):
        os.utime(tmp_path / name, (1e9, 1e9))
    compile_cache._forget_old(tmp_path / "zelkova-numba-mine")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names[1:])


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    place = tmp_path / "parent" / "place"
    assert compile_cache._is_private_and_writable(place)
    assert place.stat().st_mode & 0o777 == 0o700
    place.chmod(mode)
    assert not compile_cache._is_private_and_writable(place)
    place.chmod(0o700)
    place.parent.chmod(mode)
    assert not compile_cache._is_private_and_writable(place)


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "place"
    place.mkdir(mode=0o700)
    if os.getuid() == 0:
        os.chown(place, 65534, 65534)
    else:
        monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert not compile_cache._is_private_and_writable(place)


def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert not compile_cache._is_private_and_writable(tmp_path / "link")


def test_a_change_in_a_compiling_room_gets_a_new_folder(tmp_path: Path) -> None:
    for room, text in (("games", "import numba"), ("cli", "import typer")):
        (tmp_path / room).mkdir()
        (tmp_path / room / "first.py").write_text(text)
        (tmp_path / room / "second.py").write_text("LIMIT = 1")
    before = compile_cache.source_digest(tmp_path, "1.0")
    (tmp_path / "cli" / "second.py").write_text("LIMIT = 2")
    assert compile_cache.source_digest(tmp_path, "1.0") == before
    (tmp_path / "games" / "second.py").write_text("LIMIT = 2")
    assert compile_cache.source_digest(tmp_path, "1.0") != before
    assert compile_cache.source_digest(tmp_path, "1.1") != compile_cache.source_digest(tmp_path, "1.0")
