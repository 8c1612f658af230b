"""Message systems that fail: they are read, for as long as there is nothing to be seen of the fault."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pika
import redis
from confluent_kafka import Producer
from tests.connectors.faults.place import ROWS, Place
from tests.connectors.kafka.topics import Topics
from tests.connectors.kinesis.streams import Streams
from tests.connectors.mqtt.test_conformance import SERVERS as SUBSCRIBERS
from tests.connectors.mqtt.test_conformance import Client
from tests.connectors.nats.test_conformance import SERVERS, StreamOfTest
from tests.connectors.rabbitmq.queues import Queues

from millrace.testing.connectors.faults import Fault

WRONG = '{"id": 1, "name": "no number"}'


def text(number: int) -> str:
    return f'{{"id": {number}, "name": "n"}}'


class _Messages(Place):
    writes, unbounded = False, True

    def make(self, wrong: bool = False) -> str:
        name = self.place()
        if wrong:
            self.send(name, WRONG)
        return name

    def put(self, name: str, number: int) -> None:
        self.send(name, text(number))

    def place(self) -> str:
        """A new topic or queue; its name."""
        raise NotImplementedError

    def send(self, name: str, message: str) -> None:
        raise NotImplementedError

    def found(self, name: str) -> list[str]:
        """The messages that are there."""
        raise NotImplementedError

    def written(self, name: str) -> list[Any]:
        return [tuple(json.loads(each).values()) for each in self.found(name)]


class _Broker:
    """The broker of Kafka as something that can be cut off: it tells clients its own port, past any proxy."""

    def __init__(self, running: Any) -> None:
        self._running = running

    def cut(self) -> None:
        self._running.brokers[0].kill()

    def mend(self) -> None:
        self._running.restart(0)


class KafkaTopics(_Messages):
    name, connector, server = "kafka", "kafka", "broker"
    waiting = "30 s"
    patience = {"connectors.kafka.kafka_admin.ANSWER_SECONDS": 0.5, "connectors.kafka.kafka_admin._TRY_SECONDS": 0.3}
    reasons = {Fault.PASSWORD: "tried in tests/connectors/kafka/test_security.py, on a server with users"}
    deadline = 150.0

    @property
    def port(self) -> int:
        return int(self.running.bootstrap.rpartition(":")[2])

    def options(self, port: int, name: str, password: str | None) -> dict[str, str]:
        given = {"topic": name, "properties.bootstrap.servers": f"127.0.0.1:{port}", "format": "json"}
        return given | {"scan.startup.mode": "earliest-offset"}

    def place(self) -> str:
        return Topics(self.running.bootstrap).create()

    def send(self, name: str, message: str) -> None:
        producer = Producer({"bootstrap.servers": self.running.bootstrap, "linger.ms": 0})
        producer.produce(name, message)
        assert producer.flush(60) == 0

    @contextmanager
    def cut_off(self) -> Iterator[tuple[int, Any]]:
        yield self.port, _Broker(self.running)

    def found(self, name: str) -> list[str]:
        return Topics(self.running.bootstrap).values(name)


class RabbitQueues(_Messages):
    name, connector, server, slow = "rabbitmq", "rabbitmq", "rabbitmq", True
    waiting = "15 s"
    reasons = {Fault.MISSING: "a queue that is not there is made, as in Flink"}

    def options(self, port: int, name: str, password: str | None) -> dict[str, str]:
        given = {"hostname": "127.0.0.1", "port": str(port), "queue": name, "format": "json"}
        return given | {"username": "guest", "password": password or "guest"}

    def place(self) -> str:
        return Queues(self.running.url).create()

    def send(self, name: str, message: str) -> None:
        with pika.BlockingConnection(pika.URLParameters(self.running.url)) as connection:
            connection.channel().basic_publish("", name, message.encode())

    def found(self, name: str) -> list[str]:
        return Queues(self.running.url).read(name)


class _WithPassword(Place):
    """A server of Redis that lets in only who knows a password, for as long as that is tried."""

    def meet_it(self, fault: Fault) -> None:
        if fault is not Fault.PASSWORD:
            return super().meet_it(fault)
        with redis.Redis.from_url(self.running.url) as client:
            client.config_set("requirepass", "right")
            try:
                super().meet_it(fault)
            finally:
                client.config_set("requirepass", "")


class RedisStreams(_WithPassword, _Messages):
    name, connector, server = "redis-stream", "redis-stream", "redis_server"
    waiting = "30 s"
    patience = {"connectors.redis.redis_client._SECONDS": 0.3}
    reasons = {Fault.MISSING: "a stream is made by the first entry"}

    def options(self, port: int, name: str, password: str | None) -> dict[str, str]:
        secret = f":{password}@" if password else ""
        given = {"url": f"redis://{secret}127.0.0.1:{port}", "stream": name, "format": "json"}
        return given | {"scan.startup.mode": "earliest"}

    def place(self) -> str:
        return f"s-{uuid.uuid4().hex[:10]}"

    def send(self, name: str, message: str) -> None:
        with redis.Redis.from_url(self.running.url) as client:
            client.xadd(name, {"value": message})

    def found(self, name: str) -> list[str]:
        with redis.Redis.from_url(self.running.url) as client:
            return [entry[b"value"].decode() for _, entry in client.xrange(name)]


class RedisKeys(_WithPassword):
    name, connector, server = "redis", "redis", "redis_server"
    quick = {"sink.max-retries": "0", "timeout": "500 ms"}
    waiting = "`timeout` (30 s)"
    reasons = {Fault.MISSING: "keys are made by writing them", Fault.TYPE: "all values are texts"}
    columns = "id STRING, name STRING"
    values = "CAST({} AS STRING), {}"
    looked_up = ("id", "CAST(l.id AS STRING)", "r.name")

    def options(self, port: int, name: str, password: str | None) -> dict[str, str]:
        secret = f":{password}@" if password else ""
        return {"url": f"redis://{secret}127.0.0.1:{port}", "command": "SET"}

    def make(self, wrong: bool = False) -> str:
        return ""

    def written(self, name: str) -> list[Any]:
        with redis.Redis.from_url(self.running.url, decode_responses=True) as client:
            return [(number, client.get(str(number))) for number in range(1, 5)]


class NatsSubjects(_Messages):
    name, connector, server = "nats", "nats", "nats_server"
    waiting = "10 s"
    patience = {"connectors.nats.nats_streams._SECONDS": 0.3}
    reasons = {Fault.PASSWORD: "the server of the tests has no users"}

    def options(self, port: int, name: str, password: str | None) -> dict[str, str]:
        secret = f"user:{password}@" if password else ""
        given = {"servers": f"nats://{secret}127.0.0.1:{port}", "stream": name, "format": "json"}
        given |= {"subject": f"{name}.0"}
        return given | {"scan.startup.mode": "earliest"}

    def place(self) -> str:
        SERVERS.append(self.running.url)
        self.stream = StreamOfTest()
        SERVERS.clear()
        return self.stream.name

    def send(self, name: str, message: str) -> None:
        self.stream.write(0, message.encode())

    def found(self, name: str) -> list[str]:
        return self.stream.read()


class MqttTopics(_Messages):
    name, connector, server = "mqtt", "mqtt", "mosquitto"
    waiting = "30 s"
    patience = {"connectors.mqtt.mqtt_streams._SECONDS": 0.3}
    reasons = {
        Fault.PASSWORD: "the server of the tests lets everybody in",
        Fault.MISSING: "topics are not made, they are spoken of",
    }

    def options(self, port: int, name: str, password: str | None) -> dict[str, str]:
        secret = f"user:{password}@" if password else ""
        given = {"url": f"mqtt://{secret}127.0.0.1:{port}", "topic": name, "format": "json"}
        return given | {"client-id": f"c-{uuid.uuid4().hex[:10]}"}

    def place(self) -> str:
        return f"t/{uuid.uuid4().hex[:10]}"

    def send(self, name: str, message: str) -> None:
        import paho.mqtt.publish as publish

        publish.single(name, message, qos=1, retain=True, hostname="127.0.0.1", port=self.running.port)

    _client: Client | None = None

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def write_on(self, table: str, name: str, server: Any) -> None:
        # What is published is there only for those who listen.
        SUBSCRIBERS.append(self.running)
        self._client = Client(name)
        SUBSCRIBERS.clear()
        super().write_on(table, name, server)

    def found(self, name: str) -> list[str]:
        assert self._client is not None
        until = time.monotonic() + 30
        while len(self._client.messages) < len(ROWS) and time.monotonic() < until:
            time.sleep(0.01)
        return self._client.messages


class KinesisStreams(_Messages):
    name, connector, server = "kinesis", "kinesis", "aws"
    waiting = "10 s to connect, 20 s for an answer, three times"
    patience = {
        "connectors.kinesis.kinesis_shards.CONNECT_SECONDS": 0.3,
        "connectors.kinesis.kinesis_shards.ANSWER_SECONDS": 0.3,
    }
    reasons = {Fault.PASSWORD: "the stand-in of the tests lets everybody in"}

    def options(self, port: int, name: str, password: str | None) -> dict[str, str]:
        given = {"aws.region": "eu-west-1", "aws.endpoint": f"http://127.0.0.1:{port}", "format": "json"}
        given |= {"aws.credentials.basic.accesskeyid": "test"}
        given |= {"aws.credentials.basic.secretkey": password or "test", "source.init.position": "TRIM_HORIZON"}
        return given | {"stream.arn": f"arn:aws:kinesis:eu-west-1:123456789012:stream/{name}"}

    def place(self) -> str:
        return Streams(self.running.url).create(1)

    def send(self, name: str, message: str) -> None:
        Streams(self.running.url).write(name, [message])

    def found(self, name: str) -> list[str]:
        return [value for _, value in Streams(self.running.url).read(name)]


PLACES: list[type[Place]] = [
    KafkaTopics,
    RabbitQueues,
    RedisStreams,
    RedisKeys,
    NatsSubjects,
    MqttTopics,
    KinesisStreams,
]
