"""Tables of catalogs as the planner takes them: a source or sink made by their connector, columns, watermark, key,
statistics. Columns that are not declared are inferred from the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from millrace.common.config_values import to_duration
from millrace.common.types import RowKind
from millrace.configuration.own_options import SQL_READS_FILES
from millrace.relational import types as t
from millrace.relational.nodes import ROWTIME, Field, Project, Rel, Scan, Sink, StreamScan, Watermark
from millrace.relational.rex import Call, Ref, Rex
from millrace.relational.rules.join_rules import wants_order
from millrace.relational.sources import MAX_JUMP, NULL_TIMES, LookupTableSource, TableContext, TableFactory, TableSource
from millrace.relational.types import DataType, LocalZonedTimestampType, NumericType, TimestampType
from millrace.table.catalogs.descriptors import TableDescriptor
from millrace.table.catalogs.objects import CatalogBaseTable, ObjectIdentifier, ObjectPath
from millrace.table.catalogs.resolved_schema import (
    Column,
    ComputedColumn,
    MetadataColumn,
    PhysicalColumn,
    ResolvedSchema,
    UniqueConstraint,
    WatermarkSpec,
)
from millrace.table.catalogs.schema import Declared, Schema
from millrace.table.expression_methods.expression import ResolvedExpression
from millrace.table.expression_methods.expression_base import node_of
from millrace.table.queries.projection import field_for
from millrace.table.sessions.factories import todays
from millrace.table.sql import nodes
from millrace.table.sql.binding.scope import Block, bind, column_at
from millrace.table.sql.nodes import SqlText
from millrace.table.values.program_errors import problem
from millrace.util.names import did_you_mean

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session
    from millrace.table.sql.binding.scope import SinkInfo, TableInfo


# Statistics of tables that are written


def forget_written(plans: Iterable[Rel], session: Session) -> None:
    """The catalogs forget the statistics of the tables that plans write into."""
    for plan in plans:
        if isinstance(plan, Sink):
            forget(plan.path, session)


def forget(path: tuple[str, str, str], session: Session) -> None:
    """The same for one table, if a catalog keeps it."""
    found = session.catalogs.find_table(path)
    if found is not None and not found.temporary:
        session.catalogs.catalog(path[0]).forget_statistics(ObjectPath(*path[1:]))


# Columns that are not declared

READS_FILES = SQL_READS_FILES.key
"""Whether SQL that comes to a gateway may look into files by their path."""
ENDINGS = {
    "csv": ("csv", {}),
    "tsv": ("csv", {"csv.field-delimiter": "\t"}),
    "json": ("json", {}),
    "jsonl": ("json", {}),
    "ndjson": ("json", {}),
    "parquet": ("parquet", {}),
    "orc": ("orc", {}),
    "avro": ("avro", {}),
}
"""ending of a file -> its format, and what else is to be said of it"""
_COMPRESSED = ("gz", "gzip", "bz2", "xz", "zst", "zstd", "lz4", "deflate")


def with_columns(identifier: ObjectIdentifier, table: CatalogBaseTable, session: Session) -> CatalogBaseTable | None:
    """A table with the columns that its data have; None: its connector can't know them.

    :raises TableException: they can't be known, or files must not be looked into here.
    """
    summary = identifier.as_summary_string()
    options = todays(table.get_options(), summary)
    if "connector" not in options:
        return None
    found = session.connectors.factory_of(options, summary).inferred(options, summary)
    if found is None:
        return None
    schema, names = table.get_unresolved_schema(), {column.name for column in found.columns}
    columns = [Declared(column.name, column.type) for column in found.columns]
    columns += [Declared(key, t.string()) for key in table.partition_keys if key not in names]
    return CatalogBaseTable(
        Schema(columns, schema.watermark, schema.primary_key),
        {**table.get_options(), **found.options},
        table.partition_keys,
        table.get_comment(),
    )


def table_of_file(path: str, format: str | None) -> CatalogBaseTable:
    """A table without columns yet for a path in a query.

    :param format: None: by the ending of the path.
    :raises TableException: the ending says nothing.
    """
    more: dict[str, str] = {}
    if format is None:
        parts = path.rpartition("/")[2].lower().split(".")
        ending = parts[-2] if len(parts) > 2 and parts[-1] in _COMPRESSED else parts[-1]
        if ending not in ENDINGS:
            known = ", ".join(f".{each}" for each in ENDINGS)
            from millrace.connectors.file_system.table.schema_inference import format_at

            reader = f"READ_{(format_at(path) or 'csv').upper()}('{path}')"
            raise problem(f"'{path}' does not say what it is: a path in FROM ends with {known}; or call {reader}")
        format, more = ENDINGS[ending]
    return CatalogBaseTable(Schema(), {"connector": "filesystem", "path": path, "format": format, **more})


# Tables for the planner

DUPLICATES = "table.exec.source.cdc-events-duplicate"
_TIMES = (TimestampType, LocalZonedTimestampType)


def table_of(descriptor: TableDescriptor) -> CatalogBaseTable:
    """What a descriptor describes, as a catalog keeps it."""
    schema, keys = descriptor.get_schema() or Schema(), tuple(descriptor.get_partition_keys())
    return CatalogBaseTable(schema, descriptor.get_options(), keys, descriptor.get_comment())


def unnamed(descriptor: TableDescriptor, session: Session) -> tuple[ObjectIdentifier, CatalogBaseTable]:
    """A table that no catalog has."""
    table = table_of(descriptor)
    return session.catalogs.anonymous(table.get_options().get("connector", "table")), table


def table_context(
    identifier: ObjectIdentifier, table: CatalogBaseTable, options: Mapping[str, str], session: Session
) -> TableContext:
    """The table for its connector.

    :param options: of a hint, over those of the table.
    """
    schema = table.get_unresolved_schema()
    key = () if schema.primary_key is None else schema.primary_key.columns
    columns = tuple(
        Field(column.name, column.type.not_null() if column.name in key else column.type)
        for column in schema.columns
        if column.type is not None and not column.metadata
    )
    metadata = tuple(
        (column.name, column.metadata_key or column.name, column.type) for column in schema.columns if column.metadata
    )
    names = [column.name for column in schema.columns]
    for name in table.partition_keys:
        if name not in names:
            raise problem(f"{identifier} is partitioned by '{name}', no column of it{did_you_mean(name, names)}")
    return TableContext(
        _path(identifier),
        columns,
        metadata,
        key,
        table.partition_keys,
        todays({**table.get_options(), **options}, identifier.as_summary_string()),
        session.config.to_map(),
        session.streaming,
        table.get_comment(),
    )


def _path(identifier: ObjectIdentifier) -> tuple[str, str, str]:
    catalog, database, name = identifier.to_list()
    return catalog, database, name


def source_info(
    identifier: ObjectIdentifier, table: CatalogBaseTable, options: Mapping[str, str], session: Session
) -> TableInfo:
    """A table to be read."""
    from millrace.table.sql.binding.scope import TableInfo

    context = table_context(identifier, table, options, session)
    factory = session.connectors.factory_of(context.options, context.summary)
    schema = table.get_unresolved_schema()
    lookup = None
    if factory.looks_up(context):
        lookup = lambda key: _looked_up(factory, context, key)
    source = _source(factory, context, lookup is not None)
    if source is not None and session.streaming:
        source.repeats_changes = repeats_changes(source.kinds, context.primary_key, context.summary, session)
    rows, key = _counted_rows(identifier, session), context.primary_key
    scan = Scan(context.path, _read_columns(context), source, rows=rows, key=key)
    return TableInfo(context.path, with_declared(scan, schema, session), (), {}, None, context.primary_key, lookup)


def _counted_rows(identifier: ObjectIdentifier, session: Session) -> int | None:
    """About how many rows a table has, if its catalog knows; asked where plans depend on it."""
    if session.streaming and not wants_order(session.config.to_map()):
        return None
    found = session.catalogs.find_table(tuple(identifier.to_list()))
    if found is None or found.temporary:
        return None
    catalog = session.catalogs.catalog(identifier.get_catalog_name())
    rows = catalog.get_table_statistics(identifier.to_object_path()).get_row_count()
    return rows if rows >= 0 else None


def described(identifier: ObjectIdentifier, table: CatalogBaseTable, session: Session) -> Rel:
    """The columns of a table as a plan that is not run: it need not be one that can be read."""
    context = table_context(identifier, table, {}, session)
    return with_declared(Scan(context.path, _read_columns(context), None), table.get_unresolved_schema(), session)


def _read_columns(context: TableContext) -> tuple[Field, ...]:
    return (*context.columns, *(Field(name, kind) for name, _, kind in context.metadata))


def repeats_changes(kinds: frozenset[RowKind], key: Sequence[str], name: str, session: Session) -> bool:
    """Whether the changes of a source are to be put right by its primary key.

    :raises TableException: it has none.
    """
    if kinds <= {RowKind.INSERT} or session.config.to_map().get(DUPLICATES, "false").lower() != "true":
        return False
    if not key:
        raise problem(
            f"{DUPLICATES} = true needs changelogs with a PRIMARY KEY, and {name} has none: declare one, or set it to "
            "false"
        )
    return True


def _looked_up(factory: TableFactory, context: TableContext, key: Sequence[int]) -> LookupTableSource:
    source = factory.lookup_source(context, key)
    source.table = context
    return source


def _source(factory: TableFactory, context: TableContext, optional: bool) -> TableSource | None:
    if optional and type(factory).source is TableFactory.source:
        return None  # it can only be looked up
    source = factory.source(context)
    source.table = context
    names = [column.name for column in context.columns]
    source.primary_key = tuple(names.index(name) for name in context.primary_key)
    return source


def with_declared(scan: Rel, schema: Schema, session: Session) -> Rel:
    """All columns of a schema in their order, computed ones too, and its watermark."""
    below = Block.of(scan.schema, session)
    names = [column.name for column in schema.columns]
    plan = scan
    if [*scan.names] != names:
        rexes = [_bound(column, below) for column in schema.columns]
        fields = tuple(field_for(name, rex, scan.schema) for name, rex in zip(names, rexes))
        fields = tuple(_proctime(field, column) for field, column in zip(fields, schema.columns))
        plan = Project(scan, tuple(rexes), fields)
    if schema.watermark is None:
        return plan
    block = below.over(plan.schema)
    column = column_at(schema.watermark.column, block)
    name, type = plan.names[column], plan.schema[column].type
    if not isinstance(type, _TIMES):
        compute = f"TO_TIMESTAMP_LTZ({name}, 3)" if isinstance(type, NumericType) else f"TO_TIMESTAMP({name})"
        raise problem(
            f"WATERMARK FOR {name}: the column is {type}, and event time is a TIMESTAMP or TIMESTAMP_LTZ: declare a "
            f"computed column for it, such as `event_time AS {compute}`"
        )
    expression = bind(_node(schema.watermark.expression), block)
    if isinstance(expression, Call) and expression.function == "SOURCE_WATERMARK":
        return _with_watermarks_of(scan, plan, column)
    if not isinstance(expression.type, _TIMES):
        raise problem(
            f"WATERMARK FOR {name}: the expression is {expression.type}, and event time is a TIMESTAMP or "
            f"TIMESTAMP_LTZ, as in {name} - INTERVAL '5' SECOND"
        )
    return Watermark(plan, column, expression, _leaves_out(scan), _max_jump(scan))


def _leaves_out(scan: Rel) -> bool:
    """Whether rows without a time are left out.

    :raises TableException: the table's option says something else than ``drop`` and ``fail``.
    """
    table: TableContext | None = getattr(getattr(scan, "source", None), "table", None)
    said = "fail" if table is None else table.options.get(NULL_TIMES, "fail")
    if said not in ("fail", "drop"):
        raise problem(f"'{NULL_TIMES}' is fail or drop, not '{said}'")
    return said == "drop"


def _max_jump(scan: Rel) -> int | None:
    """How far a row may bring event time forward (ms).

    :raises TableException: the table's option is no duration.
    """
    table: TableContext | None = getattr(getattr(scan, "source", None), "table", None)
    said = None if table is None else table.options.get(MAX_JUMP)
    try:
        most = None if said is None else to_duration(said).to_millis()
    except ValueError as error:
        raise problem(f"'{MAX_JUMP}': {error}") from None
    if most is not None and most <= 0:
        raise problem(f"'{MAX_JUMP}' must be longer than nothing, as in '1 h', and not '{said}'")
    return most


def _with_watermarks_of(scan: Rel, plan: Rel, column: int) -> Rel:
    """The column becomes the event time attribute of watermarks that are there already."""
    below = scan
    while isinstance(below, Project):
        below = below.input
    name = plan.names[column]
    if not isinstance(below, StreamScan):
        raise problem(
            f"column '{name}': SOURCE_WATERMARK() is for tables of DataStreams, which have watermarks; no connector "
            f"has some of its own: write an expression, as in WATERMARK FOR {name} AS {name} - INTERVAL '5' SECOND "
            f"(of Kafka it makes one for each partition)"
        )
    refs = tuple(Ref(field.type, index) for index, field in enumerate(plan.schema))
    fields = (replace(each, time=ROWTIME) if index == column else each for index, each in enumerate(plan.schema))
    return Project(plan, refs, tuple(fields))


def _bound(column: Declared, block: Block) -> Rex:
    if column.expression is None:
        return block.ref(column_at(column.name, block))
    return bind(_node(column.expression), block)


def _node(expression: Any) -> nodes.Node:
    if isinstance(expression, str):
        return nodes.SqlText(expression)
    node = expression._node
    assert isinstance(node, nodes.Node)
    return node


def _proctime(field: Field, column: Declared) -> Field:
    """A column AS PROCTIME() is the processing time attribute."""
    written = column.expression
    text = written if isinstance(written, str) else getattr(written, "_node", None)
    if isinstance(text, nodes.SqlText):
        text = text.text
    if isinstance(text, str) and "".join(text.split()).upper() == "PROCTIME()":
        from millrace.relational.nodes import PROCTIME

        return Field(field.name, field.type, PROCTIME)
    return field


def sink_info(
    identifier: ObjectIdentifier, table: CatalogBaseTable, options: Mapping[str, str], session: Session
) -> SinkInfo:
    """A table to be written."""
    from millrace.table.sql.binding.scope import SinkInfo

    if table.is_view:
        raise problem(f"{identifier} is a view: it cannot be written to")
    context = table_context(identifier, table, options, session)
    if table.distribution is not None:
        raise problem(
            f"{identifier} is {table.distribution}, and the connector '{context.options.get('connector')}' has no "
            "buckets: ALTER TABLE ... DROP DISTRIBUTION"
        )
    schema = table.get_unresolved_schema()
    context = written(context, table)
    sink = session.connectors.factory_of(context.options, context.summary).sink(context)
    sink.table = context
    filled = [column for column in schema.columns if column.expression is None and not column.virtual]
    physical = {column.name: column for column in context.columns}
    fields = [physical.get(column.name) or Field(column.name, _type(column)) for column in filled]
    names = [column.name for column in filled]
    rest = tuple(column.name for column in schema.columns if column.name not in names)
    # Metadata columns come behind the physical ones, as the connector has them.
    ordered = sorted(fields, key=lambda field: field.name not in physical)
    return SinkInfo(context.path, tuple(ordered), sink, context.partition_keys, rest, tuple(names))


def written(context: TableContext, table: CatalogBaseTable) -> TableContext:
    """A table for its sink, which finds what it writes by its place among the metadata columns: those that are only
    read are none of them."""
    virtual = {column.name for column in table.get_unresolved_schema().columns if column.virtual}
    return replace(context, metadata=tuple(each for each in context.metadata if each[0] not in virtual))


def _type(column: Declared) -> Any:
    assert column.type is not None
    return column.type


# Resolved schemas of read tables


def resolved_table(plan: Rel, declared: Schema) -> ResolvedSchema:
    """
    :param plan: reads the table.
    """
    known = {column.name: column for column in declared.columns}
    columns = [_column(field, known[field.name]) for field in plan.schema]
    types = {field.name: field.type for field in plan.schema}
    mark, key = declared.watermark, declared.primary_key
    marks = [] if mark is None else [WatermarkSpec(mark.column, _expression(mark.expression, types[mark.column]))]
    return ResolvedSchema(columns, marks, None if key is None else UniqueConstraint(key.name, key.columns))


def whole_schema(plan: Rel, declared: Schema) -> Schema:
    """What was declared of some columns of a plan, and all others as physical ones."""
    known = {column.name: column for column in declared.columns}
    columns = [known.get(field.name) or Declared(field.name, field.type) for field in plan.schema]
    return Schema(columns, declared.watermark, declared.primary_key)


def _column(field: Field, declared: Declared) -> Column:
    made: Column
    if declared.metadata:
        key = declared.metadata_key if declared.metadata_key != field.name else None
        made = MetadataColumn(field.name, field.type, key, declared.virtual, declared.comment)
    elif declared.expression is not None:
        made = ComputedColumn(field.name, _expression(declared.expression, field.type), declared.comment)
    else:
        made = PhysicalColumn(field.name, field.type, declared.comment)
    return made.as_time_attribute(field.time)


def _expression(written: Any, kind: DataType) -> ResolvedExpression:
    if isinstance(written, str):
        return ResolvedExpression(SqlText(written), kind, written)
    return ResolvedExpression(node_of(written), kind)
