"""Metrics as a user registers them: counters, meters, distributions, gauges, in groups.

They live in the memory of one copy of a task. Snapshots leave it: plain numbers, picklable, from which another copy
continues (``MetricGroup.restore``).
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from numbers import Number as AnyNumber
from typing import Any, ClassVar, NamedTuple, TypeVar

from millrace.metrics.report import CounterSnapshot, DistributionSnapshot, GaugeSnapshot, MeterSnapshot, MetricSnapshot

__all__ = ["MetricGroup", "Metric", "Counter", "Meter", "Distribution", "Gauge", "Measured"]

Number = int | float

M = TypeVar("M", bound="Metric")


class Metric(ABC):
    """A measured value.

    >>> isinstance(MetricGroup().counter("seen"), Metric)
    True
    """

    kind: ClassVar[str] = "metric"

    @abstractmethod
    def snapshot(self) -> MetricSnapshot:
        """The current numbers."""

    @abstractmethod
    def restore(self, snapshot: Any) -> None:
        """Continue from a snapshot of this kind of metric."""


class Counter(Metric):
    """Counts up and down.

    >>> counter = MetricGroup().counter("seen")
    >>> counter.inc()
    >>> counter.dec(3)
    >>> counter.get_count()
    -2
    """

    kind = "counter"

    def __init__(self) -> None:
        self._count = 0

    def inc(self, n: int = 1) -> None:
        """Add ``n``."""
        self._count += n

    def dec(self, n: int = 1) -> None:
        """Take ``n`` away."""
        self._count -= n

    def get_count(self) -> int:
        """The current count."""
        return self._count

    def snapshot(self) -> CounterSnapshot:
        return CounterSnapshot(self._count)

    def restore(self, snapshot: CounterSnapshot) -> None:
        self._count = snapshot.count


class Meter(Metric):
    """Counts events and measures their rate.

        >>> meter = MetricGroup().meter("per_second")
        >>> meter.mark_event(5)
        >>> meter.get_count()
        5

    :param time_span_in_seconds: time over which the rate is averaged (s).
    :param clock: seconds since the epoch: other processes and the driver continue with its time slots.
    :raises ValueError: a time span that is not positive.
    """

    kind = "meter"
    _SLOTS = 60

    def __init__(self, time_span_in_seconds: int = 60, clock: Callable[[], float] = time.time) -> None:
        if time_span_in_seconds <= 0:
            raise ValueError(f"The time span of a meter must be positive, not {time_span_in_seconds}")
        self._span = time_span_in_seconds
        self._slot_seconds = time_span_in_seconds / self._SLOTS
        self._clock = clock
        self._count = 0
        self._in_span = 0
        # Events by slot of time, so that the memory does not grow with their number.
        self._slots: deque[list[int]] = deque()

    def mark_event(self, value: int = 1) -> None:
        """``value`` events have just happened."""
        now = self._forget_old()
        self._count += value
        self._in_span += value
        if self._slots and self._slots[-1][0] >= now:  # clocks of several machines differ a little
            self._slots[-1][1] += value
        else:
            self._slots.append([now, value])

    def get_count(self) -> int:
        """How many events there have been."""
        return self._count

    def get_rate(self) -> float:
        """Events per second, averaged over the time span."""
        self._forget_old()
        return self._in_span / self._span

    def snapshot(self) -> MeterSnapshot:
        return MeterSnapshot(self._count, self.get_rate(), self._span, tuple((at, n) for at, n in self._slots))

    def restore(self, snapshot: MeterSnapshot) -> None:
        self._count = snapshot.count
        self._slots = deque([at, events] for at, events in snapshot.events)
        self._in_span = sum(events for _, events in snapshot.events)

    def _forget_old(self) -> int:
        now = int(self._clock() / self._slot_seconds)
        while self._slots and self._slots[0][0] <= now - self._SLOTS:
            self._in_span -= self._slots.popleft()[1]
        return now


class Distribution(Metric):
    """Count, sum, minimum and maximum of the values of a variable.

    >>> sizes = MetricGroup().distribution("sizes")
    >>> sizes.update(3)
    >>> sizes.update(5)
    >>> sizes.get_mean()
    4.0
    """

    kind = "distribution"

    def __init__(self) -> None:
        self._count = 0
        self._sum: Number = 0
        self._min: Number | None = None
        self._max: Number | None = None

    def update(self, value: Number) -> None:
        """The variable has had this value."""
        self._count += 1
        self._sum += value
        if self._min is None or value < self._min:
            self._min = value
        if self._max is None or value > self._max:
            self._max = value

    def get_count(self) -> int:
        """How many values there were."""
        return self._count

    def get_sum(self) -> Number:
        """Their sum."""
        return self._sum

    def get_min(self) -> Number | None:
        """The smallest, None if there were none."""
        return self._min

    def get_max(self) -> Number | None:
        """The largest, None if there were none."""
        return self._max

    def get_mean(self) -> float | None:
        """Their average, None if there were none."""
        return self._sum / self._count if self._count else None

    def snapshot(self) -> DistributionSnapshot:
        return DistributionSnapshot(self._count, self._sum, self._min, self._max)

    def restore(self, snapshot: DistributionSnapshot) -> None:
        self._count, self._sum = snapshot.count, snapshot.sum
        self._min, self._max = snapshot.min, snapshot.max


class Gauge(Metric):
    """A value that is asked for when it is needed.

    >>> gauge = Gauge(lambda: 7)
    >>> gauge.get_value()
    7
    """

    kind = "gauge"

    def __init__(self, obj: Callable[[], Any]) -> None:
        self._obj = obj

    def get_value(self) -> Any:
        """The current value."""
        return self._obj()

    def snapshot(self) -> GaugeSnapshot:
        """A snapshot of the gauge's value: numbers and text unchanged, other values as text. An error becomes text,
        too, since a metric must not fail a job."""
        try:
            value = self._obj()
            return GaugeSnapshot(value if isinstance(value, (AnyNumber, str, type(None))) else str(value))
        except Exception as error:
            return GaugeSnapshot(f"{type(error).__name__}: {error}")

    def restore(self, snapshot: GaugeSnapshot) -> None:
        value = snapshot.value
        self._obj = lambda: value


class Measured(NamedTuple):
    """One metric of a group or of a group in it, at one moment."""

    path: tuple[str, ...]
    """the groups from the root down, then the metric's name"""
    variables: dict[str, str]
    value: MetricSnapshot

    @property
    def identifier(self) -> str:
        """The path, joined by dots."""
        return ".".join(self.path)


class MetricGroup:
    """A named set of metrics and of further groups.

    Registering a name again gives the metric that is there (a gauge is replaced), so that a function whose ``open``
    runs in every epoch continues to count.

        >>> class Counted(MapFunction):
        ...     def open(self, runtime_context):
        ...         self.seen = runtime_context.get_metrics_group().add_group("shop").counter("seen")
        ...     def map(self, value):
        ...         self.seen.inc()
        ...         return value
        >>> list(env.from_collection(["a"]).map(Counted()).execute_and_collect())
        ['a']

    :param scope: the names from the root down to this group.
    :param variables: names and values set by ``add_group(key, value)`` on the way.
    :param clock: the time of its meters, in seconds since the epoch.
    """

    def __init__(
        self,
        scope: tuple[str, ...] = (),
        variables: dict[str, str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._scope = scope
        self._variables = dict(variables or {})
        self._clock = clock
        self._metrics: dict[str, Metric] = {}
        self._groups: dict[str, MetricGroup] = {}

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """The group ``name`` in this one, made if need be.

        With ``extra`` they are key and value: the group is ``extra`` in ``name``, and ``name`` becomes a variable.

            >>> MetricGroup().add_group("shop", "north").get_scope_components()
            ('shop', 'north')

        :raises ValueError: there is a metric of this name.
        """
        if extra is None:
            return self._group(name, {})
        return self._group(name, {})._group(extra, {name: extra})

    def counter(self, name: str) -> Counter:
        """The counter of this name; ValueError if the name is another kind of metric or a group.

        >>> counter = MetricGroup().counter("seen")
        >>> counter.inc(2)
        >>> counter.get_count()
        2
        """
        return self._register(name, Counter, Counter)

    def gauge(self, name: str, obj: Callable[[], Any]) -> None:
        """Ask ``obj`` for the value of ``name``; ValueError if the name is another kind of metric or a group."""
        if not callable(obj):
            raise TypeError(f"The gauge {name!r} needs a callable without parameters, not {obj!r}")
        gauge = Gauge(obj)
        self._register(name, Gauge, lambda: gauge)
        self._metrics[name] = gauge

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """The meter of this name; ValueError if the name is another kind of metric or a group."""
        return self._register(name, Meter, lambda: Meter(time_span_in_seconds, self._clock))

    def distribution(self, name: str) -> Distribution:
        """The distribution of this name; ValueError if the name is another kind of metric or a group."""
        return self._register(name, Distribution, Distribution)

    def get_scope_components(self) -> tuple[str, ...]:
        """The names from the root down to this group."""
        return self._scope

    def get_all_variables(self) -> dict[str, str]:
        """The variables of this group and of those above it."""
        return dict(self._variables)

    def get_metric_identifier(self, name: str) -> str:
        """``name`` with the scope before it, joined by dots."""
        return ".".join((*self._scope, name))

    def snapshot(self) -> dict[str, MetricSnapshot]:
        """The numbers of this group and all groups in it, by metric identifier.

        >>> group = MetricGroup()
        >>> group.counter("seen").inc(2)
        >>> len(list(group.snapshot()))
        1
        """
        return {measured.identifier: measured.value for measured in self.measured()}

    def measured(self) -> Iterator[Measured]:
        """The metrics of this group and all groups in it."""
        for name, metric in self._metrics.items():
            yield Measured((*self._scope, name), self.get_all_variables(), metric.snapshot())
        for group in self._groups.values():
            yield from group.measured()

    def restore(self, measured: Measured) -> None:
        """Continue from a metric that ``measured()`` of another copy of this root group returned; it is made here if
        need be."""
        group = self
        for name in measured.path[len(self._scope) : -1]:
            group = group._group(name, {})
        group._variables.update(measured.variables)
        group._registered(measured.path[-1], measured.value).restore(measured.value)

    def _registered(self, name: str, value: MetricSnapshot) -> Metric:
        if isinstance(value, CounterSnapshot):
            return self.counter(name)
        if isinstance(value, MeterSnapshot):
            return self.meter(name, value.span)
        if isinstance(value, DistributionSnapshot):
            return self.distribution(name)
        return self._register(name, Gauge, lambda: Gauge(lambda: None))

    def _group(self, name: str, variables: dict[str, str]) -> MetricGroup:
        if name in self._metrics:
            raise self._collision(name, "group")
        if name not in self._groups:
            self._groups[name] = MetricGroup((*self._scope, name), {**self._variables, **variables}, self._clock)
        self._groups[name]._variables.update(variables)
        return self._groups[name]

    def _register(self, name: str, kind: type[M], create: Callable[[], M]) -> M:
        if name not in self._metrics and name not in self._groups:
            self._metrics[name] = create()
        metric = self._metrics.get(name)
        if not isinstance(metric, kind):
            raise self._collision(name, kind.kind)
        return metric

    def _collision(self, name: str, wanted: str) -> ValueError:
        there = self._metrics[name].kind if name in self._metrics else "group"
        return ValueError(f"Cannot make {self.get_metric_identifier(name)!r} a {wanted}: it is a {there} already")
