"""Sources and sinks of Redis pass the kit for connectors."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import redis

from millrace.common.serialization import DeserializationSchema, SimpleStringSchema
from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.common.typeinfo import Types
from millrace.connectors.redis.redis_streams import RedisPubSubSource, RedisStreamSink, RedisStreamSource
from millrace.connectors.sink_base import DeliveryGuarantee
from millrace.testing import Check
from millrace.testing.connectors import SinkUnderTest, SourceUnderTest, sink_checks, source_checks

pytestmark = pytest.mark.services
SERVERS: list[str] = []
"""the one that runs: checks are listed before it does"""


@pytest.fixture(autouse=True)
def running(redis_server: Any) -> Iterator[None]:
    SERVERS.append(redis_server.url)
    yield
    SERVERS.clear()


class Strict(DeserializationSchema):
    def deserialize(self, message: bytes) -> str:
        if message.startswith(b"!"):
            raise ValueError("no exclamation marks")
        return message.decode()

    def get_produced_type(self) -> Any:
        return Types.STRING()


class StreamsToRead(SourceUnderTest):
    def __init__(self) -> None:
        self.client = redis.Redis.from_url(SERVERS[0])
        self.names = [f"s-{uuid.uuid4().hex[:8]}" for _ in range(3)]

    def source(self) -> Source[Any, Any]:
        return RedisStreamSource.of(SERVERS[0], self.names, Strict(), start="earliest")

    def put(self, elements: Sequence[str]) -> None:
        for number, element in enumerate(elements):
            self.client.xadd(self.names[number % 3], {"value": element})

    def poison(self) -> str | None:
        id = self.client.xadd(self.names[1], {"value": "!"}).decode()
        return f"stream {self.names[1]!r}, entry {id} cannot be read: no exclamation marks; message: b'!'"

    def close(self) -> None:
        self.client.delete(*self.names)
        self.client.close()


class ChannelToRead(SourceUnderTest):
    after_failure = False

    def __init__(self) -> None:
        self.client = redis.Redis.from_url(SERVERS[0])
        self.name = f"c-{uuid.uuid4().hex[:8]}"

    def source(self) -> Source[Any, Any]:
        return RedisPubSubSource.of(SERVERS[0], [f"{self.name}-?", self.name], Strict())

    def put(self, elements: Sequence[str]) -> None:
        for number, element in enumerate(elements):
            self.client.publish(self.name + "-a" * (number % 2), element)

    def poison(self) -> str | None:
        self.client.publish(self.name, "!")
        return f"channel {self.name!r} cannot be read"

    def close(self) -> None:
        self.client.close()


class StreamToWrite(SinkUnderTest):
    guarantee = DeliveryGuarantee.EXACTLY_ONCE

    def __init__(self) -> None:
        self.client = redis.Redis.from_url(SERVERS[0])
        self.name = f"s-{uuid.uuid4().hex[:8]}"

    def sink(self) -> Sink[Any]:
        return RedisStreamSink.of(SERVERS[0], self.name, SimpleStringSchema(), guarantee=self.guarantee)

    def written(self) -> Sequence[str]:
        return [fields[b"value"].decode() for _, fields in self.client.xrange(self.name)]

    def close(self) -> None:
        self.client.flushall()
        self.client.close()


class StreamAtLeastOnce(StreamToWrite):
    exactly_once = False
    seen_after_ms = 100
    guarantee = DeliveryGuarantee.AT_LEAST_ONCE


@pytest.mark.parametrize("check", source_checks(StreamsToRead), ids=str)
def test_streams(check: Check) -> None:
    check()


@pytest.mark.parametrize("check", source_checks(ChannelToRead), ids=str)
def test_channels(check: Check) -> None:
    check()


@pytest.mark.parametrize("check", sink_checks(StreamToWrite), ids=str)
def test_exactly_once(check: Check) -> None:
    check()


@pytest.mark.parametrize("check", sink_checks(StreamAtLeastOnce), ids=str)
def test_at_least_once(check: Check) -> None:
    check()
