"""Metrics as the REST API names them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from millrace.cluster.documents.numbers import AccumulatorDocument, MetricDocument
from millrace.common.accumulators import Accumulator
from millrace.metrics.report import MetricEntry, MetricsReport
from millrace.metrics.snapshot import (
    CounterSnapshot,
    DistributionSnapshot,
    HistogramSnapshot,
    MeterSnapshot,
    MetricSnapshot,
)

_INVALID = re.compile(r"[ .:,]")
"""What Flink's REST API replaces in the parts of a name."""
NUMBERS = (int, float)


def job_metrics(report: MetricsReport) -> tuple[MetricDocument, ...]:
    """Those of the job itself."""
    return tuple(document for entry in _of_job(report) for document in _named(entry, ""))


def _of_job(report: MetricsReport) -> Iterator[MetricEntry]:
    return (entry for entry in report if entry.operator is None and entry.vertex is None)


def subtask_metrics(report: MetricsReport) -> Mapping[tuple[str, int], list[MetricDocument]]:
    """(uid of an operator, subtask) -> its metrics, with the operator's name before each."""
    found: dict[tuple[str, int], list[MetricDocument]] = {}
    for entry in report:
        if entry.operator is not None and entry.uid is not None and entry.subtask is not None:
            prefix = f"{_INVALID.sub('_', entry.operator)}."
            found.setdefault((entry.uid, entry.subtask), []).extend(_named(entry, prefix))
    return found


def _named(entry: MetricEntry, prefix: str) -> Iterable[MetricDocument]:
    name = prefix + ".".join(_INVALID.sub("_", part) for part in entry.path)
    return documents(name, entry.value)


def documents(name: str, value: MetricSnapshot) -> Iterator[MetricDocument]:
    """A metric as Flink shows it: a distribution is several numbers."""
    if isinstance(value, CounterSnapshot):
        yield MetricDocument(name, value.count, "counter")
    elif isinstance(value, MeterSnapshot):
        yield MetricDocument(name, value.rate, "meter")
    elif isinstance(value, DistributionSnapshot):
        parts = {"count": value.count, "sum": value.sum, "min": value.min, "max": value.max, "mean": value.mean}
        for part, number in parts.items():
            yield MetricDocument(f"{name}_{part}", number, "histogram")
    elif isinstance(value, HistogramSnapshot):
        for part, number in value.statistics().items():
            yield MetricDocument(f"{name}_{part}", number, "histogram")
    else:
        shown = value.value
        plain = shown if shown is None or isinstance(shown, (*NUMBERS, str)) else str(shown)
        yield MetricDocument(name, plain, "gauge")


def accumulator_documents(accumulators: Mapping[str, Accumulator[Any, Any]]) -> tuple[AccumulatorDocument, ...]:
    """Accumulators as they are shown."""
    return tuple(
        AccumulatorDocument(name, type(accumulator).__name__, str(accumulator.get_local_value()))
        for name, accumulator in accumulators.items()
    )
