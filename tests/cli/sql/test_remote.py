"""Statements at a gateway: the same is shown as when they run in the client."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pyarrow as pa
import pytest
from click.testing import CliRunner
from tests.cluster.gateway.conftest import FakeEngine, engine, gateway
from tests.cluster.sql_client.conftest import URL, session, transport

from millrace.cli.main import main
from millrace.cli.sql.client import Client
from millrace.cli.sql.executor import Embedded
from millrace.cli.sql.remote import Remote
from millrace.cli.sql.results import Console
from millrace.cluster.gateway.gateway import Gateway
from millrace.cluster.gateway.sql_session import SqlJobs, SqlSession
from millrace.cluster.sql_client import RemoteSession
from millrace.common.jobs import JobStatus
from millrace.common.types import Row, RowKind

__all__ = ["engine", "gateway", "session", "transport"]

BEGIN = (
    "SET 'sql-client.display.print-time-cost' = 'false'; SET 'my.password' = 'hunter2'; SET 'my.own' = 'one';"
    "CREATE TABLE IF NOT EXISTS t (n INT, s STRING) WITH ('connector' = 'datagen');"
    "CREATE TABLE IF NOT EXISTS sink (n INT, s STRING) WITH ('connector' = 'blackhole');"
)
SCRIPTS = (
    "SELECT * FROM t",
    "SHOW TABLES; DESCRIBE t; SHOW CREATE TABLE t; SHOW VIEWS; CREATE DATABASE other",
    "EXPLAIN SELECT n FROM t",
    "SET; RESET 'my.own'; SET",
    "SET 'sql-client.execution.result-mode' = 'nonsense'",
    "SET 'execution.runtime-mode' = 'sometimes'; SHOW TABLES",
    "SELECT nothing FROM t",
    "SELECT 1 +; SHOW TABLES",
    "SHOW JOBS; STOP JOB 'none'",
    "INSERT INTO sink SELECT * FROM t",
)


@pytest.fixture
def remote(session: RemoteSession) -> Client:
    return Client(Remote(session), Console(False))


@pytest.fixture
def here(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Runs its statements itself, on the same engine."""
    jobs = SqlJobs(lambda _: None)
    return Client(Embedded(SqlSession({"table.local-time-zone": "UTC", "my.own": "one"}), jobs), Console(False))


@pytest.mark.parametrize("script", SCRIPTS)
def test_both_show_the_same(
    script: str, remote: Client, here: Client, engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.rows = lambda: iter([Row(1, "a"), Row.of_kind(RowKind.UPDATE_BEFORE, 1, "a"), Row(None, "ü")])
    shown = []
    for client in (here, remote):
        client.run(BEGIN)
        capsys.readouterr()
        went_well = client.run(script)
        text = capsys.readouterr().out
        shown.append((went_well, text))
        assert "hunter2" not in text and text
    job = [each.id for each in engine.jobs]
    assert shown[0][0] == shown[1][0]
    assert shown[1][1].replace(job[-1], job[0]) == shown[0][1] if job else shown[1] == shown[0]


def test_both_write_the_same_stream_of_arrow(
    remote: Client, here: Client, engine: FakeEngine, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    engine.rows = lambda: iter([Row(1, "a"), Row.of_kind(RowKind.UPDATE_BEFORE, 1, "a"), Row(None, "ü")])
    found = []
    for client in (here, remote):
        client.run(f"{BEGIN} SET 'millrace.sql.output' = 'arrow'")
        capfdbinary.readouterr()
        assert client.run("SELECT * FROM t")
        found.append(pa.ipc.open_stream(capfdbinary.readouterr().out).read_all())
    assert found[0].equals(found[1])
    assert found[0].to_pydict() == {"op": ["+I", "-U", "+I"], "n": [1, 1, None], "s": ["a", "a", "ü"]}


def test_jobs_are_the_gateways(remote: Client, engine: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    assert remote.run(f"{BEGIN} INSERT INTO sink SELECT * FROM t; SHOW JOBS")
    assert f"Job ID: {engine.jobs[0].id}" in capsys.readouterr().out
    assert remote.executor.running() == []
    assert remote.run(f"STOP JOB '{engine.jobs[0].id}'")
    assert f"Job {engine.jobs[0].id} has been cancelled." in capsys.readouterr().out
    assert engine.jobs[0].status.name == "CANCELED"


def test_a_job_that_fails_later_is_told_once(
    remote: Client, engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert remote.run(f"{BEGIN} INSERT INTO sink SELECT * FROM t")
    assert not remote.tell_failed_jobs()
    engine.jobs[0].end(JobStatus.FAILED, RuntimeError("no space"))
    capsys.readouterr()
    assert remote.tell_failed_jobs()
    assert f"job {engine.jobs[0].id} (insert 1): " in capsys.readouterr().out
    assert not remote.tell_failed_jobs()


def test_waiting_for_an_insert(remote: Client, engine: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    assert remote.run(f"{BEGIN} SET 'table.dml-sync' = 'true'; INSERT INTO sink SELECT * FROM t")
    assert "[INFO] The job has finished.\n" in capsys.readouterr().out


def test_ctrl_c_ends_the_query(remote: Client, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def rows() -> Iterator[Row]:
        yield Row(1, "a")

    engine.rows = rows

    def show(lines: Any) -> None:
        for line in lines:
            if "a" in line.split():
                raise KeyboardInterrupt

    monkeypatch.setattr(remote.console, "show", show)
    with pytest.raises(KeyboardInterrupt):
        remote.run("SELECT * FROM t")
    assert engine.closed == 1


def test_completion(remote: Client) -> None:
    (found,) = remote.executor.words().of("SELECT * FROM si")
    assert (found.text, found.length) == ("sink", 2)


def test_a_gateway_that_is_gone(
    remote: Client, session: RemoteSession, gateway: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    gateway.close(session.handle)
    assert not remote.run("SET 'a' = 'b'")
    assert "does not exist" in capsys.readouterr().out
    assert not remote.run("SHOW TABLES")
    assert list(remote.executor.words().of("SEL")) == []


# -- the command line ---------------------------------------------------------------------------------------------


@pytest.fixture
def command(transport: httpx.BaseTransport, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs ``millrace sql`` so that it finds the gateway of the test."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    make = httpx.Client
    monkeypatch.setattr(httpx, "Client", lambda **options: make(**{**options, "transport": transport}))
    return lambda *words: CliRunner().invoke(main, ["sql", *words], input="SHOW CATALOGS; SET 'a' = 'b'; SET")


def test_the_mode_gateway(command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, gateway: Gateway) -> None:
    monkeypatch.setenv("MILLRACE_REST_TOKEN", "secret")
    for option in ("-e", "--endpoint"):
        found = command("gateway", option, URL, "-p", "3", "-D", "my.own=two")
        assert found.exit_code == 0, found.output
        for text in ("default_catalog", "parallelism.default", "my.own", "two"):
            assert text in found.stdout
    assert "default_catalog" in command("gateway", "-e", URL, "--execute", "SHOW CATALOGS").stdout
    assert "default_catalog" in command("embedded", "-e", "SHOW CATALOGS").stdout
    assert gateway._sessions == {}, "the client has closed its sessions"


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["gateway"], 2, "-e says where it is"),
        (["--endpoint", URL], 2, "millrace sql gateway -e URL"),
        (["gateway", "-e", URL, "--endpoint", URL], 2, "give one of them"),
        (["-e", "SHOW TABLES", "--execute", "SHOW TABLES"], 2, "give one of them"),
        (["gateway", "-e", "ftp://host"], 2, "not the address of a gateway"),
        (["gateway", "-e", URL, "--master", "local"], 2, "--master is for the process"),
        (["gateway", "-e", URL, "-D", "security.rest.token=wrong"], 1, "refuses"),
    ],
)
def test_wrong_options(command: Callable[..., Any], words: list[str], code: int, text: str) -> None:
    found = command(*words)
    assert (found.exit_code, text in found.stderr) == (code, True), found.output
