"""Runs plans in batch mode: collects their rows, writes them into tables, explains them; tables from and to DataFrames.

Rows of an INSERT go to a connector that writes frames, or to a FLIP-143 sink whose writers run in the tasks. What the
inserts of a job have in common is computed once, and all of them show, or none. NOT NULL and lengths are checked by
Spark, inside ROW, ARRAY and MAP by Python, as in streaming mode.
"""

from __future__ import annotations

import contextlib
import logging
import pickle
import sys
import time
import uuid
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark import SparkContext
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as s
from pyspark.sql.pandas.types import to_arrow_schema

from millrace.common.files import store_settings
from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.datastream.job_settings import Dependencies
from millrace.relational import nodes as n
from millrace.relational.functions.registry import Surroundings, is_text
from millrace.relational.nodes import Field, Rel, Scan, Schema
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows, record_batch
from millrace.relational.rules.optimizer import optimise_batch, share_as_set, share_costly
from millrace.relational.sources import TableSource
from millrace.relational.type_table import arrow_type, from_arrow_type, schema_of
from millrace.relational.types import DataType
from millrace.runtime.failure import Failure
from millrace.runtime.tables import constraints
from millrace.runtime.tables.constraints import EnforceConstraints, length_problem, null_problem
from millrace.runtime.tables.value_constraints import is_fixed, is_sized
from millrace.spark.jobs.java_error import JobFailedError
from millrace.spark.sessions.session import Workplace, session_of_program
from millrace.spark.sessions.settings import one_process
from millrace.spark.tables.batch_job import BatchJobClient
from millrace.spark.tables.child_session import active, child_session, fetched
from millrace.spark.tables.nodes.forms import Translation, translate
from millrace.spark.tables.steps.computed import types_of
from millrace.spark.tables.steps.context import BatchMetrics, Context, Streams
from millrace.spark.tables.steps.parts import Part, numbered
from millrace.spark.tables.steps.spark_types import adopted, as_internal, outgoing, quoted, spark_schema
from millrace.spark.workers.provision import interpreter, provide
from millrace.util.tracebacks import user_origin

# INSERTs: constraints


@dataclass(frozen=True)
class EnforceTask:
    """Checks the rows of a partition, down to the values inside of values."""

    config: EnforceConstraints

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        kinds = types_of(self.config.columns)
        for batch in batches:
            cells = [as_internal(column, kind) for column, kind in zip(batch.columns, kinds)]
            rows = constraints.enforced(Rows(record_batch(cells, batch.num_rows)), self.config)
            yield outgoing(record_batch(rows.columns, len(rows)))


def enforced(part: Part, columns: Schema, context: Context) -> Part:
    """Rows with the columns of a table, as the table has them.

    :param columns: as the table declares them; none if it demands nothing.
    """
    config = EnforceConstraints.of(columns, context.surroundings.configuration)
    if not config.needed:
        return part
    if config.within or part.python is not None:
        ship = partial(context.ship, what="what a table demands of its rows")
        return part.in_python(EnforceTask(config), spark_schema(types_of(columns)), ship)
    places = {f"c{index}": column for index, column in enumerate(columns)}
    required = [place for place, column in places.items() if not column.type.is_nullable]
    if config.not_null == "DROP" and required:
        part = part.where([f"{place} IS NOT NULL" for place in required])
    texts = [_text(place, column, config) for place, column in places.items()]
    return part.select(numbered(texts))


def _text(place: str, column: Field, config: EnforceConstraints) -> str:
    text = place
    if config.length != "IGNORE" and is_sized(column.type):
        text = _sized(place, column, config.length)
    if config.not_null == "DROP" or column.type.is_nullable:
        return text
    return f"CASE WHEN {place} IS NULL THEN raise_error({_quoted(null_problem(column.name))}) ELSE {text} END"


def _sized(place: str, column: Field, mode: str) -> str:
    length: int = column.type.length  # type: ignore[attr-defined]
    text, fixed = is_text(column.type), is_fixed(column.type)
    if mode == "TRIM_PAD":
        cut = f"substring({place}, 1, {length})"
        filling = "' '" if text else "X'00'"
        return f"rpad({cut}, {length}, {filling})" if fixed else cut
    size = f"{'char_length' if text else 'octet_length'}({place})"
    shown = f"'\\'', {place}, '\\''" if text else f"'X\\'', hex({place}), '\\''"
    before, after = length_problem(column.name, column.type, "\0").split("\0")
    message = f"concat({_quoted(before)}, {shown}, {_quoted(after)})"
    return f"CASE WHEN {size} {'<>' if fixed else '>'} {length} THEN raise_error({message}) ELSE {place} END"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


# Tasks of jobs that have failed

_LOOK_EVERY_SECONDS = 0.05


@contextmanager
def none_left(context: SparkContext, tag: str, deadline_seconds: float = 10.0) -> Iterator[None]:
    """Spark jobs with a tag of their own. If they fail, waits until the last of their tasks has ended: what a task has
    left can only be taken back when it writes no more.

    :param deadline_seconds: for how long at most; a task that does not heed being killed runs on after that.
    """
    context.addJobTag(tag)
    try:
        yield
    except BaseException:
        give_up = time.monotonic() + deadline_seconds
        while _running(context, tag) and time.monotonic() < give_up:
            time.sleep(_LOOK_EVERY_SECONDS)
        raise
    finally:
        context.removeJobTag(tag)


def _running(context: SparkContext, tag: str) -> int:
    """How many tasks run. None of a context that has been stopped."""
    try:
        tracker = context._jsc.sc().statusTracker()
        jobs = [context.statusTracker().getJobInfo(job) for job in tracker.getJobIdsForTag(tag)]
        stages = [context.statusTracker().getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    except Exception:
        return 0
    return sum(stage.numActiveTasks for stage in stages if stage)


# Sinks

logger = logging.getLogger(__name__)

_RESULT = s.StructType([s.StructField("rows", s.LongType()), s.StructField("committables", s.BinaryType())])


class Writing(ABC):
    """What an INSERT writes. Nothing of it shows before ``commit``."""

    def prepare(self) -> None:
        """Do what may take long or fail."""

    @abstractmethod
    def commit(self) -> int | None:
        """Let it show.

        :returns: how many rows there were; None if the connector does not tell.
        """

    def end(self) -> None:
        """It is committed, or never will be: take back what tasks have left."""


@dataclass(frozen=True)
class FrameWriting(Writing):
    """Written by a connector that takes frames: it does all at once."""

    node: n.Sink
    frame: DataFrame

    def commit(self) -> None:
        self.node.sink.write_frame(self.frame, self.node.overwrite, dict(self.node.partition))


class TaskWriting(Writing):
    """Every task prepares its part; when all are done, the driver makes them visible. What is left then is of tasks
    that ran twice or failed, and is taken back."""

    def __init__(self, sink: Sink[Rows], node: n.Sink, part: Part, context: Context) -> None:
        self._job_id = context.job_id
        self._committer = sink.create_committer()
        task = SinkTask(sink, tuple(types_of(node.schema)), context.job_id, context.parallelism)
        ship = partial(context.ship, what=f"the sink of table {'.'.join(node.path)}")
        self._frame = part.coalesced(context.parallelism).in_python(task, _RESULT, ship).frame
        self._prepared: list[Any] = []
        self._rows = 0

    def prepare(self) -> None:
        if self._committer is not None:
            self._committer.begin()
        with none_left(self._frame.sparkSession.sparkContext, f"millrace-write-{uuid.uuid4().hex}"):
            acks = self._frame.collect()
        self._prepared = [each for ack in acks for each in pickle.loads(bytes(ack.committables))]
        self._rows = sum(ack.rows for ack in acks)

    def commit(self) -> int:
        if self._committer is not None:
            self._committer.commit(self._prepared)
        return self._rows

    def end(self) -> None:
        committer = self._committer
        if committer is None:
            return
        try:
            committer.recover(self._job_id, (), ())
        except Exception:  # an error here is not one of the statement
            logger.warning("what tasks have left could not be removed", exc_info=True)
        finally:
            committer.close()


def writing(node: n.Sink, part: Part, context: Context) -> Writing:
    """How rows get into a table; they have its columns.

    :raises NotImplementedError: the connector cannot overwrite.
    """
    name = ".".join(node.path)
    if node.sink.writes_frames:
        return FrameWriting(node, part.frame)
    sink = node.sink.overwriting(dict(node.partition)) if node.overwrite else node.sink
    if sink is None:
        raise NotImplementedError(f"table {name} cannot be overwritten: its connector only appends; use INSERT INTO")
    if sink.together:
        places = [node.input.names.index(each) for each in sink.together]
        spread = part.frame.repartition(context.parallelism, *(f"c{place}" for place in places))
        part = Part.of_frame(spread)
    # A name of its own, since two statements of a set may write to the same table: neither takes back the other's.
    return TaskWriting(sink.stream().for_operator(f"sink-{name}-{uuid.uuid4().hex}"), node, part, context)


class _InitContext(WriterInitContext):
    def __init__(self, subtask: int, parallelism: int, job_id: str) -> None:
        self._subtask = subtask
        self._parallelism = parallelism
        self._job_id = job_id

    def get_index_of_subtask(self) -> int:
        return self._subtask

    def get_number_of_parallel_subtasks(self) -> int:
        return self._parallelism

    def get_job_id(self) -> str:
        return self._job_id

    def get_checkpoint_id(self) -> int:
        return 1

    def current_processing_time(self) -> int:
        return time.time_ns() // 1_000_000


class _WriteContext(SinkWriterContext):
    def timestamp(self) -> int | None:
        return None

    def current_watermark(self) -> int:
        return -(2**63)


@dataclass(frozen=True)
class SinkTask:
    """The writer of one partition; its result is one row. A partition without rows needs no writer."""

    sink: Sink[Rows]
    types: tuple[DataType, ...]
    job_id: str
    parallelism: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None, "a sink writes inside a Spark task"
        writer: SinkWriter[Rows] | None = None
        count = 0
        try:
            for batch in batches:
                if not batch.num_rows:
                    continue
                if writer is None:
                    writer = self.sink.create_writer(_InitContext(task.partitionId(), self.parallelism, self.job_id))
                columns = [as_internal(column, kind) for column, kind in zip(batch.columns, self.types)]
                writer.write(Rows(record_batch(columns, batch.num_rows)), _WriteContext())
                count += batch.num_rows
            committables: list[Any] = []
            if writer is not None:
                writer.flush(True)
                committables = writer.prepare_commit()
        finally:
            if writer is not None:
                writer.close()
        columns = [pa.array([count], pa.int64()), pa.array([pickle.dumps(committables)], pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, ["rows", "committables"])


# Inserts of one job


class Inserts:
    """Plans that end in sinks, as frames.

    :raises NotImplementedError: a plan has no form in batch mode, or a table cannot be overwritten.
    """

    def __init__(self, sinks: Sequence[n.Sink], context: Context) -> None:
        for sink in sinks:
            if sink.wants_one_row:
                raise NotImplementedError(
                    f"ON CONFLICT DO {sink.on_conflict} into {'.'.join(sink.path)} runs in streaming mode only: rows "
                    "of batch mode have no order; nearest: ROW_NUMBER() over the key, WHERE it is 1"
                )
        settings = context.surroundings.configuration
        plans = [optimise_batch(sink.input, context.surroundings) for sink in sinks]
        if len(plans) > 1:
            # Each insert is a query of Spark's of its own, which knows nothing of the others.
            plans = share_as_set(plans, settings)
            translation = Translation(context, _shared(plans))
        else:
            plans = [share_costly(plan, settings) for plan in plans]
            translation = Translation(context)
        with active(context.session), interpreter(context.session.sparkContext, context.python):
            parts = [enforced(translation.part(plan), sink.columns, context) for sink, plan in zip(sinks, plans)]
            self._writings = [writing(sink, part, context) for sink, part in zip(sinks, parts)]
        self._kept = translation.kept

    def write(self) -> list[int | None]:
        """Write all.

        :returns: the rows written into each table; None where the connector does not tell.
        """
        try:
            for each in self._writings:
                each.prepare()
            return [each.commit() for each in self._writings]
        finally:
            for each in self._writings:
                each.end()
            for frame in self._kept:
                frame.unpersist()


def _shared(plans: Sequence[n.Rel]) -> set[int]:
    """The ids of nodes that several others need. Rows that stand in a query are as cheap as their copy."""
    needed: Counter[int] = Counter()
    seen: set[int] = set()
    rest = list(plans)
    for plan in plans:
        needed[id(plan)] += 1
    while rest:
        node = rest.pop()
        if id(node) not in seen:
            seen.add(id(node))
            needed.update(id(each) for each in node.inputs if not isinstance(each, n.Values))
            rest += node.inputs
    return {node for node, times in needed.items() if times > 1}


# Plans


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
        optimised = optimise_batch(plan, context.surroundings)
        # Of what a query reads twice, Spark computes all up to the last exchange once.
        return translate(share_costly(optimised, context.surroundings.configuration), context)


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
