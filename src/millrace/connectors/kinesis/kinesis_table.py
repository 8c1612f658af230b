"""The connectors ``kinesis`` (and its former name ``kinesis-legacy``), ``aws-kinesis-firehose``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.kinesis.kinesis_shards import Kinesis
from millrace.connectors.kinesis.kinesis_sink import (
    Buffering,
    KinesisFirehoseSink,
    KinesisStreamsSink,
    PartitionKeyGenerator,
)
from millrace.connectors.kinesis.kinesis_source import KinesisStreamsSource, instant
from millrace.connectors.messages import MessageDecoder, MessageEncoder, Outgoing
from millrace.connectors.sink_base import WAIT_MS
from millrace.connectors.tables.message_table import MessageTableFactory, RowsEncoder
from millrace.connectors.tables.table_declaration import TIME
from millrace.connectors.tables.table_options import TableOptions
from millrace.relational import types as t
from millrace.relational.rows import Rows
from millrace.relational.sources import TableContext
from millrace.util.exceptions import TableException
from millrace.util.names import load_class

_AWS = (
    "aws.region",
    "aws.endpoint",
    "aws.trust.all.certificates",
    "aws.credentials.provider",
    "aws.credentials.",
)
_SINK = (
    "sink.batch.max-size",
    "sink.requests.max-inflight",
    "sink.requests.max-buffered",
    "sink.flush-buffer.size",
    "sink.flush-buffer.timeout",
    "sink.fail-on-error",
    "sink.http-client.",
    "sink.producer.",
)
_FORMAT = "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"
_STARTS = ("latest", "trim_horizon", "at_timestamp")


class KinesisFactory(MessageTableFactory):
    """A stream as a table, with the options of Flink's connector. What is for its HTTP client or its threads is taken
    and changes nothing."""

    identifier = "kinesis"
    extra = "kinesis"
    required: tuple[str, ...] = ("stream.arn", "aws.region", "format")
    common: tuple[str, ...] = _AWS
    reading: tuple[str, ...] = (
        "source.init.position",
        "source.init.timestamp",
        "source.init.timestamp.format",
        "source.shard.discovery.interval",
        "source.reader.type",
        "source.reader.empty-records-fetch-interval",
        "source.reader.nonempty-records-fetch-interval",
        "source.shard.get-records.max-record-count",
    )
    writing = ("sink.partitioner", "sink.partitioner-field-delimiter", *_SINK)
    readable = {
        "timestamp": TIME,
        "shard-id": t.VarCharType(128),
        "sequence-number": t.VarCharType(128),
        "partition-key": t.VarCharType(256),
    }
    stream_option = "stream.arn"
    start_options = ("source.init.position", "source.init.timestamp", "source.init.timestamp.format")

    def make_source(self, options: TableOptions, decoder: MessageDecoder[Rows]) -> Source[Any, Any]:
        if options.one_of("source.reader.type", "polling", ("polling", "efo")) == "efo":
            raise options.problem("source.reader.type", "is POLLING: enhanced fan-out is not supported")
        position, time, format = self.start_options
        start = options.one_of(position, "latest", _STARTS).upper()
        if options.text(format, _FORMAT) != _FORMAT:
            raise options.problem(format, f"is {_FORMAT}; a time is that, or seconds since the epoch")
        if start == "AT_TIMESTAMP" and options.text(time) is None:
            raise ValueError(f"'{position}' = 'AT_TIMESTAMP' needs '{time}'")
        return KinesisStreamsSource(
            Kinesis(_properties(options)),
            (options.text(self.stream_option) or "",),
            decoder,
            start,
            instant(options.text(time)) if start == "AT_TIMESTAMP" else None,
            discovery_ms=options.millis("source.shard.discovery.interval", 10_000),
            most=options.number("source.shard.get-records.max-record-count") or 10_000,
            pause_ms=options.millis("source.reader.nonempty-records-fetch-interval", 0),
            empty_pause_ms=options.millis("source.reader.empty-records-fetch-interval", 250),
        )

    def make_sink(self, options: TableOptions, encoder: MessageEncoder[Rows]) -> Sink[Any]:
        stream = options.text(self.stream_option) or ""
        return KinesisStreamsSink(stream, encoder, _keys(options), _properties(options), _buffering(options))

    def encoder(self, table: TableContext, encoder: RowsEncoder) -> RowsEncoder:
        """The fields of PARTITIONED BY are the partition key."""
        if not table.partition_keys:
            return encoder
        if "sink.partitioner" in table.options:
            raise TableException(
                f"table {table.summary}: PARTITIONED BY says the partition keys, so 'sink.partitioner' cannot be set"
            )
        names = [column.name for column in table.columns]
        places = tuple(names.index(name) for name in table.partition_keys)
        delimiter = table.options.get("sink.partitioner-field-delimiter", "|")
        return KeyedEncoder(encoder.format, encoder.columns, encoder.metadata, encoder.to, places, delimiter)


class KinesisLegacyFactory(KinesisFactory):
    """The connector ``kinesis-legacy``: Kinesis with the options of Flink's connector up to version 4."""

    identifier = "kinesis-legacy"
    required = ("stream", "format")
    reading = (
        "scan.stream.initpos",
        "scan.stream.initpos-timestamp",
        "scan.stream.initpos-timestamp-format",
        "scan.stream.recordpublisher",
        "scan.shard.",
    )
    stream_option = "stream"
    start_options = ("scan.stream.initpos", "scan.stream.initpos-timestamp", "scan.stream.initpos-timestamp-format")

    def make_source(self, options: TableOptions, decoder: MessageDecoder[Rows]) -> Source[Any, Any]:
        if options.one_of("scan.stream.recordpublisher", "polling", ("polling", "efo")) == "efo":
            raise options.problem("scan.stream.recordpublisher", "is POLLING: enhanced fan-out is not supported")
        return super().make_source(options, decoder)


class FirehoseFactory(MessageTableFactory):
    """A delivery stream as a table that is written."""

    identifier = "aws-kinesis-firehose"
    extra = "kinesis"
    required = ("delivery-stream", "aws.region", "format")
    common: tuple[str, ...] = _AWS
    writing = _SINK

    def make_source(self, options: TableOptions, decoder: MessageDecoder[Rows]) -> Source[Any, Any]:
        raise ValueError("connector 'aws-kinesis-firehose' cannot be read from: it delivers to stores")

    def make_sink(self, options: TableOptions, encoder: MessageEncoder[Rows]) -> Sink[Any]:
        stream = options.text("delivery-stream") or ""
        return KinesisFirehoseSink(stream, encoder, _properties(options), _buffering(options))


@dataclass(frozen=True)
class KeyedEncoder(RowsEncoder):
    """Messages whose partition key is made of columns.

    :ivar places: of the columns.
    """

    places: tuple[int, ...] = ()
    delimiter: str = "|"

    def encode(self, element: Rows, timestamp: int | None) -> Iterable[Outgoing]:
        texts = [pc.cast(element.columns[place], pa.string()).fill_null("null") for place in self.places]
        keys = pc.binary_join_element_wise(*texts, self.delimiter).to_pylist()
        for key, message in zip(keys, super().encode(element, timestamp)):
            yield Outgoing(message.value, key, message.timestamp, message.metadata)


def _properties(options: TableOptions) -> dict[str, str]:
    return {name: value for name, value in options.given.items() if name.startswith("aws.")}


def _keys(options: TableOptions) -> PartitionKeyGenerator:
    name = options.text("sink.partitioner") or "random"
    known = {"fixed": PartitionKeyGenerator.fixed, "random": PartitionKeyGenerator.random}
    if name in known:
        return known[name]()
    return load_class(name, PartitionKeyGenerator, "'sink.partitioner'")()  # type: ignore[type-abstract]


def _buffering(options: TableOptions) -> Buffering:
    return Buffering(
        options.number("sink.batch.max-size") or 500,
        options.number("sink.flush-buffer.size") or 5 * 1024 * 1024,
        fail_on_error=options.flag("sink.fail-on-error"),
        max_time_in_buffer_ms=options.number("sink.flush-buffer.timeout") or WAIT_MS,
    )
