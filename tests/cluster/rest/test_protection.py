"""Who may do what: names of the server, origins, tokens, cookies, sizes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import httpx
import pytest
from tests.cluster.rest.client import ADDRESS, Client, sample_holder
from tests.cluster.rest.samples import MANAGER, SamplePrograms, job_id

from millrace.cluster.rest.app import make_app, operations
from millrace.cluster.rest.settings import RestSettings

TOKEN = "t0ken"
JOB = f"/jobs/{job_id(1)}"
OWN = {"Origin": ADDRESS}


def client(token: str | None = None, **settings: object) -> Client:
    return Client(make_app(sample_holder(), SamplePrograms(), RestSettings(token=TOKEN, **settings)), token)


def log_in() -> str:
    """The cookie that the printed link gives."""
    response = client().get(f"/?token={TOKEN}")
    assert (response.status_code, response.headers["location"]) == (303, "/")
    cookie = response.headers["set-cookie"]
    for part in ("HttpOnly", "SameSite=strict", "Path=/"):
        assert part in cookie
    assert TOKEN not in cookie
    return cookie.partition(";")[0]


@pytest.mark.parametrize(
    "host", ["localhost:8081", "localhost", "127.0.0.1:9", "[::1]:8081", "LOCALHOST:8081", "millrace.example:8081"]
)
def test_own_names(host: str) -> None:
    own = client(hosts=frozenset({"millrace.example"}))
    assert own.get("/overview", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8081", "localhost.evil.example", "localhost@evil.example", "10.0.0.1", "",
     "local host", "localhost:80:80", "[::1", "localhost:x", "127.0.0.1.evil.example", "localhost/x",
     "evil.example#localhost"],
)  # fmt: skip
def test_names_of_others_are_refused(host: str) -> None:
    for path in ("/overview", "/", f"/?token={TOKEN}", "/openapi.json", "/nothing"):
        assert client(TOKEN).get(path, headers={"Host": host}).status_code == 403


def test_beyond_loopback_addresses_in_digits_are_own_names() -> None:
    beyond = client(beyond_loopback=True)
    assert beyond.get("/overview", headers={"Host": "10.0.0.1:8081"}).status_code == 200
    assert beyond.get("/overview", headers={"Host": "evil.example"}).status_code == 403


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "https://localhost:8081", "http://localhost:9999", "http://127.0.0.1:8081", "null", ""],
)
def test_pages_of_others_are_refused(origin: str) -> None:
    for method, path in (("GET", "/overview"), ("PATCH", JOB), ("OPTIONS", JOB)):
        assert client(TOKEN).call(method, path, headers={"Origin": origin}).status_code == 403


def test_no_answer_allows_pages_of_others_to_read_it() -> None:
    headers = client().get("/overview", headers=OWN).headers
    assert "access-control-allow-origin" not in headers
    assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer" and "default-src 'none'" in headers["content-security-policy"]


CHANGES = [each for each in operations(True, RestSettings(yarn_cancel=True)) if each.is_protected]


@pytest.mark.parametrize("operation", CHANGES, ids=lambda each: f"{each.method} {each.path}")
def test_changes_need_the_token(operation: object) -> None:
    own, path = client(yarn_cancel=True), operation.path.format_map(AnyId())
    for shown in (None, "", "wrong", "t0ke", "t0ken2", "T0KEN", "tökén"):
        headers = {} if shown is None else {"Authorization": f"Bearer {shown}".encode()}
        response = own.call(operation.method, path, headers=headers)
        assert response.status_code == 401 and response.headers["www-authenticate"] == "Bearer"


class AnyId(dict[str, str]):
    """Gives an id for whatever is asked for."""

    def __missing__(self, key: str) -> str:
        return job_id(1)


def test_all_that_is_not_get_changes_something() -> None:
    assert {each.method for each in CHANGES} >= {"POST", "PATCH", "PUT", "DELETE"}
    open_ones = [each for each in operations(True, RestSettings()) if not each.is_protected]
    assert {each.method for each in open_ones} == {"GET"}


def test_the_token_opens() -> None:
    assert client(TOKEN).call("PATCH", JOB).status_code == 202
    assert client().call("PATCH", JOB, headers={"Authorization": f"bearer {TOKEN}"}).status_code == 202
    assert client().call("PATCH", JOB, headers={"Authorization": f"Basic {TOKEN}"}).status_code == 401


def test_the_cookie_opens_for_own_pages_only() -> None:
    cookie = {"Cookie": log_in()}
    assert client().call("PATCH", JOB, headers={**cookie, **OWN}).status_code == 202
    assert client().call("PATCH", JOB, headers={**cookie, "Sec-Fetch-Site": "same-origin"}).status_code == 202
    for headers in ({}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "cross-site"}):
        assert client().call("PATCH", JOB, headers={**cookie, **headers}).status_code == 401
    assert client().call("PATCH", JOB, headers={**cookie, "Origin": "http://localhost:9999"}).status_code == 403


def test_the_token_is_no_cookie_and_the_cookie_no_token() -> None:
    name, _, value = log_in().partition("=")
    assert client().call("PATCH", JOB, headers={"Authorization": f"Bearer {value}"}).status_code == 401
    assert client().call("PATCH", JOB, headers={"Cookie": f"{name}={TOKEN}", **OWN}).status_code == 401


def test_the_link_needs_the_right_token() -> None:
    for link in ("/?token=", "/?token=wrong", "/?token=%00", "/?token=t%C3%B6"):
        response = client().get(link)
        assert response.status_code == 401 and "set-cookie" not in response.headers


def test_without_a_token_nothing_is_asked_for() -> None:
    own = Client(make_app(sample_holder(), SamplePrograms(), RestSettings(token=None)))
    assert own.call("PATCH", JOB).status_code == 202
    assert own.get("/?token=x").status_code == 303
    assert own.call("PATCH", JOB, headers={"Host": "evil.example"}).status_code == 403, "names are checked all the same"


def test_looking_can_need_the_token() -> None:
    closed = client(protect_reads=True)
    for path in ("/overview", JOB, "/jobmanager/log", f"/millrace{JOB}", "/openapi.json", "/jars"):
        assert closed.get(path).status_code == 401
        assert closed.get(path, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert closed.get("/").status_code == 200, "the pages themselves hold nothing"


def test_no_answer_shows_a_secret() -> None:
    own = client(TOKEN)
    for operation in operations(True, RestSettings()):
        if operation.method == "GET":
            path = operation.path.format_map(AnyId())
            for each in (path, path.replace(f"taskmanagers/{job_id(1)}", f"taskmanagers/{MANAGER}")):
                text = own.get(each).text
                assert "geheim" not in text and TOKEN not in text, each


async def in_pieces() -> AsyncIterator[bytes]:
    for _ in range(3):
        yield b" " * 500


def test_sizes_are_limited() -> None:
    small = client(TOKEN, max_body=1000, max_upload=2000)
    assert small.post(f"{JOB}/savepoints", content=b" " * 1001).status_code == 413
    assert small.post(f"{JOB}/savepoints", content=in_pieces()).status_code == 413, "without a length"
    assert small.post(f"{JOB}/savepoints", content=b" " * 999).status_code == 400
    files = {"jarfile": ("job.py", b"#" * 3000)}
    assert small.post("/jars/upload", files=files).status_code == 413
    assert small.post("/jars/upload", files={"jarfile": ("job.py", b"#" * 1000)}).status_code == 200


def test_a_body_is_not_read_before_the_token() -> None:
    assert client().post("/jars/upload", files={"jarfile": ("job.py", b"#")}).status_code == 401


def test_several_host_headers_are_refused() -> None:
    headers = httpx.Headers([("Host", "localhost:8081"), ("Host", "evil.example")])
    assert client().get("/overview", headers=headers).status_code == 403


def test_errors_of_protection_have_the_form_of_others() -> None:
    response = client().get("/overview", headers={"Host": "evil.example"})
    assert list(json.loads(response.text)) == ["errors"]
