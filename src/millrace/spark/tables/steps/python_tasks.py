"""Python functions of a plan in Spark's tasks: who they are, so that functions of the user are told and errors say."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark import TaskContext

from millrace.common.configuration import Configuration
from millrace.common.execution_config import ExecutionConfig
from millrace.common.jobs.job_id import JobID
from millrace.common.jobs.job_info import JobInfo
from millrace.runtime.bases.base import OperatorContext
from millrace.runtime.clocks import now_millis
from millrace.runtime.context.context import OperatorRuntimeContext
from millrace.runtime.exchange.keygroups import default_max_parallelism
from millrace.runtime.functions.runner import FunctionRunner
from millrace.spark.shipping.surroundings import Surroundings
from millrace.spark.tables.steps.task_metrics import Reporting


@dataclass(frozen=True)
class PythonTask:
    """One node of a plan that Python computes. Travels to the tasks."""

    name: str
    """as an operator of a streaming plan is called"""
    origin: str
    """the user's line that ran the plan"""
    configuration: dict[str, str]
    parallelism: int
    """how many partitions Spark was asked for; it may make others"""
    job_id: str
    job_name: str
    workers: Surroundings
    reporting: Reporting | None = None
    """how the driver hears of the functions' metrics; None: it does not"""

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
