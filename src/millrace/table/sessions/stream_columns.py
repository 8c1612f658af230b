"""DataStreams as tables: which columns they have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millrace.common import typeinfo as ti
from millrace.relational import types as t
from millrace.relational.nodes import PROCTIME, ROWTIME, Field, Project, Rel, StreamScan
from millrace.relational.rex import Ref, Rex
from millrace.table.descriptions.schema import Schema
from millrace.table.expression_methods.base import node_of
from millrace.table.sessions.table_info import repeats_changes
from millrace.table.settings.changelog_mode import ChangelogMode
from millrace.table.sql import nodes
from millrace.table.sql.writing.programs import shown
from millrace.table.values.problems import problem
from millrace.table.values.stream_types import type_outside_rows

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session

TIMESTAMP = "$timestamp"
"""the column behind the fields with the timestamp of each element (TIMESTAMP_LTZ(3), NULL without)"""


def stream_scan(
    stream: Any, fields_or_schema: Sequence[Any], mode: ChangelogMode | None, session: Session
) -> Rel:
    """A stream as a table."""
    columns = _columns(stream.get_type())
    schema = fields_or_schema[0] if fields_or_schema and isinstance(fields_or_schema[0], Schema) else None
    if fields_or_schema and schema is None:
        columns = tuple(Field(column.name, column.type.nullable()) for column in columns)
    declared = () if schema is None or schema.primary_key is None else schema.primary_key.columns
    again = mode is not None and repeats_changes(mode.kinds, declared, "the DataStream", session)
    key = _key(columns, schema) if mode == ChangelogMode.upsert() or again else ()
    scan = StreamScan((*columns, Field(TIMESTAMP, t.LocalZonedTimestampType(3))), stream, mode, key)
    if schema is not None:
        return _with_schema(scan, schema, session)
    picked = [nodes.Column.named(each) if isinstance(each, str) else node_of(each) for each in fields_or_schema]
    return _picked(scan, picked or [nodes.Column.named(column.name) for column in columns])


def _key(columns: Sequence[Field], schema: Schema | None) -> tuple[int, ...]:
    """The primary key as columns of the stream.

    :raises TableException: the schema has none, or one that is not of the stream.
    """
    names = [column.name for column in columns]
    declared = None if schema is None else schema.primary_key
    if declared is None:
        raise problem("a stream of upserts gives rows by their key: its schema needs primary_key(...)")
    for name in declared.columns:
        if name not in names:
            raise problem(f"the primary key '{name}' is no field of the stream; it has {', '.join(names)}")
    return tuple(names.index(name) for name in declared.columns)


def _columns(info: ti.TypeInformation) -> tuple[Field, ...]:
    found = type_outside_rows(info)
    if isinstance(found, t.RowType):
        return tuple(Field(field.name, field.data_type) for field in found)
    return (Field("f0", found),)


def _picked(scan: StreamScan, picked: Sequence[nodes.Node]) -> Rel:
    """Columns by name or, if no name is a field's, by position; time attributes are added."""
    names = scan.names[:-1]
    plain = [node for node in picked if not isinstance(node, nodes.WindowProperty)]
    by_name = all(_source(node) in names for node in plain)
    if not by_name and len(plain) > len(names):
        raise problem(f"the stream has {len(names)} fields ({', '.join(names)}), and {len(plain)} columns are named")
    rexes: list[Rex] = []
    columns: list[Field] = []
    position = 0
    for node in picked:
        name = node.alias.this if isinstance(node, nodes.Alias) else _source(node)
        if isinstance(node, nodes.WindowProperty):
            rex, kind, time = _time(node, scan)
            rexes.append(rex)
            columns.append(Field(name, kind, time))
            if not by_name and time == ROWTIME and position < len(names):
                _check_replaced(scan, position, name)
                position += 1
            continue
        index = names.index(_source(node)) if by_name else position
        if index >= len(names):
            raise problem(
                f"the stream has {len(names)} fields ({', '.join(names)}), "
                f"and a rowtime between columns takes the place of one"
            )
        position += 1
        rexes.append(Ref(scan.schema[index].type, index))
        columns.append(Field(name, scan.schema[index].type))
    return Project(scan, tuple(rexes), tuple(columns))


def _source(node: nodes.Node) -> str:
    if isinstance(node, (nodes.Alias, nodes.WindowProperty)):
        return _source(node.this)
    if not isinstance(node, nodes.Column):
        raise problem(f"columns of a DataStream are given by name, as col('a'), not as {shown(node)}")
    return node.name


def _check_replaced(scan: StreamScan, position: int, name: str) -> None:
    """By position, a rowtime stands for the field in its place, as in Flink: one with a time in it."""
    field = scan.schema[position]
    if not isinstance(field.type, (t.BigIntType, t.TimestampType, t.LocalZonedTimestampType)):
        raise problem(
            f"the rowtime {name} takes the place of the field {field.name}, which is {field.type}: such a field is a "
            f"BIGINT or TIMESTAMP, or the rowtime stands behind all fields"
        )


def _time(node: nodes.WindowProperty, scan: StreamScan) -> tuple[Rex, t.DataType, str]:
    from millrace.relational.functions.registry import call

    if node.property == "PROCTIME":
        found = call("PROCTIME", [])
        return found, found.type, PROCTIME
    last = len(scan.schema) - 1
    return Ref(scan.schema[last].type, last), t.LocalZonedTimestampType(3), ROWTIME


def _with_schema(scan: StreamScan, schema: Schema, session: Session) -> Rel:
    """Physical columns by name, metadata ``rowtime``, computed columns and the watermark of a schema."""
    from millrace.table.sessions.table_info import with_declared

    names = scan.names
    declared = schema.columns
    if not any(column.expression is None and not column.metadata for column in declared):
        own = Schema.new_builder().from_fields(names[:-1], [field.type for field in scan.schema[:-1]]).build().columns
        declared = (*own, *declared)
    rexes, columns = [], []
    for column in declared:
        if column.expression is not None:
            continue
        source = TIMESTAMP if column.metadata else column.name
        if column.metadata and column.metadata_key != "rowtime":
            raise problem(f"a DataStream has the metadata 'rowtime' only, not '{column.metadata_key}'")
        if source not in names:
            raise problem(f"the stream has no field '{source}'; it has {', '.join(names[:-1])}")
        index = names.index(source)
        ref = Ref(scan.schema[index].type, index)
        rex = _cast(ref, column.type)
        rexes.append(rex)
        columns.append(Field(column.name, rex.type))
    # Computed columns may use fields that the schema leaves out.
    taken = {column.name for column in declared}
    for index, field in enumerate(scan.schema[:-1]):
        if field.name not in taken:
            rexes.append(Ref(field.type, index))
            columns.append(field)
    below = Project(scan, tuple(rexes), tuple(columns))
    return with_declared(below, Schema(declared, schema.watermark, schema.primary_key), session)


def _cast(rex: Rex, wanted: t.DataType | None) -> Rex:
    from millrace.relational.casting import cast_to

    return rex if wanted is None else cast_to(rex, wanted)
