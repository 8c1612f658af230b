"""Metrics as plain numbers: what travels from the tasks to the driver. ``merge`` adds up the subtasks."""

from __future__ import annotations

from dataclasses import dataclass
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

    def merge(self, other: MeterSnapshot) -> MeterSnapshot:
        return MeterSnapshot(self.count + other.count, self.rate + other.rate)


@dataclass(frozen=True)
class DistributionSnapshot:
    """A distribution; ``min`` and ``max`` are None without values."""

    count: int
    sum: int | float
    min: int | float | None
    max: int | float | None

    def merge(self, other: DistributionSnapshot) -> DistributionSnapshot:
        lows = [low for low in (self.min, other.min) if low is not None]
        highs = [high for high in (self.max, other.max) if high is not None]
        return DistributionSnapshot(
            self.count + other.count, self.sum + other.sum, min(lows, default=None), max(highs, default=None)
        )


@dataclass(frozen=True)
class GaugeSnapshot:
    """A gauge; subtasks are not merged, since nobody knows what their values mean together."""

    value: Any


MetricSnapshot: TypeAlias = CounterSnapshot | MeterSnapshot | DistributionSnapshot | GaugeSnapshot
