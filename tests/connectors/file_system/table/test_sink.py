"""Writing tables of files: partitions, part files, overwriting, and jobs that fail anywhere."""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.connectors.exactly_once import ExactlyOnce, test_case
from tests.connectors.tables.filesystem.tables import COLUMNS, batch, context, folders, hidden, plain, read, visible

from millrace.common.sink import Sink
from millrace.common.types import Row
from millrace.connectors.file_system import file_committer
from millrace.connectors.file_system.table.filesystem_table import FileSystemFactory
from millrace.connectors.file_system.table.table_layout import Layout, Partitioner
from millrace.relational.nodes import Field
from millrace.relational.rows import Rows
from millrace.relational.sources import TableContext
from millrace.table import DataTypes as D
from millrace.testing.connectors.runtime import Clock, ElementContext
from millrace.testing.connectors.sinks import Driver, DriverDied, JobWriterContext, Point

TYPES = (
    Field("dt", D.DATE()),
    Field("id", D.INT()),
    Field("amount", D.DECIMAL(10, 2)),
    Field("at", D.TIMESTAMP(3)),
    Field("ltz", D.TIMESTAMP_LTZ(6)),
    Field("tags", D.ARRAY(D.STRING())),
    Field("inner", D.ROW([D.FIELD("x", D.INT()), D.FIELD("y", D.MAP(D.STRING(), D.INT()))])),
    Field("data", D.BYTES()),
)


def sink(table: TableContext, overwrite: dict[str, Any] | None = None) -> Sink[Any]:
    made = FileSystemFactory().sink(table)
    if overwrite is not None:
        found = made.overwriting(overwrite)
        assert found is not None
        made = found
    return made.stream().for_operator("the sink")


def write(table: TableContext, *parts: Rows, overwrite: dict[str, Any] | None = None, parallelism: int = 1) -> Driver:
    """All rows in one epoch, which is the last one, as batch mode does."""
    run = Driver(
        sink(table, overwrite), parts, parallelism=parallelism, clock=Clock(), route=lambda _, count: len(parts) % count
    )
    run.epoch(len(parts), end=True)
    run.checkpoint()
    return run


AVRO = {"avro.timestamp_mapping.legacy": "false"}
MANY = [("parquet", {}), ("orc", {}), ("avro", AVRO), ("avro", {**AVRO, "avro.codec": "bzip2"})]
for _codec in ("NONE", "SNAPPY", "GZIP", "ZSTD", "LZ4", "BROTLI"):
    MANY.append(("parquet", {"parquet_compression": _codec}))
for _codec in ("NONE", "ZLIB", "SNAPPY", "LZ4", "ZSTD"):
    MANY.append(("orc", {"orc_compress": _codec}))


@pytest.mark.parametrize(("format", "options"), MANY)
def test_every_type_is_read_as_it_was_written(tmp_path: Path, format: str, options: dict[str, str]) -> None:
    at = dt.datetime(2024, 5, 6, 7, 8, 9, 123_000)
    inner = Row(x=1, y={"k": 2, "l": None})
    rows = [
        (at.date(), 1, Decimal("1.50"), at, at.replace(tzinfo=dt.timezone.utc), ["a", None], inner, b"\x00"),
        (None, None, None, None, None, None, None, None),
    ]
    table = context(tmp_path, TYPES, ["dt"], format=format, **options)
    write(table, batch(rows, TYPES))
    assert sorted(read(table), key=repr) == sorted(rows, key=repr)
    assert sorted(folders(tmp_path)) == ["dt=2024-05-06", "dt=__DEFAULT_PARTITION__"]


@pytest.mark.parametrize("codec", ["NONE", "ZSTD"])
def test_compression_of_parquet(tmp_path: Path, codec: str) -> None:
    write(context(tmp_path, parquet_compression=codec), batch([(1, "x", "y")]))
    (path,) = tmp_path.iterdir()
    found = pq.ParquetFile(path).metadata.row_group(0).column(0).compression
    assert found == {"NONE": "UNCOMPRESSED"}.get(codec, codec)


@given(st.lists(st.tuples(st.integers(0, 99), st.none() | st.sampled_from(["a", "b"]), st.none() | st.integers(0, 2))))
def test_property_batches_are_taken_apart_by_partition(rows: list[tuple[Any, ...]]) -> None:
    columns = (Field("id", D.INT()), Field("k", D.STRING()), Field("n", D.INT()))
    partitioner = Partitioner(Layout("t", columns, ("n", "k")), "none")
    expected: dict[str, list[tuple[Any, ...]]] = {}
    for number, name, key in rows:
        folder = f"n={'none' if key is None else key}/k={name or 'none'}"
        expected.setdefault(folder, []).append((number,))
    if rows:
        parts = list(partitioner.split(batch(rows, columns)))
        assert {part.folder: plain(part.rows, columns[:1]) for part in parts} == expected
        assert len(parts) == len(expected)


def test_part_files_of_a_bulk_format_end_with_each_checkpoint(tmp_path: Path) -> None:
    parts = [batch([(each, "x", "2024-05-06")]) for each in range(4)]
    run = Driver(sink(context(tmp_path, keys=["dt"])), parts, clock=Clock())
    for _ in range(2):
        run.epoch(2)
        assert len(hidden(tmp_path)) == 1
        run.checkpoint()
    assert folders(tmp_path) == {"dt=2024-05-06": ["part", "part"]}
    assert pq.read_table(tmp_path / visible(tmp_path)[0]).column_names == ["id", "name"]


def test_part_files_are_rolled_by_size(tmp_path: Path) -> None:
    table = context(tmp_path, sink_rolling__policy_file__size="1 b")
    write(table, *(batch([(each, "x", "y")]) for each in range(3)))
    assert len(visible(tmp_path)) == 3
    assert sorted(row[0] for row in read(table)) == [0, 1, 2]


def test_metadata_cannot_be_written(tmp_path: Path) -> None:
    table = context(tmp_path, COLUMNS[:2])
    with pytest.raises(ValueError, match="declare such METADATA as VIRTUAL"):
        write(table, batch([(1, "x", "y")]))


# -- overwriting ------------------------------------------------------------------------------------------------------

DAYS = [(1, "a", "mon"), (2, "b", "tue"), (3, "c", "wed")]


@pytest.mark.parametrize(
    ("partition", "rows", "left"),
    [
        ({}, [(9, "z", "mon")], {(9, "z", "mon"), *DAYS[1:]}),
        ({}, [], set(DAYS)),
        ({"dt": "tue"}, [(9, "z", "tue")], {(9, "z", "tue"), DAYS[0], DAYS[2]}),
        ({"dt": "tue"}, [], {DAYS[0], DAYS[2]}),
        ({"dt": "sun"}, [], set(DAYS)),
    ],
)
def test_overwriting_partitions(
    tmp_path: Path, partition: dict[str, Any], rows: list[tuple[Any, ...]], left: set[tuple[Any, ...]]
) -> None:
    table = context(tmp_path, keys=["dt"], streaming=False)
    write(table, batch(DAYS))
    run = write(table, *([batch(rows)] if rows else []), overwrite=partition)
    if not rows:
        run.committer.commit(())  # batch mode does so, whatever was prepared
    assert set(read(table)) == left


@pytest.mark.parametrize("rows", [[(9, "z", "mon")], []])
def test_overwriting_a_table(tmp_path: Path, rows: list[tuple[Any, ...]]) -> None:
    table = context(tmp_path, streaming=False)
    write(table, batch(DAYS))
    (tmp_path / "_notes").touch()
    run = write(table, *([batch(rows)] if rows else []), overwrite={})
    if not rows:
        run.committer.commit(())
    assert read(table) == rows
    assert (tmp_path / "_notes").exists()


def test_an_overwritten_partition_is_complete_only_when_it_is_new(tmp_path: Path) -> None:
    kind = {"sink_partition__commit_policy_kind": "success-file"}
    write(context(tmp_path, keys=["dt"], streaming=False, **kind), batch(DAYS))
    marks = [tmp_path / f"dt={day}" / "_SUCCESS" for day in ("mon", "tue", "wed")]
    assert all(mark.exists() for mark in marks)
    write(context(tmp_path, keys=["dt"], streaming=False), batch([(9, "z", "mon")]), overwrite={})
    assert [mark.exists() for mark in marks] == [False, True, True]
    write(context(tmp_path, keys=["dt"], streaming=False, **kind), batch([(9, "z", "mon")]), overwrite={})
    assert all(mark.exists() for mark in marks)


@pytest.mark.parametrize("keys", [["dt"], []])
def test_batch_mode_marks_what_a_few_of_its_subtasks_wrote(tmp_path: Path, keys: list[str]) -> None:
    kind = {"sink_partition__commit_policy_kind": "success-file"}
    made = sink(context(tmp_path, keys=keys, streaming=False, **kind))
    writer = made.create_writer(JobWriterContext("job", 0, 3, 1, Clock()))
    writer.write(batch(DAYS[:1]), ElementContext())
    writer.flush(True)
    committer = made.create_committer()
    assert committer is not None and not committer.commit(writer.prepare_commit())
    assert folders(tmp_path) == {"dt=mon" if keys else "": ["_SUCCESS", "part"]}


# -- compaction -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["parquet", "orc", "avro", "json"])
def test_small_files_of_an_epoch_become_one(tmp_path: Path, format: str) -> None:
    table = context(tmp_path, keys=["dt"], format=format, auto__compaction="true")
    parts = [batch([(each, f"n{each}", "mon" if each < 6 else "tue")]) for each in range(8)]
    route = lambda part, count: part.batch.column(0)[0].as_py() % count
    run = Driver(sink(table), parts, parallelism=3, clock=Clock(), route=route)
    run.epoch(4)
    run.checkpoint()
    run.epoch(4, end=True)
    run.checkpoint()
    run.close()
    assert sorted(row[0] for row in read(table)) == list(range(8))
    assert [name.partition("-")[0] for name in sorted(os.listdir(tmp_path / "dt=mon"))] == ["compacted"] * 2
    assert hidden(tmp_path) == []


def test_times_in_96_bits_stay_what_they_are_when_files_are_put_together(tmp_path: Path) -> None:
    columns = (Field("at", D.TIMESTAMP(6)),)
    times = [dt.datetime(1500, 2, 3, 4, 5, 6, 7), dt.datetime(9999, 12, 31)]
    sizes = {"compaction_file__size": "1 mb", "sink_rolling__policy_file__size": "1 b"}
    old: Any = {"auto__compaction": "true", "parquet.write.int64.timestamp": "false", **sizes}
    table = context(tmp_path, columns, **old)
    write(table, *(batch([(each,)], columns) for each in times))
    assert [path.name.partition("-")[0] for path in tmp_path.iterdir()] == ["compacted"]
    assert sorted(read(table)) == [(each,) for each in times]


def test_files_are_put_together_up_to_a_size(tmp_path: Path) -> None:
    parts = [batch([(each, "x" * 1000, "mon")]) for each in range(5)]
    write(context(tmp_path / "one"), parts[0])
    size = os.path.getsize(next((tmp_path / "one").iterdir()))
    sizes = {"compaction_file__size": f"{2 * size} b", "sink_rolling__policy_file__size": "1 b"}
    table = context(tmp_path / "t", auto__compaction="true", **sizes)
    write(table, *parts)
    names = sorted(path.name.partition("-")[0] for path in (tmp_path / "t").iterdir())
    assert names == ["compacted", "compacted", "part"]
    assert sorted(row[0] for row in read(table)) == list(range(5))


# -- failures ---------------------------------------------------------------------------------------------------------


class Batches:
    """Element *i* of the state machine as a batch of one row."""

    def __init__(self, sink: Sink[Any]) -> None:
        self._sink = sink

    def for_operator(self, uid: str) -> Batches:
        return Batches(self._sink.for_operator(uid))

    def create_writer(self, context: Any) -> Any:
        return self.restore_writer(context, ())

    def restore_writer(self, context: Any, states: Any) -> Any:
        writer = self._sink.restore_writer(context, states)
        write = writer.write
        writer.write = lambda element, context: write(  # type: ignore[method-assign]
            batch([(element, "x", f"d{element % 3}")]), context
        )
        return writer

    def create_committer(self) -> Any:
        return self._sink.create_committer()


class Table:
    """A table that the state machine writes."""

    def __init__(self, directory: Path, **options: str) -> None:
        self.folder = directory
        self.table = context(directory, keys=["dt"], **options)

    def sink(self) -> Any:
        return Batches(FileSystemFactory().sink(self.table).stream())

    def committed(self) -> list[int]:
        paths = [str(self.folder / path) for path in visible(self.folder) if not path.endswith("_SUCCESS")]
        return ds.dataset(paths).to_table(["id"])["id"].to_pylist() if paths else []

    def left_over(self) -> list[str]:
        return hidden(self.folder)

    def killed(self, writer: Any, flushed: bool) -> None: ...

    def close(self) -> None: ...


class InParquet(ExactlyOnce):
    @staticmethod
    def place_in(directory: Path) -> Table:
        return Table(directory)


STEPS: dict[str, tuple[Any, str]] = {
    "merging": (file_committer, "ExitStack"),
    "moving": (file_committer.FileCommitter, "show"),
    "deleting": (file_committer, "discard_file"),
}
"""of a compaction"""


class Compacted(ExactlyOnce):
    @staticmethod
    def place_in(directory: Path) -> Table:
        return Table(directory, auto__compaction="true")

    @staticmethod
    def commit_partly(committer: Any, committables: Any, steps: int) -> None:
        """The committer sees all files of an epoch or none, and dies at one of its steps."""
        left = itertools.count(steps, -1)

        def until_death(step: Any) -> Any:
            def done(*args: Any, **kwargs: Any) -> Any:
                if next(left) <= 0:
                    raise DriverDied
                return step(*args, **kwargs)

            return done

        with pytest.MonkeyPatch.context() as patched, contextlib.suppress(DriverDied):
            for owner, name in STEPS.values():
                patched.setattr(owner, name, until_death(getattr(owner, name)))
            committer.commit(committables)


class WithPolicy(ExactlyOnce):
    @staticmethod
    def place_in(directory: Path) -> Table:
        return Table(directory, sink_partition__commit_policy_kind="success-file")


TestInParquet = test_case(InParquet)
TestCompacted = test_case(Compacted)
TestWithPolicy = test_case(WithPolicy)


@pytest.mark.parametrize("step", STEPS)
def test_compaction_that_breaks_off_is_repeated(tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = context(
        tmp_path, auto__compaction="true", compaction_file__size="1 mb", sink_rolling__policy_file__size="1 b"
    )
    parts = [batch([(each, "x", "y")]) for each in range(6)]
    run = Driver(sink(table), parts, clock=Clock())
    run.epoch(3)
    with monkeypatch.context() as patched:
        owner, name = STEPS[step]
        patched.setattr(owner, name, _broken)
        with pytest.raises(OSError, match="broken"):
            run.checkpoint()
    # Files of a later epoch come to those that wait.
    run.epoch(3, fail=(Point.KILLED_AFTER_PREPARE, 0))
    run.recover(fresh_committer=True)
    run.epoch(3, end=True)
    run.checkpoint()
    run.close()
    assert sorted(row[0] for row in read(table)) == list(range(6))
    assert hidden(tmp_path) == [] and len(visible(tmp_path)) == 2


def _broken(*args: Any, **kwargs: Any) -> None:
    raise OSError("broken")
