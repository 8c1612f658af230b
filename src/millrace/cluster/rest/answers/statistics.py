"""Statistics over a few numbers, computed as Flink computes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

Number = float | str
"""a number, or the text NaN: JSON has no such number"""


def number(value: float | None) -> Number:
    return "NaN" if value is None or value != value else float(value)


def percentile(ordered: Sequence[float], percent: float) -> float | None:
    """The percentile of numbers in order, between two of them if need be; None: there are no numbers."""
    if not ordered:
        return None
    place = percent * (len(ordered) + 1) / 100
    below = int(place)
    if below < 1:
        return ordered[0]
    if below >= len(ordered):
        return ordered[-1]
    return ordered[below - 1] + (place - below) * (ordered[below] - ordered[below - 1])


class Spread(TypedDict):
    """Of the subtasks of a vertex."""

    min: int
    max: int
    avg: int
    sum: int
    median: int
    p25: int
    p75: int
    p95: int


def spread(values: Sequence[float]) -> Spread:
    ordered = sorted(values)

    def at(percent: float) -> int:
        return int(percentile(ordered, percent) or 0)

    return {
        "min": int(ordered[0]) if ordered else 0,
        "max": int(ordered[-1]) if ordered else 0,
        "avg": int(sum(ordered) / len(ordered)) if ordered else 0,
        "sum": int(sum(ordered)),
        "median": at(50),
        "p25": at(25),
        "p75": at(75),
        "p95": at(95),
    }


class Summary(TypedDict):
    """Of several checkpoints."""

    min: int
    max: int
    avg: int
    p50: Number
    p90: Number
    p95: Number
    p99: Number
    p999: Number


def summary(values: Sequence[float], with_percentiles: bool = True) -> Summary:
    ordered = sorted(values)

    def at(percent: float) -> Number:
        return number(percentile(ordered, percent) if with_percentiles else None)

    return {
        "min": int(ordered[0]) if ordered else 0,
        "max": int(ordered[-1]) if ordered else 0,
        "avg": int(sum(ordered) / len(ordered)) if ordered else 0,
        "p50": at(50),
        "p90": at(90),
        "p95": at(95),
        "p99": at(99),
        "p999": at(99.9),
    }


NOTHING: Summary = {"min": 0, "max": 0, "avg": 0, "p50": 0.0, "p90": 0.0, "p95": 0.0, "p99": 0.0, "p999": 0.0}
"""of what does not exist here: buffers of aligned barriers"""
