"""The gateway over HTTP."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.cluster.gateway.conftest import FakeEngine
from tests.cluster.rest.client import Client

from millrace.cluster.gateway.gateway import Gateway
from millrace.cluster.gateway.routes import make_gateway_app
from millrace.cluster.rest.settings import RestSettings

DEADLINE = 120.0
UNKNOWN = "01234567-89ab-cdef-0123-456789abcdef"


@pytest.fixture
def http(gateway: Gateway) -> Client:
    return Client(make_gateway_app(gateway, RestSettings()))


@pytest.fixture
def session(http: Client) -> str:
    opened = http.post("/v2/sessions", json={"properties": {"my.own": "one"}})
    assert opened.status_code == 200
    path = f"/v2/sessions/{opened.json()['sessionHandle']}"
    for statement in ("CREATE TABLE t (n INT, s STRING) WITH ('connector' = 'datagen')",
                      "CREATE TABLE sink (n INT, s STRING) WITH ('connector' = 'blackhole')"):  # fmt: skip
        assert http.post(f"{path}/configure-session", json={"statement": statement}).json() == {}
    return path


def submit(http: Client, session: str, statement: str, **more: Any) -> str:
    answer = http.post(f"{session}/statements", json={"statement": statement, **more})
    assert answer.status_code == 200
    return f"{session}/operations/{answer.json()['operationHandle']}"


def over(http: Client, operation: str) -> str:
    deadline = time.monotonic() + DEADLINE
    while (status := http.get(f"{operation}/status").json()["status"]) in ("PENDING", "RUNNING"):
        assert time.monotonic() < deadline
    return str(status)


def pages(http: Client, operation: str, row_format: str = "JSON") -> list[dict[str, Any]]:
    """All pages with rows, and the last one."""
    found = []
    uri: str | None = f"{operation}/result/0?rowFormat={row_format}"
    while uri is not None:
        page = http.get(uri).json()
        if page["resultType"] == "EOS" or page.get("results", {}).get("data"):
            found.append(page)
        uri = page.get("nextResultUri")
    return found


def test_what_it_is(http: Client) -> None:
    assert http.get("/api_versions").json() == {"versions": ["V1", "V2", "V3", "V4"]}
    for version in ("", "/v1", "/v2", "/v3", "/v4"):
        assert http.get(f"{version}/info").json() == {"productName": "Apache Flink", "version": "2.3.0"}


def test_a_query(http: Client, session: str, engine: FakeEngine) -> None:
    operation = submit(http, session, "SELECT * FROM t")
    assert over(http, operation) == "FINISHED"
    first, last = pages(http, operation)
    assert first["results"]["columns"][0] == {
        "name": "n",
        "logicalType": {"type": "INTEGER", "nullable": True},
        "comment": None,
    }
    assert first["results"]["data"] == [
        {"kind": "INSERT", "fields": [1, "a"]},
        {"kind": "INSERT", "fields": [2, "b"]},
    ]
    assert (first["resultType"], first["resultKind"]) == ("PAYLOAD", "SUCCESS_WITH_CONTENT")
    assert first["isQueryResult"] is True
    assert first["jobID"] == engine.jobs[0].id
    assert last["resultType"] == "EOS"
    assert "nextResultUri" not in last
    assert http.post(f"{operation}/cancel").status_code == 500
    assert http.call("DELETE", f"{operation}/close").json() == {"status": "CLOSED"}
    assert engine.closed == 1
    assert http.get(f"{operation}/status").status_code == 500


def test_plain_texts(http: Client, session: str) -> None:
    first, _ = pages(http, submit(http, session, "SELECT * FROM t"), "PLAIN_TEXT")
    assert [row["fields"] for row in first["results"]["data"]] == [["1", "a"], ["2", "b"]]


def test_a_statement_without_rows(http: Client, session: str) -> None:
    first, _ = pages(http, submit(http, session, "CREATE DATABASE other"))
    assert first["resultKind"] == "SUCCESS"
    assert first["results"]["data"] == [{"kind": "INSERT", "fields": ["OK"]}]
    assert "jobID" not in first


def test_a_mistake(http: Client, session: str) -> None:
    operation = submit(http, session, "SELECT nothing FROM t")
    assert over(http, operation) == "ERROR"
    answer = http.get(f"{operation}/result/0?rowFormat=JSON")
    assert answer.status_code == 500
    assert answer.json()["errors"][0] == "Internal server error."
    assert "nothing" in answer.json()["errors"][1]


def test_sessions_end(http: Client, session: str) -> None:
    assert http.get(session).json()["properties"]["my.own"] == "one"
    assert http.post(f"{session}/heartbeat").json() == {}
    assert http.call("DELETE", session).json() == {"status": "CLOSED"}
    for method, path in (("GET", session), ("DELETE", session), ("POST", f"{session}/heartbeat")):
        assert http.call(method, path).status_code == 500
    assert http.get(f"/v1/sessions/{UNKNOWN}").status_code == 500
    assert http.get("/v1/sessions/malformed").status_code == 400


def test_closing_what_is_not_there(http: Client, session: str) -> None:
    assert http.call("DELETE", f"{session}/operations/{UNKNOWN}/close").json() == {"status": "CLOSED"}
    assert http.get(f"{session}/operations/{UNKNOWN}/status").status_code == 500


def test_versions_have_what_they_had(http: Client, session: str) -> None:
    first = session.replace("/v2", "/v1")
    assert http.post(f"{first}/configure-session", json={"statement": "SHOW TABLES"}).status_code == 404
    body = {"statement": "SELECT * FROM si", "position": 16}
    assert http.call("GET", f"{session}/complete-statement", json=body).json() == {"candidates": ["sink"]}
    operation = submit(http, first, "SHOW TABLES")
    assert pages(http, operation)[0]["nextResultUri"].startswith("/v1/")


def test_secrets_are_masked(http: Client, session: str) -> None:
    set_it = {"statement": "SET 'my.password' = 'hunter2'"}
    assert http.post(f"{session}/configure-session", json=set_it).status_code == 200
    assert "hunter2" not in http.get(session).text
    assert "hunter2" not in http.get(f"{submit(http, session, 'SET')}/result/0?rowFormat=JSON").text


def test_the_token_is_asked_for(gateway: Gateway) -> None:
    settings = RestSettings(token="secret")
    client = Client(make_gateway_app(gateway, settings))
    assert client.get("/v1/info").status_code == 200
    assert client.post("/v1/sessions").status_code == 401
    allowed = {"Authorization": "Bearer secret"}
    session = client.post("/v1/sessions", headers=allowed).json()["sessionHandle"]
    assert client.get(f"/v1/sessions/{session}").status_code == 401
    assert client.get("/v1/info", headers={"Host": "evil.example"}).status_code == 403
