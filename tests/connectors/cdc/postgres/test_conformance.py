"""The source passes the kit for connectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
from tests.connectors.cdc.postgres.capturing import Captured

from millrace.common.source import Source
from millrace.connectors.cdc.deserializers import DebeziumDeserializationSchema, SchemaDecoder
from millrace.connectors.cdc.events import DataChangeEvent, Event
from millrace.testing import Check
from millrace.testing.connectors import SourceUnderTest, source_checks
from millrace.testing.services import PostgreSQL

pytestmark = [pytest.mark.services, pytest.mark.slow]
SERVERS: list[PostgreSQL] = []
"""the one that runs: checks are listed before it does"""


@pytest.fixture(autouse=True)
def running(postgres: PostgreSQL) -> Iterator[None]:
    SERVERS.append(postgres)
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
    # The server forgets what a checkpoint has.
    replays = False

    def __init__(self) -> None:
        self.captured = Captured(SERVERS[0])
        self.captured.run("CREATE TABLE t (id SERIAL PRIMARY KEY, v TEXT)")

    def source(self) -> Source[Any, Any]:
        return self.captured.source(rows=8, decoder=SchemaDecoder(Texts()))

    def put(self, elements: Sequence[str]) -> None:
        self.captured.run("INSERT INTO t (v) SELECT unnest(%s::text[])", list(elements))

    def poison(self) -> str:
        self.put(["!"])
        return "no exclamation marks"

    def close(self) -> None:
        self.captured.close()


@pytest.mark.parametrize("check", source_checks(TableToRead), ids=str)
def test_source(check: Check) -> None:
    check()
