"""Metrics as plain numbers, for their way from tasks to the driver and to reporters.

Snapshots travel between copies of a task and to the driver; ``merge`` adds up subtasks. ``in_scope`` makes identifiers
as Flink writes them (``host.taskmanager.spark.my job.Map.0.my_counter``). ``MetricsReport`` holds all metrics of a job
at one moment: ``JobClient.get_metrics()`` returns it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from statistics import fmean, pstdev
from typing import Any, TypeAlias

# Snapshots


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
    """time over which the rate is averaged (s)"""
    events: tuple[tuple[int, int], ...] = field(default=(), compare=False, repr=False)
    """(number of a time slot, events in it): the rate is computed from these"""

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
"""The quantiles that Flink's histograms show."""


@dataclass(frozen=True)
class HistogramSnapshot:
    """The last values of a histogram, sorted."""

    count: int
    """number of all values so far, also of those that are no longer in ``values``"""
    values: tuple[float, ...]

    def quantile(self, part: float) -> float:
        """The smallest value that is not exceeded by this share of the values; 0 without values."""
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


MetricSnapshot: TypeAlias = CounterSnapshot | MeterSnapshot | DistributionSnapshot | GaugeSnapshot | HistogramSnapshot


# Scopes

JOB_MANAGER_SCOPE = "<host>.jobmanager"
"""Flink's default for ``metrics.scope.jm``."""
JOB_SCOPE = f"{JOB_MANAGER_SCOPE}.<job_name>"
"""Flink's default for ``metrics.scope.jm-job``."""
TASK_MANAGER_SCOPE = "<host>.taskmanager.<tm_id>"
"""Flink's default for ``metrics.scope.tm``."""
TASK_MANAGER_JOB_SCOPE = f"{TASK_MANAGER_SCOPE}.<job_name>"
"""Flink's default for ``metrics.scope.tm-job``."""
TASK_SCOPE = f"{TASK_MANAGER_JOB_SCOPE}.<task_name>.<subtask_index>"
"""Flink's default for ``metrics.scope.task``."""
OPERATOR_SCOPE = f"{TASK_MANAGER_JOB_SCOPE}.<operator_name>.<subtask_index>"
"""Flink's default for ``metrics.scope.operator``."""

_VARIABLE = re.compile(r"<\w+>")


def in_scope(scope: str, variables: Mapping[str, str], path: tuple[str, ...], delimiter: str = ".") -> str:
    """The identifier of a metric: the scope's format with its variables filled in, then the path, joined by dots.

    A variable that has no value stays as it is written, as in Flink.

    :param delimiter: stands between the parts in the place of the dots.
    """
    parts = scope.split(".") if delimiter != "." else [scope]
    filled = [_VARIABLE.sub(lambda found: variables.get(found[0], found[0]), part) for part in parts]
    return delimiter.join((*filled, *path))


@dataclass(frozen=True)
class ScopeFormats:
    """The formats of identifiers that a configuration sets (``metrics.scope.*``)."""

    job: str = JOB_SCOPE
    task: str = TASK_SCOPE
    operator: str = OPERATOR_SCOPE
    delimiter: str = "."

    @staticmethod
    def of(configuration: Mapping[str, str]) -> ScopeFormats:
        """The formats of a configuration. A format that begins with ``*.`` continues that of the enclosing scope, as in
        Flink."""

        def format(name: str, default: str, above: str) -> str:
            text = configuration.get(f"metrics.scope.{name}", default)
            return f"{above}{text[1:]}" if text == "*" or text.startswith("*.") else text

        job_manager = format("jm", JOB_MANAGER_SCOPE, "")
        task_manager = format("tm", TASK_MANAGER_SCOPE, "")
        in_task_manager = format("tm-job", TASK_MANAGER_JOB_SCOPE, task_manager)
        task = format("task", TASK_SCOPE, in_task_manager)
        return ScopeFormats(
            format("jm-job", JOB_SCOPE, job_manager),
            task,
            format("operator", OPERATOR_SCOPE, task),
            configuration.get("metrics.scope.delimiter", "."),
        )


# Reports

DEFAULT = ScopeFormats()


@dataclass(frozen=True)
class MetricEntry:
    """One metric of one subtask, or of the job."""

    path: tuple[str, ...]
    """the user's groups, then the metric's name"""
    value: MetricSnapshot
    variables: dict[str, str]
    """Flink's scope variables (``<job_name>``, ``<operator_name>``, ...) and those of key-value groups"""
    operator: str | None = None
    """name of the operator, None for a metric of the job"""
    uid: str | None = None
    subtask: int | None = None
    vertex: str | None = None
    """id of the vertex, for a metric of a task (a chain of operators)"""

    @property
    def name(self) -> str:
        """The path, joined by dots: the name for ``MetricsReport``."""
        return ".".join(self.path)

    def identifier(self, scope: str | None = None) -> str:
        """The metric's identifier, in Flink's default format or in that of ``scope``."""
        return in_scope(scope or self._format(DEFAULT), self.variables, self.path)

    def in_formats(self, formats: ScopeFormats) -> str:
        """The metric's identifier in the formats of a configuration."""
        return in_scope(self._format(formats), self.variables, self.path, formats.delimiter)

    def _format(self, formats: ScopeFormats) -> str:
        if self.operator is not None:
            return formats.operator
        return formats.job if self.vertex is None else formats.task


@dataclass(frozen=True)
class MetricsReport:
    """All metrics of a job, of completed epochs only. Operators are found by their name or uid."""

    entries: tuple[MetricEntry, ...] = field(default=())

    def __iter__(self) -> Iterator[MetricEntry]:
        return iter(self.entries)

    def get(self, operator: str, name: str) -> Any:
        """A metric's snapshot, its subtasks added up. ``name`` has its groups before it: ``"my_group.my_counter"``.

        :raises KeyError: no such operator or metric.
        :raises ValueError: several operators have the name, or the metric is a gauge of several subtasks.
        """
        values = list(self.by_subtask(operator, name).values())
        if len(values) > 1 and isinstance(values[0], GaugeSnapshot):
            raise ValueError(f"the gauge {name!r} of {len(values)} subtasks has no sum: use by_subtask()")
        return reduce(lambda left, right: left.merge(right), values[1:], values[0])

    def counter(self, operator: str, name: str) -> int:
        """The count of a counter over all subtasks. Raises ``KeyError`` and ``ValueError`` as ``get``."""
        value = self.get(operator, name)
        if not isinstance(value, CounterSnapshot):
            raise ValueError(f"{name!r} of {operator!r} is no counter but a {type(value).__name__}")
        return value.count

    def by_subtask(self, operator: str, name: str) -> dict[int, MetricSnapshot]:
        """Subtask -> snapshot. Raises ``KeyError`` and ``ValueError`` as ``get``."""
        mine = [entry for entry in self.entries if operator in (entry.operator, entry.uid) and entry.operator]
        if not mine:
            raise KeyError(f"no operator {operator!r}; there are: {', '.join(self.operators())}")
        if len({entry.uid for entry in mine}) > 1:
            uids = ", ".join(sorted({str(entry.uid) for entry in mine}))
            raise ValueError(f"several operators are called {operator!r}: ask by uid ({uids})")
        found = {entry.subtask or 0: entry.value for entry in mine if entry.name == name}
        if not found:
            names = ", ".join(sorted({entry.name for entry in mine}))
            raise KeyError(f"operator {operator!r} has no metric {name!r}; there are: {names}")
        return found

    def job(self, name: str) -> MetricSnapshot:
        """A metric of the job itself. Raises ``KeyError`` if there is none."""
        for entry in self.entries:
            if entry.operator is None and entry.vertex is None and entry.name == name:
                return entry.value
        raise KeyError(f"the job has no metric {name!r}")

    def task(self, task: str, name: str) -> dict[int, MetricSnapshot]:
        """Subtask -> snapshot of a metric of a task: a chain of operators, by its name or its vertex's id.

        :raises KeyError: there is no such task or metric.
        """
        of_tasks = [entry for entry in self.entries if entry.vertex is not None]
        mine = [entry for entry in of_tasks if task in (entry.vertex, entry.variables["<task_name>"])]
        if not mine:
            names = dict.fromkeys(entry.variables["<task_name>"] for entry in of_tasks)
            raise KeyError(f"no task {task!r}; there are: {', '.join(names)}")
        found = {entry.subtask or 0: entry.value for entry in mine if entry.name == name}
        if not found:
            names = dict.fromkeys(sorted(entry.name for entry in mine))
            raise KeyError(f"task {task!r} has no metric {name!r}; there are: {', '.join(names)}")
        return found

    def operators(self) -> list[str]:
        """The names of the operators, in the order of the program."""
        return list(dict.fromkeys(entry.operator for entry in self.entries if entry.operator is not None))

    def identifiers(self) -> dict[str, MetricSnapshot]:
        """Every metric by its identifier in Flink's default format."""
        return {entry.identifier(): entry.value for entry in self.entries}
