"""Sinks that write exactly once pass the kit for connectors: whatever dies, nothing is lost or doubled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.connectors.jdbc.databases import Place

from millrace.common.sink import NamedSink, Sink, SinkWriter, WriterInitContext
from millrace.connectors.dbapi import DbApiInsert
from millrace.connectors.jdbc.changes import RowChanges
from millrace.connectors.jdbc.dialects.target import TableShape
from millrace.connectors.jdbc.sink import Database, JdbcExactlyOnceSink
from millrace.connectors.jdbc.two_phase import two_phase_sink
from millrace.connectors.jdbc.url import parse
from millrace.connectors.stores.buffered import BufferedSink, Buffering
from millrace.relational.rows import Rows, record_batch
from millrace.relational.types import string
from millrace.testing import Check
from millrace.testing.connectors import SinkUnderTest, sink_checks

ALWAYS = ("driver dies: committing", "taken for dead", "seed 1")
"""what ``make test`` runs of the checks with servers; ``make conformance`` runs all"""
PLACES: list[Place] = []
"""the one that is tested: checks are listed before it is there"""


@pytest.fixture(autouse=True)
def chosen(place: Place) -> Iterator[None]:
    PLACES.append(place)
    yield
    PLACES.clear()


class AsRows(NamedSink[str]):
    """Gives texts to a sink of rows."""

    def __init__(self, sink: Sink[Rows]) -> None:
        self._sink = sink

    def for_operator(self, uid: str) -> AsRows:
        return AsRows(self._sink.for_operator(uid))

    def create_writer(self, context: WriterInitContext) -> SinkWriter[str]:
        return AsRowsWriter(self._sink.create_writer(context))

    def create_committer(self) -> Any:
        return self._sink.create_committer()


class AsRowsWriter(SinkWriter[str]):
    def __init__(self, below: SinkWriter[Rows]) -> None:
        self._below = below

    def write(self, element: str, context: Any) -> None:
        self._below.write(Rows(record_batch([pa.array([element])], 1)), context)

    def flush(self, end_of_input: bool) -> None:
        self._below.flush(end_of_input)

    def prepare_commit(self) -> list[Any]:
        return self._below.prepare_commit()

    def close(self) -> None:
        self._below.close()


class Written(SinkUnderTest):
    def __init__(self) -> None:
        (self.place,) = PLACES
        self.table = self.place.create("element VARCHAR(100)")
        self.database = Database(*parse(self.place.url, self.place.user, self.place.password))

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
def test_marks(check: Check, tmp_path: Path) -> None:
    check()


@pytest.mark.parametrize("check", sink_checks(InBuffers), ids=str)
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_at_least_once(check: Check) -> None:
    check()


def chosen_checks() -> list[Any]:
    checks = sink_checks(ByTwoPhases)
    often = [any(word in str(check) for word in ALWAYS) for check in checks]
    assert sum(often) == len(ALWAYS)
    return [check if each else pytest.param(check, marks=pytest.mark.slow) for check, each in zip(checks, often)]


@pytest.mark.services
@pytest.mark.parametrize("check", chosen_checks(), ids=str)
@pytest.mark.parametrize("place", ["postgres", "mariadb"], indirect=True)
def test_two_phases(check: Check) -> None:
    check()
