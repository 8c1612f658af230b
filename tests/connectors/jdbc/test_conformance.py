"""Sinks that write exactly once pass the kit for connectors: whatever dies, nothing is lost or doubled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests.connectors.jdbc.databases import Place
from tests.connectors.stores.as_rows import AsRows
from tests.connectors.stores.checks import chosen_checks

from millrace.common.sink import Sink
from millrace.connectors.dbapi import DbApiInsert
from millrace.connectors.jdbc.dialect import TableShape
from millrace.connectors.jdbc.jdbc_database import Database, JdbcExactlyOnceSink, RowChanges, parse_url
from millrace.connectors.jdbc.prepared_transactions import two_phase_sink
from millrace.connectors.stores import BufferedSink, Buffering
from millrace.relational.types import string
from millrace.testing import Check
from millrace.testing.connectors import SinkUnderTest, sink_checks

PLACES: list[Place] = []
"""the one that is tested: checks are listed before it is there"""


@pytest.fixture(autouse=True)
def chosen(place: Place) -> Iterator[None]:
    PLACES.append(place)
    yield
    PLACES.clear()


class Written(SinkUnderTest):
    def __init__(self) -> None:
        (self.place,) = PLACES
        self.table = self.place.create("element VARCHAR(100)")
        self.database = Database(*parse_url(self.place.url, self.place.user, self.place.password))

    def written(self) -> Sequence[str]:
        return [element for (element,) in self.place.run(f"SELECT element FROM {self.table}")]

    def close(self) -> None:
        self.place.run(f"DROP TABLE {self.table}")


class ByMarks(Written):
    def sink(self) -> Sink[Any]:
        changes = RowChanges(self.database.dialect, TableShape(self.table, ("element",)), (string(),))
        return AsRows(JdbcExactlyOnceSink(self.database, changes, None, "millrace_commits"))


class InBuffers(Written):
    exactly_once = False
    seen_after_ms = 1_000

    def sink(self) -> Sink[Any]:
        changes = RowChanges(self.database.dialect, TableShape(self.table, ("element",)), (string(),))
        return AsRows(BufferedSink(self.database, changes, Buffering(max_rows=3), len))


class ByTwoPhases(Written):
    def sink(self) -> Sink[Any]:
        insert: DbApiInsert[str] = DbApiInsert(f"INSERT INTO {self.table} VALUES (%s)")
        return two_phase_sink(self.database, insert, f"marks_{self.table}")

    def left_over(self) -> Sequence[str]:
        if self.database.dialect.title == "PostgreSQL":
            return [str(name) for (name,) in self.place.run("SELECT gid FROM pg_prepared_xacts")]
        return [str(row[3]) for row in self.place.run("XA RECOVER")]

    def close(self) -> None:
        super().close()
        self.place.run(f"DROP TABLE IF EXISTS marks_{self.table}")


@pytest.mark.parametrize("check", sink_checks(ByMarks), ids=str)
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_marks(check: Check) -> None:
    check()


@pytest.mark.slow
@pytest.mark.parametrize("check", sink_checks(ByMarks), ids=str)
@pytest.mark.parametrize("place", ["duckdb"], indirect=True)
def test_marks_in_a_slower_file(check: Check) -> None:
    check()


@pytest.mark.parametrize("check", sink_checks(InBuffers), ids=str)
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_at_least_once(check: Check) -> None:
    check()


@pytest.mark.services
@pytest.mark.parametrize("check", chosen_checks(ByTwoPhases), ids=str)
@pytest.mark.parametrize("place", ["postgres", "mariadb"], indirect=True)
def test_two_phases(check: Check) -> None:
    check()
