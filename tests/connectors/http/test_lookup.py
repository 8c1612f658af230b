"""Look-ups of a service that behaves, and of one that does not."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from tests.connectors.http.conftest import HttpTables
from tests.connectors.http.service import Asked, Reply, Service

from millrace.runtime.failure import JobFailedError
from millrace.util.exceptions import TableException

Serve = Callable[..., Service]
NAMES = {1: "one", 2: "two"}
FOUND = [(1, 1, "one"), (2, 2, "two"), (3, None, None)]
COLUMNS = "id BIGINT, name STRING"


def by_param(asked: Asked) -> Any:
    id = int(asked.params["id"][0])
    return {"id": id, "name": NAMES[id]} if id in NAMES else Reply(b"")


@pytest.mark.parametrize("connector", ["http", "rest-lookup"])
def test_parameters_of_the_url(serve: Serve, tables: HttpTables, connector: str) -> None:
    service = serve(by_param)
    tables.over("t", COLUMNS, f"{service.url}/names", connector)
    assert tables.joined("t", [1, 2, 3, 1, 2], what="r.id, r.name") == sorted(FOUND + FOUND[:2], key=repr)
    assert tables.joined("t", [1, 2, 3], "", "r.id, r.name") == FOUND[:2]
    assert {(each.method, each.path) for each in service.asked} == {("GET", "/names")}


def test_marks_in_the_url_and_a_body(serve: Serve, tables: HttpTables) -> None:
    def answer(asked: Asked) -> Any:
        return {"id": "a/b ä", "name": f"{asked.path} {asked.body.decode()}"}

    service = serve(answer)
    tables.over("t", "id STRING, name STRING", f"{service.url}/of/{{id}}/all")
    assert tables.joined("t", ["a/b ä"], what="r.name") == [("a/b ä", "/of/a%2Fb%20%C3%A4/all ")]
    tables.over("u", "id STRING, name STRING", f"{service.url}/{{{{x}}}}", **{"http.request.url-map": "id:x"})
    assert tables.joined("u", ["b"], what="r.name") == [("b", "/b ")]
    tables.over("v", "id STRING, name STRING", service.url, **{"lookup-method": "POST"})
    assert tables.joined("v", ["c"], what="r.name") == [("c", '/ {"id":"c"}')]
    template = '{"query": {"ids": [{{id}}], "most": 1.50}}'
    more = {"lookup-method": "PUT", "http.request.body-template": template}
    tables.over("w", "id STRING, name STRING", service.url, **more)
    assert tables.joined("w", ['"d"'], what="r.name") == [('"d"', '/ {"query": {"ids": ["\\"d\\""], "most": 1.50}}')]


def test_numbers_in_a_body_are_as_they_were(serve: Serve, tables: HttpTables) -> None:
    service = serve(lambda asked: {"id": 0, "name": asked.body.decode()})
    more = {"lookup-method": "POST", "http.request.body-template": '{"n": {{id}}}'}
    tables.over("t", "id DECIMAL(38, 18), name STRING", service.url, **more)
    found = tables.joined("t", [1], what="r.name")
    assert found[0][1] in ('{"n": 1}', '{"n": 1.000000000000000000}')


def many(asked: Asked) -> Any:
    ids = [int(each) for each in asked.params["id"][0].split(",")]
    return [{"name": NAMES[id], "id": id} for id in reversed(ids) if id in NAMES]


def test_many_keys_in_one_request(serve: Serve, tables: HttpTables) -> None:
    service = serve(many)
    tables.over("t", COLUMNS, service.url, **{"http.source.lookup.batch.size": "2"})
    assert tables.joined("t", [1, 2, 3], what="r.id, r.name") == FOUND
    asked = sorted(each.params["id"][0] for each in service.asked)
    assert sum(len(each.split(",")) for each in asked) == 3
    assert all(len(each.split(",")) <= 2 for each in asked)


@pytest.mark.parametrize("template", [None, '{"all": {{keys}}}', '{"ids": {{id}}}'])
def test_many_keys_in_one_body(serve: Serve, tables: HttpTables, template: str | None) -> None:
    def answer(asked: Asked) -> Any:
        body = asked.json
        body = body if template is None else body.get("all", body.get("ids"))
        ids = [each["id"] if isinstance(each, dict) else each for each in body]
        return [row for id in ids if id in NAMES for row in ({"id": id, "name": NAMES[id]}, {"id": id, "name": "more"})]

    service = serve(answer)
    more = {"lookup-method": "POST", "http.source.lookup.batch.size": "100"}
    if template is not None:
        more["http.request.body-template"] = template
    tables.over("t", COLUMNS, service.url, **more)
    wanted = [(1, "more"), (1, "one"), (2, "more"), (2, "two"), (3, None)]
    assert tables.joined("t", [1, 2, 3], what="r.name") == wanted


def test_several_rows_of_a_key(serve: Serve, tables: HttpTables) -> None:
    service = serve(lambda asked: b' [ {"id": 1, "name": "[,]"}, null, {"id": 1, "name": "b"} ] ')
    tables.over("t", COLUMNS, service.url, **{"http.source.lookup.result-type": "array"})
    assert tables.joined("t", [1], what="r.name") == [(1, "[,]"), (1, "b")]


def test_a_cache_asks_once(serve: Serve, tables: HttpTables) -> None:
    service = serve(by_param)
    cache = {"lookup.cache": "PARTIAL", "lookup.partial-cache.max-rows": "10"}
    tables.over("t", COLUMNS, service.url, **cache)
    query = (
        "SELECT l.k, r.name FROM (SELECT MOD(id, 2) + 1 AS k, PROCTIME() AS p FROM g) AS l "
        "JOIN t FOR SYSTEM_TIME AS OF l.p AS r ON r.id = l.k"
    )
    tables.environment.execute_sql(
        "CREATE TABLE g (id BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '40', 'fields.id.kind' = "
        "'sequence', 'fields.id.start' = '1', 'fields.id.end' = '40')"
    )
    assert len(tables.query(query, 1, epoch_records=10)) == 40
    assert len(service.asked) == 2


def test_requests_are_under_way_together_and_bounded(serve: Serve, tables: HttpTables) -> None:
    service = serve(lambda asked: Reply({"id": 0, "name": "x"}, slow=0.05))
    tables.over("t", COLUMNS, service.url)
    hint = "/*+ LOOKUP('table' = 'r', 'async' = 'true', 'capacity' = '3', 'output-mode' = 'allow_unordered') */"
    assert len(tables.joined("t", list(range(12)), what="r.name", hint=hint)) == 12
    assert 1 < service.busiest <= 6  # two subtasks


def faulty(*faults: Any) -> Callable[[Asked], Any]:
    left = list(faults)
    return lambda asked: left.pop(0) if left else by_param(asked)


@pytest.mark.parametrize(
    "fault",
    [
        Reply(status=500),
        Reply(status=503, headers={"Retry-After": "0"}),
        Reply(status=429, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}),
        Reply(close=True),
        Reply(slow=20),
    ],
    ids=["500", "503", "429", "closed", "slow"],
)
def test_what_may_pass_is_tried_again(serve: Serve, tables: HttpTables, fault: Reply) -> None:
    service = serve(faulty(fault))
    tables.over("t", COLUMNS, service.url, **{"http.source.lookup.request.timeout": "500 ms"})
    assert tables.joined("t", [1], what="r.name") == [(1, "one")]
    assert len(service.asked) >= 2


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Reply(b"not now", 500), r"GET http://127.0.0.1:\d+\?id=1: status 500, 'not now', after 4 attempts"),
        (Reply(b"who are you", 403), r"status 403, 'who are you'"),
        (Reply(status=301, headers={"Location": "http://127.0.0.1:1/"}), r"status 301"),
        (Reply(close=True), r"no answer \(RemoteProtocolError: .*\), after 4 attempts"),
        (Reply(b"{'id': 1"), r"id=1: .*the answer begins with"),
        (Reply(b'{"id": "x"}'), r"id=1: .*the answer begins with"),
    ],
)
def test_what_does_not_pass_fails_the_job(serve: Serve, tables: HttpTables, fault: Reply, message: str) -> None:
    service = serve(lambda asked: fault)
    tables.over("t", COLUMNS, service.url)
    with pytest.raises(JobFailedError, match=message):
        tables.joined("t", [1], what="r.name")


def test_nobody_listens(serve: Serve, tables: HttpTables) -> None:
    service = serve(by_param)
    service.close()
    tables.over("t", COLUMNS, service.url, **{"lookup.max-retries": "0"})
    with pytest.raises(JobFailedError, match=r"GET http://127.0.0.1:\d+\?id=1: no answer \(ConnectError"):
        tables.joined("t", [1], what="r.name")
    service = serve(by_param)  # the fixture closes it


def test_codes_that_are_said(serve: Serve, tables: HttpTables) -> None:
    service = serve(lambda asked: Reply({"id": 1, "name": "gone"}, int(asked.params["id"][0])))
    more = {
        "http.source.lookup.success-codes": "2XX,404,!203",
        "http.source.lookup.ignored-response-codes": "410",
        "http.source.lookup.retry-codes": "",
    }
    tables.over("t", COLUMNS, service.url, **more)
    assert tables.joined("t", [200, 404, 410], what="r.name") == [(200, "gone"), (404, "gone"), (410, None)]
    for code in (203, 500):
        with pytest.raises(JobFailedError, match=f"status {code}"):
            tables.joined("t", [code], what="r.name")


def test_going_on_without(serve: Serve, tables: HttpTables) -> None:
    faults = {1: Reply({"id": 1, "name": "ok"}), 2: Reply(b"broken", 400, {"X-Why": "me"}), 3: Reply(b"{")}
    faults[4] = Reply(close=True)
    service = serve(lambda asked: faults[int(asked.params["id"][0])])
    columns = (
        f"{COLUMNS}, problem STRING METADATA FROM 'error-string' VIRTUAL, code INT METADATA FROM 'http-status-code' "
        "VIRTUAL, headers MAP<STRING, ARRAY<STRING>> METADATA FROM 'http-headers-map' VIRTUAL, state STRING METADATA "
        "FROM 'http-completion-state' VIRTUAL"
    )
    more = {"http.source.lookup.continue-on-error": "true", "lookup.max-retries": "1"}
    tables.over("t", columns, service.url, **more)
    what = "r.name, r.problem, r.code, r.headers['x-why'][1], r.state"
    good, status, text, closed = tables.joined("t", [1, 2, 3, 4], "", what)
    assert good == (1, "ok", None, 200, None, "SUCCESS")
    assert (status[1], *status[3:]) == (None, 400, "me", "HTTP_ERROR_STATUS")
    assert "status 400, 'broken'" in status[2]
    assert text == (3, None, "{", 200, None, "UNABLE_TO_DESERIALIZE_RESPONSE")
    assert (closed[1], *closed[3:]) == (None, None, None, "EXCEPTION")
    assert "no answer" in closed[2]


def test_headers_and_logins(serve: Serve, tables: HttpTables) -> None:
    service = serve(by_param)
    old, new = "gid.connector.http.source.lookup.header", "http.source.lookup.header"
    for name, more in {
        "a": {f"{new}.Authorization": "me:word", f"{old}.X-One": "1"},
        "b": {f"{new}.Authorization": "Bearer abc"},
        "c": {f"{new}.Authorization": "Odd abc", "http.source.lookup.use-raw-authorization-header": "true"},
    }.items():
        tables.over(name, COLUMNS, service.url, **more)
        tables.joined(name, [1], what="r.name")
    sent = [each.headers["authorization"] for each in service.asked]
    assert sent == ["Basic bWU6d29yZA==", "Bearer abc", "Odd abc"]
    assert service.asked[0].headers["x-one"] == "1"


def test_tokens_are_fetched_once_and_again(serve: Serve, tables: HttpTables) -> None:
    tokens: list[str] = []

    def answer(asked: Asked) -> Any:
        if asked.path == "/token":
            assert asked.body == b"grant_type=client_credentials&client_secret=hush"
            assert "x-one" not in asked.headers
            tokens.append(f"t{len(tokens)}")
            return {"access_token": tokens[-1], "expires_in": 3600}
        current = asked.headers.get("authorization") == f"Bearer {tokens[-1]}" and len(tokens) > 1
        return by_param(asked) if current else Reply(b"expired", 401)

    service = serve(answer)
    more = {
        "http.security.oidc.token.endpoint.url": f"{service.url}/token",
        "http.security.oidc.token.request": "grant_type=client_credentials&client_secret=hush",
        "http.source.lookup.header.X-One": "1",
    }
    tables.over("t", COLUMNS, service.url, **more)
    values = ", ".join(f"({number})" for number in (1, 2))
    query = f"SELECT k, name FROM (SELECT k, PROCTIME() AS p FROM (VALUES {values}) AS t(k)) AS l "
    query += "JOIN t FOR SYSTEM_TIME AS OF l.p AS r ON r.id = l.k"
    assert sorted(row for _, row in tables.query(query, 1)) == [(1, "one"), (2, "two")]
    assert 2 <= len(tokens) <= 3
    service.answer = lambda asked: Reply({"error": "invalid_client"}, 400)
    with pytest.raises(JobFailedError, match=r"/token gives no token: status 400, invalid_client"):
        tables.joined("t", [1], what="r.name")


def test_a_proxy(serve: Serve, tables: HttpTables) -> None:
    proxy = serve(lambda asked: {"id": 1, "name": asked.headers["host"] + asked.headers["proxy-authorization"]})
    at = "http.source.lookup.proxy"
    more = {f"{at}.host": "127.0.0.1", f"{at}.port": str(proxy.port), f"{at}.username": "u", f"{at}.password": "w"}
    tables.over("t", COLUMNS, "http://nowhere.test/x", **more)
    assert tables.joined("t", [1], what="r.name") == [(1, "nowhere.testBasic dTp3")]


def test_secrets_are_not_shown(serve: Serve, tables: HttpTables, caplog: pytest.LogCaptureFixture) -> None:
    service = serve(lambda asked: Reply(status=500))
    more = {
        "http.source.lookup.header.Authorization": "me:hush-1",
        "http.security.oidc.token.request": "client_secret=hush-2",
        "http.security.oidc.token.endpoint.url": service.url,
    }
    tables.over("t", COLUMNS, f"{service.url}/?token=hush-3")
    with caplog.at_level(logging.DEBUG, "millrace"), pytest.raises(JobFailedError) as failure:
        tables.joined("t", [1], what="r.name")
    tables.over("u", COLUMNS, service.url, **more)
    shown = tables.environment.execute_sql("SHOW CREATE TABLE u").collect()
    texts = [caplog.text, str(failure.value), *(str(row) for row in shown)]
    assert "status 500" in caplog.text
    assert not any("hush" in text for text in texts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"http.source.lookup.success-codes": "20X"}, r"written as 2XX, 404 and !203"),
        ({"http.source.lookup.retry-strategy.type": "never"}, r"is one of fixed-delay, exponential-delay"),
        ({"lookup.cache": "FULL"}, r"a service only answers"),
        ({"lookup-method": "DELETE"}, r"'lookup-method' is one of GET, POST, PUT"),
        ({"http.request.body-fields": "id"}, r"a GET has no body"),
        ({"http.request.query-param-fields": "name"}, r"needs the column 'name', but rows are looked up by id"),
        ({"http.source.lookup.query-creator": "mine"}, r"query-creator' is one of"),
        ({"http.source.lookup.request-callback": "mine"}, r"names a class of Java"),
        ({"http.security.keystore.path": "x.jks"}, r"key stores of Java are not read"),
        ({"http.security.oidc.token.request": "x"}, r"are given together"),
        ({"http.source.lookup.colour": "red"}, r"has no option 'http.source.lookup.colour'"),
    ],
)
def test_options_that_cannot_be(tables: HttpTables, options: dict[str, str], message: str) -> None:
    tables.over("t", COLUMNS, "http://127.0.0.1:1", **options)
    with pytest.raises(TableException, match=message):
        tables.joined("t", [1], what="r.name")


def test_types_of_keys(serve: Serve, tables: HttpTables) -> None:
    service = serve(lambda asked: {"name": json.dumps(asked.params["id"])})
    for number, (kind, value, text) in enumerate(
        [
            ("DATE", "DATE '2024-05-06'", "2024-05-06"),
            ("TIMESTAMP(3)", "TIMESTAMP '2024-05-06 07:08:09.123'", "2024-05-06 07:08:09.123"),
            ("BOOLEAN", "TRUE", "TRUE"),
            ("DECIMAL(5, 2)", "CAST(1.5 AS DECIMAL(5, 2))", "1.50"),
        ]
    ):
        tables.over(f"t{number}", f"id {kind}, name STRING", service.url)
        query = (
            f"SELECT r.name FROM (SELECT CAST({value} AS {kind}) AS k, PROCTIME() AS p FROM (VALUES (1)) AS t(n)) AS l "
            f"JOIN t{number} FOR SYSTEM_TIME AS OF l.p AS r ON r.id = l.k"
        )
        assert [row for _, row in tables.query(query)] == [(json.dumps([text]),)]
