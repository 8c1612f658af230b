"""Metrics as plain numbers: what travels between copies of a task and to the driver. ``merge`` adds up the subtasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean, pstdev
from typing import Any, TypeAlias

__all__ = ["CounterSnapshot", "MeterSnapshot", "DistributionSnapshot", "GaugeSnapshot", "MetricSnapshot"]
__all__ += ["HistogramSnapshot", "PERCENTILES"]


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


PERCENTILES = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)
"""Those that Flink's histograms have."""


@dataclass(frozen=True)
class HistogramSnapshot:
    """The last values of something, sorted."""

    count: int
    """of all that there ever were"""
    values: tuple[float, ...]

    def quantile(self, part: float) -> float:
        """The value that so large a part of the others does not exceed; 0 without any."""
        values = self.values
        return values[min(int(part * len(values)), len(values) - 1)] if values else 0.0

    def statistics(self) -> dict[str, float]:
        """As Flink shows them: ``count``, ``min``, ``max``, ``mean``, ``stddev``, ``p50`` and others."""
        values = self.values
        found: dict[str, float] = {"count": self.count}
        if values:
            found |= {"min": values[0], "max": values[-1], "mean": fmean(values), "stddev": pstdev(values)}
        return found | {f"p{100 * part:g}".replace(".", ""): self.quantile(part) for part in PERCENTILES}

    def merge(self, other: HistogramSnapshot) -> HistogramSnapshot:
        return HistogramSnapshot(self.count + other.count, tuple(sorted((*self.values, *other.values))))


MetricSnapshot: TypeAlias = (
    CounterSnapshot | MeterSnapshot | DistributionSnapshot | GaugeSnapshot | HistogramSnapshot
)
