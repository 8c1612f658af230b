"""``MqttSource`` and ``MqttSink``: topics of a broker read and written at least once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

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

_MISSING = "paho.mqtt can't be imported, which the MQTT connector needs: pip install 'millrace-streaming[mqtt]' ({})"
_SECONDS = 30.0
_PORTS = {"mqtt": 1883, "mqtts": 8883}
MAX_INFLIGHT = 65_535


def paho() -> Any:
    """:raises ImportError: it is not installed."""
    try:
        import paho.mqtt.client as found
    except ImportError as error:
        raise ImportError(_MISSING.format(error)) from error
    return found


@dataclass(frozen=True)
class MqttBroker:
    """
    :ivar url: ``mqtt://user:password@host:port``, ``mqtts://`` with TLS.
    :ivar session_seconds: how long the broker keeps a session without connection, and what came for it.
    """

    url: str = field(repr=False)
    session_seconds: int = 7 * 24 * 60 * 60

    def __post_init__(self) -> None:
        """:raises ValueError: the URL is none of MQTT."""
        if urlsplit(self.url).scheme not in _PORTS:
            raise ValueError(f"an MQTT broker is mqtt://host:port or mqtts://host:port, not {self}")

    def __str__(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"

    def connect(self, client_id: str, keeps_session: bool, **callbacks: Any) -> MqttClient:
        """:raises ConnectionError: the broker does not answer, or does not let us in."""
        return MqttClient(self, client_id, keeps_session, callbacks)


class MqttClient:
    """A connection without a thread of its own: its user serves it.

    :param client_id: another connection of this id ends this one; "": the broker chooses.
    """

    def __init__(self, broker: MqttBroker, client_id: str, keeps_session: bool, callbacks: dict[str, Any]) -> None:
        library = paho()
        self._library, self._broker = library, broker
        self._said: Any = None
        self._connected = False
        self.paho = library.Client(
            library.CallbackAPIVersion.VERSION2, client_id, protocol=library.MQTTv5, manual_ack=True
        )
        self.paho.max_inflight_messages_set(MAX_INFLIGHT)
        self.paho.on_connect = self._on_connect
        self.paho.on_disconnect = self._on_disconnect
        for name, function in callbacks.items():
            setattr(self.paho, name, function)
        parts = urlsplit(broker.url)
        if parts.username:
            self.paho.username_pw_set(unquote(parts.username), unquote(parts.password or ""))
        if parts.scheme == "mqtts":
            self.paho.tls_set()
        properties = library.Properties(library.PacketTypes.CONNECT)
        if keeps_session:
            properties.SessionExpiryInterval = broker.session_seconds
        properties.ReceiveMaximum = MAX_INFLIGHT
        try:
            self.paho.connect(
                parts.hostname or "localhost",
                parts.port or _PORTS[parts.scheme],
                clean_start=not keeps_session,
                properties=properties,
            )
        except OSError as error:
            raise ConnectionError(f"MQTT broker {broker} does not answer: {error}") from None
        self.until(lambda: self._connected or self._said is not None, "to be let in")

    def _on_connect(self, client: Any, userdata: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            self._said = reason
        else:
            self._connected = True

    def _on_disconnect(self, client: Any, userdata: Any, flags: Any, reason: Any, properties: Any) -> None:
        self._said = self._said or reason

    def serve(self, seconds: float) -> None:
        """Send and receive, for that long at most.

        :raises ConnectionError: the connection is lost, or was taken over by another one of its id.
        """
        code = self.paho.loop(seconds)
        if self._said is not None or code not in (self._library.MQTT_ERR_SUCCESS, self._library.MQTT_ERR_AGAIN):
            told = self._said or self._library.error_string(code)
            raise ConnectionError(f"MQTT broker {self._broker}: the connection is lost: {told}")

    def until(self, done: Any, what: str) -> None:
        """Serve until something is done. :raises ConnectionError: it took more than 30 seconds."""
        limit = time.monotonic() + _SECONDS
        while not done():
            self.serve(0.05)
            if time.monotonic() > limit:
                raise ConnectionError(f"MQTT broker {self._broker}: {what} took more than {_SECONDS:g} s")

    def close(self) -> None:
        self.paho.disconnect()
        self.paho.loop(0.1)


WAIT_SECONDS = 0.05
MOST_MESSAGES = 5_000
_SHARED = "$share/"


@dataclass(frozen=True)
class MqttSource(Source[Any, ConsumerSplit]):
    """Messages of topics, for a session of the broker's that outlives the job: what comes while the job is down waits.

    Messages are acknowledged with checkpoints, and come again otherwise: at least once. The broker sends no more than
    its ``max_inflight_messages`` (Mosquitto: 20 unless it is set) before it wants acknowledgements: that many a
    checkpoint interval, so it should be large.

        >>> source = MqttSource.of("mqtt://localhost:1883", "plant/+/temperature", "job-plant", SimpleStringSchema())

    :ivar topics: filters such as ``plant/+/temperature``. One subtask reads; with ``$share/GROUP/FILTER`` all do.
    :ivar client_id: the name of the session; no other client may have it.
    :ivar qos: 1; 0: at most once, without waiting for acknowledgements. 2 is refused: a message that the broker has
        handed over that way does not come again, so it would be lost if the job fails before a checkpoint.
    """

    broker: MqttBroker
    topics: tuple[str, ...]
    client_id: str
    decoder: MessageDecoder[Any]
    qos: int = 1

    @staticmethod
    def of(
        url: str, topics: str | Sequence[str], client_id: str, deserializer: DeserializationSchema, *, qos: int = 1
    ) -> MqttSource:
        """A source of the messages that fit a filter of topics."""
        names = (topics,) if isinstance(topics, str) else tuple(topics)
        return MqttSource(MqttBroker(url), names, client_id, SchemaDecoder[Any](deserializer), qos)

    def __post_init__(self) -> None:
        """:raises ValueError: no topics, no client id, or a QoS that is not 0 or 1."""
        if not self.topics or not self.client_id:
            raise ValueError("an MqttSource needs topics and a client_id, which names its session")
        if self.qos not in (0, 1):
            raise ValueError(
                f"an MqttSource reads with QoS 0 or 1, not {self.qos}: a message that is handed over with QoS 2 does "
                "not come again when the job fails before its checkpoint"
            )

    @property
    def _shared(self) -> bool:
        return all(each.startswith(_SHARED) for each in self.topics)

    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[ConsumerSplit], checkpoint: list[ConsumerSplit] | None = None
    ) -> StandingSplits[ConsumerSplit]:
        return consumers(context, checkpoint, single=not self._shared)

    def create_reader(self, context: SourceReaderContext) -> SourceReader[Any, ConsumerSplit]:
        return AcknowledgedReader(lambda: MqttSplitReader(self))

    def get_produced_type(self) -> TypeInformation | None:
        return self.decoder.produced_type()


class MqttSplitReader(AcknowledgingSplitReader[Any]):
    """A connection for each session."""

    def __init__(self, source: MqttSource) -> None:
        self._source = source
        self._clients: dict[int, MqttClient] = {}
        self._arrived: dict[int, list[Any]] = {}

    def handle_splits_changes(self, added: Sequence[ConsumerSplit]) -> None:
        for split in added:
            self._open(split.number)

    def _open(self, number: int) -> None:
        source = self._source
        arrived: list[Any] = self._arrived.setdefault(number, [])
        granted: list[Any] = []
        client = source.broker.connect(
            source.client_id if number == 0 else f"{source.client_id}-{number}",
            keeps_session=source.qos > 0,
            on_message=lambda paho, userdata, message: arrived.append(message),
            on_subscribe=lambda paho, userdata, mid, reasons, properties: granted.extend(reasons),
        )
        self._clients[number] = client
        client.paho.subscribe([(topic, source.qos) for topic in source.topics])
        client.until(lambda: len(granted) >= len(source.topics), "to subscribe")
        for topic, reason in zip(source.topics, granted):
            if reason.is_failure:
                raise ValueError(f"MQTT broker {source.broker} refuses topic {topic!r}: {reason}")

    def fetch(self) -> list[Delivery[Any]]:
        if not any(self._arrived.values()):
            for client in self._clients.values():
                client.serve(WAIT_SECONDS / len(self._clients))
        return [self._delivery(number) for number, arrived in self._arrived.items() if arrived]

    def _delivery(self, number: int) -> Delivery[Any]:
        arrived = self._arrived[number]
        some, arrived[:] = arrived[:MOST_MESSAGES], arrived[MOST_MESSAGES:]
        messages = [
            Message(each.payload, f"topic {each.topic!r}", None, {"topic": each.topic, "retain": bool(each.retain)})
            for each in some
        ]
        elements, times = self._source.decoder.decode(messages)
        tags = [(number, each.mid, each.qos) for each in some if each.qos > 0]
        size = sum(len(each.payload) for each in some)
        return Delivery(f"consumer {number}", elements, ConsumerSplit(number), times, size, tags)

    def acknowledge(self, tags: Sequence[tuple[int, int, int]]) -> None:
        for number, mid, qos in tags:
            self._clients[number].paho.ack(mid, qos)
        self.keep_alive()

    def keep_alive(self) -> None:
        for client in self._clients.values():
            client.serve(0)

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


class MqttSink(Sink[Any]):
    """Publishes elements to a topic. With QoS 1 or 2 an epoch ends when the broker has confirmed its messages; after a
    failure some are published again. With QoS 0 some may be missing.

        >>> alarms = MqttSink("mqtt://localhost:1883", "alarms", SimpleStringSchema(), qos=2)

    :param retain: whether the broker keeps the last message of a topic for those who come later.
    """

    def __init__(
        self,
        url: str,
        topic: str,
        serializer: SerializationSchema | MessageEncoder[Any],
        *,
        qos: int = 1,
        retain: bool = False,
    ) -> None:
        """:raises ValueError: a QoS that is none, or a topic with wildcards."""
        if qos not in (0, 1, 2):
            raise ValueError(f"QoS is 0, 1 or 2, not {qos}")
        if "+" in topic or "#" in topic:
            raise ValueError(f"messages go to one topic, without wildcards: {topic!r}")
        self._broker, self._topic, self._qos, self._retain = MqttBroker(url), topic, qos, retain
        self._encoder = serializer if isinstance(serializer, MessageEncoder) else SchemaEncoder[Any](serializer)

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        sender = MqttSender(self._broker, self._topic, self._qos, self._retain)
        return MessageWriter(sender, self._encoder, Patience(context.current_processing_time))


class MqttSender(Sender):
    def __init__(self, broker: MqttBroker, topic: str, qos: int, retain: bool) -> None:
        self._broker, self._topic, self._qos, self._retain = broker, topic, qos, retain
        self._waiting: list[Any] = []
        self._refused: list[str] = []
        self._client = broker.connect("", keeps_session=False, on_publish=self._on_publish)

    def _on_publish(self, client: Any, userdata: Any, mid: int, reason: Any, properties: Any) -> None:
        if reason is not None and reason.is_failure:
            self._refused.append(str(reason))

    def send(self, messages: Sequence[Outgoing]) -> None:
        for each in messages:
            info = self._client.paho.publish(each.to or self._topic, each.value, self._qos, self._retain)
            self._waiting.append(info)
        self._client.serve(0)

    def _all_done(self) -> bool:
        self._waiting = [each for each in self._waiting if not each.is_published()]
        return not self._waiting

    def flush(self) -> None:
        # Without acknowledgements a message is done when it has left.
        self._client.until(self._all_done, f"to confirm messages for {self._topic!r}")
        if self._refused:
            raise ConnectionError(f"MQTT broker {self._broker} has refused messages: {self._refused[0]}")
        self._client.serve(0)

    def close(self) -> None:
        self._client.close()
