"""The reporter that writes to the log."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from millrace.metrics.reporters.contract import MetricReporter
from millrace.metrics.reporters.reported import ReportedMetric
from millrace.metrics.reporters.reporter_config import ReporterConfig
from millrace.metrics.reporters.values import statistics
from millrace.metrics.snapshot import CounterSnapshot, GaugeSnapshot, MeterSnapshot, MetricSnapshot

__all__ = ["LogReporter"]

logger = logging.getLogger("millrace.metrics")

_TITLES = {"counter": "Counters", "gauge": "Gauges", "meter": "Meters", "histogram": "Histograms"}


class LogReporter(MetricReporter):
    """Writes each report as one entry, of the level INFO, to the logger ``millrace.metrics``.

    Who asks for it wants to see it: a logger that nothing is configured for gets the level, and stderr.
    """

    def open(self, config: ReporterConfig) -> None:
        if logger.level == logging.NOTSET and not logger.isEnabledFor(logging.INFO):
            logger.setLevel(logging.INFO)
        if not logger.hasHandlers():
            logger.addHandler(logging.StreamHandler())

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        parts = ["metrics"]
        for type, title in _TITLES.items():
            lines = [
                f"{_one_line(metric.identifier())}: {_text(metric.value)}" for metric in metrics if metric.type == type
            ]
            if lines:
                parts += [f"-- {title} ".ljust(79, "-"), *lines]
        logger.info("%s", "\n".join(parts))


def _text(value: MetricSnapshot) -> str:
    if isinstance(value, CounterSnapshot):
        return str(value.count)
    if isinstance(value, MeterSnapshot):
        return f"{value.rate:g}/s, {value.count} in all"
    if isinstance(value, GaugeSnapshot):
        return _one_line(str(value.value))
    return ", ".join(f"{name}={part:g}" for name, part in statistics(value).items())


def _one_line(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n")
