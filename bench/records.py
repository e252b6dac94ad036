"""What the scripts of this folder share: records, rates, the process' memory, and how a script ends."""

import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

from zelkova.networks.weights import write_atomically

Record = dict[str, Any]
STATUS = Path("/proc/self/status")


def say(text: str) -> None:
    """Tell a person how far it is."""
    print(text, file=sys.stderr, flush=True)


def record(name: str, value: float, **params: Any) -> Record:
    """Make a record and show it."""
    say(f"{name:32} {value:14,.4g}  " + " ".join(f"{key}={word}" for key, word in params.items()))
    return {"name": name, "value": value, "params": params}


def wait(device: str) -> None:
    """Wait until the device has done all that it was given."""
    if device != "cpu":
        torch.cuda.synchronize()


def rate(
    work: Callable[[], int], seconds: float, device: str, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Give the work done in a second, of wall time or of another clock, after one call that may compile."""
    work()
    wait(device)
    done, start = 0, clock()
    while clock() - start < seconds:
        done += work()
        wait(device)
    return done / (clock() - start)


def resident_mb() -> float:
    """Give the memory that this process holds, in MB.

    Raises:
        OSError: the system does not tell it (Linux does).
    """
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def refuse_without_gpu(option: str) -> bool:
    """Say that there is no GPU where there is none, and how to run without; give whether there is none."""
    if torch.cuda.is_available():
        return False
    say(
        f"error: PyTorch {torch.__version__} (CUDA {torch.version.cuda or 'not built in'}) sees no GPU;"
        f" run it on a machine with one, or with {option} on the CPU"
    )
    return True


def finish(sections: Iterable[Iterable[Record]], path: Path | None, wrong: list[str]) -> int:
    """Run every section, write the records as a JSON list to stdout, and give the exit code.

    Args:
        sections: of records, made as they are asked for.
        path: written after each section too, so that what was measured is kept.
        wrong: what the sections found to be wrong, filled by them; the exit code is 1 where anything is.
    """
    start = time.monotonic()
    records: list[Record] = []
    for section in sections:
        records += section
        if path is not None:
            write_atomically(path, (json.dumps(records, indent=1) + "\n").encode())
    print(json.dumps(records, indent=1), flush=True)
    say(f"done in {time.monotonic() - start:.0f} s")
    for line in wrong:
        say(f"wrong: {line}")
    return 1 if wrong else 0
