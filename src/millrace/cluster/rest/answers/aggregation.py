"""Metrics of many things at once: the least, the greatest, the mean, the sum, and how unequal they are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypedDict

from millrace.cluster.rest.answers.metrics import Metrics, Value
from millrace.cluster.rest.answers.statistics import Number, number

AGGREGATIONS = ("min", "max", "avg", "sum", "skew")


class _Aggregated(TypedDict):
    id: str


class AggregatedMetric(_Aggregated, total=False):
    """A metric with the aggregates that were asked for; without any where only names were."""

    min: Number
    max: Number
    avg: Number
    sum: Number
    skew: Number


def aggregate(owners: Iterable[Metrics], wanted: Sequence[str], how: Sequence[str]) -> list[AggregatedMetric]:
    """All names, or aggregates of the metrics that are wanted, where they are numbers."""
    known = list(owners)
    if not wanted:
        return [{"id": name} for name in dict.fromkeys(name for metrics in known for name in metrics)]
    found: list[AggregatedMetric] = []
    for name in dict.fromkeys(wanted):
        values = [value for metrics in known if name in metrics for value in _number(metrics[name])]
        if values:
            found.append(_aggregate(name, values, how or AGGREGATIONS))
    return found


def _number(value: Value) -> list[float]:
    try:
        read = float(value)
    except ValueError:
        return []
    return [read]


def _aggregate(name: str, values: Sequence[float], how: Sequence[str]) -> AggregatedMetric:
    body: AggregatedMetric = {"id": name}
    total = math.fsum(value for value in values if math.isfinite(value))
    if any(not math.isfinite(value) for value in values):
        total = sum(values)
    if "min" in how:
        body["min"] = number(min(values))
    if "max" in how:
        body["max"] = number(max(values))
    if "avg" in how:
        body["avg"] = number(total / len(values))
    if "sum" in how:
        body["sum"] = number(total)
    if "skew" in how:
        body["skew"] = number(skew(values))
    return body


def skew(values: Sequence[float]) -> float:
    """The mean distance from the mean, in percent of the mean: 0 is even, 100 at most."""
    mean = sum(values) / len(values)
    if mean == 0:
        return 0.0
    distance = sum(abs(value - mean) for value in values) / len(values)
    return min(100.0, distance / mean * 100)
