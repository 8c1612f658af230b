"""The SQL gateway's flows in each version: sessions, statements, results, cancel, close, configure, complete."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.flink.rest.ask import GATEWAY, Ask
from tests.flink.rest.asks.templates import UNKNOWN

VERSIONS = ("/v1", "/v2", "/v3", "/v4", "")
SESSION = "/sessions/{session_handle}"
OPERATION = SESSION + "/operations/{operation_handle}"
RESULT = OPERATION + "/result/{token}"
ROWS = "SELECT * FROM (VALUES (1, 'a'), (2, CAST(NULL AS STRING))) AS t (n, s)"


def asks() -> Iterator[Ask]:
    yield Ask(GATEWAY, "GET", "/info")
    for version in VERSIONS:
        yield from _flow(version)
    yield from _endless()
    yield from _configure()
    yield from _complete()


def opened(version: str, name: str, about: str, body: object = None) -> Ask:
    given = {} if body is None else body
    return Ask(GATEWAY, "POST", f"{version}/sessions", about, body=given, keep={f"session_{name}": "sessionHandle"})


def submitted(version: str, session: str, name: str, statement: str, **more: object) -> Ask:
    body = {"statement": statement, **more}
    given = {"session_handle": f"@kept.session_{session}"}
    path = f"{version}{SESSION}/statements"
    return Ask(GATEWAY, "POST", path, name, given, body=body, keep={f"operation_{name}": "operationHandle"})


def result(version: str, session: str, name: str, token: str, about: str = "", row_format: str = "JSON") -> Ask:
    given = {**operation(session, name), "token": token}
    query = f"rowFormat={row_format}" if row_format else ""
    return Ask(GATEWAY, "GET", version + RESULT, about or f"{name}, page {token}", given, query, until=READY)


def with_rows(page: Ask) -> Ask:
    """The first page with a row: a query may have empty ones before it."""
    return replace(page, given={**page.given, "token": "@next"}, until="results/data/0/kind=INSERT")


READY = "resultType=PAYLOAD,EOS"
"""The first page may not be ready when it is asked for."""


def operation(session: str, name: str) -> dict[str, str]:
    return {"session_handle": f"@kept.session_{session}", "operation_handle": f"@kept.operation_{name}"}


def ended(version: str, session: str, name: str) -> Ask:
    given = operation(session, name)
    return Ask(GATEWAY, "GET", f"{version}{OPERATION}/status", name, given, until="status=FINISHED,ERROR,CANCELED")


def _flow(version: str) -> Iterator[Ask]:
    called = version.strip("/") or "none"
    session = {"session_handle": f"@kept.session_{called}"}
    if version:
        yield Ask(GATEWAY, "GET", f"{version}/info")
        yield Ask(GATEWAY, "GET", f"{version}/api_versions")
    properties = {"parallelism.default": "1", "my.own": "value"}
    yield opened(version, called, "a session with a name", {"sessionName": "mine", "properties": properties})
    yield Ask(GATEWAY, "GET", version + SESSION, "a session", session)
    yield Ask(GATEWAY, "POST", f"{version}{SESSION}/heartbeat", "a session", session)
    yield Ask(GATEWAY, "POST", f"{version}{SESSION}/heartbeat", "a session, with a body", session, body={})
    rows, table = f"rows_{called}", f"table_{called}"
    create = "CREATE TABLE made (n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3')"
    yield submitted(version, called, table, create)
    yield ended(version, called, table)
    for token in ("0", "1"):
        yield result(version, called, table, token)
    yield submitted(version, called, rows, ROWS, executionConfig={"execution.runtime-mode": "batch"})
    yield ended(version, called, rows)
    page = result(version, called, rows, "0", row_format="" if version == "/v1" else "JSON")
    yield with_rows(page)
    given = {**page.given, "token": "@next"}
    yield replace(page, about=f"{rows}, the last page", given=given, until="resultType=EOS")
    if version != "/v1":
        other = f"text_{called}"
        yield submitted(version, called, other, ROWS, executionConfig={"execution.runtime-mode": "batch"})
        yield with_rows(result(version, called, other, "0", row_format="PLAIN_TEXT"))
    given = operation(called, rows)
    yield Ask(GATEWAY, "POST", f"{version}{OPERATION}/cancel", f"{rows}, when it has ended", given)
    yield Ask(GATEWAY, "DELETE", f"{version}{OPERATION}/close", rows, given)
    yield Ask(GATEWAY, "GET", f"{version}{OPERATION}/status", f"{rows}, when it is closed", given)
    yield Ask(GATEWAY, "DELETE", version + SESSION, "a session", session)
    yield Ask(GATEWAY, "GET", version + SESSION, "a session that is closed", session)
    yield Ask(GATEWAY, "DELETE", version + SESSION, "a session that is closed", session)


def _endless() -> Iterator[Ask]:
    """Queries and inserts whose jobs run until somebody ends them."""
    yield opened("/v2", "endless", "a session for jobs")
    source = "CREATE TABLE numbers (n INT) WITH ('connector' = 'datagen', 'fields.n.kind' = 'sequence', "
    source += "'fields.n.start' = '1', 'fields.n.end' = '100000', 'rows-per-second' = '1000')"
    for name, statement in (
        ("numbers", source),
        ("nowhere", "CREATE TABLE nowhere (n INT) WITH ('connector' = 'blackhole')"),
    ):
        yield submitted("/v2", "endless", name, statement)
        yield ended("/v2", "endless", name)
    yield submitted("/v2", "endless", "select", "SELECT * FROM numbers")
    yield ended("/v2", "endless", "select")
    # A job that is cancelled before its sink is open takes Flink's task manager with it: rows show that it is.
    yield with_rows(result("/v2", "endless", "select", "0"))
    yield Ask(GATEWAY, "POST", f"/v2{OPERATION}/cancel", "a query whose job runs", operation("endless", "select"))
    yield Ask(GATEWAY, "DELETE", f"/v2{OPERATION}/close", "a query whose job runs", operation("endless", "select"))
    yield submitted("/v2", "endless", "insert", "INSERT INTO nowhere SELECT n FROM numbers")
    yield ended("/v2", "endless", "insert")
    yield result("/v2", "endless", "insert", "0")
    yield result("/v2", "endless", "insert", "1")
    job = "jobID"
    given = {**operation("endless", "insert"), "token": "0"}
    keep = {"inserted": job}
    yield Ask(GATEWAY, "GET", f"/v2{RESULT}", "the id of an insert", given, "rowFormat=JSON", keep=keep)
    yield submitted("/v2", "endless", "show_jobs", "SHOW JOBS")
    yield result("/v2", "endless", "show_jobs", "0")
    yield submitted("/v2", "endless", "describe_job", "DESCRIBE JOB '@kept.inserted'")
    yield result("/v2", "endless", "describe_job", "0")
    yield submitted("/v2", "endless", "stop_job", "STOP JOB '@kept.inserted'")
    yield result("/v2", "endless", "stop_job", "0")
    set_sync = "INSERT INTO nowhere SELECT n FROM numbers"
    sync = {"table.dml-sync": "true"}
    yield submitted("/v2", "endless", "sync", set_sync, executionConfig=sync)
    one = operation("endless", "sync")
    yield Ask(GATEWAY, "GET", f"/v2{OPERATION}/status", "an insert that waits", one, until="status=RUNNING")
    given = {**one, "token": "0"}
    yield Ask(GATEWAY, "GET", f"/v2{RESULT}", "an insert that waits", given, "rowFormat=JSON")
    yield Ask(GATEWAY, "POST", f"/v2{OPERATION}/cancel", "an insert that waits", operation("endless", "sync"))
    yield Ask(GATEWAY, "GET", f"/v2{OPERATION}/status", "one that was cancelled", operation("endless", "sync"))
    yield Ask(GATEWAY, "GET", f"/v2{RESULT}", "one that was cancelled", given, "rowFormat=JSON")
    session = {"session_handle": "@kept.session_endless"}
    yield Ask(GATEWAY, "DELETE", f"/v2{SESSION}", "a session with jobs", session)


def _configure() -> Iterator[Ask]:
    yield opened("/v2", "configure", "a session to configure")
    session = {"session_handle": "@kept.session_configure"}
    for version in ("/v1", "/v2", "/v4"):
        for about, statement in (
            ("a setting", "SET 'my.own' = 'two'"),
            ("a table", f"CREATE TABLE t{version[1:]} (n INT) WITH ('connector' = 'blackhole')"),
            ("a query", "SELECT 1"),
            ("a mistake", "SELEC 1"),
            ("nothing", ""),
        ):
            path = f"{version}{SESSION}/configure-session"
            yield Ask(GATEWAY, "POST", path, about, session, body={"statement": statement})
    path = f"/v2{SESSION}/configure-session"
    yield Ask(GATEWAY, "POST", path, "no statement", session, body={})
    yield Ask(GATEWAY, "POST", path, "no such session", _unknown(), body={"statement": "SET 'a' = 'b'"})
    yield Ask(GATEWAY, "GET", f"/v2{SESSION}", "a session that was configured", session)


def _complete() -> Iterator[Ask]:
    session = {"session_handle": "@kept.session_configure"}
    for version in ("/v1", "/v2"):
        path = f"{version}{SESSION}/complete-statement"
        for statement, position in (("SELE", 4), ("SELECT * FROM tv", 16), ("nothing fits", 12), ("", 0), ("SE", 99)):
            body = {"statement": statement, "position": position}
            yield Ask(GATEWAY, "GET", path, f"{statement or 'nothing'} at {position}", session, body=body)
    path = f"/v2{SESSION}/complete-statement"
    yield Ask(GATEWAY, "GET", path, "no body", session)
    yield Ask(GATEWAY, "GET", path, "no such session", _unknown(), body={"statement": "SELE", "position": 4})


def _unknown() -> dict[str, str]:
    return {"session_handle": "01234567-89ab-cdef-0123-456789abcdef", "operation_handle": UNKNOWN}
