"""Files: the dashboard's, and logs. No name leads out of their folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cluster.rest.client import Client, sample_client, sample_holder
from tests.cluster.rest.samples import MANAGER, SampleHolder, SamplePrograms

from millrace.cluster.rest.app import make_app
from millrace.cluster.rest.settings import RestSettings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pages = tmp_path / "static"
    (pages / "parts").mkdir(parents=True)
    (pages / "index.html").write_text("<title>Dashboard</title>")
    (pages / "parts" / "app.js").write_text("let x;")
    (tmp_path / "secret.txt").write_text("geheim")
    os.symlink(tmp_path / "secret.txt", pages / "link.txt")
    os.symlink(tmp_path, pages / "up")
    return pages


@pytest.fixture
def client(folder: Path) -> Client:
    return Client(make_app(sample_holder(), SamplePrograms(), RestSettings(pages=folder)))


def test_pages_load_nothing_from_elsewhere(client: Client) -> None:
    response = client.get("/")
    assert response.text == "<title>Dashboard</title>" and response.headers["content-type"].startswith("text/html")
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy and "*" not in policy
    assert client.get("/parts/app.js").headers["content-type"].startswith("text/javascript")


def test_pages_are_asked_for_again_but_sent_once(client: Client) -> None:
    first = client.get("/parts/app.js")
    assert first.headers["cache-control"] == "no-cache"
    again = client.get("/parts/app.js", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/parts/app.js", headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/link.txt", "/up/secret.txt", "/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt",
        "/parts/..%2f..%2fsecret.txt",
        "/parts/%2e%2e/%2e%2e/secret.txt", "/%2fetc%2fpasswd", "//etc/passwd", "/..%5csecret.txt", "/index.html%00.txt",
        "/parts", "/" + "a" * 5000, "/index.html/x", "/%c0%ae%c0%ae/secret.txt",
    ],
)  # fmt: skip
def test_nothing_outside_of_the_folder(client: Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 404 and "geheim" not in response.text and "root:" not in response.text


def test_without_files_a_page_says_so(tmp_path: Path) -> None:
    client = Client(make_app(sample_holder(), None, RestSettings(pages=tmp_path / "missing")))
    response = client.get("/")
    assert response.status_code == 200 and "not installed" in response.text
    assert client.get("/app.js").status_code == 404


def test_logs_are_read_by_their_names() -> None:
    client = sample_client()
    for place in ("/jobmanager", f"/taskmanagers/{MANAGER}"):
        assert [each["name"] for each in client.get(f"{place}/logs").json()["logs"]] == ["server.log", "server.out"]
        assert client.get(f"{place}/log").text == client.get(f"{place}/logs/server.log").text == "started\n"
        response = client.get(f"{place}/stdout")
        assert response.text == "hello\n" and response.headers["content-type"].lower() == "text/plain; charset=utf-8"


class Trusting(SampleHolder):
    """Reads whatever it is told to, which no holder should."""

    def read_log(self, task_manager: str | None, name: str) -> list[bytes] | None:
        return [b"geheim"]


@pytest.mark.parametrize(
    "name",
    ["..", "../x", "%2e%2e%2fx", "..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd", "server.log%00", "..%5cx", "SERVER.LOG"],
)
def test_only_logs_that_are_listed_are_read(name: str) -> None:
    client = sample_client(holder=Trusting(sample_holder().jobs()))
    for place in ("/jobmanager", f"/taskmanagers/{MANAGER}"):
        response = client.get(f"{place}/logs/{name}")
        assert "geheim" not in response.text
        assert response.status_code >= 400 or name == "..", "the client takes that for a shorter path"


def test_a_log_that_is_gone_is_missing() -> None:
    holder = SampleHolder()
    holder.files = {}
    client = sample_client(holder=holder)
    assert client.get("/jobmanager/log").status_code == 404
    assert client.get("/jobmanager/stdout").content == b"", "pages ask for it, whether there is one or not"
