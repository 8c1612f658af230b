"""Which Parquet files Spark reads itself, and that it reads the same rows as our own reader."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millrace.connectors.file_system.table.filesystem_table import FileSystemFactory
from millrace.relational import types as t
from millrace.relational.nodes import Field
from millrace.relational.rex import Call, Literal, Ref
from millrace.relational.sources import TableContext, TableSource
from millrace.spark.tables.nodes import leaves
from millrace.spark.tables.nodes.leaves import parquet_rows, read_source
from millrace.spark.tables.steps.context import Context

pytestmark = pytest.mark.spark
COLUMNS = {
    "id": (t.BigIntType(), pa.int64(), [1, -(2**63), None]),
    "small": (t.TinyIntType(), pa.int8(), [127, -128, None]),
    "name": (t.VarCharType(5), pa.string(), ["longer than five", "", None]),
    "price": (t.DecimalType(15, 2), pa.decimal128(15, 2), [Decimal("1.50"), Decimal("-9999999999999.99"), None]),
    "day": (t.DateType(), pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    "rate": (t.DoubleType(), pa.float64(), [-0.0, float("inf"), None]),
    "raw": (t.VarBinaryType(10), pa.binary(), [b"\0\xff", b"", None]),
    "yes": (t.BooleanType(), pa.bool_(), [True, False, None]),
}
DATA = pa.table({name: pa.array(values, kind) for name, (_, kind, values) in COLUMNS.items()})


def source(path: Path, partitions: tuple[str, ...] = (), **others: t.DataType) -> TableSource:
    """A table with the columns above, some of which may have another type."""
    fields = tuple(Field(name, others.get(name, kind)) for name, (kind, _, _) in COLUMNS.items())
    options = {"connector": "filesystem", "format": "parquet", "path": str(path)}
    table = TableContext(("c", "d", "files"), fields, options=options, partition_keys=partitions, streaming=False)
    return FileSystemFactory().source(table)


def rows(frame: Any) -> list[str]:
    return sorted(map(repr, frame.collect()))


def test_the_same_rows(tmp_path: Path, context: Context) -> None:
    """In another order of columns than in the file, from two files."""
    pq.write_table(DATA, tmp_path / "a.parquet")
    pq.write_table(DATA.slice(1).select(list(reversed(DATA.column_names))), tmp_path / "b.parquet", compression="gzip")
    (tmp_path / "_hidden.parquet").write_text("no table")
    columns = (3, 0, 2, 7, 1, 4, 6, 5)
    read = parquet_rows(source(tmp_path), columns, (), context)
    assert read is not None and "FileScan parquet" in read.frame._jdf.queryExecution().toString()
    types = [list(COLUMNS.values())[at][0] for at in columns]
    assert rows(read.frame) == rows(read_source(source(tmp_path).stream(columns), types, "files", context).frame)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (DATA.set_column(0, "id", DATA["small"].cast(pa.int32())), "a.parquet"),
        (DATA.drop_columns(["id"]), "a.parquet"),
        (DATA.set_column(0, "ID", DATA["id"]), "a.parquet"),
        (DATA, "a[1].parquet"),
    ],
    ids=["another type", "no such column", "another name", "a pattern of Spark's"],
)
def test_what_our_own_reader_reads(given: pa.Table, name: str, tmp_path: Path, context: Context) -> None:
    pq.write_table(given, tmp_path / name)
    assert parquet_rows(source(tmp_path), (0, 2), (), context) is None


def test_texts_that_are_not_utf_8(tmp_path: Path, context: Context) -> None:
    """Our own reader says it, and so does Spark, which by itself would hand on any bytes."""
    wrong = pa.array([b"right", b"\xff\xfe wrong", None], pa.binary()).view(pa.string())
    pq.write_table(DATA.set_column(2, "name", wrong), tmp_path / "a.parquet")
    read = parquet_rows(source(tmp_path), (0, 2), (), context)
    assert read is not None
    with pytest.raises(Exception, match=r"UTF-?8"):
        read.frame.collect()
    with pytest.raises(Exception, match=r"UTF-?8"):
        read_source(source(tmp_path).stream((2,)), [COLUMNS["name"][0]], "files", context).frame.collect()
    other = parquet_rows(source(tmp_path), (0,), (), context)
    assert other is not None and other.frame.count() == 3


def test_texts_that_equal_a_constant_are_compared_in_the_file(tmp_path: Path, context: Context) -> None:
    pq.write_table(DATA, tmp_path / "a.parquet")
    name = COLUMNS["name"][0]
    equal = Call(t.BooleanType(), "=", (Ref(name, 2), Literal(name, "")))
    read = parquet_rows(source(tmp_path), (2,), (equal,), context)
    assert read is not None
    plan = read.frame.where("c0 = ''")._jdf.queryExecution().toString()
    assert "EqualTo(name,)" in plan and "validate" not in plan.lower()
    assert [row[0] for row in read.frame.where("c0 = ''").collect()] == [""]


def test_pages_are_looked_at_once_for_each_column(
    tmp_path: Path, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(DATA, tmp_path / "a.parquet")
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(leaves, "is_modest", lambda path, names: not asked.append(tuple(names)))
    for columns in ((0, 2), (2, 0), (2, 3), (3,), (), ()):
        assert parquet_rows(source(tmp_path), columns, (), context) is not None
    assert asked == [("id", "name"), ("price",), ()]


def test_files_that_are_broken_or_differ(tmp_path: Path, context: Context) -> None:
    pq.write_table(DATA, tmp_path / "a.parquet")
    assert parquet_rows(source(tmp_path), (0,), (), context) is not None
    (tmp_path / "b.parquet").write_text("no table")
    assert parquet_rows(source(tmp_path), (0,), (), context) is None


def test_tables_of_other_kinds(tmp_path: Path, context: Context) -> None:
    (tmp_path / "yes=true").mkdir()
    pq.write_table(DATA.drop_columns(["yes"]), tmp_path / "yes=true" / "a.parquet")
    of_partitions = source(tmp_path, ("yes",))
    assert parquet_rows(of_partitions, (0, 7), (), context) is None
    assert parquet_rows(of_partitions, (0, 1), (), context) is not None
    times = source(tmp_path, ("yes",), id=t.TimestampType(6))
    assert parquet_rows(times, (0,), (), context) is None
    pq.write_table(DATA.drop_columns(["yes"]), tmp_path / "yes=true" / "b.parquet", compression="brotli")
    assert parquet_rows(of_partitions, (0, 1), (), context) is None


def test_a_file_that_is_made_to_do_harm(tmp_path: Path, context: Context) -> None:
    """Spark's JVM would read a page of any size at once, and end where its heap is too small."""
    rows = 40_000_000
    one_page = {"data_page_size": 1 << 30, "write_batch_size": rows, "max_rows_per_page": rows}
    zeros = pa.table({"id": pa.chunked_array([np.zeros(rows, dtype="int64")])})
    path = tmp_path / "a.parquet"
    pq.write_table(zeros, path, use_dictionary=False, compression="zstd", row_group_size=rows, **one_page)
    assert path.stat().st_size < 50_000
    assert parquet_rows(source(tmp_path), (0,), (), context) is None
    read = read_source(source(tmp_path).stream((0,)), [t.BigIntType()], "files", context).frame
    with pytest.raises(Exception, match=r"a\.parquet, after row 0: row group 0, column 'id', page 0 is larger than"):
        read.collect()
    pq.write_table(DATA, path)
    assert parquet_rows(source(tmp_path), (0,), (), context) is not None
