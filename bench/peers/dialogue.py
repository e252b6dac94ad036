"""How a peer is asked for its speed: a task a line in, an answer a line out, as JSON.

`zelkova bench` starts a script with `--serve` and takes turns with it, so that whatever slows the
machine slows both. Without `--serve` a script measures its examples and prints a list of records.
Rates count this process's CPU seconds, and the process keeps to one core.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

Params = dict[str, Any]


class Job(NamedTuple):
    """Something to measure: `work` does some of it and returns how much; the first call may compile."""

    work: Callable[[], int]
    settings: str  # at which the peer is at its best


Prepare = Callable[[Params], Job | None]


class Peer(NamedTuple):
    """A program to compare with."""

    name: str
    version: str
    prepare: dict[str, Prepare]  # by the figure's name; None where the peer can't do what is asked
    examples: list[tuple[str, Params]]


def keep_to_one_core() -> None:
    """Keep this process and its threads on one core; call it before a library starts its threads."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def measure(work: Callable[[], int], seconds: float) -> float:
    """Give the amount of work in a CPU second, measured over `seconds` and once at least."""
    done, start, spent = 0, time.process_time(), 0.0
    while spent < seconds or done == 0:
        done += work()
        spent = time.process_time() - start
    return done / spent


def answer(peer: Peer, jobs: dict[str, Job | None], task: dict[str, Any]) -> dict[str, Any]:
    """Measure one task; what was prepared for it stays ready for the next time."""
    key = json.dumps([task["name"], task["params"]], sort_keys=True)
    if key not in jobs:
        prepare = peer.prepare.get(task["name"])
        job = jobs[key] = None if prepare is None else prepare(task["params"])
        if job is not None:
            job.work()
    job = jobs[key]
    if job is None:
        return {"value": None}
    return {"value": measure(job.work, float(task["seconds"])), "settings": job.settings}


def main(peer: Peer) -> None:
    """Serve tasks from stdin, or measure the examples."""
    parser = argparse.ArgumentParser(description=f"The speed of {peer.name} {peer.version}.")
    parser.add_argument("--serve", action="store_true", help="answer tasks from stdin, a line each")
    parser.add_argument("--seconds", type=float, default=1.0, help="CPU seconds a figure, without --serve")
    given = parser.parse_args()
    out, sys.stdout = sys.stdout, sys.stderr  # libraries that talk don't disturb the dialogue
    jobs: dict[str, Job | None] = {}
    if given.serve:
        print(json.dumps({"peer": peer.name, "version": peer.version}), file=out, flush=True)
        for line in sys.stdin:
            print(json.dumps(answer(peer, jobs, json.loads(line))), file=out, flush=True)
        return
    records = []
    for name, params in peer.examples:
        found = answer(peer, jobs, {"name": name, "params": params, "seconds": given.seconds})
        if found["value"] is not None:
            where = {**params, "peer": peer.name, "settings": found["settings"]}
            records.append({"name": name, "value": found["value"], "params": where})
    print(json.dumps(records, indent=1), file=out)
