"""Partitions are complete when, and only when, all of their rows are visible: jobs in streaming mode, without Spark."""

from __future__ import annotations

import datetime as dt
import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.checkpoint.jobs import SavedJob
from tests.connectors.tables.filesystem.tables import hidden

from millrace.connectors.file_system.table.partition_commit import (
    PartitionCommitContext,
    PartitionCommitPolicy,
    PartitionTimeExtractor,
)
from millrace.connectors.tables.values_table import clear_values, register_values
from millrace.datastream import StreamExecutionEnvironment
from millrace.relational.rules.optimizer import optimise_streaming
from millrace.runtime.operators.job_graph import JobGraph
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.planner.engine import add_to_program, options_of, surroundings_of
from millrace.table.statement_runners.statements import insert_plans

START = dt.datetime(2024, 5, 6)
ROWS = [(number, START + dt.timedelta(minutes=7 * number)) for number in range(40)]
PARTITION_TIME = {
    "sink.partition-commit.trigger": "partition-time",
    "sink.partition-commit.delay": "1 h",
    "sink.partition-commit.policy.kind": "success-file",
    "partition.time-extractor.timestamp-pattern": "$dt $hr:00:00",
}


def folder_of(at: dt.datetime) -> str:
    return f"dt={at.date()}/hr={at.hour}"


COMPLETE = Counter(folder_of(at) for _, at in ROWS)


@pytest.fixture(autouse=True)
def values() -> Iterator[None]:
    register_values("events", ROWS)
    yield
    clear_values()


def job(folder: Path, parallelism: int = 1, format: str = "parquet", records: int = 3, **options: str) -> JobGraph:
    """Writes ``ROWS`` into a table: a row is a batch, and there are so many in an epoch and subtask."""
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    given = {"connector": "filesystem", "path": str(folder), "format": format, **options}
    texts = ", ".join(f"'{name}' = '{value}'" for name, value in given.items())
    environment.execute_sql(f"CREATE TABLE files (id INT, dt STRING, hr INT) PARTITIONED BY (dt, hr) WITH ({texts})")
    environment.execute_sql(
        "CREATE TABLE events (id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
        "WITH ('connector' = 'values', 'data-id' = 'events', 'batch-size' = '1')"
    )
    query = "SELECT id, DATE_FORMAT(ts, 'yyyy-MM-dd'), CAST(EXTRACT(HOUR FROM ts) AS INT) FROM events"
    [plan] = insert_plans(f"INSERT INTO files {query}", environment._session)
    streams = StreamExecutionEnvironment()
    streams.set_parallelism(parallelism).set_max_parallelism(16)
    session = environment._session
    add_to_program([optimise_streaming(plan, surroundings_of(session))], streams._program, options_of(session))
    return replace(streams.job_graph(), epoch_records=records)


def found(folder: Path) -> tuple[Counter[str], set[str]]:
    """(visible rows of each partition, the partitions that are complete)."""
    rows: Counter[str] = Counter()
    complete = set()
    for at, _, names in os.walk(folder):
        for name in names:
            partition = os.path.relpath(at, folder)
            if name == "_SUCCESS":
                complete.add(partition)
            elif not name.startswith("."):
                rows[partition] += _count(Path(at) / name)
    return rows, complete


def _count(path: Path) -> int:
    data = path.read_bytes()
    return pq.ParquetFile(path).metadata.num_rows if data.startswith(b"PAR1") else data.count(b"\n")


@pytest.mark.parametrize("format", ["parquet", "json", "csv"])
@pytest.mark.parametrize("seed", range(4))
def test_a_complete_partition_has_all_of_its_rows(tmp_path: Path, seed: int, format: str) -> None:
    """In any parallelism, with a savepoint and another parallelism after it."""
    draw = random.Random(seed)
    folder = tmp_path / "table"
    options = dict(PARTITION_TIME)
    if draw.random() < 0.3:
        options["auto-compaction"] = "true"
    if draw.random() < 0.3:
        options["sink.shuffle-by-partition.enable"] = "true"
    first = SavedJob(job(folder, draw.randint(1, 3), format, draw.randint(1, 4), **options), tmp_path / "a")
    for _ in range(draw.randint(0, 4)):
        if not first.coordinator.finished:
            first.epoch()
            check(folder)
    if not first.coordinator.finished:
        first.epoch(tmp_path / "savepoint")
        check(folder)
        second = SavedJob(job(folder, draw.randint(1, 3), format, draw.randint(1, 4), **options), tmp_path / "b")
        second.restore(str(tmp_path / "savepoint"))
        while not second.coordinator.finished:
            second.epoch()
            check(folder)
        second.coordinator.clean_up()
    rows, complete = found(folder)
    assert rows == COMPLETE and complete == set(COMPLETE)


def check(folder: Path) -> None:
    rows, complete = found(folder)
    assert all(rows[each] == COMPLETE[each] for each in complete)


def test_a_partition_is_complete_as_soon_as_the_watermark_has_passed(tmp_path: Path) -> None:
    run = SavedJob(job(tmp_path / "table", records=1, **PARTITION_TIME), tmp_path / "job")
    for _, at in ROWS[:-1]:
        run.epoch()
        _, complete = found(tmp_path / "table")
        # The watermark is the time of the last row.
        passed = {folder_of(START + dt.timedelta(hours=h)) for h in range(24) if at > START + dt.timedelta(hours=h + 1)}
        assert complete == passed & set(COMPLETE)


def test_a_partition_gets_its_mark_with_the_next_checkpoint_by_processing_time(tmp_path: Path) -> None:
    options = {"sink.partition-commit.policy.kind": "success-file", "sink.partition-commit.success-file.name": "_DONE"}
    run = SavedJob(job(tmp_path / "table", records=2, **options), tmp_path / "job")
    for number in range(3):
        run.epoch()
        marked = {str(each.parent.relative_to(tmp_path / "table")) for each in tmp_path.rglob("_DONE")}
        assert marked == {folder_of(at) for _, at in ROWS[: 2 * number + 2]}


def test_processing_time_with_a_delay(tmp_path: Path) -> None:
    options = {"sink.partition-commit.policy.kind": "success-file", "sink.partition-commit.delay": "10 ms"}
    run = SavedJob(job(tmp_path / "table", records=1, **options), tmp_path / "job")
    run.epoch()  # at 1 ms
    run.now = 10
    run.epoch()  # at 11 ms
    assert found(tmp_path / "table")[1] == set()
    run.epoch()
    assert found(tmp_path / "table")[1] == {folder_of(START)}


class Noted(PartitionCommitPolicy):
    """Writes down what it is told."""

    def __init__(self, file: str, word: str) -> None:
        self.file = file
        self.word = word

    def commit(self, context: PartitionCommitContext) -> None:
        name = f"{context.catalog_name()}.{context.database_name()}.{context.table_name()}"
        with open(self.file, "a") as notes:
            print(self.word, name, dict(context.partition_spec()), context.partition_path(), file=notes)


class ByDay(PartitionTimeExtractor):
    def extract(self, partition_keys: Any, partition_values: Any) -> dt.datetime:
        assert list(partition_keys) == ["dt", "hr"]
        return dt.datetime.fromisoformat(partition_values[0])


def test_policies_and_extractors_in_python(tmp_path: Path) -> None:
    here = __name__
    options = {
        **PARTITION_TIME,
        "sink.partition-commit.delay": "2 h",
        "partition.time-extractor.kind": "custom",
        "partition.time-extractor.class": f"{here}.ByDay",
        "sink.partition-commit.policy.kind": "custom,success-file",
        "sink.partition-commit.policy.class": f"{here}:Noted",
        "sink.partition-commit.policy.class.parameters": f"{tmp_path}/notes;done",
    }
    run = SavedJob(job(tmp_path / "table", records=18, **options), tmp_path / "job")
    run.epoch()  # to 1:59
    assert not (tmp_path / "notes").exists()
    run.epoch()  # beyond 2:00, which is the day and two hours
    _, complete = found(tmp_path / "table")
    assert complete == {folder_of(START + dt.timedelta(hours=hour)) for hour in range(5)}
    lines = (tmp_path / "notes").read_text().splitlines()
    spec = {"dt": "2024-05-06", "hr": "0"}
    assert f"done default_catalog.default_database.files {spec} {tmp_path}/table/dt=2024-05-06/hr=0" in lines
    assert len(lines) == len(complete)


def test_a_job_that_goes_on_after_its_driver_died(tmp_path: Path) -> None:
    """Partitions that wait are in the checkpoint."""
    folder = tmp_path / "table"
    graph = job(folder, 2, **PARTITION_TIME)
    run = SavedJob(graph, tmp_path / "job", checkpoint_every=1)
    for _ in range(3):
        run.epoch()
    run.tasks(run.coordinator.plan())  # an epoch of which the driver does not hear
    assert hidden(folder)
    again = SavedJob(graph, tmp_path / "job", checkpoint_every=1)
    again.now = run.now
    again.go_on()
    while not again.coordinator.finished:
        again.epoch()
        check(folder)
    again.coordinator.clean_up()
    rows, complete = found(folder)
    assert rows == COMPLETE and complete == set(COMPLETE) and not hidden(folder)
