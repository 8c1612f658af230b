"""Tables of connectors in batch mode: sources and sinks of the runtime on the executors, and frames of Spark."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.spark.tables.conftest import Run
from tests.spark.tables.plans import BIGINT, INT, STRING, agg, at, fn, group, lit, project, values

from millrace.common.sink import Committer, Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.common.source import (
    Boundedness,
    InputStatus,
    ReaderOutput,
    Source,
    SourceReader,
    SourceReaderContext,
    SplitEnumerator,
    SplitEnumeratorContext,
)
from millrace.common.types import RowKind
from millrace.relational import nodes as n
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import ALL_KINDS, TableSink, TableSource
from millrace.spark.tables.execute import explain, write_all
from millrace.spark.tables.steps.context import Context

PATH = ("catalog", "database", "numbers")
COLUMNS = (n.Field("a", INT), n.Field("b", STRING), n.Field("c", BIGINT))
ROWS = [(index, f"t{index}" if index % 3 else None, index * 10) for index in range(20)]


class Splits(SplitEnumerator[int]):
    """Four splits, one for each request."""

    def __init__(self, context: SplitEnumeratorContext[int]) -> None:
        self._context = context
        self._left = list(range(4))

    def start(self) -> None: ...

    def handle_split_request(self, subtask_id: int) -> None:
        if self._left:
            self._context.assign_split(self._left.pop(), subtask_id)
        else:
            self._context.signal_no_more_splits(subtask_id)


class Reader(SourceReader[Rows, int]):
    """Five rows a split, one poll each; now and then there is nothing."""

    def __init__(self, columns: Sequence[int], kinds: Any) -> None:
        self._columns = columns
        self._kinds = kinds
        self._splits: list[int] = []
        self._polls = 0

    def add_splits(self, splits: Sequence[int]) -> None:
        self._splits += splits

    def poll_next(self, output: ReaderOutput[Rows]) -> InputStatus:
        self._polls += 1
        if self._polls % 2:
            return InputStatus.NOTHING_AVAILABLE
        if self._splits:
            split = self._splits.pop()
            rows = ROWS[split * 5 : split * 5 + 5]
            types = [pa.int32(), pa.string(), pa.int64()]
            batch = record_batch([pa.array([row[i] for row in rows], types[i]) for i in self._columns], len(rows))
            output.collect(Rows(batch, self._kinds))
        return InputStatus.MORE_AVAILABLE if self._splits else InputStatus.END_OF_INPUT

    def snapshot_state(self, checkpoint_id: int) -> list[int]:
        return self._splits


class Numbers(Source[Rows, int]):
    def __init__(self, columns: Sequence[int], kinds: Any = None) -> None:
        self._columns = columns
        self._kinds = kinds

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self, context: SplitEnumeratorContext[int], checkpoint: Any = None) -> Splits:
        return Splits(context)

    def create_reader(self, context: SourceReaderContext) -> Reader:
        return Reader(self._columns, self._kinds)


class NumbersTable(TableSource):
    """Remembers what it was asked for."""

    def __init__(self, kinds: Any = None) -> None:
        self.asked: tuple[Sequence[int], Sequence[Rex]] | None = None
        self._kinds = kinds

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        self.asked = (columns, filters)
        return Numbers(columns, self._kinds)


class FrameTable(NumbersTable):
    """Offers a frame with other types than the table's: they are cast."""

    def frame(self, session: Any, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Any:
        texts = ["id", "concat('t', id)", "id * 10"]
        return session.range(20).selectExpr(*(f"{texts[at]} AS c{place}" for place, at in enumerate(columns)))


def scan(source: TableSource) -> n.Scan:
    return n.Scan(PATH, COLUMNS, source)


def test_a_source_of_the_runtime(run: Run) -> None:
    source = NumbersTable()
    assert run(scan(source)) == sorted(ROWS, key=repr)
    assert source.asked == ((0, 1, 2), ())


def test_only_what_is_needed_is_read(run: Run) -> None:
    source = NumbersTable()
    plan = scan(source)
    condition = fn(">", at(plan, "c"), lit(150, BIGINT))
    narrower = project(plan, b=at(plan, "b"), c=at(plan, "c"))
    kept = n.Filter(narrower, fn(">", at(narrower, "c"), lit(150, BIGINT)))
    assert run(project(kept, b=at(kept, "b"))) == [("t16",), ("t17",), ("t19",), (None,)]
    assert source.asked == ((1, 2), (condition,))


def test_rows_are_counted_without_their_columns(run: Run) -> None:
    source = NumbersTable()
    assert run(group(scan(source), [], n=agg("COUNT"))) == [(20,)]
    assert source.asked == ((0,), ())


def test_a_source_with_a_frame(run: Run) -> None:
    plan = scan(FrameTable())
    found = run(n.Filter(plan, fn("<", at(plan, "a"), lit(2))))
    assert found == [(0, "t0", 0), (1, "t1", 10)]


class Changing(NumbersTable):
    kinds = ALL_KINDS


class Endless(NumbersTable):
    bounded = False


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        (Changing(), NotImplementedError, r"table catalog.database.numbers holds changes \(DELETE, INSERT.*streaming"),
        (Endless(), ValueError, "never ends: give its source an end, or use streaming mode"),
    ],
)
def test_what_batch_mode_cannot_read(run: Run, source: TableSource, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        run(scan(source))


def test_changes_that_nobody_announced(run: Run) -> None:
    import numpy as np

    kinds = np.full(5, RowKind.DELETE.value, np.uint8)
    with pytest.raises(Exception, match="updates or deletions, which batch mode cannot read"):
        run(scan(NumbersTable(kinds)))


def test_a_stream_needs_its_program(run: Run) -> None:
    with pytest.raises(NotImplementedError, match="the environment of its program"):
        run(n.StreamScan(COLUMNS, object()))


# -- sinks ------------------------------------------------------------------------------------------------------------


class FileWriter(SinkWriter[Rows]):
    """Writes into a hidden file, which the committer shows."""

    def __init__(self, folder: str, context: WriterInitContext) -> None:
        assert context.get_index_of_subtask() < context.get_number_of_parallel_subtasks()
        self._hidden = os.path.join(folder, f".{context.get_job_id()}-{context.get_index_of_subtask()}")
        self._rows: list[Any] = []

    def write(self, element: Rows, context: SinkWriterContext) -> None:
        self._rows += element.batch.to_pylist()
        if any(row["c0"] == 13 for row in self._rows):
            raise ValueError("13 is not written")

    def flush(self, end_of_input: bool) -> None:
        with open(self._hidden, "w") as file:
            file.writelines(f"{row['c0']},{row['c1']}\n" for row in self._rows)

    def prepare_commit(self) -> list[Any]:
        return [self._hidden]


class Shower(Committer[str]):
    def __init__(self, folder: str) -> None:
        self._folder = folder

    def commit(self, committables: Sequence[str]) -> None:
        for hidden in committables:
            os.rename(hidden, os.path.join(self._folder, os.path.basename(hidden)[1:]))

    def recover(self, job_id: str, committables: Sequence[str], states: Sequence[Any]) -> None:
        for name in os.listdir(self._folder):
            if name.startswith(f".{job_id}"):
                os.remove(os.path.join(self._folder, name))


class FileSink(Sink[Rows]):
    def __init__(self, folder: str) -> None:
        self._folder = folder

    def create_writer(self, context: WriterInitContext) -> FileWriter:
        return FileWriter(self._folder, context)

    def create_committer(self) -> Shower:
        return Shower(self._folder)


class FileTable(TableSink):
    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)

    def stream(self) -> Sink[Rows]:
        return FileSink(self._folder)


def insert(folder: Path, plan: n.Rel, overwrite: bool = False) -> n.Sink:
    return n.Sink(plan, PATH, FileTable(folder), overwrite)


def narrow(plan: n.Rel) -> n.Project:
    return project(plan, a=at(plan, "a"), b=at(plan, "b"))


def test_a_sink_of_the_runtime(context: Context, tmp_path: Path) -> None:
    plan = narrow(scan(NumbersTable()))
    kept = n.Filter(plan, fn("<>", at(plan, "a"), lit(13)))
    assert write_all([insert(tmp_path, kept), insert(tmp_path, values({"a": INT, "b": STRING}))], context) == [19, 0]
    lines = [line for file in tmp_path.iterdir() for line in file.read_text().splitlines()]
    assert not any(file.name.startswith(".") for file in tmp_path.iterdir())
    assert sorted(lines) == sorted(f"{a},{b}" for a, b, _ in ROWS if a != 13)


class SlowFileWriter(FileWriter):
    """Its file appears when another task may have failed already."""

    def flush(self, end_of_input: bool) -> None:
        time.sleep(0.7)
        super().flush(end_of_input)


class SlowFileSink(FileSink):
    def create_writer(self, context: WriterInitContext) -> FileWriter:
        return SlowFileWriter(self._folder, context)


class SlowFileTable(FileTable):
    together = ("a",)  # several tasks have rows

    def stream(self) -> Sink[Rows]:
        return SlowFileSink(self._folder)


@pytest.mark.parametrize("table", [FileTable, SlowFileTable])
def test_nothing_is_seen_of_a_write_that_failed(table: type[FileTable], context: Context, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="13 is not written"):
        write_all([n.Sink(narrow(scan(NumbersTable())), PATH, table(tmp_path), False)], context)
    time.sleep(1)
    assert list(tmp_path.iterdir()) == []


def test_a_sink_that_cannot_overwrite(context: Context, tmp_path: Path) -> None:
    with pytest.raises(NotImplementedError, match=r"cannot be overwritten.*INSERT INTO"):
        write_all([insert(tmp_path, values({"a": INT, "b": STRING}), overwrite=True)], context)


class FrameSink(FileTable):
    writes_frames = True

    def write_frame(self, frame: Any, overwrite: bool, partition: Mapping[str, Any]) -> None:
        frame.write.mode("overwrite" if overwrite else "append").parquet(f"{self._folder}/{partition['p']}")


def test_a_sink_that_writes_frames(context: Context, tmp_path: Path) -> None:
    import pyarrow.dataset as ds

    plan = values({"a": INT, "b": STRING}, (1, "x"), (2, None))
    for _ in range(2):
        sink = n.Sink(plan, PATH, FrameSink(tmp_path), True, (("p", "today"),))
        assert write_all([sink], context) == [None]
    assert sorted(ds.dataset(tmp_path / "today").to_table().to_pydict()["c0"]) == [1, 2]


def test_a_plan_is_explained(context: Context, tmp_path: Path) -> None:
    plan = narrow(scan(NumbersTable()))
    text = explain(insert(tmp_path, n.Filter(plan, fn("<", fn("ABS", at(plan, "a")), lit(3)))), context)
    assert "Optimized Logical Plan" in text and "MapInArrow" in text and "< 3" in text
