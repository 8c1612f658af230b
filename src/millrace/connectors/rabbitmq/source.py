"""``RMQSource``: reads a queue; every message once, if it has a correlation id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.serialization import DeserializationSchema
from millrace.common.source import Boundedness, Source, SourceReader, SourceReaderContext, SplitEnumeratorContext
from millrace.connectors.messages.acknowledged import (
    AcknowledgedReader,
    AcknowledgingSplitReader,
    ConsumerSplit,
    Delivery,
    consumers,
)
from millrace.connectors.messages.message import Message, MessageDecoder, SchemaDecoder
from millrace.connectors.queue_enumerator import StandingSplits
from millrace.connectors.rabbitmq.connection import RMQConnectionConfig, pika

WAIT_SECONDS = 0.05
MOST_MESSAGES = 5_000
"""of one fetch"""


class RMQSource(Source[Any, ConsumerSplit]):
    """Messages of a queue. They are acknowledged with checkpoints; those that are not come again after a failure.

        >>> config = RMQConnectionConfig.Builder().set_uri("amqp://guest:guest@localhost:5672").build()
        >>> orders = env.add_source(RMQSource(config, "orders", True, SimpleStringSchema()))

    :param use_correlation_id: every message has an id of its own: those that come again are left out, and each counts
        once. One subtask reads then. Without, all subtasks do, and a message may come twice.
    """

    def __init__(
        self,
        connection_config: RMQConnectionConfig,
        queue_name: str,
        use_correlation_id: bool,
        deserialization_schema: DeserializationSchema | MessageDecoder[Any],
    ) -> None:
        self._config, self._queue, self._by_id = connection_config, queue_name, use_correlation_id
        made = deserialization_schema
        self._decoder = made if isinstance(made, MessageDecoder) else SchemaDecoder[Any](made)

    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[ConsumerSplit], checkpoint: list[ConsumerSplit] | None = None
    ) -> StandingSplits[ConsumerSplit]:
        return consumers(context, checkpoint, single=self._by_id)

    def create_reader(self, context: SourceReaderContext) -> SourceReader[Any, ConsumerSplit]:
        return AcknowledgedReader(lambda: RMQSplitReader(self._config, self._queue, self._by_id, self._decoder))

    def get_produced_type(self) -> Any:
        return self._decoder.produced_type()

    def __repr__(self) -> str:
        return f"RMQSource({self._config}, queue {self._queue!r})"


class RMQSplitReader(AcknowledgingSplitReader[Any]):
    """One connection, a channel for each consumer. Acknowledgements are transactions, so that they are confirmed."""

    def __init__(
        self, config: RMQConnectionConfig, queue: str, by_id: bool, decoder: MessageDecoder[Any]
    ) -> None:
        self._config, self._queue, self._by_id, self._decoder = config, queue, by_id, decoder
        self._library = pika()
        self._connection = config.connect()
        self._arrived: dict[int, list[tuple[Any, Any, bytes]]] = {}
        self._channels: dict[int, Any] = {}
        self._used: dict[int, set[str]] = {}

    def handle_splits_changes(self, added: Sequence[ConsumerSplit]) -> None:
        for split in added:
            self._used[split.number] = set(split.used)
            self._consume(split.number)

    def _consume(self, number: int) -> None:
        arrived = self._arrived.setdefault(number, [])

        def keep(channel: Any, method: Any, properties: Any, body: bytes) -> None:
            arrived.append((method.delivery_tag, properties, body))

        try:
            channel = self._channels[number] = self._connection.channel()
            # A queue that is there may have been declared in other ways.
            channel.queue_declare(self._queue, passive=True)
        except self._library.exceptions.ChannelClosedByBroker as error:
            if error.reply_code != 404:
                raise
            channel = self._channels[number] = self._connection.channel()
            channel.queue_declare(self._queue, durable=True)
        if self._config.prefetch_count:
            channel.basic_qos(prefetch_count=self._config.prefetch_count)
        channel.tx_select()
        channel.basic_consume(self._queue, keep, auto_ack=False)

    def fetch(self) -> list[Delivery[Any]]:
        if not any(self._arrived.values()):
            self._serve(WAIT_SECONDS)
        return [self._delivery(number) for number, arrived in self._arrived.items() if arrived]

    def _serve(self, seconds: float) -> None:
        try:
            self._connection.process_data_events(seconds)
        except self._library.exceptions.AMQPError as error:
            raise ConnectionError(f"{self._config}: the connection is lost: {error!r}") from error
        for channel in self._channels.values():
            if not channel.is_open:
                raise ConnectionError(f"{self._config}: the channel that reads queue {self._queue!r} was closed")

    def _delivery(self, number: int) -> Delivery[Any]:
        arrived = self._arrived[number]
        some, arrived[:] = arrived[:MOST_MESSAGES], arrived[MOST_MESSAGES:]
        messages: list[Message] = []
        tags: list[tuple[int, int, str | None]] = []
        ids: list[str] = []
        used = self._used[number]
        for tag, properties, body in some:
            name = properties.correlation_id
            tags.append((number, tag, name))
            if self._by_id:
                if name is None:
                    raise ValueError(
                        f"queue {self._queue!r}: a message has no correlation id, which use_correlation_id=True asks "
                        f"for; message: {body[:100]!r}"
                    )
                ids.append(name)
                if name in used:
                    continue
                used.add(name)
            place = f"queue {self._queue!r}, message {tag if name is None else name}"
            time = None if properties.timestamp is None else int(properties.timestamp) * 1000
            messages.append(Message(body, place, time, _metadata(properties)))
        elements, times = self._decoder.decode(messages) if messages else ([], None)
        size = sum(len(body) for _, _, body in some)
        return Delivery(f"consumer {number}", elements, ConsumerSplit(number), times, size, tags, ids)

    def acknowledge(self, tags: Sequence[tuple[int, int, str | None]]) -> None:
        try:
            for number, channel in self._channels.items():
                mine = [tag for at, tag, _ in tags if at == number]
                if mine:
                    # Tags of a channel grow, and are emitted in their order: the last one stands for all before it.
                    channel.basic_ack(max(mine), multiple=True)
                    channel.tx_commit()
            for number, _, name in tags:
                self._used[number].discard(name or "")
        except self._library.exceptions.AMQPError as error:
            raise ConnectionError(f"{self._config}: messages could not be acknowledged: {error!r}") from error

    def keep_alive(self) -> None:
        self._serve(0)

    def close(self) -> None:
        if self._connection.is_open:
            self._connection.close()


def _metadata(properties: Any) -> dict[str, Any]:
    return {
        "correlation-id": properties.correlation_id,
        "message-id": properties.message_id,
        "timestamp": None if properties.timestamp is None else int(properties.timestamp) * 1000,
    }
