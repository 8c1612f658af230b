"""Both phases of window aggregates, one operator after the other, against collecting the rows of every window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.tables.table_runs import changes_of, element, few, harness, outcomes, run, table_of
from tests.runtime.tables.windows.test_window_aggregate import (
    MERGED,
    SCRIPTS,
    TYPES,
    aligned,
    at,
    config,
    expected,
    steps,
)

from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import aggregate_call
from millrace.relational.nodes import WindowSpec
from millrace.runtime.tables.windows.local_window_aggregate import LocalWindowAggregate
from millrace.runtime.tables.windows.window_config import WindowAggregate
from millrace.testing import Element, EndInput, Outcome, Record, Step, Watermark, WatermarkStep, run_script

SPECS = [
    WindowSpec("TUMBLE", 10),
    WindowSpec("TUMBLE", 10, offset=3),
    WindowSpec("HOP", 12, 4),
    WindowSpec("HOP", 10, 4),
    WindowSpec("HOP", 5, 5),
    WindowSpec("CUMULATE", 12, 4),
]
CALLS = tuple(call for call, _ in MERGED)


def local(spec: WindowSpec, **settings: Any) -> LocalWindowAggregate:
    found = {"time": 1, "zoned": False, "keys": (0,), "calls": CALLS, **settings}
    return LocalWindowAggregate(window=spec, **found)


def second(of: WindowAggregate, first: Outcome) -> Outcome:
    """The second phase over what the first one gave."""
    script: list[Step] = []
    for item in first.items:
        if isinstance(item, Record):
            script.append(Element(item.value))
        elif isinstance(item, Watermark):
            script.append(WatermarkStep(item.timestamp))
    return run_script(lambda: harness(of), [*script, EndInput()])


@pytest.mark.parametrize("spec", SPECS, ids=str)
@few
@given(SCRIPTS)
def test_two_phases(spec: WindowSpec, events: list[Any]) -> None:
    found, late = aligned(spec, events)
    wanted = Counter(expected(found, MERGED))
    for name, first in outcomes(local(spec), steps(events)):
        outcome = second(config(spec, MERGED, partial=True), first)
        assert table_of(changes_of(outcome.values)) == wanted, name
        assert outcome.measured["metric numLateRecordsDropped"].count == late, name


@few
@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([0, 10, 20]), st.integers(0, 3)), max_size=8))
def test_windows_that_rows_are_in_already(rows: Sequence[Any]) -> None:
    types = (t.VarCharType(2), t.TimestampType(3), t.TimestampType(3), t.IntType())
    calls = (aggregate_call("COUNT", ()),)
    script = [*(element((key, at(start), at(start + 10), n), types) for key, start, n in rows), EndInput()]
    settings = {"time": 2, "zoned": False, "calls": calls}
    merged = WindowAggregate(
        window=WindowSpec("TUMBLE", 10),
        keys=(0,),
        key_types=types[:1],
        properties=("START", "END"),
        attached=(1, 2),
        partial=True,
        **settings,
    )
    wanted = Counter((key, at(start), at(start + 10)) for key, start, _ in rows)
    for name, first in outcomes(local(WindowSpec("TUMBLE", 10), attached=(1, 2), **settings), script):
        found = table_of(changes_of(second(merged, first).values))
        assert {(key, start, end): count for key, count, start, end in found} == dict(wanted), name


def test_rows_of_a_slice_leave_as_one_row() -> None:
    rows = [("a", at(1), 1), ("a", at(9), 2), ("b", at(9), 5), ("a", at(11), 7)]
    found = run(local(WindowSpec("TUMBLE", 10)), [*(element(row, TYPES) for row in rows), EndInput()])
    assert sorted(row[:3] for _, row in found) == [("a", 10, 2), ("a", 20, 1), ("b", 10, 1)]


def test_watermarks_do_not_overtake_rows() -> None:
    """What a watermark may complete leaves before it; the rest is held back."""
    script: list[Step] = [element(("a", at(time), 1), TYPES) for time in (1, 12)]
    first = run_script(lambda: harness(local(WindowSpec("HOP", 20, 10))), [*script, WatermarkStep(8), WatermarkStep(9)])
    kinds = [type(item).__name__ for item in first.items]
    assert kinds == ["Watermark", "Record", "Watermark"]


def test_rows_without_time_are_dropped() -> None:
    with harness(local(WindowSpec("TUMBLE", 10))) as operator:
        operator.process_element(element(("a", None, 1), TYPES).value)
        operator.end_input()
        assert operator.values == []
        assert operator.counter("numNullRowTimeRecordsDropped") == 1
