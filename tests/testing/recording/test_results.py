"""Changes of a table as the rows that they lead to, and what differs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from millrace.common.types import Row, RowKind
from millrace.relational.rows import Rows
from millrace.testing.recording.playing import changes_of, left_over
from millrace.testing.recording.sessions import SHOWN, differences

INSERT, BEFORE, AFTER, DELETE = range(4)


def rows(*changes: tuple[int, int, str]) -> Rows:
    """Of kind, number and word."""
    kinds, numbers, words = zip(*changes)
    batch = pa.record_batch([pa.array(numbers), pa.array(words)], ["c0", "c1"])
    return Rows(batch, np.array(kinds, np.uint8))


def rows_left(*batches: Rows, key: tuple[int, ...] | None = None) -> list[str]:
    return left_over(change for batch in batches for change in changes_of(batch, key))


@pytest.mark.parametrize("together", [True, False])
def test_what_was_taken_back_is_gone(together: bool) -> None:
    changes = [(INSERT, 1, "a"), (INSERT, 1, "a"), (BEFORE, 1, "a"), (AFTER, 1, "b")]
    changes += [(INSERT, 2, "c"), (DELETE, 2, "c")]
    batches = [rows(*changes)] if together else [rows(change) for change in changes]
    assert rows_left(*batches) == ['[1, "a"]', '[1, "b"]']


def test_a_row_that_was_never_given_shows() -> None:
    assert rows_left(rows((DELETE, 1, "a"))) == ['-[1, "a"]']


def test_by_key_a_later_row_takes_the_place() -> None:
    changes = rows((INSERT, 1, "a"), (AFTER, 1, "b"), (INSERT, 2, "c"), (DELETE, 2, "?"), (AFTER, 3, "d"))
    assert rows_left(changes, key=(0,)) == ['[1, "b"]', '[3, "d"]']


def test_rows_of_streams_have_kinds_too() -> None:
    elements = [Row(a=1), Row.of_kind(RowKind.UPDATE_BEFORE, a=1), Row.of_kind(RowKind.UPDATE_AFTER, a=2)]
    assert left_over(change for each in elements for change in changes_of(each)) == [
        '{"$row": {"names": ["a"], "values": [2]}}'
    ]


def test_order_does_not_count_and_number_does() -> None:
    assert differences({"sink": ["a", "b", "b"]}, {"sink": ["b", "a", "b"]}) == []
    assert differences({"sink": ["a", "b", "b"]}, {"sink": ["a", "b", "c"]}) == [
        "sink: 3 recorded, 3 now", "  - b", "  + c",
    ]  # fmt: skip


def test_sinks_that_come_and_go_are_named() -> None:
    assert differences({"old": []}, {"new": []}) == [
        "old: recorded, but the program has no such sink now", "new: the recording has no such sink",
    ]  # fmt: skip


def test_long_differences_are_cut() -> None:
    lines = differences({"sink": [str(number) for number in range(SHOWN + 3)]}, {"sink": []})
    assert lines[-1] == "  - and 3 more"
    assert len(lines) == SHOWN + 2
