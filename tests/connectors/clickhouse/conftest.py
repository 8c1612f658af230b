"""Tables of ClickHouse, asked over HTTP without the code that is tested."""

from __future__ import annotations

import base64
import urllib.error
import urllib.parse
import urllib.request
import uuid

import pytest
from tests.connectors.stores.store_tables import StoreTables

from millrace.testing.services import ClickHouse


class Store:
    def __init__(self, server: ClickHouse) -> None:
        self.server = server

    def run(self, query: str) -> list[tuple[str, ...]]:
        """The rows of a query, as texts."""
        request = urllib.request.Request(f"{self.server.url}/?database=default", query.encode())
        secret = base64.b64encode(f"{self.server.user}:{self.server.password}".encode()).decode()
        request.add_header("Authorization", f"Basic {secret}")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return [tuple(line.split("\t")) for line in answer.read().decode().splitlines()]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error

    def create(self, columns: str, engine: str = "MergeTree ORDER BY tuple()") -> str:
        """A new table; its name."""
        name = f"t_{uuid.uuid4().hex[:10]}"
        self.run(f"CREATE TABLE {name} ({columns}) ENGINE = {engine}")
        return name

    def options(self, name: str, **more: str) -> dict[str, str]:
        server = self.server
        given = {"url": f"clickhouse://127.0.0.1:{server.port}", "table-name": name}
        given |= {"username": server.user, "password": server.password}
        return given | {key.replace("__", ".").replace("_", "-"): value for key, value in more.items()}


@pytest.fixture
def store(clickhouse: ClickHouse) -> Store:
    return Store(clickhouse)


@pytest.fixture
def tables() -> StoreTables:
    return StoreTables()
