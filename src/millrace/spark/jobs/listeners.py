"""Listeners to running jobs: the protocol, its events, the plain listener, and the register of the listeners in use.

The terminal of ``millrace run`` is one listener; programs can register others.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from millrace.common.jobs import JobStatus
from millrace.runtime.coordination.coordinator import EpochResult
from millrace.runtime.coordination.figures import SlowOperator

logger = logging.getLogger("millrace")


@dataclass(frozen=True)
class JobStarted:
    """A job begins to run."""

    job_id: str
    name: str
    dashboard: str | None
    """address of Spark's dashboard"""
    log_file: str | None


@dataclass(frozen=True)
class EpochDone:
    """An epoch is complete and committed."""

    result: EpochResult
    duration_ms: int
    events_per_second: float
    skipped: int = 0
    """records that the sources could not read and have left out, since the job's beginning"""
    late: int = 0
    """records that came too late and were dropped, since the job's beginning"""
    slow: SlowOperator | None = None
    """the operator that the job waits for"""
    jumps: int = 0
    """records whose time was so far ahead that the watermark did not follow them"""


@dataclass(frozen=True)
class Late:
    """An epoch takes long."""

    name: str
    line: str
    """a line with the epoch, when it began, and the task that it waits for"""


@dataclass(frozen=True)
class Restarting:
    """A job has failed and will go on from its last complete epoch."""

    name: str
    error: str
    attempt: int
    """1 for the first restart"""
    delay_ms: int


@dataclass(frozen=True)
class Restored:
    """A job begins with the state of another one."""

    name: str
    path: str
    comparison: str
    """a table of the state that is restored, new and dropped"""


class JobListener(Protocol):
    """Is called on the thread that drives the job, which waits for each call, so calls must be quick."""

    def started(self, job: JobStarted) -> None: ...

    def epoch(self, epoch: EpochDone) -> None: ...

    def printed(self, lines: tuple[str, ...]) -> None:
        """Lines of ``print()`` sinks, once their epoch is complete."""

    def said(self, who: str, line: str) -> None:
        """A line that a function prints or logs: at once, on a thread of its own. ``who``: as "map (1/2)", or empty."""

    def late(self, late: Late) -> None:
        """Report that an epoch is late: on a thread of its own, every ten seconds."""

    def restarting(self, restarting: Restarting) -> None: ...

    def restored(self, restored: Restored) -> None: ...

    def ended(self, status: JobStatus) -> None: ...


def prefixed(who: str, line: str) -> str:
    """A line with its operator and subtask in front."""
    return f"[{who}] {line}" if who else line


def left_out(skipped: int, late: int, jumps: int = 0) -> str:
    """How many records are missing in the results, as the end of a sentence; empty if none is."""
    unread = f", {skipped:,} that could not be read left out" if skipped else ""
    dropped = f", {late:,} that came too late dropped" if late else ""
    return unread + dropped + (f", {jumps:,} from far in the future that no watermark followed" if jumps else "")


class PlainListener:
    """Prints what the program prints, nothing else; at the end it warns of records that were left out."""

    _name = ""
    _left_out = ""

    def started(self, job: JobStarted) -> None:
        self._name = job.name

    def epoch(self, epoch: EpochDone) -> None:
        self._left_out = left_out(epoch.skipped, epoch.late, epoch.jumps)

    def printed(self, lines: tuple[str, ...]) -> None:
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()

    def said(self, who: str, line: str) -> None:
        sys.stderr.write(f"{prefixed(who, line)}\n")
        sys.stderr.flush()

    def late(self, late: Late) -> None:
        logger.warning("job %r: %s", late.name, late.line)

    def restarting(self, restarting: Restarting) -> None:
        logger.warning(
            "job %r failed and restarts in %d ms (restart %d):%s%s",
            restarting.name,
            restarting.delay_ms,
            restarting.attempt,
            "\n" if "\n" in restarting.error else " ",
            restarting.error,
        )

    def restored(self, restored: Restored) -> None:
        logger.info("job %r goes on from %s:\n%s", restored.name, restored.path, restored.comparison)

    def ended(self, status: JobStatus) -> None:
        if self._left_out:
            logger.warning("job %r is %s%s", self._name, status.name, self._left_out)


_make_listener: Callable[[], JobListener] = PlainListener


def set_listener(listener: JobListener) -> None:
    """Replace the listener of all jobs that start from now on."""
    set_listener_factory(lambda: listener)


def set_listener_factory(factory: Callable[[], JobListener]) -> None:
    """Give every job that starts from now on a listener of its own."""
    global _make_listener
    _make_listener = factory


def get_listener() -> JobListener:
    """The listener for one job."""
    return _make_listener()


@contextmanager
def listened_by(factory: Callable[[], JobListener]) -> Iterator[None]:
    """Jobs that start inside have such listeners."""
    before = _make_listener
    set_listener_factory(factory)
    try:
        yield
    finally:
        set_listener_factory(before)
