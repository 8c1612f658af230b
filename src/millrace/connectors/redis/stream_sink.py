"""``RedisStreamSink``: appends to a stream, at least once or exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.serialization import SerializationSchema
from millrace.common.sink import Sink, SinkWriter, WriterInitContext
from millrace.connectors.base import DeliveryGuarantee
from millrace.connectors.messages.sending import MessageEncoder, MessageWriter, Outgoing, SchemaEncoder, Sender
from millrace.connectors.patience import Patience
from millrace.connectors.redis.batches import MarkedBatches
from millrace.connectors.redis.connection import RedisServer
from millrace.connectors.write_ahead import BatchSender, WriteAheadSink


class StreamEntries:
    """What entries look like.

    :param maxlen: about how many entries the stream keeps; None: all.
    """

    def __init__(self, stream: str, encoder: MessageEncoder[Any], field: str, maxlen: int | None) -> None:
        self._stream, self.encoder, self._field, self._maxlen = stream, encoder, field, maxlen

    def add(self, pipeline: Any, messages: Sequence[Outgoing]) -> None:
        for each in messages:
            fields = {self._field: each.value}
            pipeline.xadd(each.to or self._stream, fields, maxlen=self._maxlen, approximate=True)


class RedisStreamSink(Sink[Any]):
    """At least once: an epoch ends when the server has its entries.

    ``RedisStreamSink.of`` makes one of these, or one that writes exactly once.

        >>> sink = RedisStreamSink.of("redis://localhost:6379", "lines", SimpleStringSchema())
    """

    def __init__(self, server: RedisServer, entries: StreamEntries) -> None:
        self._server, self._entries = server, entries

    @staticmethod
    def of(
        url: str,
        stream: str,
        serializer: SerializationSchema | MessageEncoder[Any],
        *,
        field: str = "value",
        maxlen: int | None = None,
        guarantee: DeliveryGuarantee = DeliveryGuarantee.AT_LEAST_ONCE,
        log_directory: str | None = None,
    ) -> Sink[Any]:
        """A sink that appends one entry an element.

        :param field: of the entry, that has the element.
        :param maxlen: about how many entries the stream keeps; None: all.
        :param guarantee: ``EXACTLY_ONCE``: entries wait until the checkpoint is recorded; the server takes those of a
            batch and the batch's name in one transaction.
        :param log_directory: where large batches wait; None: in the checkpoint.
        """
        encoder = serializer if isinstance(serializer, MessageEncoder) else SchemaEncoder[Any](serializer)
        entries = StreamEntries(stream, encoder, field, maxlen)
        if guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            return ExactStreamSink(RedisServer(url), entries, log_directory)
        return RedisStreamSink(RedisServer(url), entries)

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        sender = StreamSender(self._server, self._entries)
        return MessageWriter(sender, self._entries.encoder, Patience(context.current_processing_time))


class StreamSender(Sender):
    def __init__(self, server: RedisServer, entries: StreamEntries) -> None:
        self._server, self._client, self._entries = server, server.connect(), entries

    def send(self, messages: Sequence[Outgoing]) -> None:
        pipeline = self._client.pipeline(transaction=False)
        self._entries.add(pipeline, messages)
        with self._server.telling():
            pipeline.execute()

    def flush(self) -> None:
        """Every answer was waited for."""

    def close(self) -> None:
        self._client.close()


class ExactStreamSink(WriteAheadSink[Any]):
    """Exactly once, by a write-ahead log."""

    def __init__(self, server: RedisServer, entries: StreamEntries, log_directory: str | None) -> None:
        super().__init__(log_directory)
        self._server, self._entries = server, entries

    def create_sender(self) -> BatchSender[Any]:
        return MarkedBatches(self._server, self._add)

    def _add(self, pipeline: Any, value: Any) -> None:
        self._entries.add(pipeline, list(self._entries.encoder.encode(value, None)))
