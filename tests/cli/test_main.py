"""The program's frame: one clear message for each failure, the right exit code, never a traceback."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from zelkova.cli import boundary, main
from zelkova.errors import ConfigError


def run(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-m", "zelkova", *arguments],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
    )


def test_help_names_every_command() -> None:
    out = run("--help").stdout.decode()
    for name, what in main.COMMANDS.items():
        assert name in out
        assert what.split()[0] in out


@pytest.mark.parametrize("name", main.COMMANDS)
def test_every_command_has_its_help(name: str) -> None:
    done = run(name, "--help")
    assert done.returncode == 0
    assert b"Usage: zelkova " + name.encode() in done.stdout


def test_an_unknown_command_names_the_nearest() -> None:
    done = run("gaems")
    assert done.returncode == 2
    assert done.stdout == b""
    assert b"unknown command `gaems`" in done.stderr
    assert b"did you mean `games`" in done.stderr


def test_an_unknown_option_is_refused() -> None:
    done = run("games", "--colour")
    assert done.returncode == 2
    assert b"--colour" in done.stderr


def test_results_alone_stand_on_stdout() -> None:
    done = run("games")
    assert done.returncode == 0
    assert b"connect_four" in done.stdout
    assert b"next:" in done.stderr
    assert b"next:" not in done.stdout


@pytest.mark.parametrize("encoding", ["ascii", "cp437", "utf-8"])
def test_a_narrow_encoding_and_no_colour_are_no_trouble(encoding: str) -> None:
    for arguments in (["--help"], ["games"], ["nope·"]):
        done = run(*arguments, PYTHONIOENCODING=encoding, NO_COLOR="1", TERM="dumb")
        assert b"Traceback" not in done.stderr
        assert b"\x1b[" not in done.stdout + done.stderr


def test_a_closed_pipe_ends_quietly() -> None:
    code = "import sys; from zelkova.cli import boundary\nwith boundary.errors_as_messages():\n"
    code += "    for i in range(10**6): print(i)"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"0\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == boundary.PIPE_CLOSED


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_results_that_can_not_be_written_are_an_error() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([sys.executable, "-m", "zelkova", "games"], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == boundary.USER
    assert done.stderr.splitlines()[-1].startswith(b"error: No space left on device")


def test_closed_streams_are_no_trouble() -> None:
    command = f"{sys.executable} -m zelkova games <&- >&- 2>&-"
    assert subprocess.run(["sh", "-c", command], timeout=120).returncode == 0


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (ConfigError("[search]: no"), 2, "error: [search]: no\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (EOFError(), 2, "the input ended"),
        (
            OSError(errno.ENOSPC, "No space left on device", "runs/a"),
            2,
            "runs/a: No space left on device; free some",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", "runs/a"),
            2,
            "runs/a: Permission denied; choose a place",
        ),
        (OSError(errno.EROFS, "Read-only file system", "runs/a"), 2, "read-only: choose another place"),
        (OSError(errno.ENOSPC, "No space left on device"), 2, "error: No space left on device; free some"),
        (OSError("odd"), 1, "internal error: OSError: odd; set ZELKOVA_TRACEBACK=1"),
        (RuntimeError("two\nlines"), 1, "internal error: RuntimeError: two lines; set ZELKOVA_TRACEBACK=1"),
    ],
)
def test_a_failure_is_one_message(
    error: BaseException, code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left, boundary.errors_as_messages():
        raise error
    assert left.value.code == code
    said = capsys.readouterr()
    assert words in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_the_trace_is_shown_on_request(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZELKOVA_TRACEBACK", "1")
    with pytest.raises(SystemExit), boundary.errors_as_messages():
        raise RuntimeError("odd")
    assert "Traceback" in capsys.readouterr().err


def test_figures_are_records(tmp_path: "os.PathLike[str]") -> None:
    path = os.path.join(tmp_path, "figures.json")
    assert run("games", "--json", path).returncode == 0
    with open(path, encoding="utf-8") as file:
        records = json.load(file)
    assert {
        "name": "games/actions",
        "value": 7.0,
        "params": {"game": "connect_four", "players": 2},
    } in records
    done = run("games", "--json", os.path.join(tmp_path, "missing", "figures.json"))
    assert done.returncode == 2
    assert b"can't be written" in done.stderr
    assert done.stdout == b""


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["train", "hex", "--out", ""], "after `--out`"),
        (["train", "hex", "--out="], "`--out=`"),
        (["report", ""], "after `report`"),
    ],
)
def test_an_empty_argument_is_never_the_folder_one_is_in(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main.main(arguments)
    assert left.value.code == 2
    assert f"{named} is empty" in capsys.readouterr().err


@pytest.mark.parametrize("out", [["--out", "{}/one"], []])
def test_a_page_and_figures_need_a_file_each(
    out: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the page has its usual place, and however the file is spelt."""
    words = [word.format(tmp_path) for word in out]
    figures = tmp_path / "x" / ".." / ("one" if out else "report.html")
    with pytest.raises(SystemExit) as left:
        main.main(["report", str(tmp_path), *words, "--json", str(figures)])
    assert left.value.code == 2
    assert "--out and --json are both" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error", [MemoryError("1 PiB"), RuntimeError("DefaultCPUAllocator: can't allocate memory: 36 TB")]
)
def test_a_lack_of_memory_is_one_message(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left, boundary.errors_as_messages():
        raise error
    assert left.value.code == 2
    assert "not enough memory" in capsys.readouterr().err


def test_a_message_without_end_is_shortened(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit), boundary.errors_as_messages():
        raise ConfigError("a" * 100_000 + " is unknown")
    said = capsys.readouterr().err
    assert len(said) < 2 * boundary.LONGEST
    assert said.endswith("is unknown\n")
