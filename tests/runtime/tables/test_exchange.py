"""Batches on their way: split by key, packed, and put together again."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.tables.table_runs import Change, changes_of, rows_of

from millrace.relational import types as t
from millrace.relational.rows import INSERT, Rows, count
from millrace.runtime.elements import Chunk, Status
from millrace.runtime.exchange import exchange
from millrace.runtime.exchange.codec import decode, encode
from millrace.runtime.exchange.exchange import ChannelWriter, Packet
from millrace.runtime.exchange.keys import key_group, subtask_of_group
from millrace.runtime.exchange.partitioners import Global
from millrace.runtime.tables.exchange import ByColumns, Single, Thinning
from millrace.runtime.tables.ordering.before_exchange import BestOfBatch

TYPES = (t.VarCharType(3), t.IntType(), t.DoubleType())
CHANGES = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 0, 1, 2, 3]),
        st.tuples(st.sampled_from(["a", "b", "c", None]), st.integers(0, 3), st.floats(allow_nan=False)),
    ),
    min_size=1,
    max_size=9,
)
EVENTS = st.lists(CHANGES | st.integers(0, 9) | st.sampled_from([Status.IDLE, Status.ACTIVE]), max_size=6)


@given(CHANGES, st.integers(1, 4))
def test_rows_go_where_their_key_lives(changes: list[Change], receivers: int) -> None:
    partitioner = ByColumns((0, 1), max_parallelism=16)
    parts = dict(partitioner.router(0, 1, receivers)(Chunk([rows_of(changes, TYPES)])))
    expected: dict[int, list[Change]] = {}
    for kind, row in changes:
        target = subtask_of_group(key_group(row[:2], 16), 16, receivers)
        expected.setdefault(target if receivers > 1 else 0, []).append((kind, row))
    assert {target: changes_of(part.values) for target, part in parts.items()} == expected


@given(st.lists(CHANGES, min_size=1, max_size=3), st.booleans())
def test_the_best_row_of_a_key_is_always_sent(batches: list[list[Change]], last: bool) -> None:
    """Rows that others of their batch keep out are not sent; what there is to find among all rows stays."""
    router = ByColumns((0,), thinning=BestOfBatch((0,), last, None)).router(0, 1, 2)
    sent: list[Change] = []
    for batch in batches:
        rows = rows_of([(INSERT, row) for _, row in batch], TYPES)
        parts = [change for _, part in router(Chunk([rows])) for change in changes_of(part.values)]
        assert len(parts) == len({row[0] for _, row in batch}) or len(parts) == len(batch)
        sent += parts

    def best(rows: list[Change]) -> dict[Any, Any]:
        ordered = rows if last else rows[::-1]
        return {row[0]: row for _, row in ordered}

    assert best(sent) == best([change for batch in batches for change in batch])


def test_batches_that_do_not_get_thinner_are_sent_as_they_are() -> None:
    seen: list[int] = []

    @dataclass(frozen=True)
    class Watching(Thinning):
        def thin(self, rows: Rows) -> Rows:
            seen.append(len(rows))
            return rows if len(rows) < 5 else rows.take([0])

    router = ByColumns((0,), thinning=Watching()).router(0, 1, 2)
    alike = [(0, ("a", 1, 1.0))] * 5
    for changes in [alike, alike, *([alike[:4]] * 18)]:
        list(router(Chunk([rows_of(changes, TYPES)])))
    assert seen == [5, 5, 4, 4]


def test_single() -> None:
    chunk = Chunk([rows_of([(0, ("a", 1, 1.0))], TYPES)])
    assert list(Single().router(1, 2, 3)(chunk)) == [(0, chunk)]


def flat(items: Any) -> list[Any]:
    found: list[Any] = []
    for item in items:
        found += changes_of(item.values) if isinstance(item, Chunk) else [item]
    return found


@given(EVENTS)
def test_packets(events: list[Any]) -> None:
    """Everything is at its place, and what lies between two marks is one batch."""
    values: list[Rows] = []
    marks: list[Any] = []
    for event in events:
        if isinstance(event, list):
            values.append(rows_of(event, TYPES))
        else:
            marks.append((len(values), event))
    items = list(decode(encode(Chunk(list(values)), marks)))
    expected = [each for event in events for each in (event if isinstance(event, list) else [event])]
    assert flat(items) == expected
    batches = [isinstance(item, Chunk) for item in items]
    assert not any(one and other for one, other in pairwise(batches))
    assert all(len(item) == 1 for item in items if isinstance(item, Chunk))


def test_rows_without_columns() -> None:
    rows = rows_of([(0, ()), (0, ())], ())
    (chunk,) = decode(encode(Chunk([rows, rows]), []))
    assert isinstance(chunk, Chunk)
    assert count(chunk.values) == 4


def test_columns_are_read_where_they_lie() -> None:
    """Aligned for Arrow whatever is in front of them, and cut out of larger ones."""
    rows = rows_of([(0, ("a", n, 1.0)) for n in range(100)], TYPES)
    part = Rows(rows.batch.slice(50, 10))
    for mark in range(20):
        payload = encode(Chunk([part]), [(1, 10**mark)])
        assert len(payload) < 1500
        chunk, _ = decode(payload)
        assert isinstance(chunk, Chunk)
        (found,) = chunk.values
        assert found.batch.equals(part.batch)
        assert found.batch.column(2).buffers()[1].address % 8 == 0


@pytest.mark.parametrize("sizes", [[3, 3, 3], [9], [1] * 9])
def test_packets_are_full_by_rows(monkeypatch: pytest.MonkeyPatch, sizes: list[int]) -> None:
    monkeypatch.setattr(exchange, "FLUSH_AT", 6)
    packets: list[Packet] = []
    writer = ChannelWriter(0, Global(), 0, 1, 1, 0, packets.append)
    for size in sizes:
        writer.write(Chunk([rows_of([(0, ("a", n, 1.0)) for n in range(size)], TYPES)]))
    assert len(packets) == 1
    writer.end_epoch()
    items = [item for packet in packets for item in decode(packet.payload)]
    assert sum(count(item.values) for item in items if isinstance(item, Chunk)) == 9
