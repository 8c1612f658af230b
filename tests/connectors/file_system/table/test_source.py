"""Reading tables of files; the files are written by pyarrow."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.connectors.tables.filesystem.tables import COLUMNS, context, plain, read, source

from millrace.common.source import Boundedness
from millrace.connectors.file_system.file_stream import RecordError
from millrace.connectors.file_system.table import table_format
from millrace.formats import avro_records
from millrace.relational.nodes import Field
from millrace.relational.rex import Call, Literal, Ref, Rex
from millrace.table import DataTypes as D
from millrace.testing.connectors.runtime import Clock, SourceRun

WRITE = {"parquet": pq.write_table, "orc": orc.write_table}


def write(path: Path, format: str = "parquet", **columns: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    WRITE[format](pa.table(columns), path)


def compare(place: int, name: str, value: Any, columns: Any = COLUMNS) -> Rex:
    return Call(D.BOOLEAN(), name, (Ref(columns[place].type, place), Literal(columns[place].type, value)))


@pytest.mark.parametrize("format", WRITE)
def test_columns_are_found_by_name_and_cast(tmp_path: Path, format: str) -> None:
    write(tmp_path / "a", format, extra=[0.5, 0.5], name=["x", None], id=pa.array([1, 2], pa.int64()))
    assert read(context(tmp_path, format=format)) == [(1, "x", None), (2, None, None)]


@pytest.mark.parametrize("format", WRITE)
def test_a_value_that_does_not_fit_is_an_error_with_its_file(tmp_path: Path, format: str) -> None:
    write(tmp_path / "a", format, id=pa.array([2**40], pa.int64()))
    with pytest.raises(RecordError, match=rf"{tmp_path}/a: column 'id' \(int64\) cannot be read as INT"):
        read(context(tmp_path, format=format))


@pytest.mark.parametrize("format", WRITE)
def test_a_file_of_another_format(tmp_path: Path, format: str) -> None:
    (tmp_path / "a").write_text("something else")
    with pytest.raises(RecordError, match=f"{tmp_path}/a: not an? (Parquet|ORC) file"):
        read(context(tmp_path, format=format))


def test_times_that_cannot_be_read_are_an_error_with_their_file(tmp_path: Path) -> None:
    write(tmp_path / "a", "orc", at=pa.array([dt.datetime(9999, 1, 1)], pa.timestamp("us")))
    with pytest.raises(RecordError, match=rf"{tmp_path}/a, after row 0: .*out of range"):
        read(context(tmp_path, (Field("at", D.TIMESTAMP(6)),), format="orc"))


def test_a_file_that_is_damaged(tmp_path: Path) -> None:
    write(tmp_path / "a", id=list(range(1000)))
    data = bytearray((tmp_path / "a").read_bytes())
    data[4:200] = bytes(196)
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(RecordError, match=f"{tmp_path}/a, after row 0: "):
        read(context(tmp_path), [0])


def partitioned(folder: Path) -> None:
    for day, hour, numbers in (("2024-05-06", 1, [1, 2]), ("2024-05-06", 2, [3]), ("2024-05-07", 1, [4])):
        write(folder / f"dt={day}" / f"hr={hour}" / "part", id=numbers, name=[f"n{each}" for each in numbers])
    write(folder / "dt=__DEFAULT_PARTITION__" / "hr=3" / "part", id=[5], name=["n5"])
    (folder / "dt=2024-05-06" / "hr=1" / "_SUCCESS").touch()


BY_DAY = (Field("id", D.INT()), Field("dt", D.DATE()), Field("name", D.STRING()), Field("hr", D.INT()))
DAY = dt.date(2024, 5, 6)


def test_partitions_are_columns(tmp_path: Path) -> None:
    partitioned(tmp_path)
    table = context(tmp_path, BY_DAY, ["dt", "hr"])
    assert sorted(read(table)) == [
        (1, DAY, "n1", 1),
        (2, DAY, "n2", 1),
        (3, DAY, "n3", 2),
        (4, dt.date(2024, 5, 7), "n4", 1),
        (5, None, "n5", 3),
    ]
    assert sorted(read(table, [3, 0])) == [(1, 1), (1, 2), (1, 4), (2, 3), (3, 5)]
    assert sorted(read(table, [3])) == [(1,), (1,), (1,), (2,), (3,)]


CONDITIONS: list[tuple[list[Rex], set[int]]] = [
    ([compare(1, "=", DAY, BY_DAY)], {1, 2, 3}),
    ([compare(3, ">", 1, BY_DAY)], {3, 5}),
    ([compare(1, "=", DAY, BY_DAY), compare(3, "=", 2, BY_DAY)], {3}),
    ([Call(D.BOOLEAN(False), "IS NULL", (Ref(D.DATE(), 1),))], {5}),
    ([Call(D.BOOLEAN(), "OR", (compare(1, ">", DAY, BY_DAY), compare(3, "=", 2, BY_DAY)))], {3, 4}),
    # It says something about a column of the files, so all of them are read.
    ([Call(D.BOOLEAN(), "OR", (compare(0, "=", 1, BY_DAY), compare(3, "=", 2, BY_DAY)))], {1, 2, 3, 4, 5}),
]


@pytest.mark.parametrize(("conditions", "ids"), CONDITIONS)
def test_partitions_are_pruned(tmp_path: Path, conditions: list[Rex], ids: set[int]) -> None:
    partitioned(tmp_path)
    table = context(tmp_path, BY_DAY, ["dt", "hr"])
    assert {row[0] for row in read(table, [0], conditions)} == ids


def test_row_groups_are_pruned(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": range(100)}), tmp_path / "a", row_group_size=10)
    rows = read(context(tmp_path), [0], [compare(0, ">=", 35), compare(0, "<", 41)])
    assert [row[0] for row in rows] == list(range(30, 50))


def test_a_partitioned_table_without_a_folder_is_empty(tmp_path: Path) -> None:
    assert read(context(tmp_path / "none", BY_DAY, ["dt", "hr"])) == []
    with pytest.raises(FileNotFoundError, match="none"):
        read(context(tmp_path / "none"))


def test_another_name_for_null(tmp_path: Path) -> None:
    write(tmp_path / "dt=nothing" / "part", id=[1])
    columns = (Field("id", D.INT()), Field("dt", D.DATE()))
    assert read(context(tmp_path, columns, ["dt"], partition_default__name="nothing")) == [(1, None)]


def test_what_the_file_system_knows(tmp_path: Path) -> None:
    write(tmp_path / "sub" / "a", id=[1, 2])
    path = tmp_path / "sub" / "a"
    os.utime(path, ns=(0, 1_700_000_000_123_456_789))
    metadata = [
        ("size", "file.size", D.BIGINT()),
        ("at", "file.modification-time", D.TIMESTAMP_LTZ(3)),
        ("path", "file.path", D.STRING()),
        ("file", "file.name", D.STRING()),
    ]
    table = context(tmp_path, (Field("id", D.INT()),), metadata=metadata)
    when = dt.datetime.fromtimestamp(1_700_000_000, dt.timezone.utc).replace(microsecond=123_000)
    one = (path.stat().st_size, when, str(path), "a")
    assert read(table) == [(1, *one), (2, *one)]
    assert read(table, [4, 0]) == [("a", 1), ("a", 2)]


def test_a_pattern_for_paths(tmp_path: Path) -> None:
    for number, name in enumerate(("a.parquet", "b.csv", "sub/c.parquet")):
        write(tmp_path / name, id=[number])
    table = context(tmp_path, source_path_regex__pattern=rf"{tmp_path}/.*\.parquet")
    assert sorted(row[0] for row in read(table)) == [0, 2]


def test_a_glob_over_partitions(tmp_path: Path) -> None:
    partitioned(tmp_path)
    table = context(tmp_path / "dt=2024-*", BY_DAY, ["dt", "hr"])
    assert {row[0] for row in read(table, [0], [compare(1, "=", DAY, BY_DAY)])} == {1, 2, 3}


def test_one_file_and_a_uri(tmp_path: Path) -> None:
    write(tmp_path / "a", id=[1])
    assert read(context(f"file://{tmp_path}/a"), [0]) == [(1,)]


def test_new_files_are_found(tmp_path: Path) -> None:
    write(tmp_path / "dt=2024-05-06" / "a", id=[1])
    columns = (Field("id", D.INT()), Field("dt", D.STRING()))
    table = source(context(tmp_path, columns, ["dt"], source_monitor__interval="10 s"))
    stream = table.stream([0, 1])
    assert not table.bounded and stream.get_boundedness() is Boundedness.CONTINUOUS_UNBOUNDED
    clock = Clock()
    run = SourceRun(stream, clock=clock)
    run.epoch()
    run.epoch()
    assert len(run.outputs[0].records) == 1
    write(tmp_path / "dt=2024-05-07" / "b", id=[2])
    again = SourceRun(stream, clock=clock)
    again.restore(run.state())
    again.epoch()
    assert [plain(rows, columns) for rows in again.outputs[0].records] == [[(2, "2024-05-07")]]


@pytest.mark.parametrize("format", [*WRITE, "avro"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    groups=st.lists(st.integers(1, 30), min_size=1, max_size=5),
    parallelism=st.integers(1, 4),
    budget=st.integers(1, 3),
    batch=st.integers(1, 40),
    low=st.integers(-1, 60),
)
def test_property_each_row_is_read_once(
    tmp_path: Path, format: str, groups: list[int], parallelism: int, budget: int, batch: int, low: int
) -> None:
    """In splits of any size, with a new reader after every few batches. A condition may take away rows that do not
    fulfil it, and no others."""
    path = tmp_path / "file"
    total = sum(groups)
    table = pa.table({"id": pa.array(range(total), pa.int32())})
    if format == "parquet":
        with pq.ParquetWriter(path, table.schema) as writer:
            start = 0
            for size in groups:
                writer.write_table(table.slice(start, size))
                start += size
    elif format == "orc":
        orc.write_table(table, path, stripe_size=1024)
    else:
        schema = {"type": "record", "name": "r", "fields": [{"name": "id", "type": "int"}]}
        with open(path, "wb") as file:
            fastavro.writer(file, schema, table.to_pylist(), sync_interval=groups[0])
    options = {"parquet_batch__size": str(batch)} if format == "parquet" else {}
    made = source(context(tmp_path, format=format, **options))
    conditions = [compare(0, ">", low)]
    stream = made.stream([0], conditions)
    provider = made.files(conditions)
    object.__setattr__(provider, "split_size", max(1, path.stat().st_size // parallelism))
    stream._provider = provider  # type: ignore[attr-defined]
    before = table_format.BATCH, avro_records.BATCH
    table_format.BATCH = avro_records.BATCH = batch
    try:
        run = SourceRun(stream, parallelism)
        while len(run.ended) < parallelism:
            run.epoch(budget)
    finally:
        table_format.BATCH, avro_records.BATCH = before
    found = sorted(row[0] for output in run.outputs for rows in output.records for row in plain(rows, COLUMNS[:1]))
    assert len(found) == len(set(found))
    assert set(found) >= {each for each in range(total) if each > low}
