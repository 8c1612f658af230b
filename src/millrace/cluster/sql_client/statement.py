"""A statement that a gateway runs, and its rows."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from millrace.cluster.sql_client.errors import GatewayClientError, RefusedError, StatementEndedError
from millrace.cluster.sql_client.http import Http
from millrace.cluster.sql_client.types import type_of
from millrace.cluster.sql_client.values import row_reader
from millrace.common.types import Row, RowKind, row_of
from millrace.relational.nodes import Field

FIRST_PAUSE = 0.01
LONGEST_PAUSE = 1.0
ENDED = ("CANCELED", "CLOSED", "TIMEOUT")

KINDS = {
    "INSERT": RowKind.INSERT,
    "UPDATE_BEFORE": RowKind.UPDATE_BEFORE,
    "UPDATE_AFTER": RowKind.UPDATE_AFTER,
    "DELETE": RowKind.DELETE,
}


@dataclass(frozen=True)
class Header:
    """What a result is, beside its rows."""

    columns: tuple[Field, ...]
    has_content: bool
    """False: the statement only did something"""
    is_query: bool
    job_id: str | None


class RemoteStatement:
    """Its result is read once, by one thread; others may cancel or close it."""

    def __init__(self, http: Http, session: str, handle: str) -> None:
        self.handle = handle
        self._http = http
        self._path = f"sessions/{session}/operations/{handle}"
        self._token = 0
        self._left = threading.Event()
        self._first: dict[str, Any] | None = None

    def status(self) -> str:
        """Flink's name of how far it is: PENDING, RUNNING, FINISHED, ERROR, CANCELED, TIMEOUT, CLOSED."""
        return str(self._http.get(f"{self._path}/status")["status"])

    def header(self, seconds: float | None = None) -> Header:
        """What the result is, once the statement is over; rows of a query come later.

        :raises StatementEndedError: it was cancelled, or closed.
        :raises TimeoutError: it takes longer than ``seconds``.
        :raises RefusedError: it has failed.
        """
        if self._first is None:
            self._first = self._ready(seconds)
        page = self._first
        columns = [Field(each["name"], type_of(each["logicalType"])) for each in page["results"]["columns"]]
        return Header(
            tuple(columns),
            page.get("resultKind", "SUCCESS_WITH_CONTENT") == "SUCCESS_WITH_CONTENT",
            bool(page.get("isQueryResult", False)),
            page.get("jobID"),
        )

    def rows(self) -> Iterator[Row]:
        """All rows as they come. It ends early when the statement is closed or cancelled here."""
        header = self.header()
        read, names = row_reader([each.type for each in header.columns]), [each.name for each in header.columns]
        page, pause = self._first, _Pause(self._left)
        while page is not None:
            data = page.get("results", {}).get("data", [])
            for each in data:
                yield row_of(read(each["fields"]), names, KINDS[each["kind"]])
            if data:
                pause.reset()
            elif page["resultType"] != "EOS" and not pause():
                return
            page = self._next(page)

    def _next(self, page: dict[str, Any]) -> dict[str, Any] | None:
        following = page.get("nextResultUri")
        if page["resultType"] == "EOS" or following is None or self._left.is_set():
            return None
        self._token = _token(following)
        try:
            return self._fetch()
        except RefusedError:
            if self._left.is_set():  # the gateway knows nothing of it any more
                return None
            raise

    def _ready(self, seconds: float | None) -> dict[str, Any]:
        deadline = None if seconds is None else time.monotonic() + seconds
        pause = _Pause(self._left)
        while True:
            try:
                page = self._fetch()
            except RefusedError:
                self._raise_if_ended()
                raise
            if page["resultType"] != "NOT_READY":
                return page
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"the statement is not over after {seconds} seconds")
            if not pause():
                raise StatementEndedError("the statement was cancelled")

    def _raise_if_ended(self) -> None:
        if self._left.is_set():
            raise StatementEndedError("the statement was cancelled")
        try:
            status = self.status()
        except RefusedError:
            return
        if status in ENDED:
            raise StatementEndedError(f"the statement ended before its result was there: {status}")

    def _fetch(self) -> dict[str, Any]:
        page: dict[str, Any] = self._http.get(f"{self._path}/result/{self._token}?rowFormat=JSON")
        return page

    def cancel(self) -> None:
        """End it, with the jobs that it has started. Nothing happens if it is over: close it then."""
        self._left.set()
        try:
            self._http.call("POST", f"{self._path}/cancel")
        except RefusedError:
            return

    def close(self) -> None:
        """Let it go: the job of a query ends, that of an INSERT goes on. Closing twice is no harm."""
        self._left.set()
        try:
            self._http.call("DELETE", f"{self._path}/close")
        except GatewayClientError:
            return  # the session's end closes it, too


class _Pause:
    """Waits longer and longer; False: it is to be given up."""

    def __init__(self, left: threading.Event) -> None:
        self._left = left
        self._seconds = FIRST_PAUSE

    def reset(self) -> None:
        self._seconds = FIRST_PAUSE

    def __call__(self) -> bool:
        left = self._left.wait(self._seconds)
        self._seconds = min(self._seconds * 1.5, LONGEST_PAUSE)
        return not left


def _token(uri: str) -> int:
    """The token of ``.../result/7?rowFormat=JSON``."""
    parts = urlsplit(uri)
    found = parts.path.rpartition("/")[2]
    return int(found if found.isdecimal() else dict(parse_qsl(parts.query))["token"])
