"""Which servers stand behind ``hdfs://``; what is done when they do not answer."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from millrace.common.files import webhdfs
from millrace.common.files.file_systems import addresses, open_hdfs
from millrace.common.files.webhdfs import WebHdfs

PAIR = {
    "dfs.nameservices": "mill",
    "dfs.ha.namenodes.mill": "nn1, nn2",
    "dfs.namenode.http-address.mill.nn1": "one:50070",
    "dfs.namenode.http-address.mill.nn2": "two:50070",
}


@pytest.mark.parametrize(
    ("uri", "given", "found"),
    [
        ("hdfs://namenode:8020/a", {}, ["http://namenode:9870"]),
        ("hdfs://namenode/a", {"dfs.http.policy": "HTTPS_ONLY"}, ["https://namenode:9871"]),
        ("hdfs://namenode/a", {"dfs.namenode.http-address": "0.0.0.0:1234"}, ["http://namenode:1234"]),
        ("hdfs://mill/a", PAIR, ["http://one:50070", "http://two:50070"]),
        ("hdfs:///a", {**PAIR, "fs.defaultFS": "hdfs://mill"}, ["http://one:50070", "http://two:50070"]),
        ("webhdfs://namenode:1234/a", {}, ["http://namenode:1234"]),
        ("swebhdfs://namenode/a", {}, ["https://namenode:9871"]),
    ],
)
def test_addresses(uri: str, given: dict[str, str], found: list[str]) -> None:
    assert addresses(uri, given) == found


def test_what_names_nobody() -> None:
    with pytest.raises(ValueError, match=r"no fs\.defaultFS does"):
        addresses("hdfs:///a", {})
    with pytest.raises(ValueError, match=r"dfs\.namenode\.http-address\.mill\.<namenode> is missing"):
        addresses("hdfs://mill/a", {"dfs.ha.namenodes.mill": "nn1"})
    with pytest.raises(ValueError, match="is no address of HDFS"):
        open_hdfs("hdfs://a:b:c/", {})


class Answers:
    """A NameNode that answers what a test wants: status, kind of exception."""

    def __init__(self, *answers: tuple[int, str]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.host)
        status, kind = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if not kind:
            return httpx.Response(status, json={"boolean": True})
        return httpx.Response(status, json={"RemoteException": {"exception": kind, "message": f"{kind} says so"}})


def asking(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> WebHdfs:
    store = WebHdfs(("http://one:1", "http://two:1"), "miller")
    store._client = httpx.Client(transport=httpx.MockTransport(answers))
    monkeypatch.setattr(webhdfs, "FIRST_PAUSE", 0.001)
    return store


def test_the_other_server_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers((403, "StandbyException"), (403, "SafeModeException"), (200, ""))
    store = asking(answers, monkeypatch)
    store.create_dir("/a", True)
    assert answers.asked == ["one", "two", "one"]
    store.create_dir("/a", True)
    assert answers.asked[-1] == "one"  # the one that has answered


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (404, "FileNotFoundException", FileNotFoundError),
        (403, "AccessControlException", PermissionError),
        (401, "SecurityException", PermissionError),
        (500, "IOException", OSError),
    ],
)
def test_what_lasts_is_an_error(status: int, kind: str, error: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers((status, kind))
    with pytest.raises(error, match="MKDIRS /a"):
        asking(answers, monkeypatch).create_dir("/a", True)
    assert len(answers.asked) == 1


def test_nobody_is_waited_for_endlessly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhdfs, "TRY_SECONDS", 0.05)
    with pytest.raises(OSError, match=r"MKDIRS /a was not answered in 0\.05 s by http://one:1, http://two:1"):
        asking(Answers((503, "RetriableException")), monkeypatch).create_dir("/a", True)


def test_a_rename_whose_answer_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second attempt finds no source: the target is there, so the first has done it."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.params["op"] == "GETFILESTATUS" and request.url.path.endswith("/new"):
            return httpx.Response(200, json={"FileStatus": {"type": "FILE", "length": 1, "modificationTime": 0}})
        return httpx.Response(404, json={"RemoteException": {"exception": "FileNotFoundException", "message": "no"}})

    store = WebHdfs(("http://one:1",), "miller")
    store._client = httpx.Client(transport=httpx.MockTransport(answer))
    store.move("/old", "/new")
    with pytest.raises(FileNotFoundError):
        store.move("/old", "/elsewhere")
