"""The metrics of a whole job at one moment: what ``JobClient.get_metrics()`` gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from millrace.metrics.scope import ScopeFormats, in_scope
from millrace.metrics.snapshot import CounterSnapshot, GaugeSnapshot, MetricSnapshot

__all__ = ["MetricEntry", "MetricsReport"]

DEFAULT = ScopeFormats()


@dataclass(frozen=True)
class MetricEntry:
    """One metric of one subtask, or of the job."""

    path: tuple[str, ...]
    """the groups that the user made, then the metric's name"""
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
        """The path, joined by dots: what ``MetricsReport`` finds it by."""
        return ".".join(self.path)

    def identifier(self, scope: str | None = None) -> str:
        """The name with its scope before it, in Flink's default format or in that of ``scope``."""
        return in_scope(scope or self._format(DEFAULT), self.variables, self.path)

    def in_formats(self, formats: ScopeFormats) -> str:
        """The same in the formats of a configuration."""
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
