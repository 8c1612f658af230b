"""``KinesisStreamsSink`` and ``KinesisFirehoseSink``: write records, at least once."""

from __future__ import annotations

import random
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from millrace.common.serialization import SerializationSchema
from millrace.common.sink import Sink, SinkWriter, WriterInitContext
from millrace.connectors.kinesis.kinesis_shards import client
from millrace.connectors.messages import MessageEncoder, MessageWriter, Outgoing, SchemaEncoder, Sender
from millrace.connectors.sink_base import WAIT_MS, Patience

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 10.0
DEADLINE_SECONDS = 300.0
"""Seconds after which records that are refused again and again fail the job."""
FIXED, RANDOM = "fixed", "random"


class PartitionKeyGenerator(ABC):
    """Which partition key an element has: it decides the shard.

    >>> class ByName(PartitionKeyGenerator):
    ...     def key(self, element):
    ...         return element["name"]
    >>> ByName().key({"name": "Ann"})
    'Ann'
    """

    @abstractmethod
    def key(self, value: bytes, subtask: int) -> str:
        """1 to 256 characters."""

    @staticmethod
    def fixed() -> PartitionKeyGenerator:
        """All that a subtask writes goes to one shard."""
        return _Fixed()

    @staticmethod
    def random() -> PartitionKeyGenerator:
        """A random key for each element."""
        return _Random()


class _Fixed(PartitionKeyGenerator):
    def key(self, value: bytes, subtask: int) -> str:
        return str(subtask)


class _Random(PartitionKeyGenerator):
    def key(self, value: bytes, subtask: int) -> str:
        return uuid.uuid4().hex


@dataclass(frozen=True)
class Buffering:
    """How records are collected into requests.

    :ivar max_time_in_buffer_ms: how long a record waits within an epoch; the end of an epoch sends all.
    :ivar fail_on_error: whether a refused record fails the job at once; else it is retried for five minutes.
    :ivar max_record_size_in_bytes: a larger record fails the job.
    """

    max_batch_size: int = 500
    max_batch_size_in_bytes: int = 5 * 1024 * 1024
    max_record_size_in_bytes: int = 1024 * 1024
    fail_on_error: bool = False
    max_time_in_buffer_ms: int = WAIT_MS

    def patience(self, context: WriterInitContext) -> Patience:
        """The timer of a writer: how long its records wait."""
        return Patience(context.current_processing_time, self.max_time_in_buffer_ms)


class _Builder:
    """What both builders have."""

    def __init__(self) -> None:
        self._name: str | None = None
        self._encoder: MessageEncoder[Any] | None = None
        self._properties: dict[str, str] = {}
        self._buffering = Buffering()

    def set_serialization_schema(self, serialization_schema: SerializationSchema) -> Any:
        """How the bytes of a record are made."""
        self._encoder = SchemaEncoder(serialization_schema)
        return self

    def set_fail_on_error(self, fail_on_error: bool) -> Any:
        """Whether a record that is refused fails the job at once; by default it is tried again for five minutes."""
        self._buffering = replace(self._buffering, fail_on_error=fail_on_error)
        return self

    def set_max_batch_size(self, max_batch_size: int) -> Any:
        """Records of one request."""
        self._buffering = replace(self._buffering, max_batch_size=max_batch_size)
        return self

    def set_max_in_flight_requests(self, max_in_flight_requests: int) -> Any:
        """One request is under way at a time, so that records stay in order; nothing changes."""
        return self

    def set_max_buffered_requests(self, max_buffered_requests: int) -> Any:
        """Records do not wait longer than for a batch; nothing changes."""
        return self

    def set_max_batch_size_in_bytes(self, max_batch_size_in_bytes: int) -> Any:
        """How many bytes a request has at most."""
        self._buffering = replace(self._buffering, max_batch_size_in_bytes=max_batch_size_in_bytes)
        return self

    def set_max_time_in_buffer_ms(self, max_time_in_buffer_ms: int) -> Any:
        """How long a record waits until it is sent; the end of an epoch sends all."""
        self._buffering = replace(self._buffering, max_time_in_buffer_ms=max_time_in_buffer_ms)
        return self

    def set_max_record_size_in_bytes(self, max_record_size_in_bytes: int) -> Any:
        """How many bytes a record has at most."""
        self._buffering = replace(self._buffering, max_record_size_in_bytes=max_record_size_in_bytes)
        return self

    def _checked(self, what: str) -> tuple[str, MessageEncoder[Any]]:
        if self._name is None or self._encoder is None:
            raise ValueError(f"a {what} needs the name of a stream and a serialization schema")
        return self._name, self._encoder


class KinesisStreamsSinkBuilder(_Builder):
    """Builds a ``KinesisStreamsSink``. Needed: a stream, a serialization schema, a partition key generator.

    >>> builder = KinesisStreamsSinkBuilder().set_stream_name("orders").set_fail_on_error(True)
    """

    def __init__(self) -> None:
        super().__init__()
        self._keys: PartitionKeyGenerator | None = None

    def set_stream_name(self, stream_name: str) -> KinesisStreamsSinkBuilder:
        """The name or ARN."""
        self._name = stream_name
        return self

    def set_partition_key_generator(self, partition_key_generator: PartitionKeyGenerator) -> KinesisStreamsSinkBuilder:
        """What makes the partition key of an element."""
        self._keys = partition_key_generator
        return self

    def set_kinesis_client_properties(self, kinesis_client_properties: Mapping[str, str]) -> KinesisStreamsSinkBuilder:
        """``aws.region``, ``aws.endpoint``, ``aws.credentials.*``."""
        self._properties = dict(kinesis_client_properties)
        return self

    def build(self) -> KinesisStreamsSink:
        """:raises ValueError: something is missing."""
        name, encoder = self._checked("KinesisStreamsSink")
        if self._keys is None:
            raise ValueError("a KinesisStreamsSink needs set_partition_key_generator(PartitionKeyGenerator.random())")
        return KinesisStreamsSink(name, encoder, self._keys, self._properties, self._buffering)


class KinesisFirehoseSinkBuilder(_Builder):
    """Builds a ``KinesisFirehoseSink``. Needed: a delivery stream and a serialization schema.

    >>> builder = KinesisFirehoseSinkBuilder().set_delivery_stream_name("orders").set_max_batch_size(100)
    """

    def set_delivery_stream_name(self, delivery_stream_name: str) -> KinesisFirehoseSinkBuilder:
        """The stream that records are put into."""
        self._name = delivery_stream_name
        return self

    def set_firehose_client_properties(
        self, firehose_client_properties: Mapping[str, str]
    ) -> KinesisFirehoseSinkBuilder:
        """``aws.region``, ``aws.endpoint``, ``aws.credentials.*``."""
        self._properties = dict(firehose_client_properties)
        return self

    def build(self) -> KinesisFirehoseSink:
        """:raises ValueError: something is missing."""
        name, encoder = self._checked("KinesisFirehoseSink")
        return KinesisFirehoseSink(name, encoder, self._properties, self._buffering)


@dataclass(frozen=True)
class KinesisStreamsSink(Sink[Any]):
    """Records of a stream, at least once: an epoch ends when the service has them.

    >>> builder = KinesisStreamsSink.builder().set_stream_name("orders")
    >>> builder = builder.set_kinesis_client_properties({"aws.region": "eu-central-1"})
    >>> builder = builder.set_partition_key_generator(PartitionKeyGenerator.fixed())
    >>> sink = builder.set_serialization_schema(SimpleStringSchema()).build()
    """

    stream: str
    encoder: MessageEncoder[Any]
    keys: PartitionKeyGenerator
    properties: Mapping[str, str] = field(repr=False)
    buffering: Buffering = Buffering()

    @staticmethod
    def builder() -> KinesisStreamsSinkBuilder:
        """Begins a sink; ``build()`` ends it."""
        return KinesisStreamsSinkBuilder()

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        sender = StreamSender(client("kinesis", self.properties), self, context.get_index_of_subtask())
        return MessageWriter(sender, self.encoder, self.buffering.patience(context), self.buffering.max_batch_size)


@dataclass(frozen=True)
class KinesisFirehoseSink(Sink[Any]):
    """Records of a delivery stream, at least once.

    >>> builder = KinesisFirehoseSink.builder().set_delivery_stream_name("orders")
    >>> builder = builder.set_firehose_client_properties({"aws.region": "eu-central-1"})
    >>> sink = builder.set_serialization_schema(SimpleStringSchema()).build()
    """

    stream: str
    encoder: MessageEncoder[Any]
    properties: Mapping[str, str] = field(repr=False)
    buffering: Buffering = Buffering()

    @staticmethod
    def builder() -> KinesisFirehoseSinkBuilder:
        """Begins a sink; ``build()`` ends it."""
        return KinesisFirehoseSinkBuilder()

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        sender = FirehoseSender(client("firehose", self.properties), self.stream, self.buffering)
        return MessageWriter(sender, self.encoder, self.buffering.patience(context), self.buffering.max_batch_size)


class BatchSender(Sender):
    """Sends requests of several records; what a request refuses is sent again."""

    def __init__(self, client: Any, stream: str, buffering: Buffering) -> None:
        self._client, self._stream, self._buffering = client, stream, buffering

    @abstractmethod
    def _record(self, message: Outgoing) -> dict[str, Any]: ...

    @abstractmethod
    def _put(self, records: list[dict[str, Any]]) -> list[Any]:
        """One request. Gives an answer for each record; an ``ErrorCode`` in it says that it was refused."""

    def send(self, messages: Sequence[Outgoing]) -> None:
        for batch in self._batches(messages):
            self._deliver(batch)

    def _batches(self, messages: Sequence[Outgoing]) -> Iterable[list[dict[str, Any]]]:
        batch: list[dict[str, Any]] = []
        size = 0
        for message in messages:
            length = len(message.value)
            if length > self._buffering.max_record_size_in_bytes:
                raise ValueError(
                    f"a record of {length} bytes is too large for stream {self._stream!r}, which takes "
                    f"{self._buffering.max_record_size_in_bytes}"
                )
            if batch and size + length > self._buffering.max_batch_size_in_bytes:
                yield batch
                batch, size = [], 0
            batch.append(self._record(message))
            size += length
        if batch:
            yield batch

    def _deliver(self, batch: list[dict[str, Any]]) -> None:
        until = time.monotonic() + DEADLINE_SECONDS
        pause = _FIRST_PAUSE
        while True:
            answers = self._put(batch)
            refused = [(record, each) for record, each in zip(batch, answers) if each.get("ErrorCode")]
            if not refused:
                return
            told = refused[0][1]
            if self._buffering.fail_on_error or time.monotonic() > until:
                raise ConnectionError(
                    f"stream {self._stream!r} has refused {len(refused)} records: {told['ErrorCode']} "
                    f"{told.get('ErrorMessage', '')}"
                )
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(pause * 2, _LONGEST_PAUSE)
            batch = [record for record, _ in refused]

    def flush(self) -> None:
        """Every answer was waited for."""

    def close(self) -> None:
        self._client.close()


class StreamSender(BatchSender):
    def __init__(self, client: Any, sink: KinesisStreamsSink, subtask: int) -> None:
        super().__init__(client, sink.stream, sink.buffering)
        self._keys, self._subtask = sink.keys, subtask
        self._named = {"StreamARN" if sink.stream.startswith("arn:") else "StreamName": sink.stream}

    def _record(self, message: Outgoing) -> dict[str, Any]:
        key = message.to or self._keys.key(message.value, self._subtask)
        return {"Data": message.value, "PartitionKey": key[:256]}

    def _put(self, records: list[dict[str, Any]]) -> list[Any]:
        return list(self._client.put_records(Records=records, **self._named)["Records"])


class FirehoseSender(BatchSender):
    def _record(self, message: Outgoing) -> dict[str, Any]:
        return {"Data": message.value}

    def _put(self, records: list[dict[str, Any]]) -> list[Any]:
        answer = self._client.put_record_batch(DeliveryStreamName=self._stream, Records=records)
        return list(answer["RequestResponses"])
