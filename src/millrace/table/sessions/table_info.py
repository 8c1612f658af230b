"""A table for the planner and for its connector: the factory that its options name (Millrace's own, and those of
installed packages: entry points ``millrace.connectors``), what the factory is given of the declaration, and the plan of
a scan with its computed columns, watermark, key and statistics. Columns that are not declared are inferred from the
files.

Options from before Flink 1.11 (``connector.type``, ``format.type``) are translated into today's; for a connector that
Millrace does not have, the error names the nearest one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from millrace.common.configuration import is_on, to_duration
from millrace.common.files import store_settings
from millrace.common.types import RowKind
from millrace.configuration.own_options import SQL_READS_FILES
from millrace.connectors.extras import missing_extra_of_table
from millrace.relational import types as t
from millrace.relational.nodes import ROWTIME, Field, Project, Rel, Scan, Sink, StreamScan, Watermark
from millrace.relational.rex import Call, Ref, Rex
from millrace.relational.rules.join_rules import JOIN_REORDER
from millrace.relational.sources import MAX_JUMP, NULL_TIMES, LookupTableSource, TableContext, TableFactory, TableSource
from millrace.relational.types import DataType, LocalZonedTimestampType, NumericType, TimestampType
from millrace.table.catalogs.descriptors import TableDescriptor
from millrace.table.catalogs.objects import CatalogBaseTable, Declared, ObjectIdentifier, ObjectPath, Schema
from millrace.table.catalogs.resolved_schema import (
    Column,
    ComputedColumn,
    MetadataColumn,
    PhysicalColumn,
    ResolvedSchema,
    UniqueConstraint,
    WatermarkSpec,
)
from millrace.table.expression_methods.expression import ResolvedExpression
from millrace.table.expression_methods.expression_base import node_of
from millrace.table.queries.projection import field_for
from millrace.table.sql import nodes
from millrace.table.sql.binding.scope import Block, bind, column_at
from millrace.table.sql.nodes import SqlText
from millrace.table.values.program_errors import problem
from millrace.util import plugins
from millrace.util.names import close_to, did_you_mean

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session
    from millrace.table.sql.binding.scope import SinkInfo, TableInfo

# Connectors that Millrace does not have

_DEBEZIUM = "let {} send its changes to Kafka, and read them with 'connector' = 'kafka' and a format of changes"
_LAKE = (
    "'connector' = 'spark', 'format' = '{0}', once Spark has the package of {0} (spark.jars.packages): it is read as "
    "it is when the query begins, and written in batch mode"
)
_FILES = "'connector' = 'filesystem' over its files, 'format' = 'parquet' or 'orc'"
_LOADED = "write files with 'connector' = 'filesystem' and load these, or a sink in Python (millrace.common.sink.Sink)"
_DRIVER = "'connector' = 'jdbc' with a URL jdbc:{}: and the jar of its driver (pipeline.jars)"
_PYTHON = "a source or sink in Python (millrace.common.source.Source, millrace.common.sink.Sink), or a bridge to Kafka"

NEAREST = {
    **{name: _LAKE.format(name) for name in ("iceberg", "delta", "hudi", "paimon")},
    "table-store": _LAKE.format("paimon"),
    "fluss": _PYTHON,
    "hive": _FILES,
    "doris": _LOADED,
    "starrocks": _LOADED,
    "snowflake": _DRIVER.format("snowflake"),
    "bigquery": _LOADED,
    "redshift": _DRIVER.format("redshift"),
    "kudu": _LOADED,
    "polardbx-cdc": _DEBEZIUM.format("its server"),
    "gaussdb-cdc": _DEBEZIUM.format("its server"),
    **dict.fromkeys(
        ("pulsar", "pravega", "rocketmq", "pubsub", "gcp-pubsub", "sqs", "dynamodb", "dynamodb-streams", "eventhubs"),
        _PYTHON,
    ),
    "prometheus": "a sink in Python (millrace.common.sink.Sink)",
    "neo4j": "a sink in Python (millrace.common.sink.Sink)",
    "faker": "'connector' = 'datagen'",
    "upsert-rabbitmq": "'connector' = 'rabbitmq'",
    "websocket": "'connector' = 'socket', or a source in Python (millrace.common.source.Source)",
    "sls": _PYTHON,
    "odps": _FILES,
    "maxcompute": _FILES,
    "hologres": "'connector' = 'jdbc' with a URL of PostgreSQL, whose protocol it speaks; it was not tried",
    "tidb": "'connector' = 'jdbc' with a URL of MySQL, whose protocol it speaks; it was not tried",
    "oceanbase": _DRIVER.format("oceanbase"),
}
"""name of a connector -> the nearest way"""


def nearest(name: str) -> str:
    """Text about a connector of another project, to append to an error: "; nearest: ..."; empty if the name is
    unknown."""
    found = NEAREST.get(name.strip().lower())
    return "" if found is None else f"; nearest: {found}"


# Options from before Flink 1.11

_TYPE = "connector.type"
_INDEXED = re.compile(r"connector\.(properties|specific-offsets)\.(\d+)\.(key|value|partition|offset)")
_PROPERTIES = "connector.properties."
_COMMON = {"connector.property-version", "format.property-version", "format.derive-schema"}
"""old options without a meaning today, since the columns of the table are the schema"""
_KAFKA = {
    "connector.topic": "topic",
    "connector.startup-mode": "scan.startup.mode",
    "connector.specific-offsets": "scan.startup.specific-offsets",
    "connector.startup-timestamp-millis": "scan.startup.timestamp-millis",
    "connector.sink-partitioner-class": "sink.partitioner",
    "connector.sink-partitioner": "sink.partitioner",
}
_JDBC = {
    "connector.url": "url",
    "connector.table": "table-name",
    "connector.driver": "driver",
    "connector.username": "username",
    "connector.password": "password",
    "connector.read.partition.column": "scan.partition.column",
    "connector.read.partition.num": "scan.partition.num",
    "connector.read.partition.lower-bound": "scan.partition.lower-bound",
    "connector.read.partition.upper-bound": "scan.partition.upper-bound",
    "connector.read.fetch-size": "scan.fetch-size",
    "connector.lookup.cache.max-rows": "lookup.cache.max-rows",
    "connector.lookup.cache.ttl": "lookup.cache.ttl",
    "connector.lookup.max-retries": "lookup.max-retries",
    "connector.write.flush.max-rows": "sink.buffer-flush.max-rows",
    "connector.write.flush.interval": "sink.buffer-flush.interval",
    "connector.write.max-retries": "sink.max-retries",
}
_SEARCH = {
    "connector.hosts": "hosts",
    "connector.index": "index",
    "connector.document-type": "document-type",
    "connector.key-delimiter": "document-id.key-delimiter",
    "connector.failure-handler": "failure-handler",
    "connector.flush-on-checkpoint": "sink.flush-on-checkpoint",
    "connector.bulk-flush.max-actions": "sink.bulk-flush.max-actions",
    "connector.bulk-flush.max-size": "sink.bulk-flush.max-size",
    "connector.bulk-flush.interval": "sink.bulk-flush.interval",
    "connector.bulk-flush.backoff.type": "sink.bulk-flush.backoff.strategy",
    "connector.bulk-flush.backoff.max-retries": "sink.bulk-flush.backoff.max-retries",
    "connector.bulk-flush.backoff.delay": "sink.bulk-flush.backoff.delay",
    "connector.connection-max-retry-timeout": "connection.max-retry-timeout",
    "connector.connection-path-prefix": "connection.path-prefix",
}
_NAMES = {
    "kafka": _KAFKA,
    "filesystem": {"connector.path": "path"},
    "jdbc": _JDBC,
    "elasticsearch": _SEARCH,
}
_VERSIONS = {"kafka": ("universal", "0.10", "0.11"), "elasticsearch": ("6", "7")}
_HOST = re.compile(r"connector\.hosts\.(\d+)\.(hostname|port|protocol)")
_UPDATES = {"jdbc": ("append", "upsert"), "elasticsearch": ("append", "upsert")}
"""ways of writing, where there is more than one: today the key of the table decides"""
_FORMATS = ("json", "csv", "avro")
_SCHEMAS = ("format.schema", "format.json-schema", "format.avro-schema", "format.record-class")


def todays(options: Mapping[str, str], table: str) -> Mapping[str, str]:
    """Translate options from before Flink 1.11 into today's. Today's options are returned unchanged.

    :raises TableException: an old option has no counterpart today; the text names it.
    """
    if _TYPE not in options or "connector" in options:
        return options
    kind = options[_TYPE]
    names = _NAMES.get(kind)
    if names is None:
        raise problem(
            f"table {table}: '{_TYPE}' = '{kind}' is of an older Flink; there are {', '.join(_NAMES)}, and today's "
            "'connector' = '...'"
        )
    found = {"connector": kind}
    indexed: dict[tuple[str, str], dict[str, str]] = {}
    hosts: dict[str, dict[str, str]] = {}
    for name, value in options.items():
        part = _INDEXED.fullmatch(name)
        if name in (_TYPE, "format.type") or name in _COMMON:
            continue
        if part is not None:
            indexed.setdefault((part[1], part[2]), {})[part[3]] = value
        elif (host := _HOST.fullmatch(name)) is not None:
            hosts.setdefault(host[1], {})[host[2]] = value
        elif name in names:
            if value != "custom":  # the class says it
                found[names[name]] = value
        elif name.startswith(_PROPERTIES):
            found[f"properties.{name.removeprefix(_PROPERTIES)}"] = value
        elif name == "connector.version":
            _one_of(table, name, value, _VERSIONS.get(kind, (value,)))
        elif name == "format.line-delimiter":
            _one_of(table, name, value, ("\n", "\\n"))
        elif name == "format.fields" or name.startswith("format.fields."):
            continue  # the columns are the schema
        elif name == "update-mode":
            _one_of(table, name, value, _UPDATES.get(kind, ("append",)))
        elif name in _SCHEMAS:
            raise problem(f"table {table}: '{name}' is of an older Flink: leave it out, the columns are the schema")
        elif name.startswith("format."):
            found[f"{options.get('format.type', '')}.{name.removeprefix('format.')}"] = value
        elif name.startswith("connector."):
            raise problem(f"table {table}: '{name}' is of an older Flink and has no word today")
        else:
            found[name] = value
    if "format.type" in options:
        _one_of(table, "format.type", options["format.type"], _FORMATS)
        found["format"] = options["format.type"]
    if kind == "filesystem" and found.get("format") == "csv":
        found["connector"] = "older-filesystem"  # fields too many, empty texts, one file: another CSV than today's
    if kind == "elasticsearch":
        _search(found, options.get("connector.version", "7"), hosts)
    return found | _numbered(indexed)


def _search(found: dict[str, str], version: str, hosts: Mapping[str, Mapping[str, str]]) -> None:
    """The version is part of the connector's name today, and documents have no types since version 7."""
    found["connector"] = f"elasticsearch-{version}"
    if version != "6":
        found.pop("document-type", None)
    if hosts:
        parts = (f"{each['protocol']}://{each['hostname']}:{each['port']}" for _, each in sorted(hosts.items()))
        found["hosts"] = ";".join(parts)


def _numbered(indexed: Mapping[tuple[str, str], Mapping[str, str]]) -> dict[str, str]:
    """Lists whose entries have numbers: of properties, and of offsets."""
    found = {each["key"]: each["value"] for (kind, _), each in indexed.items() if kind == "properties"}
    offsets = [each for (kind, _), each in sorted(indexed.items()) if kind == "specific-offsets"]
    made = {f"properties.{name}": value for name, value in found.items()}
    if offsets:
        text = ";".join(f"partition:{each['partition']},offset:{each['offset']}" for each in offsets)
        made["scan.startup.specific-offsets"] = text
    return made


def _one_of(table: str, name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise problem(f"table {table}: '{name}' is one of {', '.join(known)}, not '{value}'")


# Connectors

ENTRY_POINTS = "millrace.connectors"
REFUSED = "millrace.connectors.refused"
"""entry points of connectors that are known by name only, to say what there is instead"""
BEHIND = "millrace.connectors.behind"
"""entry points of connectors that tables do not name: they stand in for others"""
_NOT_TABLES = frozenset({"connector", "property-version", "comment", NULL_TIMES, MAX_JUMP})


class Connectors:
    """The connectors that tables can name: those of Millrace, of installed packages, and a program's own."""

    def __init__(self, above: Connectors | None = None) -> None:
        self._above = above
        self._own: dict[str, type[TableFactory]] = {}

    def register(self, factory: type[TableFactory]) -> None:
        """Make a connector known by its ``identifier``."""
        self._own[factory.identifier] = factory

    def names(self) -> list[str]:
        return sorted({*self._own, *(self._above.names() if self._above else plugins.names(ENTRY_POINTS))})

    def factory_of(self, options: Mapping[str, str], table: str) -> TableFactory:
        """The factory that a table's options name, with the options checked.

        :raises TableException: no connector, an unknown one, options that it does not have or that are missing.
        """
        known = self.names()
        name = options.get("connector")
        if name is None:
            hint = _misspelt(("connector",), options)
            raise problem(f"table {table} has no connector{hint}: WITH ('connector' = '...'), e.g. {', '.join(known)}")
        factory = self._factory(name)
        if factory is None:
            meant = nearest(name) or did_you_mean(name, known)
            raise problem(f"table {table}: there is no connector '{name}'{meant}; there are {', '.join(known)}")
        if (other := factory.stands_in(options)) is not None:
            factory = plugins.make(BEHIND, other, TableFactory)
        _check(factory, options, table)
        if factory.extra is not None and (missing := missing_extra_of_table(factory.extra, options)) is not None:
            raise problem(f"table {table}: connector '{name}' {missing}")
        return factory

    def _factory(self, name: str) -> TableFactory | None:
        if name in self._own:
            return self._own[name]()
        if self._above is not None:
            return self._above._factory(name)
        for group in (ENTRY_POINTS, REFUSED):
            if plugins.has(group, name):
                return plugins.make(group, name, TableFactory)
        return None


EVERYWHERE = Connectors()
"""what ``register_factory`` makes known, to all environments of the process"""


def register_factory(factory: type[TableFactory]) -> None:
    """Make a connector known to every table environment of this process; ``TableEnvironment.register_connector`` makes
    it known to one."""
    EVERYWHERE.register(factory)


def factory_names() -> list[str]:
    return EVERYWHERE.names()


def factory_of(options: Mapping[str, str], table: str) -> TableFactory:
    """Find the factory for a table's options among the connectors that every environment has, see
    ``Connectors.factory_of``."""
    return EVERYWHERE.factory_of(options, table)


def _misspelt(missing: Sequence[str], given: Iterable[str]) -> str:
    """A "did you mean" with one of the given names that resembles a missing one; empty if none does."""
    meant = next(((name, close) for name in given if (close := close_to(name, missing)) is not None), None)
    return "" if meant is None else f" (did you mean '{meant[1]}' where it says '{meant[0]}'?)"


def _check(factory: TableFactory, options: Mapping[str, str], table: str) -> None:
    missing = [name for name in factory.required if name not in options]
    known = (*factory.required, *factory.optional)
    if missing:
        unknown = [] if factory.hands_on else [name for name in options if name not in (*known, *_NOT_TABLES)]
        raise problem(
            f"table {table}: connector '{factory.identifier}' needs {', '.join(missing)}{_misspelt(missing, unknown)}"
        )
    if factory.hands_on:
        return
    for name in options:
        if name in _NOT_TABLES or name in known or any(each.endswith(".") and name.startswith(each) for each in known):
            continue
        shown = ", ".join(sorted(known)) or "none"
        raise problem(
            f"table {table}: connector '{factory.identifier}' has no option '{name}'{did_you_mean(name, known)}; it "
            f"has {shown}"
        )


# Statistics of tables that are written


def forget_written(plans: Iterable[Rel], session: Session) -> None:
    """The catalogs forget the statistics of the tables that plans write into."""
    for plan in plans:
        if isinstance(plan, Sink):
            forget(plan.path, session)


def forget(path: tuple[str, str, str], session: Session) -> None:
    """Let the catalog forget the statistics of a table, if the table is in a catalog."""
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
    """A table to be read. Its files are looked at with the session's settings of object stores."""
    with store_settings.within(store_settings.stores_of(session.config.to_map())):
        return _source_info(identifier, table, options, session)


def _source_info(
    identifier: ObjectIdentifier, table: CatalogBaseTable, options: Mapping[str, str], session: Session
) -> TableInfo:
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
    if session.streaming and not is_on(session.config.to_map(), JOIN_REORDER):
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
    """Let a column be the event time attribute, with the watermarks that the DataStream already has."""
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
    """A table to be written. Its files are looked at with the session's settings of object stores."""
    with store_settings.within(store_settings.stores_of(session.config.to_map())):
        return _sink_info(identifier, table, options, session)


def _sink_info(
    identifier: ObjectIdentifier, table: CatalogBaseTable, options: Mapping[str, str], session: Session
) -> SinkInfo:
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
    """A schema with all columns of a plan: those that were declared as declared, the others as physical columns."""
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
