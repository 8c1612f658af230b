"""The figures of a running job, and their text."""

from __future__ import annotations

import datetime
from collections import deque

from millrace.runtime.coordination.costs import SlowOperator
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP
from millrace.spark.jobs.listeners import left_out

RATE_SECONDS = 5.0
"""The time over which events are counted for events/s: one epoch alone would make the figure jump."""
_LAST_DATE_MS = int(datetime.datetime(9999, 1, 1, tzinfo=datetime.timezone.utc).timestamp() * 1000)


class Progress:
    """Counts what a job has done. Times are seconds of a monotonic clock."""

    def __init__(self, now: float) -> None:
        self._began = now
        self.records = 0
        self.skipped = 0
        """records that could not be read and are left out"""
        self.late = 0
        """records that came too late and are dropped"""
        self.jumps = 0
        """records that no watermark followed"""
        self.slow: SlowOperator | None = None
        """the operator that the job waits for"""
        self.epoch = 0
        self.watermark = MIN_TIMESTAMP
        self._steps: deque[tuple[float, int]] = deque([(now, 0)])

    def add(self, epoch: int, records: int, watermark: int, now: float) -> None:
        """An epoch is complete."""
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
        """What the live line shows; ``wall_ms`` is the time of day (ms since 1970)."""
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
        """What remains on the screen."""
        seconds = self.seconds(now)
        rate = self.records / seconds if seconds > 0 else 0.0
        records = "1 record" if self.records == 1 else f"{self.records:,} records"
        return f"{records} in {seconds:.1f} s ({rate:,.0f} events/s){left_out(self.skipped, self.late, self.jumps)}"


def watermark_text(watermark: int) -> str:
    """UTC time; "-" before the first watermark, "end" after the last."""
    if watermark >= MAX_WATERMARK:
        return "end"
    if watermark == MIN_TIMESTAMP:
        return "-"
    if not 0 <= watermark < _LAST_DATE_MS:
        return str(watermark)  # some other scale than ms since 1970
    moment = datetime.datetime.fromtimestamp(watermark / 1000, datetime.timezone.utc)
    return f"{moment:%Y-%m-%d %H:%M:%S}"


def lag_text(watermark: int, wall_ms: int) -> str:
    """How far the watermark is behind the time of day."""
    if not MIN_TIMESTAMP < watermark < MAX_WATERMARK:
        return "-"
    seconds = max(0.0, (wall_ms - watermark) / 1000)
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds // 86_400:,.0f} days" if seconds >= 2 * 86_400 else duration_text(seconds)


def duration_text(seconds: float) -> str:
    """h:mm:ss"""
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
