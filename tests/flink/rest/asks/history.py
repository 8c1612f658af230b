"""The history server: jobs that have ended, and what only a cluster answers."""

from __future__ import annotations

from collections.abc import Iterator

from tests.flink.rest.ask import HISTORY, Ask
from tests.flink.rest.asks.templates import MALFORMED, STATES, UNKNOWN, names_of, reading

LISTS = (
    "/config",
    "/jobs/overview",
    "/applications/overview",
    "/",
    "/index.html",
    "/overview",
    "/jobs",
    "/jobs/metrics",
    "/taskmanagers",
    "/jobmanager/config",
    "/jobmanager/logs",
    "/jars",
    "/datasets",
    "/nothing",
    "/v1/config",
)


def asks() -> Iterator[Ask]:
    for path in LISTS:
        yield Ask(HISTORY, "GET", path)
    for state in ("finished", "failed", "canceled", "batch"):
        for path in reading():
            yield Ask(HISTORY, "GET", path, STATES[state], {"jobid": f"@{state}"})
    for state in ("finished", "failed"):
        known = {"jobid": f"@{state}", "vertexid": f"@{state}.vertex", "subtaskindex": "0", "attempt": "0"}
        for path in reading(inside="vertexid", without=("checkpointid",)):
            given = {name: known[name] for name in names_of(path)}
            yield Ask(HISTORY, "GET", path, f"a vertex of {STATES[state]}", given)
    given = {"jobid": "@finished", "checkpointid": "@finished.checkpoint"}
    path = "/jobs/{jobid}/checkpoints/details/{checkpointid}"
    yield Ask(HISTORY, "GET", path, STATES["finished"], given)
    given = {**given, "vertexid": "@finished.vertex"}
    yield Ask(HISTORY, "GET", f"{path}/subtasks/{{vertexid}}", STATES["finished"], given)
    for about, each in (("no such job", UNKNOWN), ("a malformed job", MALFORMED)):
        for part in ("", "/config", "/exceptions"):
            yield Ask(HISTORY, "GET", f"/jobs/{{jobid}}{part}", about, {"jobid": each})
    for part in ("", "/exceptions", "/jobmanager/config"):
        for about, each in (("that of a finished job", "@finished"), ("no such application", UNKNOWN)):
            yield Ask(HISTORY, "GET", f"/applications/{{applicationid}}{part}", about, {"applicationid": each})
    yield Ask(HISTORY, "PATCH", "/jobs/{jobid}", "a finished job", {"jobid": "@finished"})
