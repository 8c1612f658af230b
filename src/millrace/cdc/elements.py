"""What flows through a pipeline, and what the composer needs of its source and its sink.

Rows of a table in columns and changes of schemas flow in one order, both under the table that they go to.
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

    :ivar keys_only: old rows have the values of their key, and NULL for the rest.
    :ivar times: when each change was committed: an array of ms since 1970; None: they are rows of a snapshot.
    """

    table: TableId
    schema: TableSchema
    rows: Rows = field(repr=False)
    keys_only: bool = False
    times: Any = field(default=None, repr=False)
    version: int = 0
    """how many changes of the sink's table were before it"""
    lineage: str = ""
    """which run of a pipeline the versions are of"""

    def with_rows(self, rows: Rows, schema: TableSchema | None = None) -> Batch:
        """This batch with other rows. Their times of commit are not known: ``times`` becomes None.

        :param schema: of the other rows; None: they have the same columns.
        """
        return replace(self, rows=rows, schema=schema or self.schema, times=None)


Element = Batch | SchemaChangeEvent


@dataclass(frozen=True)
class SinkChange:
    """A change of a table of the sink. :ivar version: that the table has afterwards; :ivar lineage: as of ``Batch``."""

    event: SchemaChangeEvent
    version: int
    lineage: str

    @property
    def table(self) -> TableId:
        return self.event.table


SinkElement = Batch | SinkChange


@dataclass(frozen=True, eq=False)
class Routed:
    """What has happened to a table of the source, for one table of the sink.

    :ivar origin: of a batch: the schema of the source, before the transform.
    """

    sink: TableId
    source: TableId
    element: Element
    origin: TableSchema | None = None

    @property
    def key(self) -> str:
        """What brings all of a table of the sink to one subtask."""
        return str(self.sink)


class PipelineSource(ABC):
    """A source as the file describes it."""

    @abstractmethod
    def attach(self, environment: StreamExecutionEnvironment, keyed: bool) -> DataStream:
        """A stream of elements: batches and changes of schemas.

        :param keyed: whether the sink keeps rows by their keys, and may have some that are gone by now.
        """

    parallelism: int | None = None
    """how many subtasks it has; None: as many as the pipeline"""

    @property
    def is_unbounded(self) -> bool:
        return True


class PipelineSink(ABC):
    """A sink as the file describes it. Everything of one table comes to one of its subtasks, in order."""

    keeps_rows_by_keys = False
    """whether it may have rows of an attempt that failed, whose deletions must come once more"""

    @abstractmethod
    def attach(self, stream: DataStream) -> Any:
        """Let a stream of elements end here; gives what a name can be given to."""
