"""The interface of metric reporters: ``MetricReporter``, its options, and metrics as reporters see them.

Options are ``metrics.reporter.<name>.*``. A reporter sees names, variables and values as numbers; ``Deltas`` counts
what counters have added since the last successful report.
"""

from __future__ import annotations

import decimal
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus

from millrace.common.configuration import to_boolean, to_duration, to_int
from millrace.metrics.report import (
    CounterSnapshot,
    DistributionSnapshot,
    GaugeSnapshot,
    HistogramSnapshot,
    MeterSnapshot,
    MetricEntry,
    MetricSnapshot,
    ScopeFormats,
)
from millrace.util.secrets import HIDDEN, is_secret, mask_text

# A metric

Clean = Callable[[str], str]
"""removes characters from a part of a name that the target system does not accept"""


@dataclass(frozen=True)
class ReportedMetric:
    """One metric of one subtask, or of the job.

    >>> class Values(MetricReporter):
    ...     def report(self, metrics):
    ...         for metric in metrics:
    ...             print(metric.identifier, metric.type, metric.value)
    """

    entry: MetricEntry
    formats: ScopeFormats
    """formats of its identifier (``metrics.scope.*``), with the delimiter of the reporter"""
    variables: dict[str, str]
    """variables without brackets (``job_name``), without those that the reporter excludes, and with its additional
    ones"""

    @property
    def name(self) -> str:
        """The metric's name without any scope: ``numRecordsIn``."""
        return self.entry.path[-1]

    @property
    def value(self) -> MetricSnapshot:
        """The metric's value at the time of the report."""
        return self.entry.value

    @property
    def type(self) -> str:
        """The metric's type in filters: ``counter``, ``meter``, ``gauge`` or ``histogram`` (distributions, too).

        >>> class Counters(MetricReporter):
        ...     def report(self, metrics):
        ...         for metric in metrics:
        ...             if metric.type == "counter":
        ...                 print(metric.name, metric.value)
        """
        if isinstance(self.value, CounterSnapshot):
            return "counter"
        if isinstance(self.value, MeterSnapshot):
            return "meter"
        return "gauge" if isinstance(self.value, GaugeSnapshot) else "histogram"

    @cached_property
    def scope(self) -> tuple[str, ...]:
        """Flink's logical scope: the measured object, and the groups without the values of key-value groups.

        It is the same for all jobs: ``("taskmanager", "job", "task", "operator", "my_group")``.
        """
        return (*_kind(self.entry), *_groups(self.entry))

    def identifier(self, clean: Clean = str) -> str:
        """Flink's identifier: ``host.taskmanager.spark.my job.Map.0.my_group.my_counter``."""
        variables = {key: clean(value) for key, value in self.entry.variables.items()}
        path = tuple(map(clean, self.entry.path))
        return replace(self.entry, variables=variables, path=path).in_formats(self.formats)

    def logical(self, delimiter: str, clean: Clean = str) -> str:
        """The logical scope and the name: ``taskmanager_job_task_operator_numRecordsIn``."""
        return delimiter.join(map(clean, (*self.scope, self.name)))


def _kind(entry: MetricEntry) -> tuple[str, ...]:
    if entry.operator is not None:
        return ("taskmanager", "job", "task", "operator")
    if entry.vertex is not None:
        return ("taskmanager", "job", "task")
    job = ("job",) if "<job_name>" in entry.variables else ()
    return ("taskmanager" if "<tm_id>" in entry.variables else "jobmanager", *job)


def _groups(entry: MetricEntry) -> tuple[str, ...]:
    found: list[str] = []
    is_value = False
    for group, following in zip(entry.path[:-1], entry.path[1:]):
        if is_value:
            is_value = False
            continue
        found.append(group)
        is_value = entry.variables.get(f"<{group}>") == following
    return tuple(found)


# Options

T = TypeVar("T")
"""Type of an option."""


@dataclass(frozen=True)
class ReporterConfig:
    """The options of one reporter. Each ``get_*`` raises ``ValueError`` for a wrong value.

    >>> config = ReporterConfig("mine", {"host": "localhost", "port": "8125"})
    >>> config.get_string("host"), config.get_integer("port", 0)
    ('localhost', 8125)
    """

    name: str
    options: Mapping[str, str] = field(repr=False)
    """key without ``metrics.reporter.<name>.`` -> value"""
    interval: float = 10.0
    """seconds between two reports"""
    job_name: str = ""

    def get_string(self, key: str, default: str = "") -> str:
        """An option, or the default."""
        return self.options.get(key, default).strip()

    def get_boolean(self, key: str, default: bool) -> bool:
        """An option as a bool, or the default."""
        return self._converted(key, to_boolean, default)

    def get_integer(self, key: str, default: int) -> int:
        """An option as a whole number, or the default."""
        return self._converted(key, to_int, default)

    def get_seconds(self, key: str, default: float) -> float:
        """A duration in seconds; a number without a unit means milliseconds."""
        return self._converted(key, lambda value: to_duration(value).to_millis() / 1000, default)

    def get_required(self, key: str) -> str:
        """:raises ValueError: it is not set."""
        value = self.get_string(key)
        if not value:
            raise ValueError(f"{self.key(key)} is not set, and this reporter needs it")
        return value

    def get_choice(self, key: str, choices: tuple[str, ...]) -> str:
        """One of several words, in any case; the first is the default."""
        value = self.get_string(key, choices[0])
        for choice in choices:
            if choice.lower() == value.lower():
                return choice
        raise ValueError(f"{self.key(key)}: {value!r} is none of {', '.join(choices)}")

    def key(self, key: str) -> str:
        """The whole key of an option, for messages."""
        return f"metrics.reporter.{self.name}.{key}"

    def hidden(self, text: str) -> str:
        """A text in which all secrets of the reporter are masked."""
        for key, value in self.options.items():
            if value and is_secret(key):
                for spelling in _spellings(value):
                    text = text.replace(spelling, HIDDEN)
        return mask_text(text)

    def _converted(self, key: str, convert: Callable[[Any], T], default: T) -> T:
        value = self.get_string(key)
        if not value:
            return default
        try:
            return convert(value)
        except ValueError as error:
            raise ValueError(f"{self.key(key)}: {error}") from None


def _spellings(secret: str) -> list[str]:
    """The spellings of a secret in messages, the longest first."""
    plain = {secret, secret.strip()}
    found = {change(text) for text in plain for change in (str, quote, quote_plus, lambda text: repr(text)[1:-1])}
    return sorted(filter(None, found | {quote(text, "") for text in plain}), key=len, reverse=True)


# Reporters

Read = Callable[[], Sequence[ReportedMetric]]
"""reads the current metrics"""


class MetricReporter(ABC):
    """Sends metrics to another system, every ``metrics.reporter.<name>.interval``.

    All methods of one reporter are called by one thread, which calls nothing else: it may wait for a network, and what
    it raises is logged and concerns neither the job nor other reporters.

        >>> class Lines(MetricReporter):
        ...     def report(self, metrics):
        ...         for metric in metrics:
        ...             print(metric.identifier, metric.value)
    """

    def open(self, config: ReporterConfig) -> None:
        """Called once, before anything is reported.

        :raises ValueError: the configuration is wrong. It fails the start of the job; any other error only means that
            this reporter does nothing.
        """

    @abstractmethod
    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        """Report the metrics, as of the last completed epoch. Called once more when the job is over."""

    def close(self) -> None:
        """Called once, after the last report."""


class PullReporter(MetricReporter):
    """A reporter without an interval: other systems ask it, and it reads the metrics then.

    >>> sorted(PullReporter.__abstractmethods__)
    ['serve']
    """

    @abstractmethod
    def serve(self, read: Read) -> None:
        """Begin to answer. ``read`` may be called by any thread until ``close``."""

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        """Does nothing: other systems ask."""


# Values as numbers


def number(value: Any) -> int | float | None:
    """A value as int or float; true is 1; None if it is not a number."""
    if isinstance(value, bool | Integral):
        return int(value)
    if isinstance(value, Real | decimal.Decimal):
        try:
            return float(value)
        except (OverflowError, ValueError):
            return None
    return None


def finite(value: Any) -> int | float | None:
    """A value as int or float; None if it is infinite or not a number."""
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
    """Suffix of the name -> number, for systems with single numbers only; empty for a value that is not a finite
    number."""
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


# Changes since the last report

_Key = tuple[tuple[str, ...], str | None, str | None, int | None]


class Deltas:
    """The counts of counters and meters at the last successful report.

    A failed report changes nothing, so its counts are in the next one.
    """

    def __init__(self) -> None:
        self._known: dict[_Key, int] = {}

    def since(self, metric: ReportedMetric) -> int:
        """The increase since the last successful report; negative after a job was restored from a checkpoint."""
        return _count(metric) - self._known.get(_key(metric), 0)

    def taken(self, metrics: Iterable[ReportedMetric]) -> None:
        """Record the counts of a report that has succeeded."""
        for metric in metrics:
            if isinstance(metric.value, CounterSnapshot | MeterSnapshot):
                self._known[_key(metric)] = _count(metric)


def _count(metric: ReportedMetric) -> int:
    assert isinstance(metric.value, CounterSnapshot | MeterSnapshot)
    return metric.value.count


def _key(metric: ReportedMetric) -> _Key:
    entry = metric.entry
    return entry.path, entry.uid, entry.vertex, entry.subtask
