"""Tables of Cassandra, asked by its driver itself."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import RoundRobinPolicy
from tests.connectors.conftest import started
from tests.connectors.stores.store_tables import StoreTables

from millrace.testing.services import Cassandra

READY_SECONDS = 60


class Keyspace:
    def __init__(self, server: Cassandra) -> None:
        self.server = server
        profile = ExecutionProfile(load_balancing_policy=RoundRobinPolicy(), request_timeout=60)
        self.cluster = Cluster(
            ["127.0.0.1"],
            port=server.port,
            auth_provider=PlainTextAuthProvider(server.user, server.password),
            execution_profiles={EXEC_PROFILE_DEFAULT: profile},
            connect_timeout=30,
        )
        until = time.monotonic() + READY_SECONDS
        while True:  # the user is made a little after the server answers
            try:
                self.session = self.cluster.connect()
                break
            except Exception:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)
        self.session.execute(
            "CREATE KEYSPACE IF NOT EXISTS shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"
        )

    def run(self, statement: str) -> list[Any]:
        return [tuple(row) for row in self.session.execute(statement)]

    def create(self, columns: str) -> str:
        """A new table; its name."""
        name = f"t_{uuid.uuid4().hex[:10]}"
        self.session.execute(f"CREATE TABLE shop.{name} ({columns})")
        return name

    def options(self, name: str, **more: str) -> dict[str, str]:
        server = self.server
        given = {"hosts": "127.0.0.1", "port": str(server.port), "keyspace": "shop", "table-name": name}
        given |= {"username": server.user, "password": server.password}
        return given | {key.replace("__", ".").replace("_", "-"): value for key, value in more.items()}


@pytest.fixture(scope="session")
def keyspace() -> Iterator[Keyspace]:
    with started(Cassandra()) as server:
        found = Keyspace(server)
        yield found
        found.cluster.shutdown()


@pytest.fixture
def tables() -> StoreTables:
    return StoreTables()
