"""``MqttSink``: publishes, at least once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.serialization import SerializationSchema
from millrace.common.sink import Sink, SinkWriter, WriterInitContext
from millrace.connectors.messages.sending import MessageEncoder, MessageWriter, Outgoing, SchemaEncoder, Sender
from millrace.connectors.mqtt.connection import MqttBroker
from millrace.connectors.patience import Patience


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
