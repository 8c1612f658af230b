"""Where rows go: a connector that writes frames, or a FLIP-143 sink whose writers run in the tasks."""

from __future__ import annotations

import logging
import pickle
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as s

from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.relational import nodes as n
from millrace.relational.rows import Rows, record_batch
from millrace.relational.types import DataType
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.frames import types_of
from millrace.spark.tables.steps.parts import Part
from millrace.spark.tables.steps.stragglers import none_left
from millrace.spark.tables.texts.types import as_internal

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
