"""Descriptors of connectors and formats up to Flink 1.13, for ``t_env.connect(...).with_format(...).with_schema(...)``.

Each descriptor gives today's options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from millrace.legacy.csv_tables import csv_options
from millrace.legacy.warning import tell
from millrace.relational.types import DataType
from millrace.table.catalogs.descriptors import FormatDescriptor as TodaysFormat
from millrace.table.catalogs.descriptors import TableDescriptor
from millrace.table.catalogs.legacy_schema import Schema as OldSchema
from millrace.table.catalogs.objects import Schema
from millrace.table.expressions import col
from millrace.table.values.program_errors import problem

if TYPE_CHECKING:
    from typing_extensions import Self

    from millrace.table.environment import TableEnvironment


class _Options:
    """Base of descriptors that are made of options."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.options: dict[str, str] = {}

    def _set(self, key: str, value: object) -> Self:
        self.options[key] = str(value).lower() if isinstance(value, bool) else str(value)
        return self

    def _nothing_like_it(self, method: str, today: str) -> NoReturn:
        raise problem(f"{type(self).__name__}.{method}() has nothing like it today: {today}")


class ConnectorDescriptor(_Options):
    """A connector."""


class FormatDescriptor(_Options):
    """A format. Its columns are those of the schema, which Flink required twice."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.fields: dict[str, DataType] = {}

    def derive_schema(self) -> Self:
        """Does nothing: a format always has the columns of the table."""
        return self

    def schema(self, schema_data_type: DataType) -> Self:
        """Set the columns of the format: a ROW."""
        for field in getattr(schema_data_type, "fields", ()):
            self.fields[field.name] = field.data_type
        return self

    def _field(self, name: str, data_type: Any) -> Self:
        if isinstance(data_type, str):
            from millrace.table.values.data_types import data_type_of

            data_type = data_type_of(data_type)
        self.fields[name] = data_type
        return self


class FileSystem(ConnectorDescriptor):
    """Files."""

    def __init__(self) -> None:
        super().__init__("filesystem")

    def path(self, path_str: str) -> FileSystem:
        return self._set("path", path_str)


class Kafka(ConnectorDescriptor):
    """A topic of Kafka."""

    def __init__(self) -> None:
        super().__init__("kafka")

    def version(self, version: str) -> Kafka:
        """Accepted without effect: the client supports brokers of all versions."""
        return self

    def topic(self, topic: str) -> Kafka:
        return self._set("topic", topic)

    def properties(self, property_dict: dict[str, str]) -> Kafka:
        for key, value in property_dict.items():
            self.property(key, value)
        return self

    def property(self, key: str, value: str) -> Kafka:
        if key == "zookeeper.connect":  # which brokers do without
            return self
        return self._set(f"properties.{key}", value)

    def start_from_earliest(self) -> Kafka:
        return self._set("scan.startup.mode", "earliest-offset")

    def start_from_latest(self) -> Kafka:
        return self._set("scan.startup.mode", "latest-offset")

    def start_from_group_offsets(self) -> Kafka:
        return self._set("scan.startup.mode", "group-offsets")

    def start_from_timestamp(self, timestamp: int) -> Kafka:
        self._set("scan.startup.timestamp-millis", timestamp)
        return self._set("scan.startup.mode", "timestamp")

    def start_from_specific_offsets(self, specific_offsets_dict: dict[int, int]) -> Kafka:
        parts = (f"partition:{partition},offset:{offset}" for partition, offset in specific_offsets_dict.items())
        self._set("scan.startup.specific-offsets", ";".join(parts))
        return self._set("scan.startup.mode", "specific-offsets")

    def start_from_specific_offset(self, partition: int, specific_offset: int) -> Kafka:
        former = self.options.get("scan.startup.specific-offsets")
        text = f"partition:{partition},offset:{specific_offset}"
        self._set("scan.startup.specific-offsets", text if former is None else f"{former};{text}")
        return self._set("scan.startup.mode", "specific-offsets")

    def sink_partitioner_fixed(self) -> Kafka:
        return self._set("sink.partitioner", "fixed")

    def sink_partitioner_round_robin(self) -> Kafka:
        return self._set("sink.partitioner", "round-robin")

    def sink_partitioner_custom(self, partitioner_class_name: str) -> Kafka:
        self._nothing_like_it("sink_partitioner_custom", "a class of Java; sink_partitioner_fixed() and the like")


class Elasticsearch(ConnectorDescriptor):
    """An index of Elasticsearch."""

    def __init__(self) -> None:
        super().__init__("elasticsearch-7")

    def version(self, version: str) -> Elasticsearch:
        self.kind = f"elasticsearch-{version.partition('.')[0]}"
        return self

    def host(self, hostname: str, port: int | str, protocol: str) -> Elasticsearch:
        former = self.options.get("hosts")
        address = f"{protocol}://{hostname}:{port}"
        return self._set("hosts", address if former is None else f"{former};{address}")

    def index(self, index: str) -> Elasticsearch:
        return self._set("index", index)

    def document_type(self, document_type: str) -> Elasticsearch:
        """Accepted without effect: Elasticsearch has no document types since its version 7."""
        return self if self.kind != "elasticsearch-6" else self._set("document-type", document_type)

    def key_delimiter(self, key_delimiter: str) -> Elasticsearch:
        return self._set("document-id.key-delimiter", key_delimiter)

    def key_null_literal(self, key_null_literal: str) -> Elasticsearch:
        self._nothing_like_it("key_null_literal", "keys have no NULL")

    def failure_handler_fail(self) -> Elasticsearch:
        return self._set("failure-handler", "fail")

    def failure_handler_ignore(self) -> Elasticsearch:
        return self._set("failure-handler", "ignore")

    def failure_handler_retry_rejected(self) -> Elasticsearch:
        return self._set("failure-handler", "retry-rejected")

    def failure_handler_custom(self, failure_handler_class_name: str) -> Elasticsearch:
        self._nothing_like_it("failure_handler_custom", "a class of Java; failure_handler_ignore() and the like")

    def disable_flush_on_checkpoint(self) -> Elasticsearch:
        return self._set("sink.flush-on-checkpoint", False)

    def connection_max_retry_timeout(self, max_retry_timeout: int) -> Elasticsearch:
        return self._set("connection.max-retry-timeout", f"{max_retry_timeout} ms")

    def connection_path_prefix(self, path_prefix: str) -> Elasticsearch:
        return self._set("connection.path-prefix", path_prefix)

    def bulk_flush_backoff_constant(self) -> Elasticsearch:
        return self._set("sink.bulk-flush.backoff.strategy", "CONSTANT")

    def bulk_flush_backoff_exponential(self) -> Elasticsearch:
        return self._set("sink.bulk-flush.backoff.strategy", "EXPONENTIAL")

    def bulk_flush_backoff_max_retries(self, max_retries: int) -> Elasticsearch:
        return self._set("sink.bulk-flush.backoff.max-retries", max_retries)

    def bulk_flush_backoff_delay(self, delay: int) -> Elasticsearch:
        return self._set("sink.bulk-flush.backoff.delay", f"{delay} ms")

    def bulk_flush_max_actions(self, max_actions_num: int) -> Elasticsearch:
        return self._set("sink.bulk-flush.max-actions", max_actions_num)

    def bulk_flush_max_size(self, max_size: int | str) -> Elasticsearch:
        return self._set("sink.bulk-flush.max-size", max_size)

    def bulk_flush_interval(self, interval: int) -> Elasticsearch:
        return self._set("sink.bulk-flush.interval", f"{interval} ms")


class HBase(ConnectorDescriptor):
    """A table of HBase."""

    def __init__(self) -> None:
        super().__init__("hbase-2.2")

    def version(self, version: str) -> HBase:
        return self

    def table_name(self, table_name: str) -> HBase:
        return self._set("table-name", table_name)

    def zookeeper_quorum(self, zookeeper_quorum: str) -> HBase:
        return self._set("zookeeper.quorum", zookeeper_quorum)

    def zookeeper_node_parent(self, zookeeper_node_parent: str) -> HBase:
        return self._set("zookeeper.znode.parent", zookeeper_node_parent)

    def write_buffer_flush_max_size(self, max_size: int | str) -> HBase:
        return self._set("sink.buffer-flush.max-size", max_size)

    def write_buffer_flush_max_rows(self, write_buffer_flush_max_rows: int) -> HBase:
        return self._set("sink.buffer-flush.max-rows", write_buffer_flush_max_rows)

    def write_buffer_flush_interval(self, interval: int | str) -> HBase:
        return self._set("sink.buffer-flush.interval", f"{interval} ms" if isinstance(interval, int) else interval)


class CustomConnectorDescriptor(ConnectorDescriptor):
    """A connector by its name."""

    def __init__(self, type: str, version: int = 1, format_needed: bool = False) -> None:
        super().__init__(type)

    def property(self, key: str, value: str) -> CustomConnectorDescriptor:
        return self._set(key.removeprefix("connector."), value)

    def properties(self, property_dict: dict[str, str]) -> CustomConnectorDescriptor:
        for key, value in property_dict.items():
            self.property(key, value)
        return self


class OldCsv(FormatDescriptor):
    """CSV as it was before the standard."""

    def __init__(
        self, schema: Any = None, field_delimiter: str | None = None, line_delimiter: str | None = None
    ) -> None:
        super().__init__("csv")
        self._csv()
        if field_delimiter is not None:
            self.field_delimiter(field_delimiter)
        if line_delimiter is not None:
            self.line_delimiter(line_delimiter)

    def _csv(self, **said: Any) -> OldCsv:
        for key, value in csv_options(**said).items():
            if value is not None:
                self._set(key, value)
        if "quote-character" in self.options:
            self.options.pop("disable-quote-character", None)
        return self

    def field_delimiter(self, delimiter: str) -> OldCsv:
        return self._csv(delimiter=delimiter)

    def line_delimiter(self, delimiter: str) -> OldCsv:
        return self._csv(lines=delimiter)

    def quote_character(self, quote_character: str) -> OldCsv:
        return self._csv(quote=quote_character)

    def comment_prefix(self, prefix: str) -> OldCsv:
        return self._csv(comments=prefix)

    def ignore_parse_errors(self) -> OldCsv:
        return self._csv(lenient=True)

    def ignore_first_line(self) -> OldCsv:
        return self._csv(header=True)

    def field(self, field_name: str, field_type: DataType | str) -> OldCsv:
        return self._field(field_name, field_type)


class Csv(FormatDescriptor):
    """CSV."""

    def __init__(self) -> None:
        super().__init__("csv")

    def field_delimiter(self, delimiter: str) -> Csv:
        return self._set("field-delimiter", delimiter)

    def line_delimiter(self, delimiter: str) -> Csv:
        csv_options(lines=delimiter)
        return self

    def quote_character(self, quote_character: str) -> Csv:
        return self._set("quote-character", quote_character)

    def allow_comments(self) -> Csv:
        return self._set("allow-comments", True)

    def ignore_parse_errors(self) -> Csv:
        return self._set("ignore-parse-errors", True)

    def array_element_delimiter(self, delimiter: str) -> Csv:
        return self._set("array-element-delimiter", delimiter)

    def escape_character(self, escape_character: str) -> Csv:
        return self._set("escape-character", escape_character)

    def null_literal(self, null_literal: str) -> Csv:
        return self._set("null-literal", null_literal)


class Json(FormatDescriptor):
    """JSON."""

    def __init__(self) -> None:
        super().__init__("json")

    def fail_on_missing_field(self, fail_on_missing_field: bool) -> Json:
        return self._set("fail-on-missing-field", fail_on_missing_field)

    def ignore_parse_errors(self, ignore_parse_errors: bool = True) -> Json:
        return self._set("ignore-parse-errors", ignore_parse_errors)

    def json_schema(self, json_schema: str) -> Json:
        self._nothing_like_it("json_schema", "with_schema() has the columns")


class Avro(FormatDescriptor):
    """Avro."""

    def __init__(self) -> None:
        super().__init__("avro")

    def record_class(self, record_class: str) -> Avro:
        self._nothing_like_it("record_class", "with_schema() has the columns")

    def avro_schema(self, avro_schema: str) -> Avro:
        self._nothing_like_it("avro_schema", "with_schema() has the columns")


class CustomFormatDescriptor(FormatDescriptor):
    """A format by its name."""

    def __init__(self, type: str, version: int = 1) -> None:
        super().__init__(type)

    def property(self, key: str, value: str) -> CustomFormatDescriptor:
        return self._set(key.removeprefix("format."), value)

    def properties(self, property_dict: dict[str, str]) -> CustomFormatDescriptor:
        for key, value in property_dict.items():
            self.property(key, value)
        return self


_TODAY = "execute_sql('CREATE TABLE ...'), or create_temporary_table with a TableDescriptor"


class ConnectTableDescriptor:
    """A table that is being described; ``create_temporary_table`` gives it a name."""

    def __init__(self, t_env: TableEnvironment, connector: ConnectorDescriptor) -> None:
        self._t_env = t_env
        self._connector = connector
        self._format: FormatDescriptor | None = None
        self._schema: OldSchema | None = None

    def with_format(self, format_descriptor: FormatDescriptor) -> ConnectTableDescriptor:
        self._format = format_descriptor
        return self

    def with_schema(self, schema: OldSchema) -> ConnectTableDescriptor:
        self._schema = schema
        return self

    def in_append_mode(self) -> ConnectTableDescriptor:
        """Does nothing: the connector defines which changes it accepts."""
        return self

    def in_retract_mode(self) -> ConnectTableDescriptor:
        """Does nothing, as ``in_append_mode``."""
        return self

    def in_upsert_mode(self) -> ConnectTableDescriptor:
        """Does nothing, as ``in_append_mode``; a table has a key by PRIMARY KEY."""
        return self

    def register_table_source(self, name: str) -> None:
        self._create("register_table_source", name)

    def register_table_sink(self, name: str) -> None:
        self._create("register_table_sink", name)

    def register_table_source_and_sink(self, name: str) -> None:
        self._create("register_table_source_and_sink", name)

    def create_temporary_table(self, path: str) -> None:
        self._create("create_temporary_table", path)

    def _create(self, method: str, path: str) -> None:
        tell(f"ConnectTableDescriptor.{method}()", _TODAY)
        columns = _columns(self._schema, self._format)
        extra = [name for name in columns.physical if name not in columns.visible]
        if not extra:
            self._t_env.create_temporary_table(path, self._descriptor(columns))
            return
        # What the source has under another name is no column of the table: that is a view on the source's table.
        self._t_env.create_temporary_table(f"{path}__source", self._descriptor(columns))
        table = self._t_env.from_path(f"{path}__source").select(*map(col, columns.visible))
        self._t_env.create_temporary_view(path, table)

    def _descriptor(self, columns: _Columns) -> TableDescriptor:
        builder = TableDescriptor.for_connector(self._connector.kind).schema(columns.schema())
        for key, value in self._connector.options.items():
            builder.option(key, value)
        if self._format is not None:
            made = TodaysFormat.for_format(self._format.kind)
            for key, value in self._format.options.items():
                made.option(key, value)
            builder.format(made.build())
        return builder.build()


StreamTableDescriptor = ConnectTableDescriptor
BatchTableDescriptor = ConnectTableDescriptor


class _Columns:
    """The columns of the source, the computed columns, and the columns of the table."""

    def __init__(self) -> None:
        self.physical: dict[str, str] = {}
        self.computed: dict[str, str] = {}
        self.watermark: tuple[str, str] | None = None
        self.visible: list[str] = []

    def schema(self) -> Schema:
        builder = Schema.new_builder()
        for name, kind in self.physical.items():
            builder.column(name, kind)
        for name, expression in self.computed.items():
            builder.column_by_expression(name, expression)
        if self.watermark is not None:
            builder.watermark(*self.watermark)
        return builder.build()


def _columns(schema: OldSchema | None, file_format: FormatDescriptor | None) -> _Columns:
    """The columns of a deprecated schema, one by one.

    :raises TableException: there is none.
    """
    fields = {} if file_format is None else {name: str(kind) for name, kind in file_format.fields.items()}
    found = _Columns()
    said = {} if schema is None else schema.to_properties()
    for place in range(sum(key.endswith(".name") for key in said)):
        prefix = f"schema.{place}."
        column = {key.removeprefix(prefix): value for key, value in said.items() if key.startswith(prefix)}
        _add(column, fields, found)
    if not found.visible:
        found.physical, found.visible = fields, list(fields)
    if not found.visible:
        raise problem("connect: with_schema(Schema().field(name, type)...) says which columns the table has")
    return found


def _add(column: dict[str, str], fields: dict[str, str], found: _Columns) -> None:
    name, kind = column["name"], column["data-type"]
    found.visible.append(name)
    origin = column.get("from", name)
    if column.get("proctime") == "true":
        found.computed[name] = "PROCTIME()"
        return
    if column.get("rowtime.timestamps.type") == "from-field":
        origin = column["rowtime.timestamps.from"]
    found.physical[origin] = fields.get(origin, kind)
    if origin != name:
        found.computed[name] = f"CAST(`{origin}` AS {kind})"
    strategy = column.get("rowtime.watermarks.type")
    if strategy == "periodic-ascending":
        found.watermark = (name, f"`{name}` - INTERVAL '0.001' SECOND")
    elif strategy == "periodic-bounded":
        millis = int(column["rowtime.watermarks.delay"])
        found.watermark = (name, f"`{name}` - INTERVAL '{millis / 1000:.3f}' SECOND")
    elif strategy == "from-source":
        found.watermark = (name, "SOURCE_WATERMARK()")
