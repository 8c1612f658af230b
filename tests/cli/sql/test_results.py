"""Rows as the mode tableau prints them. Expected texts are what Flink's client prints."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from millrace.cli.sql.results import ClientSettings, streamed, whole
from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.nodes import Field
from millrace.table import TableResult

SETTINGS = ClientSettings(print_time=False, max_width=8)

STREAMED = """\
+----+----------+-------------+
| op |     name |           n |
+----+----------+-------------+
| +I |        a |           1 |
| -U |        a |           1 |
| +U | a lon... |           2 |
+----+----------+-------------+
Received a total of 3 rows"""

EMPTY = """\
+----+----------+-------------+
| op |     name |           n |
+----+----------+-------------+
Received a total of 0 rows"""

WHOLE = """\
+------+--------+
| name |      n |
+------+--------+
|    a |      1 |
|    b | <NULL> |
+------+--------+
2 rows in set"""


def test_every_change_is_a_line(fake_result: Callable[..., TableResult]) -> None:
    result = fake_result([("+I", ("a", 1)), ("-U", ("a", 1)), ("+U", ("a long name", 2))])
    assert "\n".join(streamed(result, SETTINGS, "UTC", 0)) == STREAMED


def test_no_rows(fake_result: Callable[..., TableResult]) -> None:
    assert "\n".join(streamed(fake_result([]), SETTINGS, "UTC", 0)) == EMPTY
    assert list(whole(fake_result([], streaming=False), SETTINGS, "UTC", 0)) == ["Empty set"]


def test_one_row(fake_result: Callable[..., TableResult]) -> None:
    lines = list(streamed(fake_result([("+I", ("a", 1))]), SETTINGS, "UTC", 0))
    assert lines[-1] == "Received a total of 1 row"


def test_a_whole_table_is_as_wide_as_its_content(fake_result: Callable[..., TableResult]) -> None:
    result = fake_result([("+I", ("a", 1)), ("+I", ("b", None))], streaming=False)
    assert "\n".join(whole(result, SETTINGS, "UTC", 0)) == WHOLE


def test_wide_columns_end_in_dots(fake_result: Callable[..., TableResult]) -> None:
    lines = list(whole(fake_result([("+I", ("a long name", 1))], streaming=False), SETTINGS, "UTC", 0))
    assert lines[3] == "| a lon... | 1 |"


def test_the_time_is_told(fake_result: Callable[..., TableResult]) -> None:
    begin = time.monotonic() - 3600
    lines = list(whole(fake_result([], streaming=False), ClientSettings(), "UTC", begin))
    assert lines[-1].startswith("Empty set (3600.")
    assert lines[-1].endswith(" seconds)")


def test_ctrl_c_ends_the_query_and_counts() -> None:
    closed = []

    def rows() -> Iterator[Row]:
        yield Row("a", 1)
        raise KeyboardInterrupt

    columns = (Field("name", t.string()), Field("n", t.IntType()))
    result = TableResult(columns, rows(), close=lambda: closed.append(True))
    lines: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        _read(streamed(result, SETTINGS, "UTC", 0), lines)
    assert lines[-1] == "Query terminated, received a total of 1 row"
    assert closed == [True]


def _read(lines: Iterator[str], into: list[str]) -> None:
    for line in lines:
        into.append(line)


def test_leaving_early_closes_the_query(fake_result: Callable[..., TableResult]) -> None:
    closed = []
    lines = streamed(fake_result([("+I", ("a", 1))] * 5, lambda: closed.append(True)), SETTINGS, "UTC", 0)
    next(lines)
    lines.close()
    assert closed == [True]
