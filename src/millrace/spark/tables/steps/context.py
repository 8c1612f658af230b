"""The contexts of a translation: what is known of a run beyond the plan's nodes, and what the plan's Python functions
know in Spark's tasks.

Tasks send the metrics of the user's functions to the driver through an accumulator of Spark.
"""

from __future__ import annotations

import contextlib
import pickle
import socket
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark import SparkContext, TaskContext
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import SparkSession

from millrace.activate import activate, is_active
from millrace.common.configuration import Configuration
from millrace.common.execution_config import ExecutionConfig
from millrace.common.jobs import JobID, JobInfo
from millrace.metrics.metricbase import MetricGroup
from millrace.metrics.report import MetricEntry, MetricsReport
from millrace.relational.functions.registry import Surroundings
from millrace.relational.nodes import StreamScan
from millrace.runtime.bases.operator import OperatorContext
from millrace.runtime.bases.runtime_context import Measures, MeasureState, OperatorRuntimeContext
from millrace.runtime.clocks import now_millis
from millrace.runtime.coordination.job_metrics import WORKERS
from millrace.runtime.exchange.keys import default_max_parallelism
from millrace.runtime.functions.runner import FunctionRunner
from millrace.spark.tables.steps.parts import Part
from millrace.spark.workers.shipping import WorkerSurroundings
from millrace.util.by_value import pickled_by_value


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
    """Sends the metrics of the tasks of one node to the driver. It travels to the tasks."""

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


@dataclass(frozen=True)
class PythonTask:
    """One node of a plan that Python computes. Travels to the tasks."""

    name: str
    """the node's name, in the form in which a streaming plan names its operators"""
    origin: str
    """the user's line that ran the plan"""
    configuration: dict[str, str]
    parallelism: int
    """how many partitions Spark was asked for; it may make others"""
    job_id: str
    job_name: str
    workers: WorkerSurroundings
    reporting: Reporting | None = None
    """sends the functions' metrics to the driver; None: they are dropped"""

    @contextlib.contextmanager
    def functions(self, wrappers: Iterable[Any] = ()) -> Iterator[FunctionRunner]:
        """The functions of this node in the task that runs now, open."""
        task = TaskContext.get()
        assert task is not None, "there is a task"
        subtask = task.partitionId()
        parallelism = max(self.parallelism, subtask + 1)
        runtime = OperatorRuntimeContext(
            self.name,
            subtask,
            parallelism,
            default_max_parallelism(parallelism),
            task.attemptNumber(),
            ExecutionConfig(Configuration.from_dict(self.configuration)).get_global_job_parameters(),
            JobInfo(JobID(self.job_id), self.job_name),
            self.workers.files(),
        )
        context = OperatorContext(runtime, self.name, self.origin, None, {}, now_millis)
        with FunctionRunner(context, self.configuration, wrappers) as functions:
            yield functions
        if self.reporting is not None:
            self.reporting.report(subtask, runtime.measures)


@dataclass(frozen=True)
class Shipped:
    """A function of Arrow batches for the workers. It travels as bytes: what it imports is found only after the worker
    has the program's import path."""

    payload: bytes
    surroundings: WorkerSurroundings
    pyflink: bool

    def load(self) -> Callable[..., Any]:
        self.surroundings.enter("tables")
        if self.pyflink:
            activate()
        function: Callable[..., Any] = pickle.loads(self.payload)
        return function

    def __call__(self, batches: Any) -> Any:
        return self.load()(batches)


Streams = Callable[[StreamScan], pa.Table]


@dataclass(frozen=True)
class Context:
    """One run of a plan."""

    session: SparkSession
    """the child session that the plan's frames belong to"""
    surroundings: Surroundings
    """what functions see of the run: time zone, start of the query, configuration"""
    parallelism: int
    workers: WorkerSurroundings = field(default_factory=WorkerSurroundings)
    job_id: str = "tables"
    python: str | None = None
    """the workers' interpreter; None: the one of the session"""
    origin: str = "<unknown>"
    """the user's line that runs the plan"""
    job_name: str = "collect"
    metrics: BatchMetrics | None = None
    """where the metrics of the user's functions are collected; None: they are not wanted"""
    streams: Streams | None = None
    """finds the rows of a DataStream that is read as a table; None: there is no program with any"""
    reads: bool = True
    """whether the plan will run; False: it is only explained, so its sources need not exist"""
    read_files: dict[tuple[tuple[str, ...], str], Part] = field(default_factory=dict)
    """files that Spark reads itself, and the schema that they are read with -> their rows"""

    def task(self, name: str) -> PythonTask:
        """A node that Python computes."""
        reporting = None if self.metrics is None else self.metrics.node(name)
        return PythonTask(
            name,
            self.origin,
            self.surroundings.configuration,
            self.parallelism,
            self.job_id,
            self.job_name,
            self.workers,
            reporting,
        )

    def ship(self, function: Callable[..., Any], what: str) -> Shipped:
        """The function as it travels.

        :param what: the part of the plan, for the error.
        :raises TypeError: it cannot be pickled.
        """
        try:
            payload = pickled_by_value(function)
        except Exception as error:
            raise TypeError(
                f"{what} cannot be sent to the workers: {error}. Make what does not pickle in open() of the function"
            ) from error
        return Shipped(payload, self.workers, is_active())
