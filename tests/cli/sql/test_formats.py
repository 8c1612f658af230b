"""Rows for other programs, read again by the libraries of their formats."""

from __future__ import annotations

import csv
import datetime as dt
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from millrace.cli.sql import results
from millrace.cli.sql.client import Client
from millrace.cli.sql.results import ROWS, formatted
from millrace.common.types import Row, RowKind
from millrace.relational import types as t
from millrace.relational.nodes import Field
from millrace.table import TableResult

COLUMNS = (
    Field("n", t.IntType()),
    Field("text", t.string()),
    Field("d", t.DecimalType(5, 2)),
    Field("at", t.TimestampType(3)),
    Field("x", t.DoubleType()),
    Field("list", t.ArrayType(t.IntType())),
    Field("r", t.RowType([t.RowField("a", t.IntType()), t.RowField("b", t.DateType())])),
)
WHOLE = (
    *(1, 'a "b", c\nd', Decimal("1.50"), dt.datetime(2026, 1, 2, 3, 4, 5), 0.5, [1, None]),
    Row(a=7, b=dt.date(2026, 1, 2)),
)


def result(closed: list[bool]) -> TableResult:
    def rows() -> Iterator[Row]:
        for kind, values in ((RowKind.INSERT, WHOLE), (RowKind.DELETE, (None,) * 7)):
            row = Row(*values)
            row.set_row_kind(kind)
            yield row

    return TableResult(COLUMNS, rows(), close=lambda: closed.append(True))


def test_csv() -> None:
    closed: list[bool] = []
    lines = list(formatted(result(closed), "csv", "UTC", streaming=True))
    names, first, second = csv.reader("\n".join(lines).splitlines(keepends=True))
    assert names == ["op", "n", "text", "d", "at", "x", "list", "r"]
    assert first[:6] == ["+I", "1", 'a "b", c\nd', "1.50", "2026-01-02 03:04:05.000", "0.5"]
    assert second == ["-D", *[""] * 7]
    assert closed


def test_json() -> None:
    first, second = map(json.loads, formatted(result([]), "json", "UTC", streaming=False))
    assert first == {
        "n": 1,
        "text": 'a "b", c\nd',
        "d": "1.50",
        "at": "2026-01-02 03:04:05.000",
        "x": 0.5,
        "list": [1, None],
        "r": {"a": 7, "b": "2026-01-02"},
    }
    assert second == dict.fromkeys(names for names in first)


@pytest.mark.parametrize("rows", [ROWS, 1])
def test_arrow(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(results, "ROWS", rows)
    closed: list[bool] = []
    parts = list(results.arrow_parts(result(closed), "UTC", streaming=True))
    assert len(parts) == (1 if rows == ROWS else 3)
    table = pa.ipc.open_stream(b"".join(parts)).read_all()
    assert table.schema.names == ["op", "n", "text", "d", "at", "x", "list", "r"]
    assert table.schema.field("d").type == pa.decimal128(5, 2) and table.schema.field("n").type == pa.int32()
    whole = (*WHOLE[:-1], {"a": 7, "b": dt.date(2026, 1, 2)})
    assert list(zip(*table.to_pydict().values(), strict=True)) == [("+I", *whole), ("-D", *[None] * 7)]
    assert closed


def test_arrow_without_rows() -> None:
    (whole,) = results.arrow_parts(TableResult(COLUMNS, iter(())), "UTC", streaming=False)
    assert pa.ipc.open_stream(whole).read_all().num_rows == 0


def test_what_json_has_not() -> None:
    def rows() -> Iterator[Row]:
        yield Row(float("nan"), {1: b"x"})

    columns = (Field("x", t.DoubleType()), Field("m", t.MapType(t.IntType(), t.VarBinaryType(9))))
    (line,) = formatted(TableResult(columns, rows()), "json", "UTC", streaming=False)
    assert json.loads(line) == {"x": "nan", "m": {"1": "78"}}


@pytest.fixture
def run(client: Client, capsys: pytest.CaptureFixture[str]) -> Callable[[str], Any]:
    def run(text: str) -> str:
        client.run(text)
        return capsys.readouterr().out

    return run


def test_lists_and_wrong_values(run: Callable[[str], str]) -> None:
    run("SET 'millrace.sql.output' = 'csv'")
    assert run("SHOW CATALOGS") == "catalog name\ndefault_catalog\n"
    assert run("SHOW CREATE CATALOG default_catalog").startswith("CREATE CATALOG")
    assert "csv" in run("SET 'millrace.sql.output' = 'xml'")
    run("SET 'millrace.sql.output' = 'json'")
    assert json.loads(run("SHOW CATALOGS")) == {"catalog name": "default_catalog"}


def test_bytes_on_standard_output(client: Client, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    client.run("SET 'millrace.sql.output' = 'arrow'")
    capfdbinary.readouterr()
    client.run("SHOW CATALOGS")
    table = pa.ipc.open_stream(capfdbinary.readouterr().out).read_all()
    assert table.to_pydict() == {"catalog name": ["default_catalog"]}
