"""Collections of a server, asked by pymongo itself."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pymongo
import pytest
from tests.connectors.stores.store_tables import StoreTables

from millrace.testing.services import MongoDb


class Collections:
    def __init__(self, server: MongoDb) -> None:
        self.uri = server.uri
        self.port = server.port
        self.client: Any = pymongo.MongoClient(server.uri)
        self.database = self.client["shop"]

    def create(self, *documents: dict[str, Any]) -> str:
        """A new collection; its name."""
        name = f"c_{uuid.uuid4().hex[:10]}"
        if documents:
            self.database[name].insert_many(documents)
        return name

    def all(self, name: str) -> list[dict[str, Any]]:
        return sorted(self.database[name].find(), key=lambda each: repr(each["_id"]))

    def options(self, name: str, **more: str) -> dict[str, str]:
        return {"uri": self.uri, "database": "shop", "collection": name} | {
            key.replace("__", ".").replace("_", "-"): value for key, value in more.items()
        }


@pytest.fixture(scope="session")
def collections(mongodb: MongoDb) -> Iterator[Collections]:
    found = Collections(mongodb)
    yield found
    found.client.close()


@pytest.fixture
def tables() -> StoreTables:
    return StoreTables()
