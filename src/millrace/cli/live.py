"""The live display of ``millrace run``: job progress on a terminal; in a pipe only the output of print sinks."""

from __future__ import annotations

import datetime
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol, TypeAlias

from millrace.common.jobs import JobStatus
from millrace.runtime.coordination.figures import SlowOperator
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP
from millrace.spark.jobs.listeners import (
    EpochDone,
    JobListener,
    JobStarted,
    Late,
    PlainListener,
    Restarting,
    Restored,
    left_out,
    prefixed,
)

RATE_SECONDS = 5.0
"""Time over which events/s is averaged (s): a single epoch would make the figure jump."""
_LAST_DATE_MS = int(datetime.datetime(9999, 1, 1, tzinfo=datetime.timezone.utc).timestamp() * 1000)


class Progress:
    """Counts the progress of a job. Times are seconds of a monotonic clock."""

    def __init__(self, now: float) -> None:
        self._began = now
        self.records = 0
        self.skipped = 0
        """records that were skipped because they could not be parsed"""
        self.late = 0
        """records that were dropped as late"""
        self.jumps = 0
        """records whose timestamps no watermark followed"""
        self.slow: SlowOperator | None = None
        """the operator that the job waits for"""
        self.epoch = 0
        self.watermark = MIN_TIMESTAMP
        self._steps: deque[tuple[float, int]] = deque([(now, 0)])

    def add(self, epoch: int, records: int, watermark: int, now: float) -> None:
        """Add a completed epoch."""
        self.epoch, self.watermark = epoch, watermark
        self.records += records
        self._steps.append((now, self.records))

    def seconds(self, now: float) -> float:
        return now - self._began

    def rate(self, now: float) -> float:
        """Events/s of the last few seconds."""
        while len(self._steps) > 1 and now - self._steps[1][0] >= RATE_SECONDS:
            self._steps.popleft()
        since, before = self._steps[0]
        elapsed = now - since
        return (self.records - before) / elapsed if elapsed > 0 else 0.0

    def line(self, now: float, wall_ms: int) -> str:
        """The text of the live line; ``wall_ms`` is the time of day (ms since 1970)."""
        slow = self.slow
        return "  ".join(
            (
                f"{self.rate(now):,.0f} events/s",
                f"epoch {self.epoch}",
                f"watermark {watermark_text(self.watermark)}",
                f"lag {lag_text(self.watermark, wall_ms)}",
                *(() if slow is None else (f"waits for {slow.name}, {slow.millis:,.3g} ms a record",)),
                duration_text(self.seconds(now)),
            )
        )

    def summary(self, now: float) -> str:
        """The summary that remains after the job."""
        seconds = self.seconds(now)
        rate = self.records / seconds if seconds > 0 else 0.0
        records = "1 record" if self.records == 1 else f"{self.records:,} records"
        return f"{records} in {seconds:.1f} s ({rate:,.0f} events/s){left_out(self.skipped, self.late, self.jumps)}"


def watermark_text(watermark: int) -> str:
    """The watermark as UTC time; "-" before the first watermark, "end" after the last."""
    if watermark >= MAX_WATERMARK:
        return "end"
    if watermark == MIN_TIMESTAMP:
        return "-"
    if not 0 <= watermark < _LAST_DATE_MS:
        return str(watermark)  # some other scale than ms since 1970
    moment = datetime.datetime.fromtimestamp(watermark / 1000, datetime.timezone.utc)
    return f"{moment:%Y-%m-%d %H:%M:%S}"


def lag_text(watermark: int, wall_ms: int) -> str:
    """The distance of the watermark from the time of day."""
    if not MIN_TIMESTAMP < watermark < MAX_WATERMARK:
        return "-"
    seconds = max(0.0, (wall_ms - watermark) / 1000)
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds // 86_400:,.0f} days" if seconds >= 2 * 86_400 else duration_text(seconds)


def duration_text(seconds: float) -> str:
    """A duration as h:mm:ss."""
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


REFRESH_SECONDS = 0.25


class Screen(Protocol):
    """An output with one line that is replaced in place while others scroll: a terminal, the output of a notebook
    cell."""

    def show(self, line: str | None) -> None:
        """Replace the live line; None removes it."""

    def say(self, line: str) -> None:
        """Print a line that stays."""


Places: TypeAlias = tuple[str | None, str | None]
"""a session's dashboard and log"""


class JobWatch:
    """Makes a listener for each job, and remembers which logs have been named."""

    def __init__(
        self,
        screen: Screen | None,
        announce: Callable[[str], None] = lambda _: None,
        named: set[Places] | None = None,
    ) -> None:
        """:param announce: is called with the id of each job before the job starts, on the thread that drives it.
        :param named: dashboards and logs that have been printed before; those printed now are added.
        """
        self._screen = screen
        self._announce = announce
        self._named = set() if named is None else named
        self.log_file: str | None = None
        self.works = threading.Event()
        """set when a job has completed its first epoch"""

    def listener(self) -> JobListener:
        return PipeListener(self) if self._screen is None else LiveListener(self, self._screen)

    def started(self, job: JobStarted) -> None:
        """Print a session's dashboard and log, once for all of its jobs."""
        self._announce(job.job_id)
        self.log_file = job.log_file
        places = (job.dashboard, job.log_file)
        if self._screen is None or places in self._named:
            return
        self._named.add(places)
        named = [("Spark's dashboard", job.dashboard), ("log", job.log_file)]
        text = ", ".join(f"{what}: {place}" for what, place in named if place)
        if text:
            self._screen.say(text)


class PipeListener(PlainListener):
    """The listener in a pipe: prints the program's own output only."""

    def __init__(self, watch: JobWatch) -> None:
        self._watch = watch

    def started(self, job: JobStarted) -> None:
        super().started(job)
        self._watch.started(job)

    def epoch(self, epoch: EpochDone) -> None:
        super().epoch(epoch)
        self._watch.works.set()


class LiveListener(PlainListener):
    """The listener on a terminal: updates the live line while the job runs, and prints a summary when it has
    finished."""

    def __init__(
        self,
        watch: JobWatch,
        screen: Screen,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        refresh_seconds: float | None = REFRESH_SECONDS,
    ) -> None:
        """:param refresh_seconds: period of the live line's updates; None: it changes only when ``refresh`` is
        called."""
        self._watch = watch
        self._screen = screen
        self._clock = clock
        self._wall_clock = wall_clock
        self._refresh_seconds = refresh_seconds
        self._ended = threading.Event()
        # Epochs come on one thread and are shown by another.
        self._lock = threading.Lock()

    def started(self, job: JobStarted) -> None:
        self._name = job.name
        self._progress = Progress(self._clock())
        self._watch.started(job)
        self.refresh()
        if self._refresh_seconds is not None:
            threading.Thread(target=self._keep_fresh, args=(self._refresh_seconds,), daemon=True).start()

    def _keep_fresh(self, seconds: float) -> None:
        while not self._ended.wait(seconds):
            self.refresh()

    def refresh(self) -> None:
        """Show the current figures."""
        with self._lock:
            if not self._ended.is_set():
                self._screen.show(self._progress.line(self._clock(), int(self._wall_clock() * 1000)))

    def epoch(self, epoch: EpochDone) -> None:
        self._watch.works.set()
        result = epoch.result
        with self._lock:
            self._progress.add(result.epoch, result.records, result.watermark, self._clock())
            self._progress.skipped, self._progress.late, self._progress.jumps = epoch.skipped, epoch.late, epoch.jumps
            self._progress.slow = epoch.slow

    def said(self, who: str, line: str) -> None:
        self._screen.say(prefixed(who, line))

    def late(self, late: Late) -> None:
        self._screen.say(f"{late.name}: {late.line}")

    def restarting(self, restarting: Restarting) -> None:
        first = restarting.error.splitlines()[0]
        self._screen.say(
            f"{restarting.name} failed, restart {restarting.attempt} in {restarting.delay_ms / 1000:g} s: {first}"
        )

    def restored(self, restored: Restored) -> None:
        self._screen.say(f"{restored.name} goes on from {restored.path}:\n{restored.comparison}")

    def ended(self, status: JobStatus) -> None:
        with self._lock:
            self._ended.set()
            self._screen.show(None)
        if status is JobStatus.FINISHED:
            self._screen.say(f"{self._name} FINISHED: {self._progress.summary(self._clock())}")
