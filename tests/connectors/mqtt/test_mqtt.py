"""MQTT: sessions that wait, shared subscriptions, clients of one name, and what is refused."""

from __future__ import annotations

import threading
import time
import uuid
from typing import Any

import pytest
from tests.connectors.mqtt.test_conformance import SERVERS, Client
from tests.connectors.polling import go_on

from millrace.common.serialization import SimpleStringSchema
from millrace.connectors.mqtt.mqtt_streams import MqttSink, MqttSource, MqttSplitReader
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing.connectors.sources import SourceJob
from millrace.testing.local import run_locally

pytestmark = pytest.mark.services


def _until(job: SourceJob, count: int) -> list[str]:
    until = time.monotonic() + 60
    while len(job.emitted) < count:
        job.epoch()
        assert time.monotonic() < until, job.emitted
    return sorted(job.emitted)


class Subscribed:
    """Waits until so many sessions of sources are subscribed: what is published before is lost."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._count = threading.Semaphore(0)
        opens = MqttSplitReader._open

        def opened(reader: MqttSplitReader, number: int) -> None:
            opens(reader, number)
            self._count.release()

        monkeypatch.setattr(MqttSplitReader, "_open", opened)

    def wait(self, sessions: int = 1) -> None:
        for _ in range(sessions):
            assert self._count.acquire(timeout=60)


@pytest.fixture
def subscribed(monkeypatch: pytest.MonkeyPatch) -> Subscribed:
    return Subscribed(monkeypatch)


@pytest.fixture
def url(mosquitto: Any) -> Any:
    SERVERS.append(mosquitto)
    yield f"mqtt://{mosquitto.address}"
    SERVERS.clear()


def test_what_comes_while_the_job_is_down_waits(url: str, subscribed: Subscribed) -> None:
    topic, client = uuid.uuid4().hex, Client()
    source = MqttSource.of(url, topic, f"session {topic}", SimpleStringSchema())
    job = SourceJob(source)
    job.epoch()
    subscribed.wait()
    client.publish(topic, ["a"])
    _until(job, 1)
    recorded = job.checkpoint()
    for _ in range(3):
        job.epoch()
        time.sleep(0.05)
    job.close()
    client.publish(topic, ["b", "c"])
    again = SourceJob(source, checkpoint=recorded)
    assert _until(again, 3) == ["a", "b", "c"]
    again.close()
    client.close()


def test_shared_subscriptions_divide_the_messages(url: str, subscribed: Subscribed) -> None:
    topic, client = uuid.uuid4().hex, Client()
    job = SourceJob(MqttSource.of(url, f"$share/group/{topic}", topic, SimpleStringSchema()), 3)
    job.epoch()
    subscribed.wait(3)
    values = [f"{number:03d}" for number in range(100)]
    client.publish(topic, values)
    assert _until(job, 100) == values
    job.close()
    client.close()


def test_a_second_client_of_the_name_ends_the_first(url: str, subscribed: Subscribed) -> None:
    topic = uuid.uuid4().hex
    source = MqttSource.of(url, topic, topic, SimpleStringSchema())
    first, second = SourceJob(source), SourceJob(source)
    first.epoch()
    subscribed.wait()
    second.epoch()
    with pytest.raises(ConnectionError, match="the connection is lost"):
        go_on(first)
    second.close()
    first.close()


def test_messages_are_published_and_retained(url: str) -> None:
    topic = uuid.uuid4().hex
    for qos in (0, 1, 2):
        env = StreamExecutionEnvironment.get_execution_environment()
        sink = MqttSink(url, f"{topic}/{qos}", SimpleStringSchema(), qos=qos, retain=True)
        env.from_collection([str(number) for number in range(50)]).sink_to(sink)
        run_locally(env)
    late = Client(f"{topic}/+")
    until = time.monotonic() + 60
    while len(late.messages) < 3 and time.monotonic() < until:
        time.sleep(0.02)
    assert late.messages == ["49", "49", "49"]
    late.close()


def test_refusals() -> None:
    with pytest.raises(ValueError, match="with QoS 0 or 1, not 2"):
        MqttSource.of("mqtt://h", "t", "c", SimpleStringSchema(), qos=2)
    with pytest.raises(ValueError, match="without wildcards: 'a/#'"):
        MqttSink("mqtt://h", "a/#", SimpleStringSchema())
    with pytest.raises(ValueError, match="mqtt://host:port or mqtts"):
        MqttSource.of("http://h", "t", "c", SimpleStringSchema())


def test_a_broker_that_is_not_there() -> None:
    source = MqttSource.of("mqtt://127.0.0.1:1", "t", "c", SimpleStringSchema())
    job = SourceJob(source)
    with pytest.raises(ConnectionError, match=r"MQTT broker mqtt://127.0.0.1:1 does not answer"):
        go_on(job)
    job.close()
