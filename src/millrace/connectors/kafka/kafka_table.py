"""The connectors ``kafka`` and ``upsert-kafka``, and rows as records, a batch at a time."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.sink import Sink
from millrace.common.types import RowKind
from millrace.connectors.kafka.kafka_offsets import KafkaOffsetsInitializer
from millrace.connectors.kafka.kafka_records import KafkaPartitioner, PartitionCount, ProducerRecord, RecordSerializer
from millrace.connectors.kafka.kafka_settings import client_settings
from millrace.connectors.kafka.kafka_sink import KafkaSink
from millrace.connectors.kafka.kafka_table_options import (
    BOOTSTRAP,
    DEAD_LETTERS,
    FIELDS,
    PROPERTIES,
    SCAN,
    SINK,
    STARTUP,
    WRITABLE,
    KafkaOptions,
    Layout,
    layout_of,
)
from millrace.connectors.kafka.kafka_table_source import KafkaTableSource, Topic
from millrace.connectors.tables.table_declaration import Format
from millrace.formats.tables.format_options import format_names
from millrace.relational.rows import Rows
from millrace.relational.sources import UPSERT, EncodingFormat, TableContext, TableFactory, TableSink, TableSource
from millrace.util.exceptions import TableException


@dataclass
class RowsSerializer(RecordSerializer[Rows]):
    """
    :ivar topic: None: the metadata column ``topic`` says it.
    :ivar key: None: records have no keys.
    :ivar key_columns: positions of the columns in the keys; ``value_columns`` those in the values.
    :ivar metadata: metadata key -> the position of its column.
    :ivar upserts: whether a row that is deleted is a record without value.
    """

    topic: str | None
    key: EncodingFormat | None
    value: EncodingFormat
    key_columns: tuple[int, ...]
    value_columns: tuple[int, ...]
    metadata: dict[str, int]
    partitioner: KafkaPartitioner | None = None
    upserts: bool = False

    def open(self, subtask: int, subtasks: int, partitions: PartitionCount) -> None:
        self._partitions = partitions
        if self.partitioner is not None:
            self.partitioner.open(subtask, subtasks)

    def records(self, element: Rows, timestamp: int | None) -> Iterable[ProducerRecord]:
        columns = element.columns
        count = len(element)
        keys = _encoded(self.key, element, self.key_columns) if self.key is not None else [None] * count
        values = self._values(element)
        times = self._column(columns, "timestamp", pa.timestamp("ms"))
        headers = self._column(columns, "headers", None)
        topics = self._column(columns, "topic", None) if self.topic is None else None
        for place in range(count):
            topic = self.topic if topics is None else topics[place]
            if topic is None:
                raise ValueError("the metadata column 'topic' is NULL: a record has to go somewhere")
            key, value = keys[place], values[place]
            partition = None
            if self.partitioner is not None:
                partition = self.partitioner.partition(element, key, value, topic, self._partitions(topic))
            known = None if headers is None else headers[place]
            made = () if known is None else tuple(known)
            yield ProducerRecord(topic, value, key, partition, None if times is None else times[place], made)

    def _values(self, rows: Rows) -> Sequence[bytes | None]:
        if not self.upserts or rows.kinds is None:
            return _encoded(self.value, rows, self.value_columns)
        stays = rows.adds()
        encoded = iter(_encoded(self.value, Rows(rows.where(stays).batch), self.value_columns))
        return [next(encoded) if stay else None for stay in stays.tolist()]

    def _column(self, columns: list[pa.Array], key: str, kind: pa.DataType | None) -> list[Any] | None:
        place = self.metadata.get(key)
        if place is None:
            return None
        column = columns[place]
        if kind is not None:
            column = pc.cast(column, pa.timestamp("ms", column.type.tz), safe=False).cast(pa.int64())
        found: list[Any] = column.to_pylist()
        return found


def _encoded(format: EncodingFormat, rows: Rows, places: tuple[int, ...]) -> Sequence[bytes | None]:
    chosen = Rows(rows.with_columns([rows.columns[place] for place in places]).batch, rows.kinds)
    found: list[bytes | None] = format.encode(chosen).to_pylist()
    return found


class KafkaTableSink(TableSink):
    """Rows as records.

    :param keys: of upserts: the columns of the primary key.
    """

    def __init__(
        self, sink: KafkaSink[Rows], kinds: frozenset[RowKind], keys: tuple[str, ...], parallelism: int | None
    ) -> None:
        self._sink = sink
        self.kinds = kinds
        self.keys = keys
        self.parallelism = parallelism

    def stream(self) -> Sink[Rows]:
        return self._sink


_INCLUDE = ("all", "except_key")


def _prefixes(*before: str) -> tuple[str, ...]:
    """Options of formats, with what stands before them."""
    return tuple(f"{prefix}{name}." for prefix in before for name in format_names())


class KafkaFactory(TableFactory):
    """Every record is a row, or a change of a changelog format. Options are Flink's."""

    identifier = "kafka"
    extra = "kafka"
    required = (BOOTSTRAP,)

    @property
    def optional(self) -> tuple[str, ...]:  # type: ignore[override]
        own = ("topic", "topic-pattern", "format", "sink.partitioner", *STARTUP, *SCAN, *SINK, *FIELDS, PROPERTIES)
        return (*own, *_prefixes("", "key.", "value."))

    def source(self, table: TableContext) -> TableSource:
        options = KafkaOptions(table)
        key, value, layout = self._parts(table)
        topic = _topic(options, table, options.start())
        return KafkaTableSource(topic, layout, key, value)

    def sink(self, table: TableContext) -> TableSink:
        options = KafkaOptions(table)
        key, value, layout = self._parts(table)
        encoding = value.encoding(layout.value_columns(), table)
        if table.primary_key and encoding.kinds == frozenset({RowKind.INSERT}):
            raise TableException(
                f"table {table.summary}: a PRIMARY KEY needs a format with changes, such as debezium-json; or use "
                "connector 'upsert-kafka'"
            )
        partitioner = options.partitioner(key is not None)
        serializer = RowsSerializer(
            _target(options, table),
            None if key is None else key.encoding(layout.key_columns(), table),
            encoding,
            layout.key,
            layout.value,
            _written(table),
            partitioner,
        )
        return KafkaTableSink(
            _sink(serializer, options, table), encoding.kinds, (), options.parallelism("sink.parallelism")
        )

    def _parts(self, table: TableContext) -> tuple[Format | None, Format, Layout]:
        """The formats of keys and values, and which columns they have."""
        value = Format.named("format", table) or Format.named("value.format", table)
        if value is None:
            raise TableException(f"table {table.summary}: connector 'kafka' needs 'format' or 'value.format'")
        if "format" in table.options and "value.format" in table.options:
            raise TableException(f"table {table.summary}: 'format' and 'value.format' are one option: set one of them")
        key, fields = Format.named("key.format", table), _names(table.options.get("key.fields", ""))
        if (key is None) != (not fields):
            raise TableException(f"table {table.summary}: 'key.format' and 'key.fields' are set both, or none of them")
        options = KafkaOptions(table)
        include = options.one_of("value.fields-include", "all", _INCLUDE)
        return key, value, layout_of(table, fields, options.text("key.fields-prefix", ""), include)


class UpsertKafkaFactory(TableFactory):
    """A record is the newest content of the row that its key names; without value it deletes the row."""

    identifier = "upsert-kafka"
    extra = "kafka"
    required = (BOOTSTRAP, "topic", "key.format", "value.format")

    @property
    def optional(self) -> tuple[str, ...]:  # type: ignore[override]
        own = ("key.fields-prefix", "value.fields-include", "sink.buffer-flush.max-rows", "sink.buffer-flush.interval")
        return (*own, "sink.partitioner", *SCAN, *SINK, PROPERTIES, *_prefixes("key.", "value."))

    def source(self, table: TableContext) -> TableSource:
        options = KafkaOptions(table)
        key, value, layout = self._parts(table)
        topic = _topic(options, table, KafkaOffsetsInitializer.earliest())
        return KafkaTableSource(topic, layout, key, value, upserts=True)

    def sink(self, table: TableContext) -> TableSink:
        options = KafkaOptions(table)
        key, value, layout = self._parts(table)
        serializer = RowsSerializer(
            _target(options, table),
            key.encoding(layout.key_columns(), table),
            value.encoding(layout.value_columns(), table),
            layout.key,
            layout.value,
            _written(table),
            options.partitioner(True),
            upserts=True,
        )
        sink = _sink(serializer, options, table)
        return KafkaTableSink(sink, UPSERT, table.primary_key, options.parallelism("sink.parallelism"))

    def _parts(self, table: TableContext) -> tuple[Format, Format, Layout]:
        key, value = Format.named("key.format", table), Format.named("value.format", table)
        assert key is not None and value is not None, "they are required"
        if not table.primary_key:
            raise TableException(
                f"table {table.summary}: connector 'upsert-kafka' needs a PRIMARY KEY: its columns are the keys of "
                "the records"
            )
        options = KafkaOptions(table)
        include = options.one_of("value.fields-include", "all", _INCLUDE)
        layout = layout_of(table, table.primary_key, options.text("key.fields-prefix", ""), include)
        for format, columns in ((key, layout.key_columns()), (value, layout.value_columns())):
            if columns and format.decoding(columns, (), table).kinds != frozenset({RowKind.INSERT}):
                raise TableException(
                    f"table {table.summary}: connector 'upsert-kafka' takes formats without changes, such as json, not "
                    f"'{format.factory.identifier}'"
                )
        return key, value, layout


def _names(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(";") if each.strip())


def _topic(options: KafkaOptions, table: TableContext, start: KafkaOffsetsInitializer) -> Topic:
    parallelism = options.parallelism("scan.parallelism")
    properties = _properties(options, table)
    return Topic(
        options.subscriber,
        properties,
        start,
        options.stop(),
        parallelism,
        options.per_second,
        table.options.get(DEAD_LETTERS),
    )


def _properties(options: KafkaOptions, table: TableContext) -> dict[str, str]:
    found = options.properties
    try:
        client_settings(found)
    except ValueError as error:
        raise TableException(f"table {table.summary}: {error}") from None
    return found


def _target(options: KafkaOptions, table: TableContext) -> str | None:
    if len(options.topics) == 1:
        return options.topics[0]
    if any(key == "topic" for _, key, _ in table.metadata):
        return None
    raise TableException(f"table {table.summary}: it is written into one 'topic', or has a metadata column 'topic'")


def _written(table: TableContext) -> dict[str, int]:
    """The metadata columns of what is written, behind the physical ones."""
    table.check_writable(WRITABLE)
    return {key: len(table.columns) + place for place, (_, key, _) in enumerate(table.metadata)}


def _sink(serializer: RowsSerializer, options: KafkaOptions, table: TableContext) -> KafkaSink:  # type: ignore[type-arg]
    prefix = options.text("sink.transactional-id-prefix", uuid.uuid4().hex[:8])
    return KafkaSink(serializer, _properties(options, table), options.guarantee(), prefix)
