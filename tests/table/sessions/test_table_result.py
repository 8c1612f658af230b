"""Results as Flink prints them: the frames are those of Flink's documentation."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from millrace.common.types import Row, RowKind
from millrace.relational.nodes import Field
from millrace.table import DataTypes as D
from millrace.table import ResultKind
from millrace.table.sessions.table_result import TableResult, done, listing
from millrace.table.values.printed_tables import row_texts

CHANGES = """\
+----+-------------+-------------+--------------------------------+
| op | boolean_col |     int_col |                    varchar_col |
+----+-------------+-------------+--------------------------------+
| +I |        TRUE |           1 |                            abc |
| -U |       FALSE |           2 |                            def |
| +U |       FALSE |           3 |                       你好世界 |
| -D |      <NULL> |      <NULL> | abcdefghijklmnopqrstuvwxyza... |
+----+-------------+-------------+--------------------------------+
4 rows in set
"""


def test_a_changelog(capsys: pytest.CaptureFixture[str]) -> None:
    columns = (
        Field("boolean_col", D.BOOLEAN()), Field("int_col", D.INT()), Field("varchar_col", D.STRING())
    )  # fmt: skip
    rows = [
        Row.of_kind(RowKind.INSERT, True, 1, "abc"),
        Row.of_kind(RowKind.UPDATE_BEFORE, False, 2, "def"),
        Row.of_kind(RowKind.UPDATE_AFTER, False, 3, "你好世界"),
        Row.of_kind(RowKind.DELETE, None, None, "abcdefghijklmnopqrstuvwxyzabcdefgh"),
    ]
    TableResult(columns, rows, layout="types", with_kinds=True).print()
    assert capsys.readouterr().out == CHANGES


def test_a_listing_is_as_wide_as_its_content(capsys: pytest.CaptureFixture[str]) -> None:
    listing((Field("catalog name", D.STRING()), Field("x", D.STRING())), [("default_catalog", None)]).print()
    frame = "+-----------------+---+"
    lines = [frame, "|    catalog name | x |", frame, "| default_catalog |   |", frame, "1 row in set", ""]
    assert capsys.readouterr().out == "\n".join(lines)


def test_no_rows(capsys: pytest.CaptureFixture[str]) -> None:
    listing((Field("a", D.STRING()),), []).print()
    TableResult((Field("a", D.INT()),), [], layout="types").print()
    assert capsys.readouterr().out == "Empty set\nEmpty set\n"


def test_ok(capsys: pytest.CaptureFixture[str]) -> None:
    result = done()
    result.print()
    assert capsys.readouterr().out == "OK\n"
    assert result.get_result_kind() is ResultKind.SUCCESS
    assert result.get_job_client() is None


def test_collect_gives_rows_once_and_closes() -> None:
    closed: list[bool] = []
    result = TableResult((Field("a", D.INT()),), [Row(1), Row(2)], close=lambda: closed.append(True))
    with result.collect() as rows:
        assert rows.next() == Row(1)
        assert list(rows) == [Row(2)]
    assert closed == [True]
    assert list(result.collect()) == []


MOMENT = dt.datetime(2020, 1, 2, 3, 4, 5, 120000)
CELLS: list[tuple[Any, Any, str]] = [
    (D.BOOLEAN(), True, "TRUE"),
    (D.DOUBLE(), 1.0, "1.0"),
    (D.FLOAT(), 0.1, "0.1"),
    (D.DECIMAL(10, 2), Decimal("1.5"), "1.50"),
    (D.BYTES(), b"hello", "x'68656c6c6f'"),
    (D.DATE(), dt.date(2020, 1, 2), "2020-01-02"),
    (D.TIME(0), dt.time(3, 4, 5), "03:04:05"),
    (D.TIMESTAMP(3), MOMENT, "2020-01-02 03:04:05.120"),
    (D.TIMESTAMP(0), MOMENT, "2020-01-02 03:04:05"),
    (D.TIMESTAMP(9), MOMENT, "2020-01-02 03:04:05.120000000"),
    (D.TIMESTAMP_LTZ(3), MOMENT.replace(tzinfo=dt.timezone.utc), "2020-01-02 04:04:05.120"),
    (D.INTERVAL(D.SECOND()), dt.timedelta(days=1, seconds=61), "+1 00:01:01.000"),
    (D.INTERVAL(D.YEAR(), D.MONTH()), -14, "-1-02"),
    (D.ARRAY(D.STRING()), ["a", None], "[a, NULL]"),
    (D.MAP(D.STRING(), D.INT()), {"a": 1}, "{a=1}"),
    (D.MULTISET(D.STRING()), {"a": 2}, "{a=2}"),
    (D.ROW([D.FIELD("x", D.INT()), D.FIELD("y", D.STRING())]), Row(1, None), "(1, NULL)"),
    (D.INT(), None, "<NULL>"),
]


@pytest.mark.parametrize(("kind", "value", "text"), CELLS, ids=[str(each[0]) for each in CELLS])
def test_cells(kind: Any, value: Any, text: str) -> None:
    assert row_texts([kind], "Europe/Berlin")([value]) == [text]
