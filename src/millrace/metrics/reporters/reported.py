"""A metric as reporters see it: its names, its variables, its value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from millrace.metrics.report import MetricEntry
from millrace.metrics.scope import ScopeFormats
from millrace.metrics.snapshot import CounterSnapshot, GaugeSnapshot, MeterSnapshot, MetricSnapshot

__all__ = ["ReportedMetric"]

Clean = Callable[[str], str]
"""takes out of a part of a name what a system can't stand"""


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
    """how its identifier begins (``metrics.scope.*``), with the delimiter of the reporter"""
    variables: dict[str, str]
    """Flink's variables without brackets (``job_name``), less those that the reporter excludes, and additional ones"""

    @property
    def name(self) -> str:
        """Without any scope: ``numRecordsIn``."""
        return self.entry.path[-1]

    @property
    def value(self) -> MetricSnapshot:
        """What the metric was when it was asked."""
        return self.entry.value

    @property
    def type(self) -> str:
        """As filters call it: ``counter``, ``meter``, ``gauge`` or ``histogram`` (distributions, too).

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
        """Flink's logical scope: what is measured, and the groups without the values of key-value groups.

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
