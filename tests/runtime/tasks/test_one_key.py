from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.codec import encode
from millrace.runtime.tasks import batch_input
from millrace.runtime.tasks.batch_input import in_order

PIECE = st.tuples(st.integers(0, 1), st.lists(st.none() | st.integers(-5, 5), min_size=1, max_size=6))
"""(input, the timestamps of a chunk)"""


@given(st.lists(PIECE, max_size=8), st.integers(1, 200), st.booleans())
def test_order(pieces: list[tuple[int, list[int | None]]], run_bytes: int, with_times: bool) -> None:
    pieces.sort(key=lambda piece: piece[0])  # inputs come one after the other
    payloads, expected, number = [], [], 0
    for input, times in pieces:
        values = list(range(number, number + len(times)))
        number += len(times)
        shown = times if with_times else [None] * len(times)
        payloads.append((input, encode(Chunk(values, times if with_times else None, ["k"] * len(times)), [])))
        expected += [(time, input, value) for time, value in zip(shown, values)]
    expected.sort(key=lambda element: float("-inf") if element[0] is None else element[0])
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_input, "SEGMENT", 3)
        patch.setattr(batch_input, "ROUND", 4)
        chunks = list(in_order(payloads, run_bytes))
    assert [complete for _, _, complete in chunks] == [False] * (len(chunks) - 1) + [True] * bool(chunks)
    for chunk, inputs, _ in chunks:
        assert chunk.keys == ["k"] * len(chunk) and len(chunk) <= 4
        times = chunk.timestamps or [None] * len(chunk)
        found += zip(times, inputs or [0] * len(chunk), chunk.values)
    assert found == expected
