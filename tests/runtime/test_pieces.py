"""Pieces: how large they are, and where elements are cut."""

from __future__ import annotations

from random import Random
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.types import Row, RowKind
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Rows, count, record_batch
from millrace.runtime.elements import (
    BRIEF_NANOSECONDS,
    FIRST_ROWS,
    INTERVAL_MS,
    MOST_BRIEF,
    MOST_CALLED,
    PIECE_NANOSECONDS,
    Chunk,
    Cutter,
    Midst,
    Pause,
    PieceSize,
    piece_size,
)

COSTS = st.lists(st.tuples(st.floats(0.1, 1.0), st.integers(0, 10**10)), max_size=40)
"""(part of the piece's size that there is, what it takes)"""

# -- how large --------------------------------------------------------------------------------------------------------


@given(st.integers(1, 5_000), COSTS)
def test_a_size_at_most_doubles_and_falls_at_once(most: int, costs: list[tuple[float, int]]) -> None:
    size = PieceSize(most)
    assert size.size == 1
    slowest = 0
    for part, nanoseconds in costs:
        before = size.size
        elements = max(1, int(before * part))
        size.took(elements, nanoseconds)
        assert 1 <= size.size <= min(2 * before, most)
        assert size.wanted <= max(size.size, min(MOST_BRIEF, BRIEF_NANOSECONDS * elements // max(nanoseconds, 1)))
        if nanoseconds > max(PIECE_NANOSECONDS, 1.5 * slowest):
            assert size.size <= max(2, elements * PIECE_NANOSECONDS // nanoseconds)
            assert size.has_fallen
        elif nanoseconds <= PIECE_NANOSECONDS:
            assert size.size >= before, "what was fast enough is never a reason for less"
        slowest = max(slowest, nanoseconds)


@given(st.integers(1, 200_000))
def test_elements_that_cost_the_same_come_to_pieces_of_10_ms(nanoseconds: int) -> None:
    size = PieceSize(100_000)
    for _ in range(60):
        size.took(size.size, size.size * nanoseconds)
    fitting = min(PIECE_NANOSECONDS // nanoseconds, 100_000)
    assert fitting - 1 <= size.size <= fitting


def test_a_slow_element_is_a_piece_of_its_own_the_next_time() -> None:
    size = PieceSize()
    for _ in range(8):
        size.took(size.size, 1_000)
    assert size.size == 256
    size.took(256, 256 * 100_000_000)
    assert (size.size, size.has_fallen) == (2, True), "two are tried, the first time"
    size.took(2, 200_000_000)
    for _ in range(50):
        assert (size.size, size.has_fallen) == (1, True)
        size.took(1, 100_000_000)
    for _ in range(3):
        size.took(size.size, 1_000)
    assert (size.size, size.has_fallen) == (8, True)
    while size.size < size.most:
        size.took(size.size, 1_000)
    assert not size.has_fallen


def test_a_small_piece_says_nothing_of_large_ones() -> None:
    size = PieceSize()
    for _ in range(4):
        size.took(size.size, 1_000)
    size.took(3, 9_000_000)
    assert size.size == 16
    size.took(3, 20_000_000)
    assert size.size == 2


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("noise", [0, 1, 5])
@pytest.mark.parametrize("fixed_ms", [1, 7, 15, 40, 120, 300])
def test_pieces_of_which_most_is_fixed_grow(fixed_ms: int, noise: int, rows: bool) -> None:
    """A microsecond an element, and much for none: what the elements take is a part of it in the end."""
    size, draw = piece_size(calls_for_each=not rows), Random(fixed_ms)
    taken = []
    for _ in range(600):
        taken.append(size.size)
        size.took(size.size, int(fixed_ms * 1e6 * (1 + noise * draw.random())) + size.size * 1_000)
    assert median(taken[100:]) * 1_000 >= min(fixed_ms * 1_000_000 // 10, size.most * 500)


@pytest.mark.parametrize("noise", [0, 0.1, 0.3])
@pytest.mark.parametrize("each_ms", [11, 50, 100, 500])
def test_pieces_of_slow_elements_stay_small(each_ms: int, noise: float) -> None:
    size, draw = PieceSize(), Random(each_ms)
    taken = []
    for _ in range(600):
        taken.append(size.size)
        size.took(size.size, int(size.size * each_ms * 1e6 * (1 + noise * draw.uniform(-1, 1))))
    assert sum(each > 1 for each in taken) <= 60
    assert max(taken) <= 8


def test_there_is_room_for_what_was_tried_and_as_much_again() -> None:
    size = piece_size(calls_for_each=True)
    while size.size < size.most:
        size.took(size.size, 1_000)
    assert size.wanted == size.size == MOST_CALLED
    size.took(10, 20_000_000)
    assert size.wanted == size.size == 5
    size = PieceSize(first=100)
    assert size.wanted == 0
    size.took(40, 1_000)
    assert (size.size, size.wanted) == (100, 80)


@pytest.mark.parametrize(("nanoseconds", "room"), [(50_000, MOST_BRIEF), (1_000_000, 4), (5_000_000, 1), (10**9, 1)])
def test_there_is_room_for_a_few_that_are_quick(nanoseconds: int, room: int) -> None:
    size = piece_size(calls_for_each=True)
    for _ in range(3):
        size.took(1, nanoseconds)
    assert max(size.wanted, 1) == max(room, min(size.size, 2))
    assert piece_size(True, 5).most == 5


def test_columns_have_room_for_what_their_pace_allows() -> None:
    size = piece_size(calls_for_each=False)
    assert (size.size, size.wanted) == (FIRST_ROWS, 0)
    size.took(2, 1_000_000)
    assert size.wanted == 200, "2 ms of 100"
    size.took(2, 100_000_000)
    assert size.wanted == 4
    size.took(20, 200_000_000)
    assert size.wanted == size.size == 10


def test_what_suits_operators() -> None:
    called, columns, wanted = piece_size(True), piece_size(False), piece_size(True, 5)
    assert (called.size, called.most) == (1, MOST_CALLED)
    assert columns.size == FIRST_ROWS
    assert (wanted.size, wanted.most) == (5, 5)


# -- where ------------------------------------------------------------------------------------------------------------

UPDATES = st.sampled_from(
    [[INSERT], [DELETE], [UPDATE_AFTER], [UPDATE_BEFORE, UPDATE_AFTER], [UPDATE_BEFORE] * 3 + [UPDATE_AFTER] * 3]
)
"""kinds of changes that belong together: also updates without old rows, and all old rows before all new ones"""
BLOCKS = st.lists(UPDATES, min_size=1, max_size=8)


def pieces_of(chunk: Chunk, most: int) -> list[Chunk]:
    found: list[Chunk] = []
    cutter = Cutter(chunk)
    while cutter.elements:
        before, left = cutter.elements, cutter.left
        assert count(left.values) == before
        piece = cutter.take(most)
        taken = count(piece.values)
        assert taken >= min(most, before)
        assert cutter.elements == before - taken
        found.append(piece)
    return found


def ends_of(blocks: list[list[int]]) -> set[int]:
    return set(np.cumsum([0, *map(len, blocks)]).tolist())


@given(st.lists(st.integers(), min_size=1), st.integers(1, 9), st.booleans(), st.booleans())
def test_elements_stay_in_order_with_their_times_and_keys(
    values: list[int], most: int, timed: bool, keyed: bool
) -> None:
    chunk = Chunk(values, [v + 1 for v in values] if timed else None, [v + 2 for v in values] if keyed else None)
    found = pieces_of(chunk, most)
    assert [value for piece in found for value in piece.values] == values
    for piece in found:
        assert piece.timestamps == ([v + 1 for v in piece.values] if timed else None)
        assert piece.keys == ([v + 2 for v in piece.values] if keyed else None)
    assert all(len(piece) == most for piece in found[:-1])


@given(BLOCKS, st.integers(1, 9))
def test_the_rows_of_an_update_stay_together(blocks: list[list[int]], most: int) -> None:
    """``Row`` elements: an old row comes right before its new one."""
    rows = [Row(number) for number in range(sum(map(len, blocks)))]
    for row, kind in zip(rows, (kind for block in blocks for kind in block)):
        row.set_row_kind(RowKind(kind))
    found = pieces_of(Chunk(list(rows)), most)
    assert [row for piece in found for row in piece.values] == rows
    for piece in found[:-1]:
        assert piece.values[-1].get_row_kind() is not RowKind.UPDATE_BEFORE


def batches_of(blocks: list[list[int]], sizes: list[int], kinds: bool) -> list[Rows]:
    """Batches of rows with their numbers, also such without rows."""
    flat = [kind for block in blocks for kind in block]
    found, start = [], 0
    for size in [*sizes, len(flat)]:
        part = flat[start : start + size]
        column = pa.array(range(start, start + len(part)), pa.int64())
        found.append(Rows(record_batch([column], len(part)), np.array(part, np.uint8) if kinds else None))
        start += len(part)
    return found


def numbers_of(piece: Chunk) -> list[tuple[Any, int]]:
    return [
        (number, kind)
        for rows in piece.values
        for number, kind in zip(rows.columns[0].to_pylist(), rows.kind_values().tolist())
    ]


@given(BLOCKS, st.integers(1, 9), st.lists(st.integers(0, 5), max_size=4))
def test_batches_are_cut_where_no_old_row_waits_for_its_new_one(
    blocks: list[list[int]], most: int, sizes: list[int]
) -> None:
    """Blocks of old rows and their new ones in one batch; between two batches at least old and new row."""
    flat = list(enumerate(kind for block in blocks for kind in block))
    found = pieces_of(Chunk(list(batches_of(blocks, [], True))), most)
    assert [each for piece in found for each in numbers_of(piece)] == flat
    ends = np.cumsum([count(piece.values) for piece in found]).tolist()
    if [UPDATE_AFTER] not in blocks:
        assert set(ends) <= ends_of(blocks)
    assert all(numbers_of(piece)[-1][1] != UPDATE_BEFORE for piece in found)

    found = pieces_of(Chunk(list(batches_of(blocks, sizes, True))), most)
    assert [each for piece in found for each in numbers_of(piece)] == flat
    assert all(numbers_of(piece)[-1][1] != UPDATE_BEFORE for piece in found)


@given(BLOCKS, st.integers(1, 9), st.lists(st.integers(0, 5), max_size=4))
def test_batches_without_kinds_are_cut_anywhere(blocks: list[list[int]], most: int, sizes: list[int]) -> None:
    rows = sum(map(len, blocks))
    found = pieces_of(Chunk(list(batches_of(blocks, sizes, False))), most)
    assert [number for piece in found for number, _ in numbers_of(piece)] == list(range(rows))
    assert [count(piece.values) for piece in found[:-1]] == [most] * (len(found) - 1)


# -- watermarks between pieces ----------------------------------------------------------------------------------------


def test_a_watermark_comes_behind_the_last_piece_or_after_a_while() -> None:
    midst, pause = Midst(), Pause()
    assert not midst
    midst.enter()
    midst.enter()
    assert midst
    assert not pause.is_over(1_000, midst)
    assert not pause.is_over(1_000 + INTERVAL_MS - 1, midst)
    assert pause.is_over(1_000 + INTERVAL_MS, midst)
    assert not pause.is_over(1_000 + INTERVAL_MS + 1, midst)
    midst.leave()
    assert midst
    midst.leave()
    assert not midst
    assert pause.is_over(1_000 + INTERVAL_MS + 1, midst)
    pause.ends(5_000)
    midst.enter()
    assert not pause.is_over(5_000 + INTERVAL_MS - 1, midst)
