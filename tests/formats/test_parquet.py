"""Parquet: row groups, positions and types."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.time import Instant
from millrace.common.typeinfo import Types
from millrace.common.types import Row
from millrace.connectors.file_system import BucketAssigner, FileEnumeratorProvider, FileSink, FileSource
from millrace.datastream.formats.parquet import (
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
)
from millrace.formats.arrow_rows import arrow_schema, arrow_type, row_type_info
from millrace.relational import types as t
from millrace.testing.connectors.runtime import SinkRun, SourceRun, read_all


def source(path: Path, row_type: Any = None, split_size: int | None = None, **options: Any) -> FileSource[Row]:
    builder = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(row_type, **options), str(path))
    return builder.set_file_enumerator(FileEnumeratorProvider(True, split_size)).build()


def write(base: Path, row_type: Any, *epochs: list[Any]) -> None:
    sink = FileSink.for_bulk_format(str(base), ParquetBulkWriters.for_row_type(row_type))
    run = SinkRun(sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())
    for elements in epochs:
        run.epoch(elements)
    run.epoch([], end=True)


TYPES = {
    "s": (Types.STRING(), "ü"),
    "b": (Types.BOOLEAN(), True),
    "i8": (Types.BYTE(), -5),
    "l": (Types.LONG(), 2**63 - 1),
    "f": (Types.FLOAT(), 0.5),
    "d": (Types.DOUBLE(), 0.1),
    "dec": (Types.BIG_DEC(), Decimal("1.500000000000000000")),
    "n": (Types.BIG_INT(), 10**40),
    "day": (Types.SQL_DATE(), dt.date(2024, 2, 29)),
    "time": (Types.SQL_TIME(), dt.time(1, 2, 3)),
    "at": (Types.SQL_TIMESTAMP(), dt.datetime(2024, 2, 29, 1, 2, 3, 4000)),
    "moment": (Types.INSTANT(), Instant(-1, 500_000_000)),
    "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00\xff"),
    "list": (Types.LIST(Types.INT()), [1, None]),
    "map": (Types.MAP(Types.STRING(), Types.INSTANT()), {"k": Instant(3, 0), "z": None}),
    "row": (Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.LIST(Types.STRING())]), Row(x=1, y=["a"])),
}
TYPE = Types.ROW_NAMED(list(TYPES), [type_ for type_, _ in TYPES.values()])
ROW = Row(**{name: value for name, (_, value) in TYPES.items()})
NONE = Row(**dict.fromkeys(TYPES))


@pytest.mark.parametrize("row_type", [TYPE, None, arrow_schema(TYPE)])
def test_every_type_both_ways(tmp_path: Path, row_type: Any) -> None:
    write(tmp_path, TYPE, [ROW, NONE, ROW.as_dict()], [tuple(ROW)])
    assert read_all(source(tmp_path, row_type)) in ([ROW, NONE, ROW, ROW], [ROW, ROW, NONE, ROW])
    produced = source(tmp_path, row_type).get_produced_type()
    assert produced == (None if row_type is None else TYPE)
    assert row_type_info(arrow_schema(TYPE)).get_field_names() == list(TYPES)


@given(
    st.lists(st.integers(1, 30), max_size=6),
    st.integers(1, 400),
    st.integers(1, 3),
    st.lists(st.integers(1, 9), max_size=12),
    st.integers(1, 40),
)
def test_rows_are_read_once_however_they_are_cut(
    tmp_path_factory: pytest.TempPathFactory,
    groups: list[int],
    split_size: int,
    parallelism: int,
    cuts: list[int],
    batch_size: int,
) -> None:
    path = tmp_path_factory.mktemp("parquet") / "x.parquet"
    schema = pa.schema([("n", pa.int64())])
    with pq.ParquetWriter(path, schema) as writer:
        start = 0
        for size in groups:
            writer.write_table(pa.table({"n": range(start, start + size)}, schema=schema))
            start += size
    file_source = source(path, split_size=split_size)
    file_source._format._batch_size = batch_size  # type: ignore[attr-defined]
    by_subtask = SourceRun(file_source, parallelism).to_end(iter(cuts))
    numbers = [row.n for rows in by_subtask for row in rows]
    assert sorted(numbers) == list(range(start))
    if parallelism == 1:
        assert numbers == list(range(start))


def test_projection(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"A": [1, 2], "b": ["x", "y"], "ns": pa.array([1, None], pa.timestamp("ns"))}), tmp_path / "x"
    )
    row_type = Types.ROW_NAMED(["b", "missing", "a"], [Types.STRING(), Types.INT(), Types.DOUBLE()])
    assert read_all(source(tmp_path, row_type))[0] == Row(b="x", missing=None, a=None)
    rows = read_all(source(tmp_path, row_type, is_case_sensitive=False))
    assert rows == [Row(b="x", missing=None, a=1.0), Row(b="y", missing=None, a=2.0)]
    assert read_all(source(tmp_path))[0] == Row(A=1, b="x", ns=dt.datetime(1970, 1, 1))
    only_missing = Types.ROW_NAMED(["z"], [Types.INT()])
    assert read_all(source(tmp_path, only_missing)) == [Row(z=None)] * 2
    with pytest.raises(ValueError, match=r"column 'b' \(string\) can't be read as int32"):
        read_all(source(tmp_path, Types.ROW_NAMED(["b"], [Types.INT()])))


def test_errors(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("text")
    with pytest.raises(ValueError, match=r"x: not a Parquet file"):
        read_all(source(tmp_path))
    with pytest.raises(TypeError, match="a row type is needed"):
        ParquetColumnarRowInputFormat(Types.INT())
    with pytest.raises(TypeError, match="not a type that formats know: 'int'"):
        arrow_type("int")
    with pytest.raises(ValueError, match=r"field 'a' \(int32\): "):
        write(tmp_path, Types.ROW_NAMED(["a"], [Types.INT()]), [Row(a="text")])


def test_a_writer_writes_large_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millrace.formats.parquet.ROW_GROUP", 10)
    row_type = Types.ROW_NAMED(["a"], [Types.INT()])
    factory = pickle.loads(pickle.dumps(ParquetBulkWriters.for_row_type(row_type)))
    assert factory.get_row_type() == row_type
    write(tmp_path, row_type, [Row(a=n) for n in range(25)])
    (path,) = tmp_path.iterdir()
    file = pq.ParquetFile(path)
    assert [file.metadata.row_group(n).num_rows for n in range(file.metadata.num_row_groups)] == [10, 10, 5]


def test_table_types_are_known() -> None:
    row = t.RowType([t.RowField("a", t.ArrayType(t.IntType()))])
    assert arrow_schema(row) == pa.schema([("a", pa.list_(pa.int32()))])
    assert arrow_type(t.DecimalType(10, 2)) == pa.decimal128(10, 2)
    assert arrow_type(t.MapType(t.VarCharType(5), t.LocalZonedTimestampType())) == pa.map_(
        pa.string(), pa.timestamp("us", "UTC")
    )


@pytest.mark.parametrize("kind", [t.RawType(), t.ArrayType(t.NullType()), t.ZonedTimestampType()], ids=str)
def test_table_types_that_files_do_not_have(kind: t.DataType) -> None:
    with pytest.raises(TypeError, match="not a type that formats know"):
        arrow_type(kind)


OLD_TIMES = [dt.datetime(1, 1, 1, 0, 0, 0, 5), dt.datetime(1500, 2, 3, 4, 5, 6, 7), dt.datetime(9999, 12, 31, 23, 59)]


@pytest.mark.parametrize("row_type", [None, Types.ROW_NAMED(["at"], [Types.SQL_TIMESTAMP()])])
def test_times_in_96_bits_are_those_that_were_written(tmp_path: Path, row_type: Any) -> None:
    """As Spark and Hive write them; nanoseconds in 64 bits reach from 1677 to 2262 only."""
    table = pa.table({"at": pa.array(OLD_TIMES, pa.timestamp("us"))})
    pq.write_table(table, tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
    assert [row.at for row in read_all(source(tmp_path, row_type))] == OLD_TIMES
