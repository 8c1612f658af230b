"""What the translation of a plan knows beyond its nodes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from millrace.activate import activate, is_active
from millrace.relational.functions.registry import Surroundings
from millrace.relational.nodes import StreamScan
from millrace.spark.shipping import surroundings as workers
from millrace.spark.tables.steps.parts import Part
from millrace.spark.tables.steps.python_tasks import PythonTask
from millrace.spark.tables.steps.task_metrics import BatchMetrics
from millrace.util.by_value import pickled_by_value


@dataclass(frozen=True)
class Shipped:
    """A function of Arrow batches for the workers. It travels as bytes: what it imports is found only after the worker
    has the program's import path."""

    payload: bytes
    surroundings: workers.Surroundings
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
    """of functions: time zone, start of the query, configuration"""
    parallelism: int
    workers: workers.Surroundings = field(default_factory=workers.Surroundings)
    job_id: str = "tables"
    python: str | None = None
    """the workers' interpreter; None: the one of the session"""
    origin: str = "<unknown>"
    """the user's line that runs the plan"""
    job_name: str = "collect"
    metrics: BatchMetrics | None = None
    """where the metrics of the user's functions meet; None: nobody asks for them"""
    streams: Streams | None = None
    """finds the rows of a DataStream that is read as a table; None: there is no program with any"""
    reads: bool = True
    """False: the plan is only explained, so its sources need not be there"""
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
