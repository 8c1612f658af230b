"""Pages of rows."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from millrace.cluster.gateway.operations import LAST, MOST_ROWS, GatewayError, Page, Pages
from millrace.common.types import Row
from millrace.relational.nodes import Field
from millrace.relational.rows import Rows
from millrace.relational.types import BigIntType
from millrace.table.table_result import TableResult

DEADLINE = 120.0


def test_a_page_may_be_fetched_again_and_no_other() -> None:
    pages = Pages([[Row(1)]], streamed=False)
    with pytest.raises(GatewayError, match="Expecting token to be 0, but found 1"):
        pages.fetch(1)
    first = pages.fetch(0)
    assert first == Page((Row(1),), False)
    assert pages.fetch(0) is first
    assert pages.fetch(1) is LAST
    assert pages.fetch(0) is first
    with pytest.raises(GatewayError, match="Expecting token to be 1 or 0, but found 2"):
        pages.fetch(2)


def test_rows_wait_for_whoever_fetches_them() -> None:
    read = 0

    def rows() -> Iterator[list[Row]]:
        nonlocal read
        for n in range(3 * MOST_ROWS):
            read += 1
            yield [Row(n)]

    pages = Pages(rows(), streamed=True)
    found: list[int] = []
    token = 0
    while not (page := pages.fetch(token)).is_last:
        assert len(page.rows) <= MOST_ROWS
        found += [row[0] for row in page.rows]
        assert read <= len(found) + MOST_ROWS + 1
        token += 1
    assert found == list(range(3 * MOST_ROWS))


def test_a_reader_ends_when_the_pages_are_closed() -> None:
    ended = threading.Event()

    def rows() -> Iterator[list[Row]]:
        try:
            for n in range(10**9):
                yield [Row(n)]
        finally:
            ended.set()

    pages = Pages(rows(), streamed=True)
    pages.close()
    assert ended.wait(DEADLINE)


def test_rows_that_come_together_are_on_one_page() -> None:
    fetched, token = [], 0
    pages = Pages(([Row(n), Row(n, "too")] for n in range(1000)), streamed=True)
    while not (page := pages.fetch(token)).is_last:
        assert len(page.rows) % 2 == 0
        fetched += page.rows
        token += 1
    assert fetched == [row for n in range(1000) for row in (Row(n), Row(n, "too"))]


def test_the_rows_of_a_batch_are_in_lists() -> None:
    batches = [Rows(pa.record_batch({"c0": range(3)})), Rows(pa.record_batch({"c0": [3]}))]
    result = TableResult((Field("n", BigIntType()),), (), batches=iter(batches))
    assert [[row[0] for row in together] for together in result._lists(2)] == [[0, 1], [2], [3]]
    assert list(TableResult((), [Row(1), Row(2)])._lists(5)) == [[Row(1)], [Row(2)]]
