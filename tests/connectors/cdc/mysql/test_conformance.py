"""The source passes the kit for connectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
from tests.connectors.cdc.mysql.capturing import Server

from millrace.common.source import Source
from millrace.connectors.cdc.cdc_source import CdcSource
from millrace.connectors.cdc.changes import Chunking
from millrace.connectors.cdc.deserializers import DebeziumDeserializationSchema, SchemaDecoder
from millrace.connectors.cdc.events import DataChangeEvent, Event
from millrace.testing import Check
from millrace.testing.connectors import SourceUnderTest, source_checks

pytestmark = [pytest.mark.services, pytest.mark.slow]
SERVERS: list[Server] = []
"""the one that runs: checks are listed before it does"""


@pytest.fixture(autouse=True)
def running(server: Server) -> Iterator[None]:
    SERVERS.append(server)
    yield
    SERVERS.clear()


class Texts(DebeziumDeserializationSchema[str]):
    def deserialize(self, event: Event) -> Iterable[str]:
        if not isinstance(event, DataChangeEvent) or event.after is None:
            return ()
        if event.after[1].startswith("!"):
            raise ValueError("no exclamation marks")
        return (event.after[1],)


class TableToRead(SourceUnderTest):
    def __init__(self) -> None:
        self.server = SERVERS[0]
        self.table = self.server.create("id INT PRIMARY KEY AUTO_INCREMENT, v TEXT")

    def source(self) -> Source[Any, Any]:
        return CdcSource(self.server.database(self.table), SchemaDecoder(Texts()), chunking=Chunking(8))

    def put(self, elements: Sequence[str]) -> None:
        rows = ", ".join(f"({each!r})" for each in elements)
        self.server.run(f"INSERT INTO {self.table.table} (v) VALUES {rows}")

    def poison(self) -> str:
        self.put(["!"])
        return "no exclamation marks"


@pytest.mark.parametrize("check", source_checks(TableToRead), ids=str)
def test_source(check: Check) -> None:
    check()
