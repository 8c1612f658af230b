"""What flows through a pipeline: rows of a table in columns, changes of schemas, both under the table they go to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from millrace.connectors.cdc.events import SchemaChangeEvent
from millrace.connectors.cdc.schema import TableId, TableSchema
from millrace.relational.rows import Rows


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
        """Others in their place, of which it is not known any more when they were changed."""
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
