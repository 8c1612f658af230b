"""About how many bytes elements take that wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.relational.rows import Rows, record_batch
from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.codec import FIRST_LOOK, HeldBytes, encode, weigh


def text(number: int) -> str:
    """500 characters, others for each number: pickle writes the same object once."""
    return f"{number:05}" * 100


ALIKE: list[Callable[[int], Any]] = [
    text,
    lambda number: text(number).encode(),
    lambda number: ("key", 10**12, text(number)),
    lambda number: {"field": [text(number)]},
]


@pytest.mark.parametrize("make", ALIKE)
@pytest.mark.parametrize("count", [1, 7, 8, 9, 1000])
def test_elements_of_one_size_weigh_what_a_packet_of_them_does(make: Callable[[int], Any], count: int) -> None:
    values = list(map(make, range(count)))
    assert weigh(values) == pytest.approx(len(encode(Chunk(values), [])), rel=0.15)


def test_batches_weigh_what_their_columns_do() -> None:
    whole = record_batch([pa.array(["x" * 100] * 1000)], 1000)
    assert weigh([Rows(whole), Rows(whole)]) == 2 * whole.nbytes
    assert weigh([Rows(whole.slice(0, 10))]) < whole.nbytes / 50


def test_nothing_and_what_cannot_be_sent_weigh_nothing() -> None:
    assert weigh([]) == 0
    assert weigh([(number for number in range(3))]) == 0


@given(st.integers(1, 3_000), st.integers(1, 3_000))
def test_it_says_so_in_time_and_looks_seldom(size: int, limit: int) -> None:
    limit *= 100
    held, values, looks = HeldBytes(limit), [], 0
    while True:
        values.append(b"x" * size)
        if len(values) < held.look_at:
            continue
        looks += 1
        if held.is_much(values, len(values)):
            break
    least = min(FIRST_LOOK, limit // size)
    assert least * size <= len(values) * size <= max(limit + size, FIRST_LOOK * size)
    assert looks <= 20
    held.start()
    assert held.look_at == FIRST_LOOK
