"""The processor time of a program with all processes that it starts, and what two sides take beyond their start.

A machine that does other things, too, changes how long a program takes, but hardly how much processor time it needs.
Sides take turns, and each turn runs a program on next to nothing (its start) and on all; the difference counts.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

PR_SET_CHILD_SUBREAPER = 36
ORPHANS_SECONDS = 60
DEADLINE = 3_600
"""seconds for a run"""


@dataclass(frozen=True)
class Done:
    """A program that has ended well."""

    text: str
    """what it said"""
    processor: float
    """seconds of all its processes"""


@dataclass(frozen=True)
class Side:
    """Something that does the work of a benchmark for so many elements."""

    name: str
    run: Callable[[int], float]
    """elements -> seconds of processor time"""
    elements: int
    """of the large run"""


def adopt_orphans() -> None:
    """Processes whose parents have ended become this one's children, so that their time is counted."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def measured(command: list[str]) -> Done:
    """Run a program; call ``adopt_orphans`` once before.

    :raises RuntimeError: it fails.
    """
    # PyFlink starts whatever "python" it finds for its workers.
    path = os.pathsep.join([os.path.dirname(os.path.abspath(command[0])), os.environ["PATH"]])
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=DEADLINE, env={**os.environ, "PATH": path}
    )
    wait_for_orphans()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}")
    return Done(done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def wait_for_orphans() -> None:
    """Wait until all processes of the last run have ended."""
    until = time.monotonic() + ORPHANS_SECONDS
    while time.monotonic() < until:
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.1)
            continue
        return
    raise RuntimeError(f"processes of a run go on {ORPHANS_SECONDS} s after its end")


def compare(title: str, sides: list[Side], few: int, runs: int) -> Mapping[str, float]:
    """Let the sides take turns; prints and returns the microseconds of processor time that an element costs each of
    them, beyond a run on ``few``: medians of ``runs``. The first side is the one that others are compared with."""
    costs: dict[str, list[float]] = {side.name: [] for side in sides}
    for _ in range(runs):
        for side in sides:
            start = side.run(few)
            beyond = side.run(side.elements) - start
            costs[side.name].append(beyond / (side.elements - few) * 1e6)
            print(
                f"{title:18} {side.name:9} {side.elements:>10,} elements: {beyond:7.1f} s beyond a start of "
                f"{start:.1f} s, {costs[side.name][-1]:7.2f} us each",
                flush=True,
            )
    middle = {name: statistics.median(found) for name, found in costs.items()}
    first = sides[0].name
    for side in sides[1:]:
        ratio = middle[first] / middle[side.name] if middle[side.name] > 0 else float("inf")
        print(f"{title:18} {side.name}: {ratio:.1f} times as fast as {first}", flush=True)
    return middle


def told() -> str:
    """The last line: what machine this was."""
    return f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})"
