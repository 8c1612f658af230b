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

    def with_rows(self, rows: Rows, schema: TableSchema | None = None) -> Batch:
        """Others in their place, of which it is not known any more when they were changed."""
        return replace(self, rows=rows, schema=schema or self.schema, times=None)


Element = Batch | SchemaChangeEvent


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
