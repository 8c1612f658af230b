"""What of a change beside its values can be a column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from millrace.connectors.cdc.schema import TableId
from millrace.connectors.tables.metadata import TIME, MetadataColumn
from millrace.relational import types as t
from millrace.relational.sources import TableContext
from millrace.relational.types import DataType
from millrace.util.exceptions import TableException
from millrace.util.similar import did_you_mean

_KINDS = ("+I", "-U", "+U", "-D")


class Origin(NamedTuple):
    """Where a row comes from. :ivar time: ms since 1970, 0 for the snapshot. :ivar kind: a ``RowKind``'s value."""

    table: TableId
    time: int
    kind: int


READABLE: Mapping[str, tuple[DataType, Callable[[Origin], Any]]] = {
    "table_name": (t.string(), lambda origin: origin.table.table),
    "schema_name": (t.string(), lambda origin: origin.table.schema),
    "database_name": (t.string(), lambda origin: origin.table.namespace or origin.table.schema),
    "op_ts": (TIME, lambda origin: origin.time),
    "row_kind": (t.string(), lambda origin: _KINDS[origin.kind]),
}


@dataclass(frozen=True)
class CdcMetadata(MetadataColumn):
    @property
    def natural(self) -> DataType:
        return READABLE[self.key][0]

    def values(self, messages: Sequence[Origin]) -> list[Any]:
        tell = READABLE[self.key][1]
        return [tell(message) for message in messages]


def metadata_columns(table: TableContext, keys: Sequence[str]) -> tuple[CdcMetadata, ...]:
    """The metadata columns of a table. :param keys: those that the connector has."""
    found = []
    for _, key, kind in table.metadata:
        if key not in keys:
            raise TableException(
                f"table {table.summary}: connector '{table.options.get('connector')}' has no metadata '{key}'"
                f"{did_you_mean(key, keys)}; there are {', '.join(keys)}"
            )
        column = CdcMetadata(key, kind, table.configuration.get("table.local-time-zone", "UTC"))
        problem = column.problem()
        if problem is not None:
            raise TableException(f"table {table.summary}: {problem}")
        found.append(column)
    return tuple(found)
