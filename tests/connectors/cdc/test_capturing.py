"""Chunks and log put together, with a database in memory: whatever happens, the events add up to the tables."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.connectors.cdc.fake import SERVERS, FakeDatabase, FakeServer
from tests.rings import examples

from millrace.connectors.cdc.cdc_source import CdcSource
from millrace.connectors.cdc.changes import Change, Chunk, Chunking, ChunkRows
from millrace.connectors.cdc.database import StartupOptions
from millrace.connectors.cdc.deserializers import EventDecoder
from millrace.connectors.cdc.events import DataChangeEvent, OperationType, TableSchema
from millrace.testing.connectors.sources import SourceJob

IDLE_SECONDS = 60.0
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""threads make no two runs alike, so nothing is made smaller"""
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("epoch"), st.integers(1, 6)),
        st.tuples(st.just("change"), st.integers(1, 5)),
        st.tuples(st.just("checkpoint"), st.just(0)),
        st.tuples(st.just("crash"), st.integers(1, 3)),
    ),
    max_size=14,
)


def added_up(events: list[Any]) -> Counter[Any]:
    """Rows and how often they are there. :raises AssertionError: one is taken back that is not there."""
    found: Counter[Any] = Counter()
    for event in events:
        if not isinstance(event, DataChangeEvent):
            continue
        if event.before is not None:
            assert found[event.table, event.before] > 0, f"was not there: {event}"
            found[event.table, event.before] -= 1
        if event.after is not None:
            found[event.table, event.after] += 1
    return +found


def in_tables(server: FakeServer) -> Counter[Any]:
    return Counter((table, row) for table, rows in server.tables.items() for row in rows)


def run(server: FakeServer, source: CdcSource[Any], steps: list[tuple[str, int]]) -> list[Any]:
    """What the last life of a job has emitted, when the tables have come to rest."""
    checkpoint = None
    job = SourceJob(source)
    for what, number in steps:
        if what == "epoch":
            job.epoch(polls=number)
        elif what == "change":
            server.change(number)
        elif what == "checkpoint":
            checkpoint = job.checkpoint()
        else:
            job.close()
            job = SourceJob(source, number, checkpoint)
    server.busy = False
    last = time.monotonic()
    while time.monotonic() - last < IDLE_SECONDS and added_up(job.emitted) != in_tables(server):
        if job.epoch():
            last = time.monotonic()
    job.close()
    return job.emitted


@settings(max_examples=examples(25), deadline=None, phases=PHASES)
@given(STEPS, st.integers(0, 10**6), st.integers(1, 30), st.booleans(), st.booleans())
def test_a_table_with_a_key(steps: Any, seed: int, rows: int, exact: bool, even: bool) -> None:
    name = uuid.uuid4().hex
    server = FakeServer(name, ["a", "b"], ("id",), seed)
    server.change(40)
    server.busy = True
    # Without equal ranges every bound is asked for.
    chunking = Chunking(rows, 0.0, 1e9) if even else Chunking(rows, 1e8, 1e9)
    emitted = run(server, CdcSource(FakeDatabase(name, exact), EventDecoder(), chunking=chunking), steps)
    assert added_up(emitted) == in_tables(server)
    # Of one key there is never a second row, nor is one taken back that is not there.
    there: dict[Any, Any] = {}
    for event in emitted:
        if isinstance(event, DataChangeEvent):
            if event.before is not None:
                assert there.pop((event.table, event.before[0])) == event.before
            if event.after is not None:
                assert (event.table, event.after[0]) not in there
                there[event.table, event.after[0]] = event.after
    del SERVERS[name]


@settings(max_examples=examples(15), deadline=None, phases=PHASES)
@given(STEPS, st.integers(0, 10**6), st.integers(1, 30), st.sampled_from(["id", "v", None]))
def test_a_table_without_a_key(steps: Any, seed: int, rows: int, column: str | None) -> None:
    name = uuid.uuid4().hex
    server = FakeServer(name, ["a"], (), seed)
    server.change(40)
    server.busy = True
    columns = {} if column is None else {"a": column}
    source = CdcSource(FakeDatabase(name), EventDecoder(), chunking=Chunking(rows), chunk_columns=columns)
    assert added_up(run(server, source, steps)) == in_tables(server)
    del SERVERS[name]


@dataclass(frozen=True)
class Moving(FakeDatabase):
    """A row leaves the range of one chunk for that of the other one before a chunk is read."""

    chunk: int = 0
    old: tuple[int, int] = (1, 1)
    new: tuple[int, int] = (9, 1)

    def move(self) -> None:
        SERVERS[self.name].update(self.old, self.new)

    def read_chunk(self, chunk: Chunk, schema: TableSchema) -> ChunkRows:
        if chunk.number == self.chunk:
            self.move()
        return super().read_chunk(chunk, schema)


@pytest.mark.parametrize(
    ("when", "old", "new", "log"),
    [
        ("before both are read", 1, 9, []),
        ("before both are read", 9, 1, []),
        ("between", 1, 9, [OperationType.DELETE]),  # both chunks have it
        ("between", 9, 1, [OperationType.INSERT]),  # none has it
        ("behind both", 1, 9, [OperationType.UPDATE]),
        ("behind both", 9, 1, [OperationType.UPDATE]),
    ],
)
def test_a_row_that_an_update_moves_to_another_chunk(when: str, old: int, new: int, log: list[OperationType]) -> None:
    """Without a key the column that is cut by may change; the two chunks were read at different times."""
    name = uuid.uuid4().hex
    server = FakeServer(name, ["a"], (), 3)
    (table,) = server.tables
    server.tables[table] = [(0, 0), (5, 0), (10, 0), (old, 1)]
    server.log.append(tuple(Change("c", server.relations[table], None, row, 1, 1) for row in server.tables[table]))
    chunk = {"before both are read": 0, "between": 1, "behind both": -1}[when]
    database = Moving(name, False, chunk, (old, 1), (new, 1))
    source = CdcSource(database, EventDecoder(), chunking=Chunking(2, 1e8, 1e9), chunk_columns={"a": "id"})
    job = SourceJob(source)
    until = time.monotonic() + IDLE_SECONDS
    while time.monotonic() < until and len(added_up(job.emitted)) < 4:
        job.epoch()
    if chunk < 0:
        database.move()
    while time.monotonic() < until and added_up(job.emitted) != in_tables(server):
        job.epoch()
    job.close()
    assert added_up(job.emitted) == in_tables(server)
    told = [event.op for event in job.emitted if isinstance(event, DataChangeEvent)]
    assert [op for op in told if op is not OperationType.READ] == log
    del SERVERS[name]


@settings(max_examples=examples(20), deadline=None, phases=PHASES)
@given(STEPS, st.integers(0, 10**6), st.integers(1, 30), st.booleans())
def test_a_sink_that_has_rows_of_attempts_that_failed(steps: Any, seed: int, rows: int, exact: bool) -> None:
    name = uuid.uuid4().hex
    server = FakeServer(name, ["a"], ("id",), seed)
    server.change(40)
    server.busy = True
    database = FakeDatabase(name, exact)
    source = CdcSource(database, EventDecoder(), chunking=Chunking(rows), repeats_deletions=True)
    sink: dict[Any, Any] = {}
    job = SourceJob(source)
    job.epoch(0)
    checkpoint = job.checkpoint()  # a job without one begins anew, and knows nothing of what a sink has

    def epoch(polls: int) -> None:
        before = len(job.emitted)
        job.epoch(polls)
        for event in job.emitted[before:]:
            if isinstance(event, DataChangeEvent) and event.after is not None:
                sink[event.after[0]] = event.after
            elif isinstance(event, DataChangeEvent) and event.before is not None:
                sink.pop(event.before[0], None)

    def right() -> bool:
        return Counter(sink.values()) == Counter(row for rows in server.tables.values() for row in rows)

    for what, number in [*steps, ("crash", 1)]:
        if what == "epoch":
            epoch(number)
        elif what == "change":
            server.change(number)
        elif what == "checkpoint":
            checkpoint = job.checkpoint()
        else:
            job.close()
            job = SourceJob(source, number, checkpoint)
    server.busy = False
    server.change()
    until = time.monotonic() + IDLE_SECONDS
    while time.monotonic() < until and not right():
        epoch(5)
    job.close()
    assert right()
    del SERVERS[name]


@settings(max_examples=examples(15), deadline=None, phases=PHASES)
@given(STEPS, STEPS, STEPS, st.integers(0, 10**6), st.integers(1, 30), st.booleans())
def test_tables_that_match_later(first: Any, then: Any, last: Any, seed: int, rows: int, exact: bool) -> None:
    name = uuid.uuid4().hex
    server = FakeServer(name, ["a", "b", "c"], ("id",), seed)
    a, b, c = server.tables
    server.matching = {b}
    server.change(40)
    server.busy = True
    source = CdcSource(FakeDatabase(name, exact), EventDecoder(), chunking=Chunking(rows), newly_added=True)
    job, checkpoint = SourceJob(source), None
    for matching, steps in (({b}, first), ({a, b}, then), ({a, b, c}, last)):
        server.matching = matching
        checkpoint = job.checkpoint()
        job.close()
        job = SourceJob(source, 2, checkpoint)
        for what, number in steps:
            if what == "epoch":
                job.epoch(polls=number)
            elif what == "change":
                server.change(number)
            elif what == "checkpoint":
                checkpoint = job.checkpoint()
            else:
                job.close()
                job = SourceJob(source, number, checkpoint)
    server.busy = False
    until = time.monotonic() + IDLE_SECONDS
    while time.monotonic() < until and added_up(job.emitted) != in_tables(server):
        job.epoch()
    job.close()
    assert added_up(job.emitted) == in_tables(server)
    del SERVERS[name]


def test_a_snapshot_ends() -> None:
    name = uuid.uuid4().hex
    server = FakeServer(name, ["a", "b"], ("id",), 3)
    server.change(60)
    source = CdcSource(FakeDatabase(name, False), EventDecoder(), StartupOptions.snapshot(), Chunking(4))
    job = SourceJob(source, 3)
    while not job.ended:
        job.epoch()
    job.close()
    assert added_up(job.emitted) == in_tables(server)
    del SERVERS[name]
