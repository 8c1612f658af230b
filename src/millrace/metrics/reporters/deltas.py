"""What counters have counted since the last report that has arrived."""

from __future__ import annotations

from collections.abc import Iterable

from millrace.metrics.reporters.reported import ReportedMetric
from millrace.metrics.snapshot import CounterSnapshot, MeterSnapshot

__all__ = ["Deltas"]

_Key = tuple[tuple[str, ...], str | None, str | None, int | None]


class Deltas:
    """The counts of counters and meters as of the last report that has arrived.

    A report that has failed changes nothing, so that its counts are in the next one.
    """

    def __init__(self) -> None:
        self._known: dict[_Key, int] = {}

    def since(self, metric: ReportedMetric) -> int:
        """What has been counted since; less than nothing after a job that went back."""
        return _count(metric) - self._known.get(_key(metric), 0)

    def taken(self, metrics: Iterable[ReportedMetric]) -> None:
        """These have arrived."""
        for metric in metrics:
            if isinstance(metric.value, CounterSnapshot | MeterSnapshot):
                self._known[_key(metric)] = _count(metric)


def _count(metric: ReportedMetric) -> int:
    assert isinstance(metric.value, CounterSnapshot | MeterSnapshot)
    return metric.value.count


def _key(metric: ReportedMetric) -> _Key:
    entry = metric.entry
    return entry.path, entry.uid, entry.vertex, entry.subtask
