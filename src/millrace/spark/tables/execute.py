"""Runs plans in batch mode: collect their rows, write them into tables, explain how Spark would run them."""

from __future__ import annotations

import contextlib
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession

from millrace.common.files.stores import settings as stores
from millrace.datastream.settings.dependencies import Dependencies
from millrace.graph.origin import user_origin
from millrace.relational import nodes as n
from millrace.relational.arrow import arrow_type, schema_of
from millrace.relational.functions.registry import Surroundings
from millrace.relational.rows import record_batch
from millrace.relational.rules.batch import optimise
from millrace.runtime.failure import Failure
from millrace.spark.jobs.java_error import JobFailedError
from millrace.spark.sessions.session import Workplace, one_process
from millrace.spark.shipping.provision import interpreter, provide
from millrace.spark.tables.batch_job import BatchJobClient
from millrace.spark.tables.fetching import fetched
from millrace.spark.tables.inserts import Inserts
from millrace.spark.tables.nodes.translate import translate
from millrace.spark.tables.settings import active, child_session
from millrace.spark.tables.steps.context import Context, Streams
from millrace.spark.tables.steps.frames import types_of
from millrace.spark.tables.steps.task_metrics import BatchMetrics
from millrace.spark.tables.texts.types import as_internal


class QueryFailedError(JobFailedError):
    """Python code of a batch query failed in a task: a function of the user, a connector, a cast. ``__cause__`` has the
    whole traceback."""

    def __init__(self, text: str) -> None:
        super().__init__(Failure("query", -1, "", text.rpartition("  cause:   ")[2], detail=text), text=text)

    def __reduce__(self) -> tuple[Any, ...]:
        return QueryFailedError, (str(self),)


def batch_context(
    parent: SparkSession,
    zone: str = "UTC",
    configuration: Mapping[str, str] | None = None,
    database: str = "",
    parallelism: int | None = None,
    needs: Dependencies | None = None,
    job_name: str = "collect",
    streams: Streams | None = None,
) -> Context:
    """What one run of a plan needs.

    :param zone: ``table.local-time-zone``.
    :param streams: finds the rows of a DataStream that is read as a table.
    :param needs: files, archives, packages and the interpreter of the program's functions. Errors as ``provide``.
    """
    configuration = dict(configuration or {})
    stores.use(configuration)
    spark_settings = {key: value for key, value in configuration.items() if key.startswith("spark.sql.")}
    session = child_session(parent, zone, spark_settings)
    context = parent.sparkContext
    place = Workplace(parent, one_process(context.master), None)
    provision = provide(place, needs or Dependencies(), tuple(path for path in sys.path if path), zone)
    return Context(
        session,
        Surroundings(0, zone, time.time_ns() // 1000, database, None, configuration),
        parallelism or max(context.defaultParallelism, 1),
        provision.surroundings,
        uuid.uuid4().hex,
        provision.python,
        user_origin(),
        job_name,
        BatchMetrics(context),
        streams,
    )


def frame_of(plan: n.Rel, context: Context) -> DataFrame:
    """The rows of a plan as a frame with columns c0, c1, ..."""
    with active(context.session), interpreter(context.session.sparkContext, context.python):
        return translate(optimise(plan, context.surroundings), context)


def collect(plan: n.Rel, context: Context) -> pa.Table:
    """The rows of a plan, in the Arrow types of ``relational.arrow`` and with the names of its columns (which may occur
    twice).

    :raises QueryFailedError: Python code failed in a task.
    """
    frame = frame_of(plan, context)
    with active(context.session):
        return _collected(frame, plan)


def _collected(frame: DataFrame, plan: n.Rel) -> pa.Table:
    with _plain_errors():
        if not plan.schema:
            return pa.Table.from_batches([record_batch([], frame.count())])
        found = fetched(frame)
    columns = [
        pa.chunked_array([as_internal(chunk, kind) for chunk in column.chunks], arrow_type(kind))
        for column, kind in zip(found.columns, types_of(plan.schema))
    ]
    fields = [pa.field(name, column.type) for name, column in zip(plan.names, columns)]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def start_query(plan: n.Rel, context: Context) -> BatchJobClient:
    """A job that collects the rows of a plan: its outcome is what ``collect`` gives.

    :raises NotImplementedError: the plan has no form in batch mode.
    """
    frame = frame_of(plan, context)
    client = BatchJobClient(context, lambda: _collected(frame, plan))
    client.start()
    return client


def start_inserts(sinks: Sequence[n.Sink], context: Context) -> BatchJobClient:
    """A job that writes into tables: its outcome are the rows written into each, None where a connector does not tell.

    What several inserts read or compute alike is done once. Nothing shows before all is prepared.

    :raises NotImplementedError: a plan has no form in batch mode, or a table cannot be overwritten.
    """
    inserts = Inserts(sinks, context)
    client = BatchJobClient(context, lambda: _write(inserts))
    client.start()
    return client


def write_all(sinks: Sequence[n.Sink], context: Context) -> list[int | None]:
    """As ``start_inserts``, on this thread."""
    inserts = Inserts(sinks, context)
    with active(context.session):
        return _write(inserts)


def _write(inserts: Inserts) -> list[int | None]:
    with _plain_errors():
        return inserts.write()


def explain(plan: n.Rel, context: Context, mode: str = "extended") -> str:
    """How Spark runs a plan.

    :param mode: simple, extended, codegen, cost or formatted.
    """
    context = replace(context, streams=_one_row, reads=False)
    frame = frame_of(plan.input if isinstance(plan, n.Sink) else plan, context)
    jvm: Any = context.session._jvm
    with active(context.session):
        text: str = jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), mode)
    return text


def _one_row(scan: n.StreamScan) -> pa.Table:
    """A DataStream does not run to explain a query. Of a table without any row Spark would show nothing."""
    schema = schema_of(types_of(scan.columns))
    return pa.Table.from_arrays([pa.nulls(1, field.type) for field in schema], schema=schema)


@contextlib.contextmanager
def _plain_errors() -> Iterator[None]:
    """What a task raised, without Spark's text around it."""
    try:
        yield
    except PythonException as error:
        told = Failure.rendered_in(str(error))
        if told is None:
            lines = [line for line in str(error).splitlines() if line and not line.startswith((" ", "\t"))]
            told = next(_causes(lines), "a task of the query failed")
        raise QueryFailedError(told) from error


def _causes(lines: Sequence[str]) -> Iterator[str]:
    """The last lines of tracebacks: a name of an error and a text."""
    for before, line in zip(["", *lines], lines):
        if before.startswith("Traceback (most recent call last)"):
            yield line
