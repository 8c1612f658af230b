"""What the SQL gateway refuses: sessions, operations, tokens and statements that are wrong."""

from __future__ import annotations

from collections.abc import Iterator

from tests.flink.rest.ask import GATEWAY, Ask
from tests.flink.rest.asks.gateway import OPERATION, RESULT, SESSION, ended, opened, operation, result, submitted
from tests.flink.rest.asks.templates import MALFORMED

UNKNOWN = "01234567-89ab-cdef-0123-456789abcdef"
MISTAKES = {
    "syntax": "SELEC 1",
    "no_table": "SELECT * FROM nothing",
    "no_column": "SELECT nothing FROM (VALUES (1)) AS t (n)",
    "no_function": "SELECT NOTHING(1)",
    "types": "INSERT INTO numbers SELECT DATE '2020-01-01'",
    "fails_later": "SELECT 1 / (n - n) FROM (VALUES (1), (2)) AS t (n)",
    "two_statements": "SELECT 1; SELECT 2",
    "nothing": "",
    "begin": "BEGIN STATEMENT SET",
    "no_catalog": "USE CATALOG nothing",
    "no_connector": "SELECT * FROM broken",
}


def asks() -> Iterator[Ask]:
    yield opened("/v2", "errors", "a session for mistakes")
    yield from _sessions()
    yield from _operations()
    yield from _statements()
    yield from _paths()


def _sessions() -> Iterator[Ask]:
    for about, each in (("no such session", UNKNOWN), ("a malformed session", MALFORMED)):
        given = {"session_handle": each}
        yield Ask(GATEWAY, "GET", f"/v2{SESSION}", about, given)
        yield Ask(GATEWAY, "DELETE", f"/v2{SESSION}", about, given)
        yield Ask(GATEWAY, "POST", f"/v2{SESSION}/heartbeat", about, given)
        yield Ask(GATEWAY, "POST", f"/v2{SESSION}/statements", about, given, body={"statement": "SELECT 1"})
        asked = {**given, "operation_handle": UNKNOWN}
        yield Ask(GATEWAY, "GET", f"/v2{OPERATION}/status", about, asked)
        yield Ask(GATEWAY, "POST", f"/v2{OPERATION}/cancel", about, asked)
        yield Ask(GATEWAY, "DELETE", f"/v2{OPERATION}/close", about, asked)
        yield Ask(GATEWAY, "GET", f"/v2{RESULT}", about, {**asked, "token": "0"}, "rowFormat=JSON")
    for about, body in (
        ("no body", None),
        ("an empty body", {}),
        ("not JSON", "{nothing"),
        ("a list", []),
        ("properties that are a text", {"properties": "x"}),
        ("a property that is a number", {"properties": {"parallelism.default": 2}}),
        ("an unknown field", {"nothing": 1}),
        ("fields of old", {"planner": "blink", "execution_type": "streaming"}),
        ("a malformed property", {"properties": {"parallelism.default": "x"}}),
    ):
        yield Ask(GATEWAY, "POST", "/v2/sessions", about, body=body)


def _operations() -> Iterator[Ask]:
    session = {"session_handle": "@kept.session_errors"}
    for about, each in (("no such operation", UNKNOWN), ("a malformed operation", MALFORMED)):
        given = {**session, "operation_handle": each}
        yield Ask(GATEWAY, "GET", f"/v2{OPERATION}/status", about, given)
        yield Ask(GATEWAY, "POST", f"/v2{OPERATION}/cancel", about, given)
        yield Ask(GATEWAY, "DELETE", f"/v2{OPERATION}/close", about, given)
        yield Ask(GATEWAY, "GET", f"/v2{RESULT}", about, {**given, "token": "0"}, "rowFormat=JSON")
    yield submitted("/v2", "errors", "good", "SHOW CATALOGS")
    yield result("/v2", "errors", "good", "0")
    for token, query in (
        ("1", "rowFormat=JSON"),
        ("7", "rowFormat=JSON"),
        ("-1", "rowFormat=JSON"),
        (MALFORMED, "rowFormat=JSON"),
        ("0", "rowFormat=nonsense"),
        ("0", ""),
        ("0", "rowFormat=json"),
    ):
        given = {**operation("errors", "good"), "token": token}
        yield Ask(GATEWAY, "GET", f"/v2{RESULT}", f"token {token}", given, query)


def _statements() -> Iterator[Ask]:
    session = {"session_handle": "@kept.session_errors"}
    for name, options in (("numbers", "'connector' = 'blackhole'"), ("broken", "'connector' = 'nothing'")):
        yield submitted("/v2", "errors", f"create_{name}", f"CREATE TABLE {name} (n INT) WITH ({options})")
        yield ended("/v2", "errors", f"create_{name}")
    for name, statement in MISTAKES.items():
        yield submitted("/v2", "errors", name, statement, executionConfig={"execution.runtime-mode": "batch"})
        given = operation("errors", name)
        yield Ask(GATEWAY, "GET", f"/v2{OPERATION}/status", name, given, until="status=ERROR,FINISHED")
        yield result("/v2", "errors", name, "0")
    for about, body in (
        ("no body", None),
        ("no statement", {}),
        ("not JSON", "{nothing"),
        ("a statement that is a number", {"statement": 1}),
        ("a negative timeout", {"statement": "SHOW TABLES", "executionTimeout": -1}),
        ("a timeout", {"statement": "SHOW TABLES", "executionTimeout": 1000}),
    ):
        yield Ask(GATEWAY, "POST", f"/v2{SESSION}/statements", about, session, body=body)


def _paths() -> Iterator[Ask]:
    session = {"session_handle": "@kept.session_errors"}
    for method, path in (
        ("GET", "/"),
        ("GET", "/nothing"),
        ("GET", "/v5/info"),
        ("GET", "/v2/sessions"),
        ("PUT", "/v2/sessions"),
        ("POST", "/v2/info"),
        ("GET", "/v2/nothing"),
    ):
        yield Ask(GATEWAY, method, path, "no such path", body={} if method in ("POST", "PUT") else None)
    for method, part in (("PATCH", ""), ("GET", "/heartbeat"), ("GET", "/statements"), ("DELETE", "/nothing")):
        yield Ask(GATEWAY, method, f"/v2{SESSION}{part}", "no such path", session)
    script = {"script": "SELECT 1"}
    for version in ("/v3", "/v4"):
        yield Ask(GATEWAY, "POST", f"{version}{SESSION}/scripts", "a script", session, body=script)
    yield Ask(GATEWAY, "POST", f"/v4{SESSION}/scripts", "no script", session, body={})
    given = {**session, "identifier": "nothing"}
    refresh = "/v3/sessions/{session_handle}/materialized-tables/{identifier}/refresh"
    yield Ask(GATEWAY, "POST", refresh, "no such table", given, body={"isPeriodic": False})
