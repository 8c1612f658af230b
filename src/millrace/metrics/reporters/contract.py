"""What a reporter of metrics is: a class of your own extends ``MetricReporter``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from millrace.metrics.reporters.reported import ReportedMetric
from millrace.metrics.reporters.reporter_config import ReporterConfig

__all__ = ["MetricReporter", "PullReporter", "Read"]

Read = Callable[[], Sequence[ReportedMetric]]
"""gives the metrics as they are now"""


class MetricReporter(ABC):
    """Brings metrics to another system, every ``metrics.reporter.<name>.interval``.

    All methods of one reporter are called by one thread, which calls nothing else: it may wait for a network, and what
    it raises is logged and concerns neither the job nor other reporters.

        >>> class Lines(MetricReporter):
        ...     def report(self, metrics):
        ...         for metric in metrics:
        ...             print(metric.identifier, metric.value)
    """

    def open(self, config: ReporterConfig) -> None:
        """Called once, before anything is reported.

        :raises ValueError: the configuration is wrong. It fails the start of the job; any other error only means that
            this reporter does nothing.
        """

    @abstractmethod
    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        """Report the metrics, as of the last completed epoch. Called once more when the job is over."""

    def close(self) -> None:
        """Called once, after the last report."""


class PullReporter(MetricReporter):
    """A reporter that other systems ask: it reads the metrics when they do, and has no interval.

        >>> sorted(PullReporter.__abstractmethods__)
        ['serve']
    """

    @abstractmethod
    def serve(self, read: Read) -> None:
        """Begin to answer. ``read`` may be called by any thread until ``close``."""

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        """Nothing: other systems ask."""
