"""Batch queries and inserts as jobs: their clients, what a set of inserts shares, and what shows when one fails."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.metrics.reporters import own
from tests.spark.tables.plans import at, fn, lit, project
from tests.spark.tables.test_connectors import ROWS, Numbers, NumbersTable, Reader, insert, scan

from millrace.common.jobs import JobClient, JobStatus
from millrace.common.source import Source, SourceReaderContext
from millrace.metrics.report import CounterSnapshot, GaugeSnapshot
from millrace.relational import nodes as n
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.spark.jobs.client import JobCancelledError
from millrace.spark.tables.execute import QueryFailedError, write_all
from millrace.spark.tables.steps.context import Context
from millrace.table import EnvironmentSettings, TableEnvironment, TableResult
from millrace.table.udf import FunctionContext, ScalarFunction, udf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def environment(spark: SparkSession, tmp_path: Path) -> TableEnvironment:
    """With tables ``one`` and ``two``, in folders of these names."""
    made = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    made._session.streams.set_spark_session(spark)
    for key in ("spark.sql.codegen.wholeStage", "spark.sql.adaptive.enabled"):
        made.get_config().set(key, "false")
    for name in ("one", "two"):
        options = f"'connector' = 'filesystem', 'path' = '{tmp_path}/{name}', 'format' = 'csv'"
        made.execute_sql(f"CREATE TABLE {name} (v INT) WITH ({options})")
    return made


def written(folder: Path) -> list[int]:
    return sorted(int(line) for file in folder.rglob("part-*") for line in file.read_text().split())


def client_of(result: TableResult) -> JobClient:
    client = result.get_job_client()
    assert client is not None
    return client


def status(client: JobClient) -> JobStatus:
    return client.get_job_status().result()


def test_an_insert_is_a_job(environment: TableEnvironment, tmp_path: Path) -> None:
    result = environment.from_elements([(1,), (2,)], ["v"]).execute_insert("one")
    client = client_of(result)
    result.wait()
    assert status(client) is JobStatus.FINISHED
    outcome = client.get_job_execution_result().result()
    assert outcome.get_job_id() == client.get_job_id() and outcome.get_net_runtime() >= 0
    assert [list(row) for row in result.collect()] == [[2]]
    assert written(tmp_path / "one") == [1, 2]
    with pytest.raises(ValueError, match=r"job 'insert-into_\S*one' runs in batch mode, which has no savepoints"):
        client.trigger_savepoint()


def test_the_session_may_ask_to_wait(environment: TableEnvironment, tmp_path: Path) -> None:
    environment.get_config().set("table.dml-sync", "true")
    result = environment.execute_sql("INSERT INTO one VALUES (1)")
    assert status(client_of(result)) is JobStatus.FINISHED
    assert written(tmp_path / "one") == [1]


def test_a_query_is_a_job_that_fails_where_its_rows_are_read(environment: TableEnvironment) -> None:
    environment.create_temporary_system_function("half", udf(lambda v: 1 // v, result_type="INT"))
    result = environment.execute_sql("SELECT half(v) FROM (VALUES (0)) AS t(v)")
    with pytest.raises(QueryFailedError, match="ZeroDivisionError"):
        list(result.collect())
    client = client_of(result)
    assert status(client) is JobStatus.FAILED
    with pytest.raises(QueryFailedError):
        client.get_job_execution_result().result()


def test_a_job_is_cancelled(environment: TableEnvironment, tmp_path: Path) -> None:
    begun = tmp_path / "begun"

    def slow(value: int) -> int:
        begun.touch()
        time.sleep(0.05)
        return value

    environment.create_temporary_system_function("slow", udf(slow, result_type="INT"))
    rows = ", ".join(f"({number})" for number in range(2000))
    result = environment.execute_sql(f"INSERT INTO one SELECT slow(v) FROM (VALUES {rows}) AS t(v)")
    deadline = time.monotonic() + 100
    while not begun.exists():
        assert time.monotonic() < deadline, "the job has not begun within 100 s"
        time.sleep(0.05)
    client = client_of(result)
    assert status(client) is JobStatus.RUNNING
    client.cancel().result()
    assert status(client) is JobStatus.CANCELED
    with pytest.raises(JobCancelledError, match="was cancelled"):
        result.wait()
    assert not list((tmp_path / "one").rglob("*"))


class Counting(ScalarFunction):
    """Counts its calls."""

    def open(self, function_context: FunctionContext) -> None:
        self.calls = function_context.get_metric_group().add_group("mine").counter("calls")

    def eval(self, value: int) -> int:
        self.calls.inc()
        return value


def test_functions_report_their_metrics(environment: TableEnvironment) -> None:
    environment.create_temporary_system_function("counting", udf(Counting(), result_type="INT"))
    environment.create_temporary_view("t", environment.from_elements([(number,) for number in range(50)], ["v"]))
    result = environment.execute_sql("SELECT counting(v) FROM t")
    assert len(list(result.collect())) == 50
    report = client_of(result).get_job_execution_result().result().get_metrics()
    assert report.get("PythonCalc", "mine.calls").count == 50
    [*_, entry] = report
    assert entry.variables["<job_name>"] == "collect"


def test_what_inserts_share_is_computed_once(environment: TableEnvironment, tmp_path: Path) -> None:
    calls = tmp_path / "calls"

    def noted(value: int) -> int:
        with calls.open("a") as file:
            file.write(f"{value}\n")
        return value

    environment.create_temporary_system_function("noted", udf(noted, result_type="INT"))
    table = environment.from_elements([(number,) for number in range(20)], ["v"])
    environment.create_temporary_view("t", table)
    environment.create_temporary_view("shared", environment.sql_query("SELECT noted(v) AS v FROM t"))
    statements = environment.create_statement_set()
    statements.add_insert_sql("INSERT INTO one SELECT v FROM shared WHERE MOD(v, 2) = 0")
    statements.add_insert_sql("INSERT INTO two SELECT SUM(v) FROM shared")
    result = statements.execute()
    result.wait()
    assert [list(row) for row in result.collect()] == [[10, 1]]
    assert written(tmp_path / "one") == list(range(0, 20, 2)) and written(tmp_path / "two") == [190]
    assert sorted(map(int, calls.read_text().split())) == list(range(20))


class NotingReader(Reader):
    def __init__(self, columns: Sequence[int], folder: str) -> None:
        super().__init__(columns, None)
        self._notes = Path(folder) / "splits"

    def add_splits(self, splits: Sequence[int]) -> None:
        with self._notes.open("a") as file:
            file.write("".join(f"{split}\n" for split in splits))
        super().add_splits(splits)


class NotingNumbers(Numbers):
    def __init__(self, columns: Sequence[int], folder: str) -> None:
        super().__init__(columns)
        self._folder = folder

    def create_reader(self, context: SourceReaderContext) -> Reader:
        return NotingReader(self._columns, self._folder)


class NotingTable(NumbersTable):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = str(folder)

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        return NotingNumbers(columns, self._folder)


@pytest.mark.parametrize("reuse", [True, False])
def test_a_table_is_read_once_for_different_columns(context: Context, tmp_path: Path, reuse: bool) -> None:
    if not reuse:
        settings = {**context.surroundings.configuration, "table.optimizer.reuse-source-enabled": "false"}
        context = replace(context, surroundings=replace(context.surroundings, configuration=settings))
    table = NotingTable(tmp_path)
    first, second = scan(table), scan(table)
    narrow = project(n.Filter(first, fn("<", at(first, "a"), lit(5))), a=at(first, "a"), b=at(first, "b"))
    other = project(second, c=at(second, "c"), b=at(second, "b"))
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    assert write_all([insert(folders[0], narrow), insert(folders[1], other)], context) == [5, 20]
    lines = [sorted(line for file in folder.iterdir() for line in file.read_text().split()) for folder in folders]
    assert lines[0] == sorted(f"{a},{b}" for a, b, _ in ROWS if a < 5)
    assert lines[1] == sorted(f"{c},{b}" for _, b, c in ROWS)
    splits = sorted((tmp_path / "splits").read_text().split())
    assert splits == sorted("0123" if reuse else "00112233")


def test_nothing_shows_if_one_of_the_inserts_fails(environment: TableEnvironment, tmp_path: Path) -> None:
    environment.create_temporary_system_function("half", udf(lambda v: 1 // v, result_type="INT"))
    statements = environment.create_statement_set()
    statements.add_insert_sql("INSERT INTO one VALUES (1), (2)")
    statements.add_insert_sql("INSERT INTO two SELECT half(v) FROM (VALUES (0)) AS t(v)")
    with pytest.raises(QueryFailedError, match="ZeroDivisionError"):
        statements.execute().wait()
    assert written(tmp_path / "one") == written(tmp_path / "two") == []


def test_reporters_of_a_batch_query_and_the_records_that_it_left_out(
    environment: TableEnvironment, tmp_path: Path
) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "lines.json").write_text('{"v": 1}\n{\n{"v": 2}\n]\nx\n')
    environment.execute_sql(
        f"CREATE TABLE bad (v INT) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/bad', 'format' = 'json', "
        "'json.ignore-parse-errors' = 'true')"
    )
    environment.get_config().set("metrics.reporter.own.factory.class", "tests.metrics.reporters.own:Remembers")
    own.Remembers.all.clear()
    result = environment.execute_sql("SELECT v FROM bad")
    assert sorted(row[0] for row in result.collect()) == [1, 2]
    reported = own.Remembers.all
    [left_out] = [value for name, value in reported.items() if name.endswith("numRecordsInErrors")]
    assert left_out == CounterSnapshot(3)
    [running] = [value for name, value in reported.items() if name.endswith(".runningTimeTotal")]
    assert isinstance(running, GaugeSnapshot) and running.value > 0
    environment.get_config().set("metrics.reporter.own.factory.class", "tests.metrics.reporters.own:Missing")
    with pytest.raises(ValueError, match="Missing"):
        environment.execute_sql("SELECT v FROM bad")


def test_lines_that_could_not_be_read_are_no_secret(
    environment: TableEnvironment, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Streaming mode warns of them, too: the results lack them."""
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "a").write_text('{"v": 1}\n{"v": \nnothing\n{"v": 2}\n')
    options = f"'connector' = 'filesystem', 'path' = '{tmp_path}/bad', 'format' = 'json'"
    environment.execute_sql(f"CREATE TABLE bad (v INT) WITH ({options}, 'json.ignore-parse-errors' = 'true')")
    with caplog.at_level("WARNING", "millrace"):
        environment.execute_sql("INSERT INTO one SELECT v FROM bad WHERE v IS NOT NULL").wait()
    assert written(tmp_path / "one") == [1, 2]
    assert [each.message.partition(" is ")[2] for each in caplog.records] == [
        "FINISHED, 2 that could not be read left out"
    ]
