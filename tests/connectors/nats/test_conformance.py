"""JetStream's source and sinks pass the kit for connectors."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from millrace.common.serialization import SimpleStringSchema
from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.nats.nats_streams import JetStreamSink, JetStreamSource, NatsClient, NatsServers
from millrace.connectors.sink_base import DeliveryGuarantee
from millrace.testing import Check
from millrace.testing.connectors import SinkUnderTest, SourceUnderTest, sink_checks, source_checks

pytestmark = pytest.mark.services
SERVERS: list[str] = []
"""the one that runs: checks are listed before it does"""


@pytest.fixture(autouse=True)
def running(nats_server: Any) -> Iterator[None]:
    SERVERS.append(nats_server.url)
    yield
    SERVERS.clear()


class StreamOfTest:
    """A stream with three subjects."""

    def __init__(self) -> None:
        self.client: NatsClient = NatsServers((SERVERS[0],)).connect()
        self.name = f"s{uuid.uuid4().hex[:8]}"
        self.client.run(self.client.jetstream.add_stream(name=self.name, subjects=[f"{self.name}.*"]))

    def write(self, number: int, content: bytes) -> int:
        subject = f"{self.name}.{number % 3}"
        return int(self.client.run(self.client.jetstream.publish(subject, content)).seq)

    def read(self) -> list[str]:
        async def all_there() -> list[str]:
            state = (await self.client.jetstream.stream_info(self.name)).state
            numbers = range(state.first_seq, state.last_seq + 1)
            return [(await self.client.jetstream.get_msg(self.name, seq=each)).data.decode() for each in numbers]

        return self.client.run(all_there())

    def delete(self) -> None:
        self.client.run(self.client.jetstream.delete_stream(self.name))
        self.client.close()


class StreamToRead(SourceUnderTest):
    def __init__(self) -> None:
        self.stream = StreamOfTest()

    def source(self) -> Source[Any, Any]:
        subjects = [f"{self.stream.name}.{number}" for number in range(3)]
        return JetStreamSource.of(
            SERVERS[0], self.stream.name, SimpleStringSchema(), subjects=subjects, start="earliest"
        )

    def put(self, elements: Sequence[str]) -> None:
        for number, element in enumerate(elements):
            self.stream.write(number, element.encode())

    def close(self) -> None:
        self.stream.delete()


class StreamToWrite(SinkUnderTest):
    guarantee = DeliveryGuarantee.EXACTLY_ONCE

    def __init__(self) -> None:
        self.stream = StreamOfTest()

    def sink(self) -> Sink[Any]:
        return JetStreamSink.of(SERVERS[0], f"{self.stream.name}.x", SimpleStringSchema(), guarantee=self.guarantee)

    def written(self) -> Sequence[str]:
        return self.stream.read()

    def close(self) -> None:
        self.stream.delete()


class StreamAtLeastOnce(StreamToWrite):
    exactly_once = False
    seen_after_ms = 100
    guarantee = DeliveryGuarantee.AT_LEAST_ONCE


@pytest.mark.draw(3)
@pytest.mark.parametrize("check", source_checks(StreamToRead), ids=str)
def test_source(check: Check) -> None:
    check()


@pytest.mark.draw(3)
@pytest.mark.parametrize("check", sink_checks(StreamToWrite), ids=str)
def test_exactly_once(check: Check) -> None:
    check()


@pytest.mark.draw(3)
@pytest.mark.parametrize("check", sink_checks(StreamAtLeastOnce), ids=str)
def test_at_least_once(check: Check) -> None:
    check()
