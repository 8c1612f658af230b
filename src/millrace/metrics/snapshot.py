"""Metrics as plain numbers: what travels between copies of a task and to the driver. ``merge`` adds up the subtasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = ["CounterSnapshot", "MeterSnapshot", "DistributionSnapshot", "GaugeSnapshot", "MetricSnapshot"]


@dataclass(frozen=True)
class CounterSnapshot:
    """A counter."""

    count: int

    def merge(self, other: CounterSnapshot) -> CounterSnapshot:
        return CounterSnapshot(self.count + other.count)


@dataclass(frozen=True)
class MeterSnapshot:
    """A meter; the rate is in events per second."""

    count: int
    rate: float
    span: int = field(default=60, compare=False, repr=False)
    """the rate is the average over so many seconds"""
    events: tuple[tuple[int, int], ...] = field(default=(), compare=False, repr=False)
    """(slot of time, events in it): what the rate is computed from"""

    def merge(self, other: MeterSnapshot) -> MeterSnapshot:
        return MeterSnapshot(self.count + other.count, self.rate + other.rate, self.span)


@dataclass(frozen=True)
class DistributionSnapshot:
    """A distribution; ``min`` and ``max`` are None without values."""

    count: int
    sum: int | float
    min: int | float | None
    max: int | float | None

    @property
    def mean(self) -> float | None:
        """None without values."""
        return self.sum / self.count if self.count else None

    def merge(self, other: DistributionSnapshot) -> DistributionSnapshot:
        lows = [low for low in (self.min, other.min) if low is not None]
        highs = [high for high in (self.max, other.max) if high is not None]
        return DistributionSnapshot(
            self.count + other.count, self.sum + other.sum, min(lows, default=None), max(highs, default=None)
        )


@dataclass(frozen=True)
class GaugeSnapshot:
    """A gauge; subtasks are not merged, since what their values mean together is not known."""

    value: Any


MetricSnapshot: TypeAlias = CounterSnapshot | MeterSnapshot | DistributionSnapshot | GaugeSnapshot
