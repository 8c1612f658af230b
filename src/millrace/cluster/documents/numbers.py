"""Metrics and accumulators as they are shown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MetricDocument:
    """One metric with its value."""

    name: str
    """as Flink names it, the operator before it where it is one of an operator: ``Map.numRecordsIn``"""
    value: float | int | str | None
    kind: str = "gauge"
    """counter, meter, gauge or histogram"""


@dataclass(frozen=True)
class AccumulatorDocument:
    """One accumulator of the user."""

    name: str
    type: str
    value: str
