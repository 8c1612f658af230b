"""What the user's functions of a batch job have counted: tasks tell the driver through an accumulator of Spark."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from pyspark import SparkContext
from pyspark.accumulators import Accumulator, AccumulatorParam

from millrace.metrics.metricbase import MetricGroup
from millrace.metrics.report import MetricEntry, MetricsReport
from millrace.runtime.context.measures import Measures, MeasureState
from millrace.runtime.coordination.job_metrics import WORKERS


@dataclass(frozen=True)
class TaskReport:
    """What one task of a node has counted."""

    node: int
    subtask: int
    measures: MeasureState


class _Reports(AccumulatorParam[list[TaskReport]]):  # type: ignore[misc]
    def zero(self, value: list[TaskReport]) -> list[TaskReport]:
        return []

    def addInPlace(self, value1: list[TaskReport], value2: list[TaskReport]) -> list[TaskReport]:
        value1 += value2
        return value1


@dataclass(frozen=True)
class Reporting:
    """How the tasks of one node tell the driver. Travels to them."""

    node: int
    reports: Accumulator[list[TaskReport]]

    def report(self, subtask: int, measures: Measures) -> None:
        """A task is at its end."""
        measures.end_epoch()
        counted = measures.report()
        if counted is not None:
            self.reports.add([TaskReport(self.node, subtask, counted)])


class BatchMetrics:
    """The metrics of a batch job on the driver."""

    def __init__(self, context: SparkContext) -> None:
        self._reports = context.accumulator([], _Reports())
        self._nodes: list[str] = []

    def node(self, name: str) -> Reporting:
        """One more node of the job that Python computes."""
        self._nodes.append(name)
        return Reporting(len(self._nodes) - 1, self._reports)

    def _latest(self) -> list[TaskReport]:
        # Spark may run a task more than once: every run reports all that it counted, and one of them counts.
        reports = {(report.node, report.subtask): report for report in list(self._reports.value)}
        return [reports[place] for place in sorted(reports)]

    def report(self, job_id: str, job_name: str) -> MetricsReport:
        """All metrics of the tasks that have ended."""
        job = {"<host>": socket.gethostname(), "<job_id>": job_id, "<job_name>": job_name}
        found = []
        for report in self._latest():
            name, group = self._nodes[report.node], MetricGroup()
            variables = job | {
                "<tm_id>": WORKERS,
                "<task_name>": name,
                "<operator_id>": str(report.node),
                "<operator_name>": name,
                "<subtask_index>": str(report.subtask),
            }
            for metric in report.measures.metrics:
                group.restore(metric)
            for path, own, value in group.measured():
                named = {f"<{key}>": text for key, text in own.items()}
                found.append(MetricEntry(path, value, variables | named, name, str(report.node), report.subtask))
        return MetricsReport(tuple(found))
