"""``EventBufferTable`` against a plain list, on copies that follow each other by deltas."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.state.row_buffer_table import EventBufferTable

ELEMENTS = st.lists(st.tuples(st.sampled_from("xyz"), st.integers(0, 20)), max_size=6)
STEPS = st.lists(st.one_of(ELEMENTS, st.integers(0, 20), st.just("delta"), st.just("full")), max_size=30)


@given(STEPS)
def test_what_is_due_comes_in_the_order_of_time_then_of_arrival(steps: list[Any]) -> None:
    table, copy = EventBufferTable(), EventBufferTable()
    waiting: list[tuple[str, int, int]] = []
    arrived = 0
    for step in steps:
        if step == "delta":
            copy.apply(table.delta())
            table, copy = copy, table
            copy = EventBufferTable()
            copy.apply(table.entries())
            copy.delta()
        elif step == "full":
            restored = EventBufferTable()
            restored.apply(table.entries())
            assert restored.entries() == table.entries()
        elif isinstance(step, int):
            due = table.take(step)
            found = list(zip(*due))
            wanted = sorted((each for each in waiting if each[1] <= step), key=lambda each: each[1])
            for key in "xyz":
                assert [each for each in found if each[0] == key] == [each for each in wanted if each[0] == key]
            assert [each[1] for each in found] == [each[1] for each in wanted]
            waiting = [each for each in waiting if each[1] > step]
        else:
            numbered = [(key, time, arrived + place) for place, (key, time) in enumerate(step)]
            arrived += len(step)
            waiting += numbered
            table.add(*(list(part) for part in zip(*numbered))) if numbered else None
    found_keys = {key for key, _, _ in waiting}
    assert set(table.addresses()) == found_keys
