"""A query goes on with values of DISTINCT that were not counted only as long as no row of its input is taken back."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.checkpoint.jobs import SavedJob, collecting
from tests.programs import ListSource
from tests.table.programs.test_changed_queries import EPOCHS

from millrace.checkpoint.folder import RestoreError
from millrace.common import Row, Types, WatermarkStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.runtime.operators.job_graph import JobGraph
from millrace.table import ChangelogMode, StreamTableEnvironment

ROWS = [Row(number % 3, number % 5) for number in range(60)]
GROUP = "SELECT g, COUNT(DISTINCT x) AS n FROM t GROUP BY g"


def job_of(query: str, mode: ChangelogMode) -> JobGraph:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        tables = StreamTableEnvironment.create(env)
        kind = Types.ROW_NAMED(["g", "x"], [Types.INT(), Types.INT()])
        rows = ListSource([(0, row) for row in ROWS])
        source = env.from_source(rows, WatermarkStrategy.no_watermarks(), "t", kind)
        tables.create_temporary_view("t", tables.from_changelog_stream(source.uid("source"), None, mode))
        return tables.to_changelog_stream(tables.sql_query(query))

    return collecting(build, 1, epoch_records=10)


def saved(job: JobGraph, folder: Path) -> str:
    first = SavedJob(job, folder / "first", 1)
    for _ in range(EPOCHS - 1):
        first.epoch()
    first.epoch(folder / "saved")
    return str(folder / "saved")


def test_an_input_that_takes_rows_back_is_refused(tmp_path: Path) -> None:
    path = saved(job_of(GROUP, ChangelogMode.insert_only()), tmp_path)
    SavedJob(job_of(GROUP, ChangelogMode.insert_only()), tmp_path / "same").restore(path)
    other = SavedJob(job_of(GROUP, ChangelogMode.all()), tmp_path / "other")
    with pytest.raises(RestoreError, match="was not counted"):
        other.restore(path)
