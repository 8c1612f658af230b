"""Servers that only these tests need in this form."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.common.files.stores.conftest import forgotten, hdfs_server, s3_server  # noqa: F401
from tests.connectors.cassandra.conftest import keyspace  # noqa: F401
from tests.connectors.conftest import started
from tests.connectors.hbase.conftest import hbase  # noqa: F401
from tests.servers.metric_servers import InfluxDb

from millrace.testing.services import PostgreSQL


@pytest.fixture(scope="session")
def strict_postgres() -> Iterator[PostgreSQL]:
    with started(PostgreSQL(passwords=True)) as server:
        yield server


@pytest.fixture(scope="session")
def influxdb_server() -> Iterator[InfluxDb]:
    with started(InfluxDb()) as server:
        yield server
