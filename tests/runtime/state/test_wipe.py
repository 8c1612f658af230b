"""Batch mode forgets keys that are done: nothing of them is left, and what comes next is as in a new table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.session_table import SessionTable
from millrace.runtime.state.tables import ListTable, MapTable, Table, ValueTable
from millrace.runtime.state.time_buffer_table import TimeBufferTable
from millrace.runtime.state.window_tables import WindowListTable, WindowTable


def put_value(table: Any) -> None:
    table.rows["key"] = 1
    table.touched["key"] = None


def put_map(table: Any) -> None:
    table.put("key", "a", 1)
    table.put("other", "a", 1)
    table.remove("other")


def put_window(table: Any, entry: Any) -> None:
    for end in (10, 20):
        table.put(end, "key", entry)
    table.drop(10)


FILL: dict[type[Table], Callable[[Any], None]] = {
    ValueTable: put_value,
    SessionTable: put_value,
    ListTable: lambda table: table.append("key", 1),
    MapTable: put_map,
    WindowTable: lambda table: put_window(table, 1),
    WindowListTable: lambda table: put_window(table, [1]),
    TimeBufferTable: lambda table: table.add_all(["key", "key"], [5, 3], ["a", "b"]),
}


@pytest.mark.parametrize("kind", FILL, ids=lambda kind: kind.__name__)
def test_tables(kind: type[Table]) -> None:
    table, new = kind(), kind()
    rows = table.rows
    FILL[kind](table)
    table.wipe()
    assert not table.rows and not table.entries() and not table.delta()
    for each in (table, new):
        FILL[kind](each)
    assert table.entries() == new.entries() and table.delta() == new.delta()
    assert table.rows is rows, "operators and states hold on to it"


def test_backend() -> None:
    backend = KeyedStateBackend()
    put_value(backend.value_table("state"))
    for timers in (backend.event_timers, backend.processing_timers):
        timers.register(5, "key")
        timers.register(6, "key")
        timers.pop_due(5)
    backend.wipe()
    assert backend.full() == backend.delta() == {}
    assert backend.event_timers.next_time() is None
    backend.event_timers.register(6, "key")
    assert backend.event_timers.pop_due(6) == (6, "key")
