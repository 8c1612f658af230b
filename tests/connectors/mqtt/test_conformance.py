"""MQTT's source and sink pass the kit for connectors."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import paho.mqtt.client as mqtt
import pytest

from millrace.common.serialization import SimpleStringSchema
from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.messages import ConsumerSplit
from millrace.connectors.mqtt.mqtt_streams import MqttSink, MqttSource, MqttSplitReader
from millrace.testing import Check
from millrace.testing.connectors import SinkUnderTest, SourceUnderTest, sink_checks, source_checks

pytestmark = pytest.mark.services
SERVERS: list[Any] = []
"""the one that runs: checks are listed before it does"""


@pytest.fixture(autouse=True)
def running(mosquitto: Any) -> Iterator[None]:
    SERVERS.append(mosquitto)
    yield
    SERVERS.clear()


class Client:
    """A client of the tests, with a thread that serves it."""

    def __init__(self, topic: str | None = None) -> None:
        self.messages: list[str] = []
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
        self.client.max_inflight_messages_set(60_000)
        subscribed = threading.Event()
        self.client.on_message = lambda client, userdata, message: self.messages.append(message.payload.decode())
        self.client.on_subscribe = lambda *known: subscribed.set()
        self.client.connect("127.0.0.1", SERVERS[0].port)
        self.client.loop_start()
        if topic is not None:
            self.client.subscribe(topic, 1)
            assert subscribed.wait(60)

    def publish(self, topic: str, values: Sequence[str]) -> None:
        for info in [self.client.publish(topic, value, 1) for value in values]:
            info.wait_for_publish(60)

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()


class TopicToRead(SourceUnderTest):
    exactly_once = False
    replays = False

    def __init__(self) -> None:
        self.topic = f"t-{uuid.uuid4().hex[:8]}"
        self.client = Client()
        # A broker keeps messages for sessions that it knows.
        source: Any = self.source()
        opened = MqttSplitReader(source)
        opened.handle_splits_changes([ConsumerSplit(0)])
        opened.close()

    def source(self) -> Source[Any, Any]:
        url, name = f"mqtt://127.0.0.1:{SERVERS[0].port}", f"job of {self.topic}"
        return MqttSource.of(url, f"{self.topic}/#", name, SimpleStringSchema())

    def put(self, elements: Sequence[str]) -> None:
        self.client.publish(f"{self.topic}/a", elements)

    def close(self) -> None:
        self.client.close()


class TopicToWrite(SinkUnderTest):
    exactly_once = False
    seen_after_ms = 100

    def __init__(self) -> None:
        self.topic = f"t-{uuid.uuid4().hex[:8]}"
        self.client = Client(self.topic)

    def sink(self) -> Sink[Any]:
        return MqttSink(f"mqtt://127.0.0.1:{SERVERS[0].port}", self.topic, SimpleStringSchema())

    def written(self) -> Sequence[str]:
        return list(self.client.messages)

    def close(self) -> None:
        self.client.close()


@pytest.mark.parametrize("check", source_checks(TopicToRead), ids=str)
def test_source(check: Check) -> None:
    check()


@pytest.mark.parametrize("check", sink_checks(TopicToWrite), ids=str)
def test_sink(check: Check) -> None:
    check()
