"""Kinesis' source and sink pass the kit for connectors, on a stand-in for the service."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests.connectors.kinesis.streams import Streams

from millrace.common.serialization import SimpleStringSchema
from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.kinesis.kinesis_sink import KinesisStreamsSink, PartitionKeyGenerator
from millrace.connectors.kinesis.kinesis_source import KinesisStreamsSource
from millrace.testing import Check
from millrace.testing.connectors import SinkUnderTest, SourceUnderTest, sink_checks, source_checks

pytestmark = pytest.mark.services
SERVERS: list[Streams] = []
"""the one that runs: checks are listed before it does"""


@pytest.fixture(autouse=True)
def running(aws: Any) -> Iterator[None]:
    SERVERS.append(Streams(aws.url))
    yield
    SERVERS.clear()


class StreamToRead(SourceUnderTest):
    def __init__(self) -> None:
        self.streams = SERVERS[0]
        self.name = self.streams.create(3)

    def source(self) -> Source[Any, Any]:
        properties = self.streams.properties
        return KinesisStreamsSource.of(
            self.name, SimpleStringSchema(), properties, start="TRIM_HORIZON", empty_pause_ms=20
        )

    def put(self, elements: Sequence[str]) -> None:
        self.streams.write(self.name, elements)

    def poison(self) -> str | None:
        self.streams.kinesis.put_record(StreamName=self.name, Data=b"\xf3\x89\x9a\xc2 and more", PartitionKey="k")
        return "holds several records that the Kinesis Producer Library has put together"

    def close(self) -> None:
        self.streams.delete(self.name)


class StreamToWrite(SinkUnderTest):
    exactly_once = False
    seen_after_ms = 100

    def __init__(self) -> None:
        self.streams = SERVERS[0]
        self.name = self.streams.create(2)

    def sink(self) -> Sink[Any]:
        builder = KinesisStreamsSink.builder().set_stream_name(self.name)
        builder.set_kinesis_client_properties(self.streams.properties)
        builder.set_serialization_schema(SimpleStringSchema())
        return builder.set_partition_key_generator(PartitionKeyGenerator.random()).build()

    def written(self) -> Sequence[str]:
        return [value for _, value in self.streams.read(self.name)]

    def close(self) -> None:
        self.streams.delete(self.name)


@pytest.mark.draw(6)
@pytest.mark.parametrize("check", source_checks(StreamToRead), ids=str)
def test_source(check: Check) -> None:
    check()


@pytest.mark.draw(6)
@pytest.mark.parametrize("check", sink_checks(StreamToWrite), ids=str)
def test_sink(check: Check) -> None:
    check()
