"""Every kind of table as rows, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.checkpoint.sameness import same
from tests.checkpoint.stored_classes import Pair, Point

from millrace.checkpoint.state_rows import (
    explode,
    explode_operator_state,
    groups_of,
    implode,
    implode_operator_state,
    of_key_groups,
)
from millrace.datastream.window import CountWindow, GlobalWindow, TimeWindow
from millrace.runtime.exchange.keys import key_group
from millrace.runtime.state.address import Scoped, key_of
from millrace.runtime.state.kinds import TABLES
from millrace.runtime.state.row_buffer_table import EventBufferTable, RowBufferTable
from millrace.runtime.state.time_buffer_table import TimeBufferTable
from millrace.runtime.timers import TimerQueue

GROUPS = 8

TIMES = st.integers(-5, 5)
KEYS = st.one_of(
    st.integers(-3, 3),
    st.text(max_size=2),
    st.tuples(st.integers(0, 2), st.text(max_size=1)),
    st.builds(Point, st.sampled_from([1.5, 2.5])),
    st.none(),
)
NAMESPACES = st.one_of(
    st.builds(TimeWindow, TIMES, TIMES),
    st.just(GlobalWindow()),
    st.builds(CountWindow, st.integers(0, 2)),
    st.tuples(TIMES, TIMES),
    st.text(max_size=1),
    st.none(),
)
ADDRESSES = st.one_of(KEYS, st.builds(Scoped, KEYS, NAMESPACES))
PAIRS = st.builds(Pair, st.integers(), st.text(max_size=2))
VALUES = st.one_of(st.integers(), st.none(), PAIRS, st.sets(st.integers()))
LISTS = st.lists(VALUES, min_size=1, max_size=4)
STAMPED = st.tuples(TIMES, VALUES)
STAMPED_LISTS = st.lists(STAMPED, min_size=1, max_size=4)


def maps(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(st.integers(0, 5) | st.text(max_size=1), values, min_size=1, max_size=4).map(
        lambda items: (True, items, [])
    )


def windows(contents: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    rows = st.dictionaries(KEYS, contents, min_size=1, max_size=5)
    return st.dictionaries(TIMES, st.tuples(st.just(True), rows), max_size=4)


def by(addresses: st.SearchStrategy[Any], contents: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(addresses, contents, max_size=8)


def buffered_rows(keys: list[int]) -> dict[Any, Any]:
    """Rows of these keys, due at different times."""
    found: dict[Any, Any] = {}
    for number, key in enumerate(keys):
        times, rows = found.setdefault((key,), ([], []))
        times.append(3 * number)
        rows.append((number % 4, key, None if number % 3 else str(number)))
    return found


SESSION = st.tuples(TIMES, TIMES, VALUES).map(list)
ENTRIES: dict[str, st.SearchStrategy[Any]] = {
    "value": by(ADDRESSES, VALUES),
    "list": by(ADDRESSES, LISTS.map(lambda values: (0, values))),
    "map": by(ADDRESSES, maps(VALUES)),
    "TTL value": by(ADDRESSES, STAMPED),
    "TTL list": by(ADDRESSES, STAMPED_LISTS.map(lambda entries: (0, entries))),
    "TTL map": by(ADDRESSES, maps(STAMPED)),
    "windows": windows(VALUES),
    "window lists": windows(LISTS.map(lambda values: (0, values))),
    "sessions": by(KEYS, st.lists(SESSION, min_size=1, max_size=3)),
    "time buffers": by(KEYS, st.lists(st.tuples(TIMES, VALUES), min_size=1, max_size=4).map(
        lambda elements: tuple(map(list, zip(*sorted(elements, key=lambda element: element[0]))))
    )),
    "row buffers": st.lists(st.integers(0, 9), max_size=12).map(buffered_rows),
    "event buffers": by(KEYS, st.lists(st.tuples(TIMES, VALUES), min_size=1, max_size=4).map(
        lambda elements: tuple(map(list, zip(*sorted(elements, key=lambda element: element[0]))))
    )),
    "timers": by(st.tuples(TIMES, ADDRESSES), st.integers(0, 9)),
}  # fmt: skip
KINDS = list(ENTRIES)


def test_no_kind_of_table_is_forgotten() -> None:
    assert {*TABLES, "timers"} == set(KINDS)


def content(kind: str, pieces: Iterable[Any]) -> Any:
    """What a table holds after changes were applied to it, in an order that does not depend on theirs."""
    if kind == "timers":
        queue = TimerQueue()
        for piece in pieces:
            queue.apply(piece.items())
        return _sorted(dict(queue.entries()))
    table = TABLES[kind]()
    if isinstance(table, RowBufferTable):
        table.describe([pa.int64(), pa.string()], (0,))
    for piece in pieces:
        table.apply(piece)
    buffers = (RowBufferTable, EventBufferTable, TimeBufferTable)
    found = {"rows": _sorted(table.entries() if isinstance(table, buffers) else table.rows)}
    if kind in ("windows", "window lists"):
        found["rows"] = [(end, _sorted(row)) for end, row in found["rows"]]
    return found


def _sorted(rows: dict[Any, Any]) -> list[tuple[Any, Any]]:
    return sorted(rows.items(), key=lambda item: repr(item[0]))


def keep(kind: str, entries: Any, groups: range) -> Any:
    """The entries of these key groups, by the definition."""

    def belongs(key: Any) -> bool:
        return key_group(key, GROUPS) in groups

    if kind in ("windows", "window lists"):
        parts = {
            end: (fresh, {key: each for key, each in row.items() if belongs(key)})
            for end, (fresh, row) in entries.items()
        }
        return {end: part for end, part in parts.items() if part[1]}
    if kind == "timers":
        return {timer: number for timer, number in entries.items() if belongs(key_of(timer[1]))}
    return {at: entry for at, entry in entries.items() if belongs(key_of(at))}


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), limit=st.integers(1, 6))
def test_rows_give_the_entries_back(kind: str, data: st.DataObject, limit: int) -> None:
    entries = data.draw(ENTRIES[kind])
    merged: dict[Any, Any] = {}
    pieces = []
    for rows, described in explode(kind, entries, GROUPS, limit):
        implode(kind, rows, described, {}, merged)
        pieces.append({})
        implode(kind, rows, described, {}, pieces[-1])
    expected = content(kind, [entries])
    assert same(content(kind, [merged]), expected)
    assert same(content(kind, pieces), expected)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), bounds=st.tuples(st.integers(0, GROUPS), st.integers(0, GROUPS)))
def test_a_part_of_the_rows_is_what_its_key_groups_hold(kind: str, data: st.DataObject, bounds: Any) -> None:
    entries, groups = data.draw(ENTRIES[kind]), range(*sorted(bounds))
    found: dict[Any, Any] = {}
    for rows, described in explode(kind, entries, GROUPS, 5):
        lowest, highest = groups_of(rows)
        assert {lowest, highest} <= set(rows["key_group"].to_pylist()) <= set(range(lowest, highest + 1))
        part = of_key_groups(rows, groups)
        if len(part):
            implode(kind, part, described, {}, found)
    assert same(content(kind, [found]), content(kind, [keep(kind, entries, groups)]))


@given(data=st.data(), cut=st.integers(1, GROUPS - 1))
@pytest.mark.parametrize("kind", KINDS)
def test_the_rows_of_several_subtasks_make_one_state(kind: str, data: st.DataObject, cut: int) -> None:
    entries = data.draw(ENTRIES[kind])
    merged: dict[Any, Any] = {}
    for part in (range(cut, GROUPS), range(cut)):
        for rows, described in explode(kind, keep(kind, entries, part), GROUPS, 4):
            implode(kind, rows, described, {}, merged)
    assert same(content(kind, [merged]), content(kind, [entries]))


def columns(kind: str, entries: Any) -> list[dict[str, Any]]:
    """The rows that a reader of the file sees, without key groups."""
    tables = [table.drop_columns(["key_group"]) for table, _ in explode(kind, entries, GROUPS, 1000)]
    return [table.to_pydict() for table in tables]


WINDOW = TimeWindow(0, 10)


@pytest.mark.parametrize(
    ("kind", "entries", "expected"),
    [
        ("value", {"a": 1, "b": 2}, {"key": ["a", "b"], "value": [1, 2]}),
        (
            "value",
            {Scoped("a", WINDOW): 1},
            {"key": ["a"], "window_start": [0], "window_end": [10], "value": [1]},
        ),
        ("value", {Scoped("a", "n"): 1}, {"key": ["a"], "namespace": ["n"], "value": [1]}),
        (
            "list",
            {"a": (0, [1, 2]), "b": (0, [3])},
            {"key": ["a", "a", "b"], "position": [0, 1, 0], "value": [1, 2, 3]},
        ),
        (
            "map",
            {"a": (True, {"x": 1, "y": 2}, [])},
            {"key": ["a", "a"], "position": [0, 1], "map_key": ["x", "y"], "value": [1, 2]},
        ),
        ("TTL value", {"a": (7, 1)}, {"key": ["a"], "last_access": [7], "value": [1]}),
        ("TTL list", {"a": (0, [(7, 1)])}, {"key": ["a"], "position": [0], "last_access": [7], "value": [1]}),
        (
            "TTL map",
            {"a": (True, {"x": (7, 1)}, [])},
            {"key": ["a"], "position": [0], "map_key": ["x"], "last_access": [7], "value": [1]},
        ),
        ("windows", {10: (True, {"a": 1, "b": 2})}, {"key": ["a", "b"], "window_end": [10, 10], "value": [1, 2]}),
        (
            "window lists",
            {10: (True, {"a": (0, [1, 2])})},
            {"key": ["a", "a"], "window_end": [10, 10], "position": [0, 1], "value": [1, 2]},
        ),
        (
            "sessions",
            {"a": [[0, 5, 1], [7, 9, 2]]},
            {"key": ["a", "a"], "position": [0, 1], "window_start": [0, 7], "window_end": [5, 9], "value": [1, 2]},
        ),
        (
            "time buffers",
            {"a": ([3, 4], ["x", "y"])},
            {"key": ["a", "a"], "position": [0, 1], "timestamp": [3, 4], "value": ["x", "y"]},
        ),
        (
            "timers",
            {(5, Scoped("a", WINDOW)): 3},
            {"key": ["a"], "window_start": [0], "window_end": [10], "timestamp": [5], "registration": [3]},
        ),
    ],
    ids=str,
)
def test_columns_have_names(kind: str, entries: Any, expected: dict[str, Any]) -> None:
    (found,) = columns(kind, entries)
    assert found == expected
    assert list(found) == list(expected)


def test_addresses_of_different_forms_go_to_tables_of_their_own() -> None:
    found = columns("value", {"a": 1, Scoped("b", WINDOW): 2, Scoped("c", "n"): 3, "d": 4})
    assert [list(each) for each in found] == [
        ["key", "value"],
        ["key", "window_start", "window_end", "value"],
        ["key", "namespace", "value"],
    ]


def test_addresses_share_their_windows() -> None:
    entries = {Scoped(key, TimeWindow(0, 10)): key for key in range(3)}
    entries.update({Scoped(key, CountWindow(7)): key for key in range(3)})
    back: dict[Any, Any] = {}
    for rows, described in explode("value", entries, GROUPS, 100):
        implode("value", rows, described, {}, back)
    assert back == entries
    assert len({id(at.namespace) for at in back}) == 2


def test_rows_of_one_address_are_never_torn_apart() -> None:
    entries = {key: (0, list(range(10))) for key in "abc"}
    assert [len(rows) for rows, _ in explode("list", entries, GROUPS, 4)] == [10, 10, 10]
    assert [len(rows) for rows, _ in explode("list", entries, GROUPS, 11)] == [20, 10]


def test_a_window_of_many_keys_is_cut() -> None:
    entries = {10: (True, {key: key for key in range(10)})}
    assert [len(rows) for rows, _ in explode("windows", entries, GROUPS, 4)] == [4, 4, 2]


@pytest.mark.parametrize(
    ("distribution", "entry", "expected"),
    [
        ("SPLIT_DISTRIBUTE", (0, [1, None, 3]), {"value": [1, None, 3]}),
        ("UNION", (0, []), {"value": []}),
        ("BROADCAST", (True, {"a": 1, "b": 2}, []), {"map_key": ["a", "b"], "value": [1, 2]}),
    ],
)
def test_operator_state_has_no_address(distribution: str, entry: Any, expected: dict[str, Any]) -> None:
    rows, described = explode_operator_state(distribution, entry)
    assert isinstance(rows, pa.Table)
    assert rows.to_pydict() == expected
    assert implode_operator_state(distribution, rows, described, {}) == entry
