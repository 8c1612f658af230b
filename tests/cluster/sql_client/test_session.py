"""The client of a gateway."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import httpx
import pytest
from tests.cluster.gateway.conftest import FakeEngine
from tests.cluster.sql_client.app_transport import AppTransport
from tests.cluster.sql_client.conftest import URL

from millrace.cluster.gateway.gateway import Gateway
from millrace.cluster.sql_client import (
    GatewayClientError,
    NotAllowedError,
    RefusedError,
    RemoteSession,
    StatementEndedError,
    UnreachableError,
    address_of,
    root_cause,
)
from millrace.common.types import Row, RowKind

DEADLINE = 120.0


def test_a_query(session: RemoteSession, engine: FakeEngine) -> None:
    engine.rows = lambda: iter([Row(1, "a"), Row.of_kind(RowKind.DELETE, 1, None)])
    statement = session.submit("SELECT * FROM t")
    header = statement.header(DEADLINE)
    assert [column.name for column in header.columns] == ["n", "s"]
    assert (header.is_query, header.job_id) == (True, engine.jobs[0].id)
    rows = list(statement.rows())
    assert [list(row) for row in rows] == [[1, "a"], [1, None]]
    assert [row.get_row_kind() for row in rows] == [RowKind.INSERT, RowKind.DELETE]
    statement.close()
    assert engine.closed == 1
    statement.close()


def test_many_pages(session: RemoteSession, engine: FakeEngine) -> None:
    engine.rows = lambda: (Row(number, "") for number in range(12_000))
    assert [row[0] for row in session.submit("SELECT * FROM t").rows()] == list(range(12_000))


def test_rows_that_come_late_and_a_close_from_another_thread(session: RemoteSession, engine: FakeEngine) -> None:
    go, closed = threading.Event(), threading.Event()

    def rows() -> Iterator[Row]:
        yield Row(1, "a")
        go.wait(DEADLINE)
        yield Row(2, "b")
        closed.wait(DEADLINE)

    engine.rows = rows
    statement = session.submit("SELECT * FROM t")
    found = statement.rows()
    assert next(found)[0] == 1
    go.set()
    assert next(found)[0] == 2
    threading.Timer(0.05, statement.close).start()
    assert list(found) == []
    closed.set()


def test_an_answer_that_was_lost_is_asked_for_again(session: RemoteSession, engine: FakeEngine) -> None:
    engine.rows = lambda: iter([Row(1, "a")])
    statement = session.submit("SELECT * FROM t")
    inner = session._http._client._transport.handle_request
    lost: list[str] = []

    def losing(request: httpx.Request) -> httpx.Response:
        response = inner(request)
        if request.url.path not in lost:
            lost.append(request.url.path)
            raise httpx.ReadError("cut off")
        return response

    session._http._client._transport.handle_request = losing  # type: ignore[method-assign]
    assert [list(row) for row in statement.rows()] == [[1, "a"]]
    assert len(lost) >= 2


def test_failures(session: RemoteSession) -> None:
    with pytest.raises(RefusedError, match="nothing") as raised:
        session.submit("SELECT nothing FROM t").header(DEADLINE)
    assert raised.value.status == 500
    assert "Exception on server side" not in str(raised.value)


def test_cancelling(session: RemoteSession, engine: FakeEngine) -> None:
    engine.waits = True
    statement = session.submit("INSERT INTO sink SELECT * FROM t")
    threading.Timer(0.1, statement.cancel).start()
    with pytest.raises(StatementEndedError):
        statement.header(DEADLINE)


def test_a_limit(session: RemoteSession, engine: FakeEngine) -> None:
    engine.waits = True
    statement = session.submit("INSERT INTO sink SELECT * FROM t", seconds=0.2)
    with pytest.raises(StatementEndedError, match="TIMEOUT"):
        statement.header(DEADLINE)


def test_a_session(session: RemoteSession, transport: AppTransport) -> None:
    session.heartbeat()
    assert session.info()["productName"] == "Apache Flink"
    assert session.properties()["my.own"] == "one"
    assert session.complete("SELECT * FROM si", 16) == ["sink"]
    session.close()
    session.close()
    with pytest.raises(GatewayClientError, match="closed"):
        session.properties()


def test_signs_of_life(transport: AppTransport, gateway: Gateway) -> None:
    session = RemoteSession(URL, "secret", heartbeat=0.01, transport=transport)
    seen, beat = threading.Event(), gateway.session

    def look(handle: str) -> object:
        seen.set()
        return beat(handle)

    gateway.session = look  # type: ignore[method-assign, assignment]
    assert seen.wait(DEADLINE)
    session.close()


def test_the_token(transport: AppTransport) -> None:
    for token in (None, "another"):
        with pytest.raises(NotAllowedError):
            RemoteSession(URL, token, transport=transport)


def test_no_gateway() -> None:
    def no_json(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text="<html>")

    with pytest.raises(UnreachableError, match="no SQL gateway"):
        RemoteSession(URL, transport=httpx.MockTransport(no_json))


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("localhost:8083", "http://localhost:8083"),
        ("https://host:1/v3/", "https://host:1"),
        ("http://host/base", "http://host/base"),
    ],
)
def test_addresses(url: str, address: str) -> None:
    assert address_of(url) == address


@pytest.mark.parametrize("url", ["ftp://host", "http://", "http://user:word@host"])
def test_no_addresses(url: str) -> None:
    with pytest.raises(ValueError) as raised:
        address_of(url)
    assert "word" not in str(raised.value).replace("password", "")


def test_the_cause_of_java() -> None:
    text = (
        "<Exception on server side:\norg.apache.flink.table.gateway.api.utils.SqlGatewayException: Failed to fetch\n"
        "\tat org.apache.Some.method(Some.java:12)\nCaused by: org.apache.flink.table.api.ValidationException: no t\n"
        "\tat org.apache.Other.method(Other.java:1)\n\t... 3 more\n\nEnd of exception on server side>"
    )
    assert root_cause(["Internal server error.", text]) == "no t"
