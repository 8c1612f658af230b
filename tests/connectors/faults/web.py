"""A service over HTTP that fails."""

from __future__ import annotations

import itertools
from typing import Any

from tests.connectors.faults.place import ROWS, Place
from tests.connectors.http.service import Asked, Reply, Service

from millrace.testing.connectors.faults import Fault

LOGIN = "Basic dXNlcjpyaWdodA=="
"""of ``user`` with the password ``right``"""
KEYS = dict(ROWS)


class _Service(Place):
    connector = "http"
    side: str
    waiting: str

    def __init__(self, running: Any) -> None:
        super().__init__(running)
        self.service = Service(self.answer)
        self._numbers = itertools.count()

    def close(self) -> None:
        self.service.close()

    @property
    def port(self) -> int:
        return int(self.service.port)

    @property
    def quick(self) -> dict[str, str]:  # type: ignore[override]
        return {f"http.{self.side}.request.timeout": "300 ms", self.retries: "0"}

    retries: str

    def options(self, port: int, name: str, password: str | None) -> dict[str, str]:
        given = {"url": f"http://127.0.0.1:{port}/{name}", "format": "json"}
        return given | {f"http.{self.side}.header.Authorization": f"user:{password or 'right'}"}

    def make(self, wrong: bool = False) -> str:
        return f"{'wrong' if wrong else 'right'}{next(self._numbers)}"

    def answer(self, asked: Asked) -> Any:
        if asked.headers.get("authorization") != LOGIN:
            return Reply(b"who is that?", 401)
        if asked.path.startswith("/missing"):
            return Reply(b"there is nothing here", 404)
        return self.work(asked, asked.path.startswith("/wrong"))

    def work(self, asked: Asked, wrong: bool) -> Any:
        raise NotImplementedError


class HttpLookUps(_Service):
    name, side, retries = "http: look-ups", "source.lookup", "lookup.max-retries"
    writes, looks_up = False, True
    waiting = "`http.source.lookup.request.timeout` (30 s), four times"
    reasons = {Fault.OTHER_WAY: "below: http: writing"}

    def work(self, asked: Asked, wrong: bool) -> Any:
        id = int(asked.params["id"][0])
        return {"id": id, "name": "no number" if wrong else KEYS[id]}


class HttpSinks(_Service):
    name, side, retries = "http: writing", "sink", "http.sink.retry.times"
    waiting = "`http.sink.request.timeout` (30 s), four times"
    wrong_values = "(1, 'no number')"
    reasons = {Fault.OTHER_WAY: "above: http: look-ups"}

    def work(self, asked: Asked, wrong: bool) -> Any:
        return Reply(b"name: not a number", 422) if wrong else b""

    def written(self, name: str) -> list[Any]:
        found = [each for each in self.service.asked if each.path == f"/{name}"]
        return [(each["id"], each["name"]) for asked in found for each in asked.json]


PLACES: list[type[Place]] = [HttpLookUps, HttpSinks]
