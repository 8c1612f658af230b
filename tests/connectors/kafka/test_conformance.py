"""Kafka's source and sinks pass the kit for connectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests.connectors.kafka.topics import Topics

from millrace.common.serialization import DeserializationSchema, SimpleStringSchema
from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.common.typeinfo import Types
from millrace.connectors.kafka.kafka_offsets import KafkaOffsetsInitializer
from millrace.connectors.kafka.kafka_records import KafkaRecordSerializationSchema
from millrace.connectors.kafka.kafka_sink import KafkaSink
from millrace.connectors.kafka.kafka_source import KafkaSource
from millrace.connectors.sink_base import DeliveryGuarantee
from millrace.testing import Check
from millrace.testing.connectors import SinkUnderTest, SourceUnderTest, sink_checks, source_checks

pytestmark = pytest.mark.services
BROKERS: list[Topics] = []
"""the one that runs: checks are listed before it does"""


@pytest.fixture(autouse=True)
def running(topics: Topics) -> Iterator[None]:
    BROKERS.append(topics)
    yield
    BROKERS.clear()


class Strict(DeserializationSchema):
    """Texts, but for those that begin with an exclamation mark."""

    def deserialize(self, message: bytes) -> str:
        if message.startswith(b"!"):
            raise ValueError("no exclamation marks")
        return message.decode()

    def get_produced_type(self) -> Any:
        return Types.STRING()


class TopicToRead(SourceUnderTest):
    def __init__(self) -> None:
        self._topics = BROKERS[0]
        self._topic = self._topics.create(3)

    def source(self) -> Source[Any, Any]:
        builder = KafkaSource.builder().set_bootstrap_servers(self._topics.bootstrap).set_topics(self._topic)
        builder.set_starting_offsets(KafkaOffsetsInitializer.earliest()).set_group_id("kit")
        return builder.set_value_only_deserializer(Strict()).build()

    def put(self, elements: Sequence[str]) -> None:
        self._topics.write(self._topic, elements)

    def poison(self) -> str | None:
        self._topics.write(self._topic, ["!"], partition=1)
        return f"topic {self._topic!r}, partition 1, offset "

    def close(self) -> None:
        self._topics.delete(self._topic)


class TopicToWrite(SinkUnderTest):
    guarantee = DeliveryGuarantee.EXACTLY_ONCE

    def __init__(self) -> None:
        self._topics = BROKERS[0]
        self._topic = self._topics.create(2)

    def sink(self) -> Sink[Any]:
        schema = KafkaRecordSerializationSchema.builder().set_topic(self._topic)
        schema.set_value_serialization_schema(SimpleStringSchema())
        builder = KafkaSink.builder().set_bootstrap_servers(self._topics.bootstrap)
        builder.set_record_serializer(schema.build()).set_delivery_guarantee(self.guarantee)
        return builder.set_transactional_id_prefix(f"kit-{self._topic}").build()

    def written(self) -> Sequence[str]:
        return self._topics.values(self._topic)

    def close(self) -> None:
        self._topics.delete(self._topic)


class TopicAtLeastOnce(TopicToWrite):
    exactly_once = False
    seen_after_ms = 100
    guarantee = DeliveryGuarantee.AT_LEAST_ONCE


QUICK = ("killed after prepare", "committing", "Other parallelisms", "were taken for dead", "swept", "seed 2")
"""checks of the suite; ``make conformance`` has all of them, which take three minutes"""


def some(checks: list[Check]) -> list[Any]:
    return [
        pytest.param(each, marks=() if any(part in each.name for part in QUICK) else pytest.mark.slow)
        for each in checks
    ]


@pytest.mark.draw(6)
@pytest.mark.parametrize("check", source_checks(TopicToRead), ids=str)
def test_source(check: Check) -> None:
    check()


@pytest.mark.draw(6)
@pytest.mark.parametrize("check", some(sink_checks(TopicToWrite)), ids=str)
def test_exactly_once(check: Check) -> None:
    check()


@pytest.mark.draw(6)
@pytest.mark.parametrize("check", some(sink_checks(TopicAtLeastOnce)), ids=str)
def test_at_least_once(check: Check) -> None:
    check()
