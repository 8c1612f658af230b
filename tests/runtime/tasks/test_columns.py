from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.types import Row
from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.codec import Packed, decode_columns, encode
from millrace.runtime.tasks.batch_columns import Columns, compact, take

VALUES: dict[str, Any] = {
    "numbers": [1, -2, 3],
    "floats": [0.5, -0.0, float("inf")],
    "large numbers": [2**70, 1, 2],
    "pairs": [(1, "a"), (2, "b"), (3, None)],
    "longer tuples": [(1, 2, 3), (4, 5, 6)],
    "rows": [Row(a=1, b=0.5), Row(a=2, b=1.5)],
    "other rows": [Row(x=True, y=b"z")],
    "objects": [{"a": 1}, [2], {3}],
    "nothing": [],
}


def travelled(name: str, time: int | None) -> Packed:
    values = VALUES[name]
    times = None if time is None else [time] * len(values)
    return decode_columns(encode(Chunk(values, times, [name] * len(values)), []))[0]


def content(elements: Packed) -> tuple[list[str], list[Any], Any]:
    """With the types of everything: 1, 1.0 and True are equal."""
    return [*map(repr, elements.keys or ())], [*map(repr, elements.values())], elements.timestamps


@given(st.lists(st.tuples(st.sampled_from(sorted(VALUES)), st.none() | st.just(5)), max_size=6))
def test_all_forms_can_be_put_together(pieces: list[tuple[str, int | None]]) -> None:
    columns = Columns()
    for name, time in pieces:
        columns.add(travelled(name, time))
    values = [value for name, _ in pieces for value in VALUES[name]]
    times: Any = [time for name, time in pieces for _ in VALUES[name]]
    keys = [name for name, _ in pieces for _ in VALUES[name]]
    expected = ([*map(repr, keys)], [*map(repr, values)], times if any(times) else None)
    whole = columns.whole()
    assert len(columns) == len(values)
    assert content(whole) == expected
    assert content(decode_columns(whole.encode())[0]) == expected
    back = list(range(len(values)))[::-1]
    for form in (whole, compact(whole)):
        for places in (back, np.array(back, np.int64)):
            taken = take(form, places)
            assert content(taken) == tuple(None if column is None else column[::-1] for column in expected)


@pytest.mark.parametrize("name", ["numbers", "pairs", "rows"])
def test_what_is_plain_stays_in_columns(name: str) -> None:
    columns = Columns()
    for _ in range(2):
        columns.add(travelled(name, None))
    again, marks = decode_columns(columns.whole().encode())
    assert again.plain and again.form == travelled(name, None).form and not marks
    assert again.values() == VALUES[name] * 2


def test_numbers_come_back_as_they_were() -> None:
    back = take(compact(travelled("floats", 7)), [1, 2])
    assert list(map(repr, back.values())) == ["-0.0", "inf"]
    assert back.timestamps == [7, 7] and {type(time) for time in back.timestamps or ()} == {int}
    assert {type(value) for value in take(compact(travelled("numbers", None)), [0]).values()} == {int}
