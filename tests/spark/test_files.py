"""``FileSink`` on Spark: exactly the expected content, and nothing of a job that failed."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.spark.conftest import MakeEnvironment, Watch
from tests.spark.test_graphs import written

from millrace.common import Encoder, Row, Types
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.datastream.connectors.file_system import BucketAssigner, FileSink, FileSource, RollingPolicy, StreamFormat
from millrace.datastream.formats.parquet import ParquetBulkWriters
from millrace.runtime.coordination.coordinator import JobFailedError

ROW = Types.ROW_NAMED(["number", "text"], [Types.LONG(), Types.STRING()])
EPOCHS = {"millrace.epoch.max-records": 20}


def row_sink(folder: Path) -> FileSink:
    builder = FileSink.for_row_format(str(folder), Encoder.simple_string_encoder())
    return builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()


@pytest.mark.parametrize("batch", [False, True])
def test_rows_and_parquet(environment: MakeEnvironment, watch: Watch, tmp_path: Path, batch: bool) -> None:
    env = environment(2, batch, **EPOCHS)
    rows = env.from_sequence(0, 99).map(lambda number: Row(number=number, text=f"n{number}"), ROW)
    bulk = FileSink.for_bulk_format(str(tmp_path / "parquet"), ParquetBulkWriters.for_row_type(ROW))
    rows.sink_to(bulk.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())
    rows.map(lambda row: row.text, Types.STRING()).sink_to(row_sink(tmp_path / "rows"))
    env.execute()

    assert len(watch.epochs) == 1 if batch else len(watch.epochs) >= 3
    assert written(tmp_path / "rows") == sorted(f"n{number}" for number in range(100))
    table = pq.read_table(tmp_path / "parquet").to_pylist()
    assert sorted(table, key=lambda row: row["number"]) == [{"number": n, "text": f"n{n}"} for n in range(100)]
    assert [name for _, _, names in os.walk(tmp_path) for name in names if name.startswith(".")] == []


def fail_at(number: int) -> int:
    if number == 77:
        raise ValueError("no 77, please")
    return number


def test_a_failed_batch_job_leaves_nothing(environment: MakeEnvironment, tmp_path: Path) -> None:
    env = environment(2, batch=True)
    numbers = env.from_sequence(0, 99)
    numbers.map(str, Types.STRING()).sink_to(row_sink(tmp_path))
    numbers.map(fail_at).map(str, Types.STRING()).sink_to(row_sink(tmp_path))
    with pytest.raises(JobFailedError):
        env.execute()
    assert written(tmp_path) == []
    assert [name for _, _, names in os.walk(tmp_path) for name in names] == []


def test_a_failed_streaming_job_leaves_whole_epochs(environment: MakeEnvironment, watch: Watch, tmp_path: Path) -> None:
    """Epochs of 20 elements: the fourth fails at element 77; three are there, and nothing of the fourth."""
    env = environment(1, **EPOCHS)
    sink = FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
    sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
    env.from_sequence(0, 99).map(fail_at).map(str, Types.STRING()).sink_to(sink.build())
    with pytest.raises(JobFailedError):
        env.execute()
    assert [result.records for result in watch.epochs] == [20, 20, 20]
    assert written(tmp_path) == sorted(map(str, range(60)))


def test_text_files_in_a_folder(environment: MakeEnvironment, tmp_path: Path) -> None:
    expected = []
    for number in range(7):
        lines = [f"{number}:{line}" for line in range(number * 40)]
        (tmp_path / f"{number}.txt").write_text("\n".join(lines))
        expected += lines
    env = environment(2)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path)).build()
    lines_read = env.from_source(source, WatermarkStrategy.no_watermarks(), "files")
    assert sorted(lines_read.execute_and_collect()) == sorted(expected)
