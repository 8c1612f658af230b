"""What expressions of a pipeline can name: columns, metadata of the row, functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from millrace.connectors.cdc.schema import TableId, TableSchema
from millrace.relational import types as t
from millrace.relational.fields import Field
from millrace.table.sql.binding import SinkInfo, TableInfo, UserFunction
from millrace.table.sql.binding.block import Block, Environment
from millrace.table.sql.binding.scopes import Relation, Scope
from millrace.util.exceptions import TableException

NAMESPACE, SCHEMA, TABLE = "__namespace_name__", "__schema_name__", "__table_name__"
EVENT_TYPE, COMMITTED = "__data_event_type__", "op_ts"
_TEXT = t.VarCharType(t.MAX_LENGTH, False)
METADATA = (
    *(Field(name, _TEXT) for name in (NAMESPACE, SCHEMA, TABLE, EVENT_TYPE)),
    Field(COMMITTED, t.BigIntType(False)),
)
"""columns behind those of the table"""


@dataclass(frozen=True)
class Surroundings:
    """What the pipeline says for all expressions. The binder asks it for names."""

    functions: Mapping[str, UserFunction] = field(default_factory=dict)
    zone: str = "UTC"

    streaming = True
    matches_as_standard = False

    def function(self, path: tuple[str, ...]) -> UserFunction | None:
        return self.functions.get(path[-1].lower()) if len(path) == 1 else None

    def function_names(self) -> Iterable[str]:
        return [each.name for each in self.functions.values()]

    def table(self, path: tuple[str, ...], options: Mapping[str, str]) -> TableInfo | None:
        return None

    def file(self, path: str, format: str | None) -> NoReturn:
        raise TableException("expressions of a pipeline read no files")

    def sink(self, path: tuple[str, ...], options: Mapping[str, str]) -> SinkInfo | None:
        return None

    def table_names(self) -> Iterable[str]:
        return ()


def block_of(table: TableId, schema: TableSchema, surroundings: Surroundings, place: str) -> Block:
    """Where expressions over a table's rows stand."""
    columns = tuple(Field(column.name, column.type) for column in schema.columns)
    # A column of the table goes before metadata of its name.
    hidden = tuple(Field("" if each.name in schema.names else each.name, each.type) for each in METADATA)
    scope = Scope((Relation(table.table, columns), Relation(None, hidden, len(columns))))
    return Block(Environment(surroundings), scope, place=place)
