"""Where a process that runs tasks is, and what it uses of the machine."""

from __future__ import annotations

import os
import re
import socket
import time
from functools import lru_cache
from pathlib import Path

from millrace.runtime.protocol.worker_report import WorkerReport

DRIVER = "driver"
"""What Spark calls the executor of a local master."""
RECENT_SECONDS = 0.1
_EXECUTOR = re.compile(rb"--executor-id\x00([^\x00]+)\x00")
_GENERATIONS = 6
"""How far above a task's process its executor is looked for: worker or owner, keeper, daemon, JVM."""
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def worker_report() -> WorkerReport:
    """This process, now."""
    host, executor = _place()
    return WorkerReport(host, executor, os.getpid(), memory(os.getpid()), int(time.process_time() * 1000))


class _Recent:
    """What was seen of this process last: a thousand tasks that end an epoch together need not look each."""

    def __init__(self) -> None:
        self._seen = 0.0, 0, WorkerReport("", "", 0, 0, 0)

    def __call__(self) -> WorkerReport:
        at, process, report = self._seen
        now = time.monotonic()
        if process != os.getpid() or now >= at + RECENT_SECONDS:
            report = worker_report()
            self._seen = now, os.getpid(), report
        return report


recent_report = _Recent()
"""This process, a moment ago at most."""


@lru_cache(maxsize=1)
def _place() -> tuple[str, str]:
    return socket.gethostname(), executor_above(os.getpid())


def executor_above(process: int) -> str:
    """The id of the executor whose JVM is above a process, as its command line tells it."""
    for _ in range(_GENERATIONS):
        try:
            found = _EXECUTOR.search(Path(f"/proc/{process}/cmdline").read_bytes())
            if found is not None:
                return found[1].decode()
            process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            break
        if process <= 1:
            break
    return DRIVER


def memory(process: int) -> int:
    """Bytes of memory that a process holds; -1: the system does not tell."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return -1
