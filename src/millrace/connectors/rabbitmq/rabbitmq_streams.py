"""``RMQSource`` and ``RMQSink``: a queue read, every message once if it has a correlation id, and written at least
once; and ``RMQConnectionConfig``, which says how to reach the server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.sink import Sink, SinkWriter, WriterInitContext
from millrace.common.source import Boundedness, Source, SourceReader, SourceReaderContext, SplitEnumeratorContext
from millrace.common.typeinfo import TypeInformation
from millrace.connectors.messages import (
    AcknowledgedReader,
    AcknowledgingSplitReader,
    ConsumerSplit,
    Delivery,
    Message,
    MessageDecoder,
    MessageEncoder,
    MessageWriter,
    Outgoing,
    SchemaDecoder,
    SchemaEncoder,
    Sender,
    consumers,
)
from millrace.connectors.sink_base import Patience
from millrace.connectors.source_base import StandingSplits

_DEFAULT_HEARTBEAT = 60
_MISSING = "pika can't be imported, which the RabbitMQ connector needs: pip install 'millrace-streaming[rabbitmq]' ({})"


def pika() -> Any:
    """The client library. :raises ImportError: it is not installed."""
    try:
        import pika as found
    except ImportError as error:
        raise ImportError(_MISSING.format(error)) from error
    return found


def _no_connection(library: Any) -> tuple[type[BaseException], ...]:
    """What pika raises where there is no connection to be had; a silent server gives an error of another kind."""
    silent = library.adapters.utils.connection_workflow.AMQPConnectorException
    return (library.exceptions.AMQPError, silent, OSError)


@dataclass(frozen=True)
class RMQConnectionConfig:
    """Host, port and the rest, or an ``amqp://`` URI; made by ``RMQConnectionConfig.Builder()``.

    After a lost connection the job restarts from its last checkpoint, which is what recovers it: the settings of
    recovery are kept for programs that ask for them, and nothing else.

        >>> config = RMQConnectionConfig.Builder().set_uri("amqp://guest:guest@localhost:5672").build()
        >>> config.get_uri()
        'amqp://guest:guest@localhost:5672'

    :ivar uri: in place of host, port, virtual host and user.
    :ivar connection_timeout: ms; 0: no limit. ``network_recovery_interval`` likewise in ms.
    :ivar requested_heartbeat: seconds.
    :ivar prefetch_count: messages that the server sends and that are not acknowledged, at most: so many a checkpoint
        interval; None: no limit.
    """

    host: str | None = None
    port: int | None = None
    virtual_host: str | None = None
    user_name: str | None = None
    password: str | None = field(default=None, repr=False)
    uri: str | None = field(default=None, repr=False)
    network_recovery_interval: int | None = None
    automatic_recovery: bool | None = None
    topology_recovery: bool | None = None
    connection_timeout: int | None = None
    requested_channel_max: int | None = None
    requested_frame_max: int | None = None
    requested_heartbeat: int | None = None
    prefetch_count: int | None = None

    def get_host(self) -> str | None:
        """The host of the server."""
        return self.host

    def get_port(self) -> int | None:
        """The port of the server."""
        return self.port

    def get_virtual_host(self) -> str | None:
        """The virtual host."""
        return self.virtual_host

    def get_user_name(self) -> str | None:
        """The user name."""
        return self.user_name

    def get_password(self) -> str | None:
        """The password of the user."""
        return self.password

    def get_uri(self) -> str | None:
        """The address, if it was given as one."""
        return self.uri

    def get_network_recovery_interval(self) -> int | None:
        """ms"""
        return self.network_recovery_interval

    def is_automatic_recovery(self) -> bool | None:
        """Whether a lost connection is made again; None: nothing is set."""
        return self.automatic_recovery

    def is_topology_recovery(self) -> bool | None:
        """Whether queues are declared again with it; None: nothing is set."""
        return self.topology_recovery

    def get_connection_timeout(self) -> int | None:
        """ms"""
        return self.connection_timeout

    def get_requested_channel_max(self) -> int | None:
        """How many channels are asked for; None: nothing is set."""
        return self.requested_channel_max

    def get_requested_frame_max(self) -> int | None:
        """bytes"""
        return self.requested_frame_max

    def get_requested_heartbeat(self) -> int | None:
        """seconds"""
        return self.requested_heartbeat

    def get_prefetch_count(self) -> int | None:
        """How many messages the server sends ahead; None: nothing is set."""
        return self.prefetch_count

    def __str__(self) -> str:
        if self.uri is not None:
            return "RabbitMQ at " + self.uri.rpartition("@")[2].rpartition("//")[2]
        return f"RabbitMQ at {self.host}:{self.port}{self.virtual_host}"

    def connect(self) -> Any:
        """A blocking connection of pika. :raises ConnectionError: there is no server, or it does not let us in."""
        library = pika()
        settings: dict[str, Any] = {"heartbeat": self.requested_heartbeat or _DEFAULT_HEARTBEAT}
        if self.connection_timeout:
            seconds = self.connection_timeout / 1000
            settings |= {"socket_timeout": seconds, "blocked_connection_timeout": seconds}
        if self.requested_channel_max:
            settings["channel_max"] = self.requested_channel_max
        if self.requested_frame_max:
            settings["frame_max"] = self.requested_frame_max
        if self.uri is not None:
            parameters = library.URLParameters(self.uri)
            for name, value in settings.items():
                setattr(parameters, name, value)
        else:
            credentials = library.PlainCredentials(self.user_name, self.password)
            parameters = library.ConnectionParameters(self.host, self.port, self.virtual_host, credentials, **settings)
        try:
            return library.BlockingConnection(parameters)
        except _no_connection(library) as error:
            # pika's own text is often empty, and of an address it shows the password.
            cause = f"{type(error).__name__} {error}".strip()
            raise ConnectionError(f"{self} does not answer, or does not let us in: {cause}") from None

    class Builder:
        """Sets what is needed: host, port, virtual host, user name and password; or the URI."""

        def __init__(self) -> None:
            self._made = RMQConnectionConfig()

        def _with(self, **values: Any) -> RMQConnectionConfig.Builder:
            self._made = replace(self._made, **values)
            return self

        def set_port(self, port: int) -> RMQConnectionConfig.Builder:
            return self._with(port=port)

        def set_host(self, host: str) -> RMQConnectionConfig.Builder:
            return self._with(host=host)

        def set_virtual_host(self, vhost: str) -> RMQConnectionConfig.Builder:
            return self._with(virtual_host=vhost)

        def set_user_name(self, user_name: str) -> RMQConnectionConfig.Builder:
            return self._with(user_name=user_name)

        def set_password(self, password: str) -> RMQConnectionConfig.Builder:
            return self._with(password=password)

        def set_uri(self, uri: str) -> RMQConnectionConfig.Builder:
            """In place of host, port, virtual host, user and password."""
            return self._with(uri=uri)

        def set_topology_recovery_enabled(self, topology_recovery_enabled: bool) -> RMQConnectionConfig.Builder:
            return self._with(topology_recovery=topology_recovery_enabled)

        def set_requested_heartbeat(self, requested_heartbeat: int) -> RMQConnectionConfig.Builder:
            """seconds"""
            return self._with(requested_heartbeat=requested_heartbeat)

        def set_requested_frame_max(self, requested_frame_max: int) -> RMQConnectionConfig.Builder:
            """bytes"""
            return self._with(requested_frame_max=requested_frame_max)

        def set_requested_channel_max(self, requested_channel_max: int) -> RMQConnectionConfig.Builder:
            return self._with(requested_channel_max=requested_channel_max)

        def set_network_recovery_interval(self, network_recovery_interval: int) -> RMQConnectionConfig.Builder:
            """ms"""
            return self._with(network_recovery_interval=network_recovery_interval)

        def set_connection_timeout(self, connection_timeout: int) -> RMQConnectionConfig.Builder:
            """ms"""
            return self._with(connection_timeout=connection_timeout)

        def set_automatic_recovery(self, automatic_recovery: bool) -> RMQConnectionConfig.Builder:
            return self._with(automatic_recovery=automatic_recovery)

        def set_prefetch_count(self, prefetch_count: int) -> RMQConnectionConfig.Builder:
            """The most messages that are not acknowledged at any time, and so the most that are read in a checkpoint
            interval."""
            return self._with(prefetch_count=prefetch_count)

        def build(self) -> RMQConnectionConfig:
            """:raises ValueError: neither a URI nor all of host, port, virtual host, user name and password are set."""
            made = self._made
            if made.uri is None:
                needed = {
                    "host": made.host,
                    "port": made.port,
                    "virtual host": made.virtual_host,
                    "user name": made.user_name,
                    "password": made.password,
                }
                missing = [name for name, value in needed.items() if value is None]
                if missing:
                    raise ValueError(f"RMQConnectionConfig has no {', '.join(missing)}: set them, or set_uri()")
            return made


WAIT_SECONDS = 0.05
MOST_MESSAGES = 5_000
"""The most messages of one fetch."""


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

    def get_produced_type(self) -> TypeInformation | None:
        return self._decoder.produced_type()

    def __repr__(self) -> str:
        return f"RMQSource({self._config}, queue {self._queue!r})"


class RMQSplitReader(AcknowledgingSplitReader[Any]):
    """One connection, a channel for each consumer. Acknowledgements are transactions, so that they are confirmed."""

    def __init__(self, config: RMQConnectionConfig, queue: str, by_id: bool, decoder: MessageDecoder[Any]) -> None:
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
