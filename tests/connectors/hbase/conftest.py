"""Tables of HBase, asked by happybase itself: of a stand-in always, of HBase where slow tests run."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any

import happybase
import pytest
from tests.connectors.conftest import started
from tests.connectors.hbase.thrift_server import StandIn
from tests.connectors.stores.store_tables import StoreTables

from millrace.testing.services import HBase


class Families:
    """A server, by its Thrift port."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._ready = time.monotonic() + 120
        self.connection: Any = None
        while self.connection is None:
            try:
                self.connection = happybase.Connection("127.0.0.1", port)
            except Exception:
                if time.monotonic() > self._ready:
                    raise
                time.sleep(0.05)

    def connect_again(self) -> None:
        """The server closes a connection that has been idle while tests of other systems ran."""
        self.connection.close()
        self.connection = happybase.Connection("127.0.0.1", self.port)

    def create(self, *families: str) -> str:
        """A new table; its name."""
        name = f"t_{uuid.uuid4().hex[:10]}"
        self.connection.create_table(name, {family: {} for family in families})
        return name

    def put(self, name: str, rows: dict[bytes, dict[bytes, bytes]]) -> None:
        with self.connection.table(name).batch() as batch:
            for key, cells in rows.items():
                batch.put(key, cells)

    def all(self, name: str) -> dict[bytes, dict[bytes, bytes]]:
        return dict(self.connection.table(name).scan())

    def options(self, name: str, **more: str) -> dict[str, str]:
        given = {"table-name": name, "zookeeper.quorum": "nowhere", "thrift.address": f"127.0.0.1:{self.port}"}
        return given | {key.replace("__", ".").replace("_", "-"): value for key, value in more.items()}


@pytest.fixture(scope="session")
def stand_in() -> Iterator[Families]:
    server = StandIn()
    yield Families(server.port)
    server.stop()


@pytest.fixture(scope="session")
def hbase() -> Iterator[Families]:
    with started(HBase()) as server:
        yield Families(server.port)


@pytest.fixture(params=["stand_in", pytest.param("hbase", marks=[pytest.mark.services, pytest.mark.slow])])
def families(request: pytest.FixtureRequest) -> Families:
    found: Families = request.getfixturevalue(request.param)
    found.connect_again()
    return found


@pytest.fixture
def tables() -> StoreTables:
    return StoreTables()
