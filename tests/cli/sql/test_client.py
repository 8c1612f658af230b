"""Statements that the client answers itself, results it shows, errors it tells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from tests.cluster.sql.fake_job import FakeJob

from millrace.cli.sql.client import Client
from millrace.cli.sql.executor import QuitError
from millrace.cli.sql.results import Console
from millrace.common.jobs import JobStatus
from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.nodes import Field
from millrace.runtime.failure import Failure, JobFailedError
from millrace.spark.tables.engine import BatchEngine
from millrace.table import TableResult
from millrace.table.functions.function_catalog import CatalogManager
from millrace.table.planner.engine import StreamingEngine


@pytest.fixture
def run(client: Client, capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    """Runs statements and gives what is printed."""

    def run(text: str) -> str:
        client.run(text)
        return capsys.readouterr().out

    return run


QUIET = "SET 'sql-client.display.print-time-cost' = 'false';"


def test_ddl_and_lists(run: Callable[[str], str]) -> None:
    run(QUIET)
    assert run("CREATE TABLE t (a INT) WITH ('connector' = 'blackhole')") == "[INFO] Execute statement succeeded.\n"
    assert run("SHOW TABLES") == (
        "+------------+\n| table name |\n+------------+\n|          t |\n+------------+\n1 row in set\n"
    )
    assert run("SHOW VIEWS; SHOW JARS") == "Empty set\nEmpty set\n"


def test_help_names_every_setting(run: Callable[[str], str]) -> None:
    text = run("HELP")
    assert "STOP JOB" in text
    assert "sql-client.execution.result-mode" in text


def test_quit_is_told_to_the_caller(client: Client) -> None:
    for text in ("QUIT", "exit;", "SHOW TABLES; QUIT; SHOW NONSENSE"):
        with pytest.raises(QuitError):
            client.run(text)


# -- settings -----------------------------------------------------------------------------------------------------


def test_set_and_reset(run: Callable[[str], str], client: Client) -> None:
    run("SET 'pipeline.name' = 'x'; SET 'parallelism.default' = '3'")
    environment = client.executor.session.environment
    assert environment._session.streams.get_parallelism() == 3
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in run("SET").splitlines()]
    assert ["pipeline.name", "x"] in cells
    assert ["sql-client.execution.result-mode", "tableau"] in cells
    run("RESET 'pipeline.name'")
    assert "pipeline.name" not in run("SET")
    run("SET pipeline.name = plain")
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in run("SET").splitlines()]
    assert ["pipeline.name", "plain"] in cells
    run("RESET pipeline.name")
    assert "pipeline.name" not in run("SET")
    run("RESET")
    assert "parallelism.default" not in run("SET")
    assert "table.local-time-zone" in run("SET"), "what the client began with stays"


def test_the_mode_can_be_changed(run: Callable[[str], str], client: Client) -> None:
    run("SET 'execution.runtime-mode' = 'BATCH'")
    assert not client.executor.session.environment._session.streaming
    assert "is 'streaming' or 'batch', not 'automatic'" in run("SET 'execution.runtime-mode' = 'automatic'")
    assert not client.executor.session.environment._session.streaming
    assert client.executor.session.settings()["execution.runtime-mode"] == "BATCH"
    run("RESET 'execution.runtime-mode'")
    assert client.executor.session.environment._session.streaming


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SET 'sql-client.execution.result-mode' = 'tables'", "not 'tables', did you mean 'table'?"),
        ("SET 'sql-client.execution.max-table-result.rows' = 'many'", "is a number from 1 on, not 'many'"),
        ("SET 'sql-client.verbose' = 'yes'", "is 'true' or 'false', not 'yes'"),
        ("SET 'table.local-time-zone' = 'Nowhere'", "there is no time zone 'Nowhere'"),
        ("SET 'table.exec.state.ttl' = 'long'", "table.exec.state.ttl"),
        ("SET sql-client.verbose = file://x", "stands in single quotes"),
    ],
)
def test_settings_that_cannot_be(run: Callable[[str], str], client: Client, statement: str, message: str) -> None:
    before = client.executor.session.settings()
    found = run(statement)
    assert found.startswith("[ERROR] Could not execute SQL statement. Reason:\n")
    assert message in found
    assert client.executor.session.settings() == before


# -- errors -------------------------------------------------------------------------------------------------------


def test_an_error_shows_the_place_and_nothing_of_python(run: Callable[[str], str]) -> None:
    run("CREATE TABLE t (apples INT) WITH ('connector' = 'datagen')")
    assert run("SELECT aples FROM t") == (
        "[ERROR] Could not execute SQL statement. Reason:\n"
        "unknown column 'aples', did you mean 'apples'? (columns: apples)\n"
        "at line 1, column 8:\n"
        "  SELECT aples FROM t\n"
        "         ^^^^^\n"
    )


def test_errors_without_a_place(run: Callable[[str], str]) -> None:
    found = run("DROP TABLE nothing")
    assert "nothing" in found
    assert ".py" not in found


def test_verbose_errors_have_a_traceback(run: Callable[[str], str]) -> None:
    assert "Traceback" not in run("SELECT x")
    assert "Traceback (most recent call last)" in run("SET 'sql-client.verbose' = 'true'; SELECT x")


def test_a_slip_of_ours_has_its_type(run: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CatalogManager, "catalogs", lambda _: {}["x"])
    assert "KeyError: 'x'\n(SET 'sql-client.verbose' = 'true' shows all of it)" in run("SHOW CATALOGS")


def test_the_first_error_ends_a_script(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    assert not client.run("SHOW CATALOGS;\nSHOW\n  TABELS;\nSHOW DATABASES;", "a.sql")
    found = capsys.readouterr().out
    assert "catalog name" in found
    assert "a.sql:3:3: there is no SHOW TABELS" in found
    assert "database name" not in found


def test_an_error_in_a_view_names_the_statement(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    client.executor.session.environment.execute_sql("CREATE TABLE t (a INT) WITH ('connector' = 'datagen')")
    client.executor.session.environment.execute_sql("CREATE VIEW v AS SELECT a FROM t")
    client.executor.session.environment.execute_sql("DROP TABLE t")
    capsys.readouterr()
    assert not client.run("\n  SELECT * FROM v;", "a.sql")
    assert "a.sql:2:3: " in capsys.readouterr().out


@pytest.mark.parametrize("statement", ["ADD JAR 'a.jar'", "REMOVE JAR 'a.jar'"])
def test_jars_are_refused_with_the_alternative(run: Callable[[str], str], statement: str) -> None:
    found = run(statement)
    assert statement.rpartition(" ")[0] in found
    assert "-pyfs" in found


# -- queries ------------------------------------------------------------------------------------------------------


def _answer(monkeypatch: pytest.MonkeyPatch, result: TableResult) -> None:
    monkeypatch.setattr(StreamingEngine, "execute", lambda *_: result)
    monkeypatch.setattr(BatchEngine, "execute", lambda *_: result)


def test_a_streaming_query(
    run: Callable[[str], str], fake_result: Callable[..., TableResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    _answer(monkeypatch, fake_result([("+I", ("a", 1)), ("-D", ("a", 1))]))
    lines = run(f"{QUIET} SELECT 1").splitlines()
    assert lines[2].startswith("| op |")
    assert lines[-1] == "Received a total of 2 rows"


@pytest.mark.parametrize("where", ["between rows", "in a line"])
def test_ctrl_c_ends_a_query_wherever_it_comes(
    client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], where: str
) -> None:
    closed: list[bool] = []

    def rows() -> Iterator[Row]:
        yield Row(1)
        if where == "between rows":
            raise KeyboardInterrupt
        yield Row(2)

    def show(console: Console, lines: Iterable[str]) -> None:
        for line in lines:
            if " 2 |" in line:
                raise KeyboardInterrupt
            print(line)

    result = TableResult((Field("n", t.IntType()),), rows(), close=lambda: closed.append(True))
    _answer(monkeypatch, result)
    monkeypatch.setattr(Console, "show", show)
    client.run(QUIET)
    with pytest.raises(KeyboardInterrupt):
        client.run("SELECT 1")
    assert capsys.readouterr().out.splitlines()[-1] == "Query terminated, received a total of 1 row"
    assert closed == [True]


@pytest.mark.parametrize("mode", ["table", "changelog"])
def test_modes_for_a_terminal_are_refused_without(run: Callable[[str], str], mode: str) -> None:
    found = run(f"SET 'sql-client.execution.result-mode' = '{mode}'; SELECT 1")
    assert f"is '{mode}', which needs a terminal to look at" in found


def test_modes_for_a_terminal(
    client: Client, fake_result: Callable[..., TableResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    on_terminal = Client(client.executor, Console(False), lambda *given: shown.append(given))
    result = fake_result([])
    _answer(monkeypatch, result)
    assert on_terminal.run("SET 'sql-client.execution.result-mode' = 'table'; SELECT 1")
    ((given, settings, zone),) = shown
    assert (given, settings.mode, zone) == (result, "table", "UTC")


# -- jobs ---------------------------------------------------------------------------------------------------------


INSERT = "INSERT INTO t VALUES (1);"


def test_an_insert_prints_its_job_and_goes_on(run: Callable[[str], str], jobs: list[FakeJob]) -> None:
    run(QUIET)
    assert run(INSERT) == "[INFO] The job has been submitted.\nJob ID: job1\n"
    assert run(f"EXECUTE STATEMENT SET BEGIN {INSERT} {INSERT} END;").endswith("Job ID: job2\n")
    assert run(f"BEGIN STATEMENT SET; {INSERT} END;").endswith("Job ID: job3\n")
    shown = run("SHOW JOBS").splitlines()
    assert [cell.strip() for cell in shown[1].split("|")[1:-1]] == ["job id", "job name", "status", "start time"]
    assert [line.split("|")[1].strip() for line in shown[3:6]] == ["job3", "job2", "job1"]
    assert shown[5].split("|")[2].strip() == "insert 1"
    assert shown[5].split("|")[3].strip() == "RUNNING"
    assert len(run("DESCRIBE JOB 'job2'").splitlines()) == 6
    like = run("SHOW JOBS LIKE 'insert _'; SHOW JOBS NOT LIKE 'insert %'; SHOW JARS LIKE '%.jar'")
    assert [like.count(f"job{number}") for number in (1, 2, 3)] == [1, 1, 1]


def test_inserts_that_are_waited_for(
    run: Callable[[str], str], jobs: list[FakeJob], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeJob, "wait", lambda self: self.end(JobStatus.FINISHED))
    run(f"{QUIET} SET 'table.dml-sync' = 'true'")
    assert run(INSERT).endswith("[INFO] The job has finished.\n")
    assert jobs[0].status is JobStatus.FINISHED


def test_stop_job(run: Callable[[str], str], jobs: list[FakeJob]) -> None:
    run(f"{QUIET} {INSERT} {INSERT} {INSERT}")
    assert run("STOP JOB 'job1'") == "[INFO] Job job1 has been cancelled.\n"
    assert "/savepoints/1" in run("STOP JOB 'job2' WITH SAVEPOINT")
    assert "/savepoints/1" in run("STOP JOB 'job3' WITH SAVEPOINT WITH DRAIN")
    assert (jobs[1].saved, jobs[2].saved) == ([False], [True])
    assert "job job1 is over: CANCELED" in run("STOP JOB 'job1'")
    assert "has started no job 'job4', did you mean" in run("STOP JOB 'job4'")


def test_drain_needs_a_savepoint(run: Callable[[str], str], jobs: list[FakeJob]) -> None:
    assert "WITH DRAIN needs a savepoint" in run(f"{INSERT} STOP JOB 'job1' WITH DRAIN")
    assert jobs[0].status is JobStatus.RUNNING


def test_a_job_that_fails_later_is_told_once(
    run: Callable[[str], str], jobs: list[FakeJob], client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    run(f"{INSERT} {INSERT}")
    jobs[1].end(JobStatus.FAILED, JobFailedError(Failure("Calc", 0, "", "ValueError: bad")))
    assert client.tell_failed_jobs()
    found = capsys.readouterr().out
    assert "job job2 (insert 2): " in found
    assert "ValueError: bad" in found
    assert not client.tell_failed_jobs()
    assert [job.id for job in client.executor.jobs.running()] == ["job1"]


def test_jobs_end_with_their_client(run: Callable[[str], str], jobs: list[FakeJob], client: Client) -> None:
    run(f"{INSERT} {INSERT}")
    client.executor.jobs.cancel()
    assert {job.status for job in jobs} == {JobStatus.CANCELED}
