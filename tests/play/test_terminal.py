import io
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from zelkova.cli.main import main
from zelkova.play.terminal import LONGEST, is_live, read_lines

PLAY = [sys.executable, "-m", "zelkova", "play", "tic_tac_toe", "--seed", "1"]


def read(data: bytes) -> list[str]:
    return list(read_lines(io.TextIOWrapper(io.BytesIO(data), "utf-8")))


def test_lines_are_read_with_and_without_a_last_newline() -> None:
    assert read(b"a1\r\nb2\nplay b D") == ["a1", "b2", "play b D"]
    assert read(b"") == []


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert read(b"\xff\xfe4\n\xc3") == ["\ufffd\ufffd4", "\ufffd"]


def test_a_long_line_is_cut_and_the_next_one_is_whole() -> None:
    long, after = read(b"x" * (5 * LONGEST) + b"\nb2\n")
    assert long == "x" * LONGEST
    assert after == "b2"


def test_a_missing_or_closed_stream_is_at_its_end() -> None:
    closed = io.StringIO("a1\n")
    closed.close()
    assert list(read_lines(None)) == []
    assert list(read_lines(closed)) == []
    assert not is_live(None)
    assert not is_live(closed)


def test_a_prompt_is_asked_for_before_each_line() -> None:
    asked: list[int] = []
    lines = read_lines(io.StringIO("a\nb\n"), lambda: asked.append(1))
    assert list(lines) == ["a", "b"]
    assert len(asked) == 3


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Compile the rules and the opponent once, so that the others measure the second start."""
    subprocess.run(PLAY, input=b"b2\n", capture_output=True, check=True)


@pytest.mark.parametrize("redirection", ["</dev/null", "<&-", "< half", "< bytes"])
def test_play_ends_at_the_end_of_input(redirection: str, tmp_path: Path) -> None:
    # A program that asked questions died with a traceback, or looped, without a terminal: Torom/BotLi#85.
    (tmp_path / "half").write_bytes(b"play b D")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00\n" + b"9" * 1_000_000)
    done = subprocess.run(
        ["bash", "-c", '"$@" ' + redirection, "-", *PLAY],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "end of input; the game ends here"
    assert done.stderr == ""


def time_to_leave() -> tuple[float, float]:
    """Play a move, then half a line and the end of input; give the seconds from there to the process's end.

    Returns:
        by the wall clock, and of the processor.
    """
    with subprocess.Popen(
        PLAY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        before = os.times()
        for line in (b"b2\n", b"play b D"):
            while b"to move" not in process.stdout.readline():
                pass
            process.stdin.write(line)
            process.stdin.flush()
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        spent = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        start = time.monotonic()
        process.stdin.close()
        rest = process.stdout.read()
        assert process.wait(30) == 0
        seconds = time.monotonic() - start
        after = os.times()
        assert b"`play b D` is no cell; allowed: a1 to c3" in rest
        assert process.stderr.read() == b""
    whole = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, whole - spent


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads processor time from /proc")
def test_play_ends_within_a_second_of_the_end_of_its_input() -> None:
    seconds, processor = time_to_leave()
    assert processor < 0.6
    is_busy = os.getloadavg()[0] > 0.5 * (os.cpu_count() or 1)  # then the wall clock tells of the neighbours
    assert seconds < (20.0 if is_busy else 1.0)


def test_a_reader_that_goes_away_ends_play_quietly(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", 'yes board | "$@" | head -1', "-", *PLAY], capture_output=True, text=True, timeout=60
    )
    assert "Traceback" not in done.stderr
    assert done.stdout.count("\n") == 1


def test_a_narrow_encoding_and_no_colour() -> None:
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(PLAY, input=b"b2\nhelp\n", capture_output=True, env=env, timeout=60)
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert b"\x1b" not in done.stdout
    assert b"?" not in done.stdout.split(b"undo")[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["conect_four"], "did you mean `connect_four`?"),
        (["tic_tac_toe", "--agent", "randm"], "did you mean `random`?"),
        (["tic_tac_toe", "--agent", "uct:0"], "uct:N with N simulations"),
        (["tic_tac_toe", "--agent", "uct"], "hint: uct:1000"),
        (["tic_tac_toe", "--agent", "paranoid:x"], "such as paranoid:6"),
        (["tic_tac_toe", "--agent", "minmax"], "did you mean `minimax`?"),
        (["tic_tac_toe", "--seat", "3"], "known: 1, 2, none"),
        (["shogi3", "--seat", "1,bleu"], "did you mean `blue`"),
        (["connect_four", "--set", "game.hight=8"], "did you mean `height`?"),
        (["connect_four", "--set", "height=8"], "game.height=8"),
        (["connect_four", "--set", "game.height=800"], "allowed: 1 to 32"),
        (["nothing/here.py"], "no such game file"),
    ],
)
def test_what_is_unknown_is_answered_with_the_nearest(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["play", *arguments])
    said = capsys.readouterr()
    assert left.value.code == 2
    assert message in said.err
    assert said.err.startswith("error: ")
    assert said.out == ""


def test_interrupting_leaves_one_line() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)  # a background job ignores it, and its children too
    process = subprocess.Popen(PLAY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    signal.signal(signal.SIGINT, before)
    assert process.stdout is not None
    while b"to move" not in process.stdout.readline():
        pass
    time.sleep(0.2)
    process.send_signal(2)
    _, said = process.communicate(timeout=10)
    assert process.returncode == 130
    assert said == b"interrupted\n"


def test_on_a_terminal_there_is_a_prompt_and_control_d_leaves() -> None:
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm"}
    env.pop("NO_COLOR", None)
    process = subprocess.Popen(PLAY, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    seen = b""
    for typed in (b"b2\n", b"\x04"):
        while not seen.endswith(b"\r\n> "):
            seen += os.read(ours, 4096)
        os.write(ours, typed)
        seen += b"|"
    assert process.wait(10) == 0
    seen += os.read(ours, 4096)
    os.close(ours)
    assert b"player 2 plays" in seen
    assert b"\x1b[36mX" in seen
    assert b"end of input" in seen
