"""The sink passes the kit for connectors: whatever dies, no element is lost; where documents have versions, nothing
goes back to an older state."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest
from tests.connectors.search.indexes import Indexes

from millrace.common.sink import NamedSink, Sink, SinkWriter, WriterInitContext
from millrace.connectors.search.search_builders import Emitted, Index
from millrace.connectors.search.search_client import OPENSEARCH, Place
from millrace.connectors.search.search_sink import BulkSettings, SearchSink
from millrace.connectors.search.search_table import OpenSearchFactory
from millrace.relational.rex import Field
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import TableContext
from millrace.relational.types import IntType
from millrace.testing import Check
from millrace.testing.connectors import SinkUnderTest, sink_checks

pytestmark = pytest.mark.services
ALWAYS = ("killed after flush", "taken for dead", "seed 1")
"""what ``make test`` runs of the checks; ``make conformance`` runs all"""
SERVERS: list[Indexes] = []
"""the one that runs: checks are listed before it does"""
KEYS = 6
"""elements of one key go to one subtask, of however many there are: one, two or three"""


@pytest.fixture(autouse=True)
def running(on_opensearch: Indexes) -> Iterator[None]:
    SERVERS.append(on_opensearch)
    yield
    SERVERS.clear()


@dataclasses.dataclass(frozen=True)
class ByText:
    index: str

    def __call__(self, element: str) -> Index:
        return Index(self.index, {"element": element}, element)


class Documents(SinkUnderTest):
    """Each element is a document, whose id follows from it."""

    exactly_once = False
    seen_after_ms = 1_000

    def __init__(self) -> None:
        (self.server,) = SERVERS
        self.index = self.server.new()

    def sink(self) -> Sink[Any]:
        place = Place(OPENSEARCH, (self.server.url,))
        return SearchSink(place, BulkSettings(max_actions=3), Emitted(ByText(self.index)))

    def written(self) -> Sequence[str]:
        return list(self.server.documents(self.index))

    def close(self) -> None:
        self.server.client.delete(f"/{self.index}")


class Versioned(Documents):
    """Few documents that change all the time. What is seen is, for each document, its element and all before it with
    the same key: if a document is old, or goes back, later elements are missing."""

    def sink(self) -> Sink[Any]:
        columns = (Field("k", IntType(False)), Field("v", IntType()))
        options = {"hosts": self.server.url, "index": self.index, "sink.version": "external"}
        few = {**options, "sink.bulk-flush.max-actions": "2"}
        table = TableContext(("c", "d", "t"), columns, primary_key=("k",), options=few)
        return AsRows(OpenSearchFactory().sink(table).stream())

    def written(self) -> Sequence[str]:
        last = {each["k"]: each["v"] for each in self.server.documents(self.index).values()}
        return [f"element {n:05d}" for k, newest in last.items() for n in range(k, newest + 1, KEYS)]


class AsRows(NamedSink[str]):
    """Gives texts to a sink of rows."""

    def __init__(self, sink: Sink[Rows]) -> None:
        self._sink = sink

    def create_writer(self, context: WriterInitContext) -> SinkWriter[str]:
        return AsRowsWriter(self._sink.create_writer(context))


class AsRowsWriter(SinkWriter[str]):
    def __init__(self, below: SinkWriter[Rows]) -> None:
        self._below = below

    def write(self, element: str, context: Any) -> None:
        number = int(element[-5:])
        columns = [pa.array([number % KEYS], pa.int32()), pa.array([number], pa.int32())]
        self._below.write(Rows(record_batch(columns, 1)), context)

    def end_slice(self, now: int) -> None:
        self._below.end_slice(now)

    def flush(self, end_of_input: bool) -> None:
        self._below.flush(end_of_input)

    def close(self) -> None:
        self._below.close()


def chosen(checks: list[Check], few: bool) -> list[Any]:
    often = [few and any(word in str(check) for word in ALWAYS) for check in checks]
    assert sum(often) == (len(ALWAYS) if few else 0)
    return [check if each else pytest.param(check, marks=pytest.mark.slow) for check, each in zip(checks, often)]


@pytest.mark.parametrize("check", chosen(sink_checks(Documents), False), ids=str)
def test_documents(check: Check) -> None:
    check()


@pytest.mark.parametrize("check", chosen(sink_checks(Versioned), True), ids=str)
def test_versions(check: Check) -> None:
    check()
