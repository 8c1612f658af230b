"""``MqttSource``: reads topics, at least once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
from millrace.connectors.mqtt.connection import MqttBroker, MqttClient
from millrace.connectors.queue_enumerator import StandingSplits

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

    def get_produced_type(self) -> Any:
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
