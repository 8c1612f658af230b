"""Tables of ClickHouse pass the kit for connectors: whatever dies, nothing is lost, and with a key nothing is doubled
in the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests.connectors.clickhouse.conftest import Store
from tests.connectors.stores.as_rows import AsRows
from tests.connectors.stores.checks import chosen_checks

from millrace.common.sink import Sink
from millrace.connectors.clickhouse.clickhouse_client import ClickHouseTable
from millrace.connectors.clickhouse.clickhouse_rows import ClickHouseChanges
from millrace.connectors.stores import BufferedSink, Buffering
from millrace.relational.rex import Field
from millrace.relational.types import string
from millrace.testing import Check
from millrace.testing.connectors import SinkUnderTest, sink_checks

PLACES: list[Store] = []
"""the one that is tested: checks are listed before it is there"""


@pytest.fixture(autouse=True)
def chosen(store: Store) -> Iterator[None]:
    PLACES.append(store)
    yield
    PLACES.clear()


class Appended(SinkUnderTest):
    exactly_once = False
    seen_after_ms = 1_000
    keys: tuple[str, ...] = ()

    def __init__(self) -> None:
        (self.place,) = PLACES
        self.name = self.place.create("element String")

    def sink(self) -> Sink[Any]:
        server = self.place.server
        table = ClickHouseTable(server.url, "default", self.name, server.user, server.password)
        changes = ClickHouseChanges(table, (Field("element", string()),), self.keys)
        return AsRows(BufferedSink(table, changes, Buffering(max_rows=3), len))

    def written(self) -> Sequence[str]:
        return [element for (element,) in self.place.run(f"SELECT element FROM {self.name}")]

    def close(self) -> None:
        self.place.run(f"DROP TABLE {self.name}")


class Keyed(Appended):
    keys = ("element",)

    def written(self) -> Sequence[str]:
        found = super().written()
        assert len(found) == len(set(found)), "a key is there twice"
        return found


@pytest.mark.services
@pytest.mark.slow
@pytest.mark.parametrize("check", sink_checks(Appended), ids=str)
def test_a_table_without_a_key(check: Check) -> None:
    check()


@pytest.mark.services
@pytest.mark.parametrize("check", chosen_checks(Keyed), ids=str)
def test_a_table_with_a_key(check: Check) -> None:
    check()
