"""What one operator's subtask counts: its metrics and accumulators.

Several copies of a subtask take turns (one per worker process). So that each goes on where the last one ended, what an
epoch changed is part of the task's state; what the driver shows is made from the reports of completed epochs only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from millrace.metrics.metricbase import Measured, MetricGroup
from millrace.metrics.snapshot import GaugeSnapshot
from millrace.runtime.context.accumulators import AccumulatorChange, Accumulators


@dataclass(frozen=True)
class MeasureState:
    """Metrics and accumulators on their way to another copy, or to the driver."""

    metrics: tuple[Measured, ...] = ()
    """as they are now, not as increments"""
    accumulators: dict[str, AccumulatorChange] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.metrics or self.accumulators)


class Measures:
    """The metrics and accumulators of a subtask, in one copy of it."""

    def __init__(self, clock: Callable[[], int]) -> None:
        """``clock``: processing time in ms."""
        self.metrics = MetricGroup(clock=lambda: clock() / 1000)
        self.accumulators = Accumulators()
        self._delta: MeasureState | None = None
        self._report: MeasureState | None = None
        self._counts: dict[tuple[str, ...], int] = {}
        self._reported = False

    def end_epoch(self) -> None:
        """Find what changed since the last call. Raises ``TypeError`` for an accumulator that can't be pickled."""
        measured = tuple(self.metrics.measured())
        gauges = tuple(metric for metric in measured if isinstance(metric.value, GaugeSnapshot))
        changed = tuple(metric for metric in measured if self._has_changed(metric))
        accumulators = self.accumulators.changes()
        self._delta = MeasureState(changed, accumulators) or None
        if self._reported:
            self._report = MeasureState((*changed, *gauges), accumulators) or None
        else:
            # The driver may be a new one that knows nothing of earlier epochs.
            self._report = MeasureState(measured, self.accumulators.full()) or None
            self._reported = True

    def delta(self) -> MeasureState | None:
        """What the last epoch changed, for the task's state; None for nothing."""
        return self._delta

    def report(self) -> MeasureState | None:
        """What the driver has to know after the last epoch; None for nothing."""
        return self._report

    def full(self) -> MeasureState | None:
        """Everything, for the task's whole state; None for nothing."""
        restorable = (metric for metric in self.metrics.measured() if not isinstance(metric.value, GaugeSnapshot))
        return MeasureState(tuple(restorable), self.accumulators.full()) or None

    def apply(self, state: MeasureState) -> None:
        """Do the changes of another copy."""
        for metric in state.metrics:
            self.metrics.restore(metric)
            self._has_changed(metric)
        self.accumulators.apply(state.accumulators)

    def _has_changed(self, metric: Measured) -> bool:
        """Every change of a counter, meter or distribution shows in its count."""
        if isinstance(metric.value, GaugeSnapshot):
            return False
        before = self._counts.get(metric.path)
        self._counts[metric.path] = metric.value.count
        return before != metric.value.count
