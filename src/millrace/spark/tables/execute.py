"""Runs plans in batch mode: collects their rows, writes them into tables, explains them; tables from and to
DataFrames.
"""

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
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from millrace.common.files import store_settings
from millrace.datastream.dependencies import Dependencies
from millrace.relational import nodes as n
from millrace.relational.functions.registry import Surroundings
from millrace.relational.nodes import Field, Rel, Scan
from millrace.relational.rex import Rex
from millrace.relational.rows import record_batch
from millrace.relational.rules.optimizer import optimise_batch
from millrace.relational.sources import TableSource
from millrace.relational.type_table import arrow_type, from_arrow_type, schema_of
from millrace.runtime.failure import Failure
from millrace.spark.jobs.java_error import JobFailedError
from millrace.spark.sessions.session import Workplace, session_of_program
from millrace.spark.sessions.settings import one_process
from millrace.spark.tables.batch_job import BatchJobClient
from millrace.spark.tables.child_session import active, child_session, fetched
from millrace.spark.tables.inserts import Inserts
from millrace.spark.tables.nodes.forms import translate
from millrace.spark.tables.steps.computed import types_of
from millrace.spark.tables.steps.context import BatchMetrics, Context, Streams
from millrace.spark.tables.steps.spark_types import adopted, as_internal, quoted
from millrace.spark.workers.provision import interpreter, provide
from millrace.util.tracebacks import user_origin


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
    store_settings.use(configuration)
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
        return translate(optimise_batch(plan, context.surroundings), context)


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


class FrameSource(TableSource):
    """A DataFrame of the program."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame

    def frame(self, session: Any, columns: Sequence[int], filters: Sequence[Rex] = ()) -> DataFrame:
        names = self._frame.columns
        chosen = [F.col(quoted(names[index])).alias(f"c{place}") for place, index in enumerate(columns)]
        return adopted(self._frame.select(*chosen), session)

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Any:
        raise NotImplementedError(
            "a table of from_spark() is read in batch mode only: write the DataFrame into files and read them with "
            "connector 'filesystem', or name its data source with connector 'spark'"
        )


def scan_of_frame(frame: DataFrame) -> Scan:
    """The rows of a frame, with its names and types.

    :raises TypeError: it is none, or has a type that tables do not have.
    """
    if not isinstance(frame, DataFrame):
        raise TypeError(f"from_spark takes a pyspark.sql.DataFrame, not {type(frame).__name__}")
    if frame.isStreaming:
        raise TypeError("from_spark takes a DataFrame that is read once, not a streaming one")
    twice = sorted({name for name in frame.columns if frame.columns.count(name) > 1})
    if twice:
        raise TypeError(f"the columns of a table have different names; several are {', '.join(twice)}")
    arrow = to_arrow_schema(frame.schema, timezone="UTC")
    columns = tuple(Field(field.name, from_arrow_type(field.type).with_nullable(field.nullable)) for field in arrow)
    return Scan(("default_catalog", "default_database", "*anonymous_spark*"), columns, FrameSource(frame))


def frame_of_table(plan: Rel, context: Context) -> DataFrame:
    """The rows of a plan as a frame of the program's session, with the names of the columns."""
    frame = frame_of(plan, context)
    named = frame.select(*(F.col(f"c{place}").alias(name) for place, name in enumerate(plan.names)))
    return adopted(named, session_of_program(context.session))
