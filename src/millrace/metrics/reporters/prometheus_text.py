"""Metrics in Prometheus' text format."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from millrace.metrics.reporters.reported import ReportedMetric
from millrace.metrics.reporters.values import number
from millrace.metrics.snapshot import (
    PERCENTILES,
    CounterSnapshot,
    DistributionSnapshot,
    GaugeSnapshot,
    HistogramSnapshot,
    MeterSnapshot,
    MetricSnapshot,
)

__all__ = ["CONTENT_TYPE", "Families", "only_valid"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PREFIX = "flink_"
"""Flink's, so that dashboards and alerts stay as they are"""
_INVALID = re.compile(r"[^a-zA-Z0-9:_]")
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})

Labels = dict[str, str]


@lru_cache(4096)  # most are in every report
def only_valid(text: str) -> str:
    """A text with ``_`` for each character that names of metrics may not have."""
    return _INVALID.sub("_", text)


@dataclass
class _Family:
    """All metrics of one name."""

    type: str
    help: str
    lines: dict[tuple[str, tuple[tuple[str, str], ...]], str] = field(default_factory=dict)
    """suffix and labels -> line; of two that are the same for Prometheus the first counts"""


class Families:
    """The metrics of one or several jobs, by name.

    A gauge that is no number is left out; so is a metric whose name belongs to others of another type, or two of whose
    variables have the same name as labels.
    """

    def __init__(self) -> None:
        self._families: dict[str, _Family] = {}

    def add(self, metrics: Iterable[ReportedMetric], filter_values: bool = True) -> None:
        """:param filter_values: values of labels, too, have letters, digits, ``:`` and ``_`` only."""
        for metric in metrics:
            labels = _labels(metric, filter_values)
            if labels is not None:
                self._add(metric, labels)

    def _add(self, metric: ReportedMetric, labels: Labels) -> None:
        name = PREFIX + metric.logical("_", only_valid)
        type = "summary" if metric.type == "histogram" else "gauge"
        scope = "_".join(map(only_valid, metric.scope))
        family = self._families.setdefault(name, _Family(type, f"{metric.name} (scope: {scope})"))
        if family.type != type:
            return
        for suffix, more, value in _samples(metric.value):
            key = (suffix, tuple(sorted((labels | more).items())))
            family.lines.setdefault(key, f"{name}{suffix}{_written(labels | more)} {_text(value)}")

    def text(self) -> str:
        """All of them in the format."""
        return "".join(_lines(name, family) for name, family in self._families.items() if family.lines)


def _lines(name: str, family: _Family) -> str:
    help = family.help.replace("\\", r"\\").replace("\n", r"\n")
    return "\n".join((f"# HELP {name} {help}", f"# TYPE {name} {family.type}", *family.lines.values(), ""))


def _labels(metric: ReportedMetric, filter_values: bool) -> Labels | None:
    labels: Labels = {}
    for key, value in metric.variables.items():
        label = re.sub(r"^(?=\d)", "_", only_valid(key).replace(":", "_")) or "_"
        if label in labels:
            return None
        labels[label] = only_valid(value) if filter_values else value
    return labels


def _samples(value: MetricSnapshot) -> Iterator[tuple[str, Labels, int | float]]:
    if isinstance(value, CounterSnapshot):
        yield "", {}, value.count
    elif isinstance(value, MeterSnapshot):
        yield "", {}, value.rate
    elif isinstance(value, GaugeSnapshot):
        found = number(value.value)
        if found is not None:
            yield "", {}, found
    elif isinstance(value, HistogramSnapshot):
        for part in PERCENTILES:
            yield "", {"quantile": str(part)}, value.quantile(part)
        yield "_count", {}, value.count
    else:
        yield from _of_distribution(value)


def _of_distribution(value: DistributionSnapshot) -> Iterator[tuple[str, Labels, int | float]]:
    """A summary: the smallest and the largest value are its quantiles 0 and 1."""
    if value.min is not None and value.max is not None:
        yield "", {"quantile": "0.0"}, value.min
        yield "", {"quantile": "1.0"}, value.max
    yield "_sum", {}, value.sum
    yield "_count", {}, value.count


def _written(labels: Labels) -> str:
    inner = ",".join(f'{key}="{value.translate(_ESCAPES)}"' for key, value in labels.items())
    return f"{{{inner}}}" if inner else ""


def _text(value: int | float) -> str:
    found = number(value)
    if found is None or math.isnan(found):
        return "NaN"
    if math.isinf(found):
        return "+Inf" if found > 0 else "-Inf"
    return repr(found)
