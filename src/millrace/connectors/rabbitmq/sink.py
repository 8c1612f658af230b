"""``RMQSink``: writes a queue, at least once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.serialization import SerializationSchema
from millrace.common.sink import Sink, SinkWriter, WriterInitContext
from millrace.connectors.messages.sending import MessageEncoder, MessageWriter, Outgoing, SchemaEncoder, Sender
from millrace.connectors.patience import Patience
from millrace.connectors.rabbitmq.connection import RMQConnectionConfig, pika


class RMQSink(Sink[Any]):
    """Elements as messages of a queue, which is made if it is not there. What comes within 100 ms, or in an
    epoch, is a transaction of the channel: the epoch ends when the server has all of them.

        >>> config = RMQConnectionConfig.Builder().set_uri("amqp://guest:guest@localhost:5672").build()
        >>> sink = env.from_collection(["a"]).add_sink(RMQSink(config, "lines", SimpleStringSchema()))
    """

    def __init__(
        self,
        connection_config: RMQConnectionConfig,
        queue_name: str,
        serialization_schema: SerializationSchema | MessageEncoder[Any],
    ) -> None:
        self._config, self._queue = connection_config, queue_name
        made = serialization_schema
        self._encoder = made if isinstance(made, MessageEncoder) else SchemaEncoder[Any](made)

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        sender = RMQSender(self._config, self._queue)
        return MessageWriter(sender, self._encoder, Patience(context.current_processing_time))

    def __repr__(self) -> str:
        return f"RMQSink({self._config}, queue {self._queue!r})"


class RMQSender(Sender):
    def __init__(self, config: RMQConnectionConfig, queue: str) -> None:
        self._config, self._queue = config, queue
        self._library = pika()
        self._connection = config.connect()
        self._channel: Any = None
        self._open = False
        """whether something was published that is not committed"""

    def _writing(self) -> Any:
        if self._channel is None:
            channel = self._connection.channel()
            try:
                channel.queue_declare(self._queue, passive=True)
            except self._library.exceptions.ChannelClosedByBroker as error:
                if error.reply_code != 404:
                    raise
                channel = self._connection.channel()
                channel.queue_declare(self._queue, durable=True)
            channel.tx_select()
            self._channel = channel
        return self._channel

    def send(self, messages: Sequence[Outgoing]) -> None:
        try:
            channel = self._writing()
            for each in messages:
                known = {key.replace("-", "_"): value for key, value in each.metadata.items()}
                properties = self._library.BasicProperties(delivery_mode=2, **known)
                channel.basic_publish("", each.to or self._queue, each.value, properties)
                self._open = True
        except self._library.exceptions.AMQPError as error:
            raise ConnectionError(f"{self._config}: messages were not written: {error!r}") from error

    def release(self) -> None:
        # Nothing of a transaction is seen before.
        self.flush()

    def flush(self) -> None:
        try:
            if self._open:
                self._channel.tx_commit()
                self._open = False
            else:
                self._connection.process_data_events(0)  # answers heartbeats
        except self._library.exceptions.AMQPError as error:
            raise ConnectionError(f"{self._config}: messages were not confirmed: {error!r}") from error

    def close(self) -> None:
        if self._connection.is_open:
            self._connection.close()
