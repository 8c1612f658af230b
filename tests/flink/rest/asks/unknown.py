"""Jobs that there are not, and paths that there are not."""

from __future__ import annotations

from collections.abc import Iterator

from tests.flink.rest.ask import REST, Ask
from tests.flink.rest.asks.operations import OPERATIONS
from tests.flink.rest.asks.templates import UNKNOWN, names_of

OTHERS = {
    "vertexid": UNKNOWN,
    "checkpointid": "1",
    "subtaskindex": "0",
    "attempt": "0",
    "triggerid": UNKNOWN,
    "rescaleuuid": "01234567-89ab-cdef-0123-456789abcdef",
    "taskmanagerid": "nobody",
}
NO_PATHS = (
    "/nothing",
    "/nothing/here",
    "/jobs/{jobid}/nothing",
    "/jobs/{jobid}/vertices",
    "/jobs/{jobid}/vertices/{vertexid}/subtasks",
    "/jobs/{jobid}/vertices/{vertexid}/nothing",
    "/jobs/{jobid}/checkpoints/details",
    "/jobs/{jobid}/rescales",
    "/jobmanager",
    "/jobmanager/nothing",
    "/taskmanagers/{taskmanagerid}/nothing",
    "/jars/nothing/here",
    "/applications",
    "/v1",
    "/v1/nothing",
    "/nothing.html",
    "/../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/jobs/",
    "/jobs//",
    "//overview",
)
EXTRA = ("/jobs/{jobid}/rescales/overview", "/jobs/{jobid}/rescales/summary")


def asks() -> Iterator[Ask]:
    for method, path in (*OPERATIONS, *(("GET", path) for path in EXTRA)):
        names = names_of(path)
        if "jobid" in names and not (method == "POST" and path.endswith(("/savepoints", "/checkpoints", "/stop"))):
            given = {name: OTHERS.get(name, UNKNOWN) for name in names}
            body: dict[str, str] | None = {} if method in ("POST", "PUT") else None
            query = "parallelism=1" if path.endswith("/rescaling") else ""
            yield Ask(REST, method, path, "no job has this id", given, query, body=body)
    for path in NO_PATHS:
        given = {"jobid": "@running", "vertexid": "@running.vertex", "taskmanagerid": "@taskmanager"}
        yield Ask(REST, "GET", path, "no such path", {name: given[name] for name in names_of(path)})
    for method in ("POST", "DELETE", "PUT", "PATCH"):
        yield Ask(REST, method, "/nothing", "no such path")
