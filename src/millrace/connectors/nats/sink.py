"""``JetStreamSink``: publishes to a stream, at least once or exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from millrace.common.serialization import SerializationSchema
from millrace.common.sink import Sink, SinkWriter, WriterInitContext
from millrace.connectors.base import DeliveryGuarantee
from millrace.connectors.messages.sending import MessageEncoder, MessageWriter, Outgoing, SchemaEncoder, Sender
from millrace.connectors.nats.connection import NatsClient, NatsServers
from millrace.connectors.patience import Patience
from millrace.connectors.write_ahead import Batch, BatchSender, WriteAheadSink

BUCKET = "millrace_written"
"""key-value bucket of batches that a stream has"""
MARK_SECONDS = 7 * 24 * 60 * 60
MOST_AT_ONCE = 500
"""messages on their way whose confirmation is waited for"""
_ID = "Nats-Msg-Id"


class JetStreamSink(Sink[Any]):
    """At least once: an epoch ends when the stream has confirmed its messages.

    ``JetStreamSink.of`` makes one of these, or one that writes exactly once.

        >>> sink = JetStreamSink.of("nats://localhost:4222", "lines.all", SimpleStringSchema())
    """

    def __init__(self, servers: NatsServers, subject: str, encoder: MessageEncoder[Any]) -> None:
        self._servers, self._subject, self._encoder = servers, subject, encoder

    @staticmethod
    def of(
        servers: str | Sequence[str],
        subject: str,
        serializer: SerializationSchema | MessageEncoder[Any],
        *,
        guarantee: DeliveryGuarantee = DeliveryGuarantee.AT_LEAST_ONCE,
        log_directory: str | None = None,
        **options: Any,
    ) -> Sink[Any]:
        """A sink for a subject that a stream listens to.

        :param guarantee: ``EXACTLY_ONCE``: messages wait until the checkpoint is recorded, and have ids by which the
            stream drops those that it has; a mark says that a batch is written. They are there twice only if the driver
            dies between the two and the job is started again later than the stream's ``duplicate_window`` (2 minutes
            unless the stream says more).
        :param log_directory: where large batches wait; None: in the checkpoint.
        :param options: of ``nats.connect``.
        """
        urls = (servers,) if isinstance(servers, str) else tuple(servers)
        reached = NatsServers(urls, tuple(options.items()))
        encoder = serializer if isinstance(serializer, MessageEncoder) else SchemaEncoder[Any](serializer)
        if guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            return ExactJetStreamSink(reached, subject, encoder, log_directory)
        return JetStreamSink(reached, subject, encoder)

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        sender = JetStreamSender(self._servers, self._subject)
        return MessageWriter(sender, self._encoder, Patience(context.current_processing_time))


class JetStreamSender(Sender):
    def __init__(self, servers: NatsServers, subject: str) -> None:
        self._client, self._subject = servers.connect(), subject

    def send(self, messages: Sequence[Outgoing]) -> None:
        publish(self._client, self._subject, messages, None)

    def flush(self) -> None:
        # Every confirmation was waited for; the server may want an answer.
        self._client.serve()

    def close(self) -> None:
        self._client.close()


def publish(client: NatsClient, subject: str, messages: Sequence[Outgoing], name: str | None) -> None:
    """Write messages and wait for the stream. :param name: what their ids begin with; None: they have none.

    :raises ConnectionError: no stream listens, or it does not answer.
    """

    async def some(begin: int) -> None:
        part = messages[begin : begin + MOST_AT_ONCE]
        calls = []
        for number, each in enumerate(part, begin):
            headers = None if name is None else {_ID: f"{name}/{number}"}
            calls.append(client.jetstream.publish(each.to or subject, each.value, headers=headers))
        await asyncio.gather(*calls)

    try:
        for begin in range(0, len(messages), MOST_AT_ONCE):
            client.run(some(begin))
    except Exception as error:
        raise ConnectionError(f"NATS has not confirmed messages for {subject!r}: {error!r}") from error


class ExactJetStreamSink(WriteAheadSink[Any]):
    """Exactly once, by a write-ahead log and ids."""

    def __init__(
        self, servers: NatsServers, subject: str, encoder: MessageEncoder[Any], log_directory: str | None
    ) -> None:
        super().__init__(log_directory)
        self._servers, self._subject, self._encoder = servers, subject, encoder

    def create_sender(self) -> BatchSender[Any]:
        return JetStreamBatches(self._servers, self._subject, self._encoder)


class JetStreamBatches(BatchSender[Any]):
    remembers = True

    def __init__(self, servers: NatsServers, subject: str, encoder: MessageEncoder[Any]) -> None:
        self._client, self._subject, self._encoder = servers.connect(), subject, encoder
        self._bucket = self._client.run(self._marks())

    async def _marks(self) -> Any:
        try:
            return await self._client.jetstream.key_value(BUCKET)
        except self._client.errors.NotFoundError:
            return await self._client.jetstream.create_key_value(bucket=BUCKET, ttl=MARK_SECONDS)

    def send(self, values: Iterator[Any], batch: Batch) -> None:
        messages = [message for value in values for message in self._encoder.encode(value, None)]
        publish(self._client, self._subject, messages, batch.name)
        self._client.run(self._bucket.put(_key(batch), b"1"))

    def is_sent(self, batch: Batch) -> bool:
        try:
            self._client.run(self._bucket.get(_key(batch)))
        except self._client.errors.KeyNotFoundError:
            return False
        return True

    def close(self) -> None:
        self._client.close()


def _key(batch: Batch) -> str:
    """Keys have letters, digits and a few signs."""
    return "".join(sign if sign.isalnum() or sign in "-_" else "=" + format(ord(sign), "x") for sign in batch.name)
