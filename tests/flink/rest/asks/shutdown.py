"""The end: a job that waits for slots, which it would take from others, and the cluster's shutdown."""

from __future__ import annotations

from collections.abc import Iterator

from tests.flink.rest.ask import REST, Ask
from tests.flink.rest.asks.savepoints import OVER
from tests.flink.rest.asks.templates import reading


def asks() -> Iterator[Ask]:
    given = {"jobid": "@waiting"}
    for path in reading():
        yield Ask(REST, "GET", path, "a job that waits for slots", given)
    vertex = {**given, "vertexid": "@waiting.vertex"}
    for path in reading(inside="vertexid", without=("checkpointid", "subtaskindex", "attempt")):
        yield Ask(REST, "GET", path, "a vertex that waits for slots", vertex)
    yield Ask(REST, "GET", "/overview", "with a job that waits for slots")
    folder = {"target-directory": "@folder"}
    path = "/jobs/{jobid}/savepoints"
    yield Ask(REST, "POST", path, "a job that waits for slots", given, body=folder, keep={"waiting": "request-id"})
    asked = {**given, "triggerid": "@kept.waiting"}
    yield Ask(REST, "GET", f"{path}/{{triggerid}}", "a job that waits for slots", asked, until=OVER)
    yield Ask(REST, "PATCH", "/jobs/{jobid}", "a job that waits for slots", given)
    yield Ask(REST, "DELETE", "/cluster")
