"""One broker for all tests of connectors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.connectors.kafka.topics import Topics
from tests.services import missing

from millrace.testing.services import Kafka, SchemaRegistry, ServiceUnavailable


@pytest.fixture(scope="session")
def broker() -> Iterator[Kafka]:
    # It looks every ten seconds for transactions whose time is over, otherwise.
    server = Kafka(settings={"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"})
    try:
        server.start()
    except ServiceUnavailable as error:
        missing(error)
    yield server
    server.stop()


@pytest.fixture
def topics(broker: Kafka) -> Topics:
    return Topics(broker.bootstrap)


@pytest.fixture(scope="session")
def registry() -> Iterator[SchemaRegistry]:
    server = SchemaRegistry()
    try:
        server.start()
    except ServiceUnavailable as error:
        missing(error)
    yield server
    server.stop()
