"""What tables in columns tell of themselves as a whole: a copy has the same content, and so have copies of a part of
the keys together, each the keys of its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.relational.functions.aggregates.registry import choosing, counting
from millrace.relational.rows import record_batch
from millrace.runtime.exchange.keys import groups_of, key_group
from millrace.runtime.rows.expiry import Expiry, SliceClock
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.column_deltas import divided, is_told, table_of, told_bytes
from millrace.runtime.tables.aggregates.append_only_distinct import SeenRows
from millrace.runtime.tables.aggregates.value_rows import ValueRows
from millrace.runtime.tables.columns import pieces as piecewise
from millrace.runtime.tables.columns.batch_bytes import types_as_bytes
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.counted_rows import CountedRows, PresentRows
from millrace.runtime.tables.group_table import GroupTable, group_table
from millrace.runtime.tables.indexed_rows import AddedRows
from millrace.runtime.tables.joins.inserted_rows import IndexedRows
from millrace.runtime.tables.ordered_rows import ArrivedRows
from millrace.runtime.tables.ordering.first_rows import FirstOfKey
from millrace.runtime.tables.ordering.latest_rows import RowOfKey, SeenKeys
from millrace.runtime.tables.over.updating_over import RowsWithResults

MAX = 16
TYPES = (pa.string(), pa.int64(), pa.int64())
ROWS = st.lists(st.tuples(st.sampled_from([None, "", "a", "b", "c"]), st.none() | st.integers(0, 4), st.integers(0, 9)))
Row = tuple[Any, ...]


def expiry() -> Expiry:
    """Each access is in a slice of its own, 3 ms after the one before."""
    return Expiry(1_000, SliceClock(itertools.count(0, 3).__next__))


def columns(rows: Sequence[Row]) -> list[pa.Array]:
    return [pa.array([row[place] for row in rows], kind) for place, kind in enumerate(TYPES)]


def added(table: AddedRows, rows: Sequence[Row], found_by: Sequence[int]) -> AddedRows:
    """Rows in batches of three."""
    for start in range(0, len(rows), 3):
        batch = record_batch(columns(rows[start : start + 3]), len(rows[start : start + 3]))
        table.add(batch, key_hashes([batch.column(place) for place in found_by], batch.num_rows))
    return table


def one_a_key(rows: Sequence[Row]) -> list[Row]:
    return list({row[:2]: row for row in rows}.values())


def of_groups(rows: Sequence[Row], expiry: Expiry | None = None) -> GroupTable:
    table = group_table(TYPES[:2], [counting(), choosing(pa.int64(), "last")], expiry)
    chosen = one_a_key(rows)
    keys, numbers = columns(chosen)[:2], columns(chosen)[2]
    if chosen:
        table.write(table.place(keys, len(chosen))[0], [numbers, numbers])
    return table


def of_seen_keys(rows: Sequence[Row], expiry: Expiry | None = None) -> SeenKeys:
    table = SeenKeys(TYPES[:2], expiry)
    table.new(columns(rows)[:2], len(rows))
    return table


def of_seen_values(rows: Sequence[Row], expiry: Expiry | None = None) -> SeenRows:
    table = SeenRows(TYPES[:1], TYPES[1:2], expiry)
    table.filters = [None, None]
    chosen = one_a_key(rows)
    if chosen:
        keys, bits = columns(chosen)[:2], pa.array([row[2] % 3 + 1 for row in chosen])
        table.write(table.place(keys, len(chosen))[0], [bits])
    return table


def of_first_rows(rows: Sequence[Row], ttl: int = 0) -> AddedRows:
    """With some that have been removed."""
    table = FirstOfKey.told(types_as_bytes(TYPES), (0, 1), ttl)
    added(table, rows, (0, 1))
    table.remove(np.arange(0, len(rows), 4))
    table.settle()
    return table


def of_counted_rows(rows: Sequence[Row]) -> CountedRows:
    table = CountedRows(TYPES, (1, 0), None, 2)
    if rows:
        table.count(columns(rows), np.ones(len(rows), np.int64), [np.arange(len(rows))])
    return table


def of_present_rows(rows: Sequence[Row]) -> PresentRows:
    table = PresentRows(TYPES, (0, 1))
    if rows:
        table.replace(columns(rows), np.ones(len(rows), bool))
    return table


def of_values(rows: Sequence[Row]) -> ValueRows:
    table = ValueRows(TYPES[:1], TYPES[1:2], 1, True)
    chosen = one_a_key(rows)
    if chosen:
        table.change(columns(chosen)[:2], [np.array([row[2] + 1 for row in chosen])])
    return table


def of_arrived_rows(rows: Sequence[Row]) -> ArrivedRows:
    table = ArrivedRows(TYPES, (0,), None, (0, 1))
    if rows:
        table.change(columns(rows), np.ones(len(rows), bool))
    return table


def of_rows_with_results(rows: Sequence[Row], expiry: Expiry | None = None) -> RowsWithResults:
    table = RowsWithResults(TYPES, (1, 0), [TYPES[2]], expiry)
    if rows:
        numbers = table.add(columns(rows), np.arange(len(rows)))
        table.write(numbers, columns(rows)[2:])
    return table


TABLES: dict[str, Callable[[Sequence[Row]], AddedRows]] = {
    "added rows": lambda rows: added(IndexedRows(TYPES, (1, 0)), rows, (1, 0)),
    "seen values": of_seen_values,
    "seen keys": of_seen_keys,
    "first rows": of_first_rows,
    "latest rows": lambda rows: added(RowOfKey(TYPES, (0, 1), None), one_a_key(rows), (0, 1)),
    "groups": of_groups,
    "counted rows": of_counted_rows,
    "present rows": of_present_rows,
    "counted values": of_values,
    "arrived rows": of_arrived_rows,
    "rows with results": of_rows_with_results,
}
TABLES |= {
    "seen values that expire": lambda rows: of_seen_values(rows, expiry()),
    "seen keys that expire": lambda rows: of_seen_keys(rows, expiry()),
    "first rows that expire": lambda rows: of_first_rows(rows, 10),
    "latest rows that expire": lambda rows: added(RowOfKey(TYPES, (0, 1), None, expiry()), one_a_key(rows), (0, 1)),
    "groups that expire": lambda rows: of_groups(rows, expiry()),
    "rows with results that expire": lambda rows: of_rows_with_results(rows, expiry()),
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many pieces."""
    monkeypatch.setattr(piecewise, "PIECE", 2)


def copied(pieces: Sequence[dict[Any, Any]]) -> dict[Any, Any]:
    table = table_of(pieces[0])
    for piece in pieces:
        table.apply(piece)
    return table.entries()


def sorted_inside(entries: dict[Any, Any]) -> dict[Any, str]:
    """Where a key has several rows their order means nothing, but for those of one rank."""
    return {key: repr(entry) for key, entry in entries.items()}


@pytest.mark.parametrize("form", TABLES)
@given(rows=ROWS)
def test_a_copy_has_the_same_content(form: str, rows: list[Row]) -> None:
    table = TABLES[form](rows)
    pieces = list(table.told_pieces())
    assert all(is_told(piece) for piece in pieces)
    assert (sorted_inside(copied(pieces)) if pieces else {}) == sorted_inside(table.entries())
    assert bool(pieces) == bool(table.entries())


@pytest.mark.parametrize("form", TABLES)
@given(rows=ROWS)
def test_so_have_copies_of_a_part_of_the_keys(form: str, rows: list[Row]) -> None:
    table = TABLES[form](rows)
    parts: dict[int, list[dict[Any, Any]]] = {}
    for piece in table.told_pieces():
        for group, part in divided(piece, lambda hashes: groups_of(hashes, MAX)).items():
            parts.setdefault(group, []).append(part)
    found: dict[Any, Any] = {}
    for group, part in parts.items():
        entries = copied(part)
        assert all(key_group(key, MAX) == group for key in entries)
        found |= entries
    assert sorted_inside(found) == sorted_inside(table.entries())


@pytest.mark.parametrize("form", TABLES)
def test_a_backend_tells_columns_where_its_tables_can(form: str) -> None:
    backend = KeyedStateBackend()
    table = backend.use("state", TABLES[form]([("a", 1, 2), ("b", 1, 3)]))
    (*pieces,) = backend.told_pieces()
    assert pieces and all(is_told(piece["state"][1]) for piece in pieces)
    entries = {at: entry for piece in backend.full_pieces() for at, entry in piece["state"][1].items()}
    assert entries == table.entries()


@pytest.mark.parametrize("form", TABLES)
def test_how_much_of_what_is_told_only_adds_to_it(form: str) -> None:
    backend = KeyedStateBackend()
    table = backend.use("state", TABLES[form]([("a", number, 2) for number in range(1, 9)]))
    gone = 2 if form.startswith("first rows") else 0
    assert told_bytes(table.delta()) > 100
    assert table.added_share == 1
    # A copy that a killed worker's successor makes knows how many rows there were.
    copy = KeyedStateBackend()
    for piece in backend.told_pieces():
        copy.apply(piece)
    for one in (backend, copy):
        half_of_what_is_told_replaces(one, gone)


def half_of_what_is_told_replaces(backend: KeyedStateBackend, gone: int) -> None:
    table: Any = backend.table("state")
    if isinstance(table, (FirstOfKey, RowOfKey)):
        # One more key, and another row in the place of one that was there.
        number = 2 if gone else 1
        numbers = table.numbers()
        table.remove(numbers[np.array(table.take(numbers)[1].to_pylist()) == number])
        added(table, [("b", 1, 1), ("a", number, 7)], (0, 1))
        table.settle()
    elif type(table) is GroupTable:
        keys = [pa.array(["b", "a"]), pa.array([1, 1])]
        table.write(table.place(keys, 2)[0], [pa.array([5, 5]), pa.array([6, 6])])
    else:
        return
    delta = backend.delta()
    size = told_bytes(delta["state"][1])
    assert (table.added_share, backend.added_bytes(delta)) == (0.5, size // 2)
