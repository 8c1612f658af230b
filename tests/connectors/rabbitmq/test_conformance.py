"""RabbitMQ's source and sink pass the kit for connectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests.connectors.rabbitmq.queues import Queues

from millrace.common.serialization import SimpleStringSchema
from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.rabbitmq.rabbitmq_streams import RMQSink, RMQSource
from millrace.testing import Check
from millrace.testing.connectors import SinkUnderTest, SourceUnderTest, sink_checks, source_checks

pytestmark = pytest.mark.services
SERVERS: list[Queues] = []
"""the one that runs: checks are listed before it does"""


@pytest.fixture(autouse=True)
def running(rabbitmq: Any) -> Iterator[None]:
    SERVERS.append(Queues(rabbitmq.url))
    yield
    SERVERS.clear()


class QueueToRead(SourceUnderTest):
    replays = False
    exactly_once = True

    def __init__(self) -> None:
        self._queues = SERVERS[0]
        self._queue = self._queues.create()

    def source(self) -> Source[Any, Any]:
        return RMQSource(self._queues.config, self._queue, self.exactly_once, SimpleStringSchema())

    def put(self, elements: Sequence[str]) -> None:
        self._queues.write(self._queue, elements)

    def poison(self) -> str | None:
        if not self.exactly_once:
            return None
        self._queues.write(self._queue, ["without an id"], ids=False)
        return f"queue {self._queue!r}: a message has no correlation id"

    def close(self) -> None:
        self._queues.delete(self._queue)


class QueueAtLeastOnce(QueueToRead):
    exactly_once = False


class QueueToWrite(SinkUnderTest):
    exactly_once = False
    seen_after_ms = 100

    def __init__(self) -> None:
        self._queues = SERVERS[0]
        self._queue = self._queues.create()

    def sink(self) -> Sink[Any]:
        return RMQSink(self._queues.config, self._queue, SimpleStringSchema())

    def written(self) -> Sequence[str]:
        return self._queues.read(self._queue)

    def close(self) -> None:
        self._queues.delete(self._queue)


@pytest.mark.draw(8)
@pytest.mark.parametrize("check", source_checks(QueueToRead), ids=str)
def test_exactly_once(check: Check) -> None:
    check()


@pytest.mark.parametrize("check", source_checks(QueueAtLeastOnce), ids=str)
def test_at_least_once(check: Check) -> None:
    check()


@pytest.mark.parametrize("check", sink_checks(QueueToWrite), ids=str)
def test_sink(check: Check) -> None:
    check()
