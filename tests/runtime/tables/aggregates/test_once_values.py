"""DISTINCT over insertions only, where values are entries: each is written once, and counts as one that is counted."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.tables.aggregates.distinct import Changed, CountedValues, OnceValues

FILTERS = 2


class Entries:
    """A map of keyed state in a dict."""

    def __init__(self) -> None:
        self.content: dict[Any, Any] = {}
        self.puts = 0

    def get(self, at: Any, value: Any) -> Any:
        return self.content.get((at, value))

    def put(self, at: Any, value: Any, counts: Any) -> None:
        self.puts += 1
        self.content[at, value] = counts

    def remove(self, at: Any, value: Any) -> None:
        del self.content[at, value]


def of(kind: type[CountedValues]) -> tuple[Any, Entries]:
    entries = Entries()
    values: Any = kind((), entries, [pa.int64()])  # type: ignore[arg-type]
    values.filters = [None] * FILTERS
    return values, entries


def told(changed: Changed) -> tuple[Any, ...]:
    return changed.ids.tolist(), [each.to_pylist() for each in (*changed.args, *changed.signs)]


# (accumulator, value, how often it is there for each filter)
ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.tuples(st.integers(0, 2), st.integers(0, 2))))


@given(st.lists(ROWS, max_size=6))
def test_what_counts_is_what_counts_if_all_are_counted(batches: list[list[Any]]) -> None:
    (once, entries), (counted, _) = of(OnceValues), of(CountedValues)
    ats = ["a", "b", "c"]
    for rows in batches:
        ids, values, nets = [row[0] for row in rows], [(row[1],) for row in rows], [row[2] for row in rows]
        assert told(once._count(ids, values, nets, ats)) == told(counted._count(ids, values, nets, ats))
    assert entries.puts <= FILTERS * len(entries.content), "once for each filter at most"
    assert all(max(counts) <= 1 for counts in entries.content.values())


def test_counts_that_were_stored_stay() -> None:
    """What an earlier version has stored, or another checkpoint."""
    once, entries = of(OnceValues)
    entries.content["a", (1,)] = (7, 0)
    assert told(once._count([0, 0], [(1,), (2,)], [(1, 1), (1, 0)], ["a"])) == ([0, 0], [[1, 2], [0, 1], [1, 0]])
    assert entries.content == {("a", (1,)): (7, 1), ("a", (2,)): (1, 0)}


def test_rows_that_are_taken_back_are_refused() -> None:
    once, _ = of(OnceValues)
    with pytest.raises(ValueError, match="insertions only"):
        once._count([0], [(1,)], [(-1, 0)], ["a"])
