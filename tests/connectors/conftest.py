"""One server of a kind for all tests of connectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import pytest
from tests.connectors.kafka.topics import Topics
from tests.services import missing

from millrace.testing.services import (
    Aws,
    ClickHouse,
    Elasticsearch,
    Kafka,
    MariaDB,
    MongoDb,
    Mosquitto,
    Nats,
    OpenSearch,
    PostgreSQL,
    RabbitMQ,
    Redis,
    SchemaRegistry,
    ServiceUnavailable,
)
from millrace.testing.services.small_servers import SmallServer

Server_ = TypeVar("Server_", bound=SmallServer)


@pytest.fixture(scope="session")
def broker() -> Iterator[Kafka]:
    # Otherwise it looks every ten seconds for transactions whose time is over, and every five minutes for records that
    # are too old: then one test in hundreds would have met that.
    often = {
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
        "log.retention.check.interval.ms": "500",
        "log.initial.task.delay.ms": "500",
    }
    server = Kafka(settings=often)
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


def started(server: Server_) -> Server_:
    try:
        return server.start()
    except ServiceUnavailable as error:
        missing(error)


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[SmallServer]:
    with started(RabbitMQ()) as server:
        yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[SmallServer]:
    with started(Redis()) as server:
        yield server


@pytest.fixture(scope="session")
def nats_server() -> Iterator[SmallServer]:
    with started(Nats()) as server:
        yield server


@pytest.fixture(scope="session")
def mosquitto() -> Iterator[SmallServer]:
    with started(Mosquitto()) as server:
        yield server


@pytest.fixture(scope="session")
def aws() -> Iterator[SmallServer]:
    with started(Aws()) as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgreSQL]:
    with started(PostgreSQL()) as server:
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDB]:
    with started(MariaDB()) as server:
        yield server


@pytest.fixture(scope="session")
def mongodb() -> Iterator[MongoDb]:
    with started(MongoDb()) as server:
        yield server


@pytest.fixture(scope="session")
def opensearch() -> Iterator[OpenSearch]:
    with started(OpenSearch()) as server:
        yield server


@pytest.fixture(scope="session")
def clickhouse() -> Iterator[ClickHouse]:
    with started(ClickHouse()) as server:
        yield server


@pytest.fixture(scope="session")
def elasticsearch() -> Iterator[Elasticsearch]:
    with started(Elasticsearch()) as server:
        yield server
