"""Keys whose event time was further before their subtasks were other ones."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millrace.relational.rows import Rows, record_batch
from millrace.runtime.bases.operator import KeyGroupTimes, event_time_of, times_of_groups
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP, Chunk
from millrace.runtime.exchange.keys import key_group, subtask_of_group
from millrace.runtime.exchange.partitioners import Forward, Hash, Partitioner, Rebalance
from millrace.runtime.tables.exchange import ByColumns

GROUPS = 8
MARKS = st.lists(st.integers(0, 9) | st.just(MAX_WATERMARK), min_size=1, max_size=5)


@given(MARKS, st.integers(1, 5), st.integers(0, 99))
def test_each_key_is_as_far_as_its_last_subtask_was(marks: list[int], later: int, key: int) -> None:
    """And as far as any before, whatever the lowest watermark of all is by now."""
    group = key_group(key, GROUPS)
    first = times_of_groups(marks, [None] * len(marks), GROUPS)
    mark = marks[subtask_of_group(group, GROUPS, len(marks))]
    expected = MIN_TIMESTAMP if mark == MAX_WATERMARK else mark
    assert first[group] == expected
    second = times_of_groups(list(range(later)), [first] * later, GROUPS)
    assert second[group] == max(expected, subtask_of_group(group, GROUPS, later))
    assert event_time_of(second, 0)(key) == second[group]
    assert event_time_of(None, 4)(key) == 4


@given(st.lists(st.integers(0, 30), max_size=20), st.lists(st.integers(0, 9), min_size=GROUPS, max_size=GROUPS))
def test_elements_come_at_the_time_of_their_key(values: list[int], times: list[int]) -> None:
    ahead = KeyGroupTimes(times_of_groups(times, [None] * GROUPS, GROUPS), 5)
    assert ahead.is_over == (max(times) <= 5)
    rows = Rows(record_batch([pa.array(values, pa.int64())], len(values)))
    cases: list[tuple[Partitioner, Chunk]] = [
        (Forward(), Chunk(list(values), None, [(value,) for value in values])),
        (Hash(lambda value: (value,), GROUPS), Chunk(list(values), None, [(value,) for value in values])),
        (ByColumns((0,), GROUPS), Chunk([rows])),
    ]
    for partitioner, chunk in cases:
        found = []
        for mark, part in ahead.parts(chunk, partitioner):
            for value in part.values[0].columns[0].to_pylist() if isinstance(part.values[0], Rows) else part.values:
                found.append(value)
                assert mark == max(5, times[key_group((value,), GROUPS)])
        assert sorted(found) == sorted(values)


def test_what_was_not_spread_by_keys_comes_at_the_watermark() -> None:
    ahead = KeyGroupTimes(times_of_groups([9], [None], GROUPS), 5)
    for partitioner in (Rebalance(), None):
        assert [(mark, part.values) for mark, part in ahead.parts(Chunk([1, 2]), partitioner)] == [(5, [1, 2])]
