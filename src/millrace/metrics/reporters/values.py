"""The values of metrics as numbers, which is what most systems take."""

from __future__ import annotations

import decimal
import math
from numbers import Integral, Real
from typing import Any

from millrace.metrics.snapshot import (
    CounterSnapshot,
    DistributionSnapshot,
    GaugeSnapshot,
    HistogramSnapshot,
    MeterSnapshot,
    MetricSnapshot,
)

__all__ = ["finite", "number", "statistics", "suffixed"]


def number(value: Any) -> int | float | None:
    """A whole number or a float; true is 1; None for what is no number."""
    if isinstance(value, bool | Integral):
        return int(value)
    if isinstance(value, Real | decimal.Decimal):
        try:
            return float(value)
        except (OverflowError, ValueError):
            return None
    return None


def finite(value: Any) -> int | float | None:
    """The same, without infinities and what is not a number."""
    found = number(value)
    return found if found is not None and math.isfinite(found) else None


def statistics(value: DistributionSnapshot | HistogramSnapshot) -> dict[str, int | float]:
    """``count``, ``min``, ``max``, ``mean`` and more, as far as they are known: of a distribution the ``sum``, of a
    histogram ``stddev``, ``p50``, ``p75``, ``p95``, ``p98``, ``p99`` and ``p999``.
    """
    if isinstance(value, HistogramSnapshot):
        return value.statistics()
    found = {"count": value.count, "sum": value.sum, "min": value.min, "max": value.max, "mean": value.mean}
    return {name: part for name, part in found.items() if part is not None}


def suffixed(value: MetricSnapshot) -> dict[str, int | float]:
    """Suffix of the name -> number, for systems that know single numbers only. Nothing for what is no finite number."""
    if isinstance(value, CounterSnapshot):
        parts: dict[str, Any] = {"": value.count}
    elif isinstance(value, GaugeSnapshot):
        parts = {"": value.value}
    elif isinstance(value, MeterSnapshot):
        parts = {"rate": value.rate, "count": value.count}
    else:
        parts = dict(statistics(value))
    numbers = ((suffix, finite(part)) for suffix, part in parts.items())
    return {suffix: part for suffix, part in numbers if part is not None}
