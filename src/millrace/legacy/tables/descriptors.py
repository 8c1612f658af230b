"""Descriptors of connectors and formats up to Flink 1.13, for ``t_env.connect``: each gives today's options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from millrace.legacy.tables.csv_tables import csv_options
from millrace.relational.types import DataType
from millrace.table.values.problems import problem

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "Avro",
    "ConnectorDescriptor",
    "Csv",
    "CustomConnectorDescriptor",
    "CustomFormatDescriptor",
    "Elasticsearch",
    "FileSystem",
    "FormatDescriptor",
    "HBase",
    "Json",
    "Kafka",
    "OldCsv",
]

class _Options:
    """Something that is described by options."""

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
    """A format. Its columns are those of the schema, which Flink once wanted to be said twice."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.fields: dict[str, DataType] = {}

    def derive_schema(self) -> Self:
        """The columns are those of the table, as always today."""
        return self

    def schema(self, schema_data_type: DataType) -> Self:
        """The columns of the format: a ROW."""
        for field in getattr(schema_data_type, "fields", ()):
            self.fields[field.name] = field.data_type
        return self

    def _field(self, name: str, data_type: Any) -> Self:
        if isinstance(data_type, str):
            from millrace.table.values.type_text import data_type_of

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
        """Any: the client speaks to all of them."""
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
        """Kinds of documents, which Elasticsearch has had none of since its version 7."""
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
