"""The elements of a pipeline, and the interfaces of its source and sink.

Elements are column batches of changes, and schema changes. They flow in one order, addressed to their table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from millrace.connectors.cdc.events import SchemaChangeEvent, TableId, TableSchema
from millrace.relational.rows import Rows

if TYPE_CHECKING:
    from millrace.datastream import DataStream, StreamExecutionEnvironment


@dataclass(frozen=True, eq=False)
class Batch:
    """Changes of rows of one table, in their order. The old row of an update is right before the new one.

    :ivar keys_only: whether old rows contain the key's values only, and NULL for the rest.
    :ivar times: commit time of each change: an array of ms since 1970; None: rows of a snapshot, or unknown.
    """

    table: TableId
    schema: TableSchema
    rows: Rows = field(repr=False)
    keys_only: bool = False
    times: Any = field(default=None, repr=False)
    version: int = 0
    """number of schema changes of the sink's table before this batch"""
    lineage: str = ""
    """id of the pipeline run that counts the versions"""

    def with_rows(self, rows: Rows, schema: TableSchema | None = None) -> Batch:
        """This batch with other rows. Their times of commit are not known: ``times`` becomes None.

        :param schema: of the other rows; None: they have the same columns.
        """
        return replace(self, rows=rows, schema=schema or self.schema, times=None)


Element = Batch | SchemaChangeEvent


@dataclass(frozen=True)
class SinkChange:
    """A schema change of a sink table.

    :ivar version: the table's version after the change.
    :ivar lineage: id of the pipeline run that counts the versions, as in ``Batch``.
    """

    event: SchemaChangeEvent
    version: int
    lineage: str

    @property
    def table(self) -> TableId:
        return self.event.table


SinkElement = Batch | SinkChange


@dataclass(frozen=True, eq=False)
class Routed:
    """An element of a source table, addressed to one sink table.

    :ivar origin: schema of a batch's rows at the source, before transforms.
    """

    sink: TableId
    source: TableId
    element: Element
    origin: TableSchema | None = None

    @property
    def key(self) -> str:
        """The partitioning key: all elements of a sink table go to one subtask."""
        return str(self.sink)


class PipelineSource(ABC):
    """A source as the pipeline file describes it."""

    @abstractmethod
    def attach(self, environment: StreamExecutionEnvironment, keyed: bool) -> DataStream:
        """The source's elements as a stream: batches and schema changes.

        :param keyed: whether the sink stores rows by key, and may contain rows that have been deleted since.
        """

    parallelism: int | None = None
    """number of subtasks; None: the pipeline's parallelism"""

    @property
    def is_unbounded(self) -> bool:
        return True


class PipelineSink(ABC):
    """A sink as the pipeline file describes it. All elements of one table go to one of its subtasks, in order."""

    keeps_rows_by_keys = False
    """whether the sink stores rows by key, so that rows of a failed attempt may remain and their deletions must be
    repeated"""

    @abstractmethod
    def attach(self, stream: DataStream) -> Any:
        """End a stream of elements in this sink; returns an object that can be named."""
