"""``type: values``: events listed in the pipeline file, for tests and for trying out routes and transforms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from millrace.cdc.elements import Batch, Element, PipelineSource
from millrace.cdc.pipeline_file import End
from millrace.cdc.table_selection import table_id
from millrace.cdc.yaml_tree import Block, Items, Part, Text
from millrace.common.typeinfo import Types
from millrace.connectors.cdc.events import (
    AddColumnEvent,
    AddedColumn,
    AlterColumnTypeEvent,
    Column,
    CreateTableEvent,
    DropColumnEvent,
    DropTableEvent,
    RenameColumnEvent,
    SchemaChangeEvent,
    TableId,
    TableSchema,
    TruncateTableEvent,
)
from millrace.relational import types as t
from millrace.relational.functions.casting import SignatureError, explicit_cast
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import Surroundings
from millrace.relational.rex import Ref
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Rows, record_batch
from millrace.relational.types import DataType
from millrace.table.sql.grammar.parser import parse_type
from millrace.table.sql.text import SqlError

if TYPE_CHECKING:
    from millrace.datastream import DataStream, StreamExecutionEnvironment


_ROWS = {"insert": (INSERT,), "update": (UPDATE_BEFORE, UPDATE_AFTER), "delete": (DELETE,)}
_SCHEMAS = ("create", "add-column", "drop-column", "rename-column", "alter-column-type", "truncate", "drop")


class ValuesSource(PipelineSource):
    """:raises PipelineError: an event cannot be read."""

    parallelism = 1

    def __init__(self, end: End) -> None:
        self._events = read_events(end.block)

    def attach(self, environment: StreamExecutionEnvironment, keyed: bool) -> DataStream:
        return environment.from_collection(self._events, Types.PICKLED_BYTE_ARRAY()).set_parallelism(self.parallelism)

    @property
    def is_unbounded(self) -> bool:
        return False


def read_events(source: Block) -> list[Element]:
    """Parse ``events`` of a source block.

    :raises PipelineError: an event is malformed, or its table does not exist.
    """
    source.only(("type", "name", "events"))
    schemas: dict[TableId, TableSchema] = {}
    return [element for block in source.blocks("events") for element in _event(block, schemas)]


def _event(block: Block, schemas: dict[TableId, TableSchema]) -> Iterator[Element]:
    kinds = (*_ROWS, *_SCHEMAS)
    block.only(("table", *kinds))
    table = table_id(block.needed("table"))
    given = [kind for kind in kinds if kind in block.values]
    if table is None or len(given) != 1:
        block.fail(f"an event has 'table' and one of {', '.join(kinds)}")
    kind = given[0]
    if kind == "create":
        schemas[table] = _schema(block.block("create") or block)
        yield CreateTableEvent(table, schemas[table])
        return
    if table not in schemas:
        block.fail(f"table {table} is not there: an event with 'create' comes first", "table")
    if kind in _ROWS:
        yield _batch(block, kind, table, schemas[table])
        return
    event = _MAKERS[kind](block, table)
    yield event
    schemas[table] = event.apply(schemas[table])
    if kind == "drop":
        del schemas[table]


def _schema(block: Block) -> TableSchema:
    block.only(("columns", "primary-key"))
    columns = block.block("columns")
    if columns is None:
        block.fail("'create' needs 'columns'")
    keys = block.texts("primary-key")
    found = tuple(_column(columns, name, name in keys) for name in columns.values)
    missing = [name for name in keys if name not in columns.values]
    if missing:
        block.fail(f"'primary-key': there is no column {missing[0]}", "primary-key")
    return TableSchema(found, keys)


def _column(block: Block, name: str, is_key: bool = False) -> Column:
    kind = _type(block, name)
    return Column(name, kind.not_null() if is_key else kind)


def _type(block: Block, key: str) -> DataType:
    try:
        return parse_type(block.needed(key))
    except SqlError as error:
        block.fail(f"'{key}': {error}", key)


def _added(block: Block, table: TableId) -> SchemaChangeEvent:
    given = block.block("add-column") or block
    given.only(("name", "type", "after"))
    after = given.text("after")
    column = Column(given.needed("name"), _type(given, "type"))
    return AddColumnEvent(table, (AddedColumn(column, "AFTER" if after else "LAST", after),))


def _pairs(block: Block, key: str) -> Mapping[str, str]:
    given = block.block(key)
    return {} if given is None else {name: given.needed(name) for name in given.values}


def _altered(block: Block, table: TableId) -> SchemaChangeEvent:
    given = block.block("alter-column-type") or block
    return AlterColumnTypeEvent(table, {name: _type(given, name) for name in given.values})


_MAKERS: Mapping[str, Callable[[Block, TableId], SchemaChangeEvent]] = {
    "add-column": _added,
    "drop-column": lambda block, table: DropColumnEvent(table, block.texts("drop-column")),
    "rename-column": lambda block, table: RenameColumnEvent(table, dict(_pairs(block, "rename-column"))),
    "alter-column-type": _altered,
    "truncate": lambda block, table: TruncateTableEvent(table),
    "drop": lambda block, table: DropTableEvent(table),
}


def _batch(block: Block, kind: str, table: TableId, schema: TableSchema) -> Batch:
    """A batch of rows; updates alternate between old and new rows."""
    rows = [_row(block, kind, each, schema) for each in _items(block, kind, block.values[kind])]
    cycle = _ROWS[kind]
    if len(rows) % len(cycle):
        block.fail("'update' has an old and a new row each", kind)
    columns = [_typed(block, kind, [row[place] for row in rows], column) for place, column in enumerate(schema.columns)]
    kinds = np.array([cycle[place % len(cycle)] for place in range(len(rows))], np.uint8)
    return Batch(table, schema, Rows(record_batch(columns, len(rows)), kinds))


def _items(block: Block, kind: str, part: Part) -> Sequence[Part]:
    if not isinstance(part, Items):
        block.fail(f"'{kind}' is a list of rows", kind)
    return part.values


def _row(block: Block, kind: str, part: Part, schema: TableSchema) -> list[str | None]:
    values = [each.value for each in _items(block, kind, part) if isinstance(each, Text)]
    if len(values) != len(schema.columns):
        block.fail(f"a row has {len(schema.columns)} values ({', '.join(schema.names)}), not {len(values)}", kind)
    return values


def _typed(block: Block, kind: str, texts: list[str | None], column: Column) -> pa.Array:
    given = t.string()
    try:
        cast = explicit_cast(Ref(given, 0), column.type)
        return Evaluator([pa.array(texts, pa.string())], Surroundings(len(texts))).column(cast)
    except (SignatureError, ValueError, ArithmeticError) as error:
        block.fail(f"column {column.name}: {error}", kind)
