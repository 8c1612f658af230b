"""What is asked about the vertices of jobs, their subtasks and their attempts."""

from __future__ import annotations

from collections.abc import Iterator

from tests.flink.rest.ask import REST, Ask
from tests.flink.rest.asks.templates import STATES, UNKNOWN, reading

WHOLE = reading(inside="vertexid", without=("checkpointid", "subtaskindex"))
SUBTASK = reading(inside="subtaskindex")


def asks() -> Iterator[Ask]:
    for state in ("running", "finished", "failed", "canceled", "restarting", "batch"):
        for path in WHOLE:
            given = {"jobid": f"@{state}", "vertexid": f"@{state}.vertex"}
            yield Ask(REST, "GET", path, f"the first vertex of {STATES[state]}", given)
    for path in WHOLE:
        given = {"jobid": "@running", "vertexid": "@running.sink"}
        yield Ask(REST, "GET", path, "the last vertex of a running job", given)
        yield Ask(REST, "GET", path, "no such vertex", {"jobid": "@running", "vertexid": UNKNOWN})
    for state in ("running", "finished", "failed", "restarting", "batch"):
        for path in SUBTASK:
            given = {"jobid": f"@{state}", "vertexid": f"@{state}.vertex", "subtaskindex": "0", "attempt": "0"}
            yield Ask(REST, "GET", path, f"the first vertex of {STATES[state]}", given)
    for path in SUBTASK:
        known = {"jobid": "@running", "vertexid": "@running.vertex", "subtaskindex": "0", "attempt": "0"}
        for name, value, about in (
            ("vertexid", UNKNOWN, "no such vertex"),
            ("subtaskindex", "99", "no such subtask"),
            ("subtaskindex", "-1", "a subtask below zero"),
            ("attempt", "99", "no such attempt"),
        ):
            if "{" + name + "}" in path:
                yield Ask(REST, "GET", path, about, {**known, name: value})
    yield from _flames()


def _flames() -> Iterator[Ask]:
    path = "/jobs/{jobid}/vertices/{vertexid}/flamegraph"
    given = {"jobid": "@running", "vertexid": "@running.vertex"}
    for query in ("type=full", "type=on_cpu", "type=off_cpu", "type=nonsense", "subtaskindex=0", "subtaskindex=99"):
        yield Ask(REST, "GET", path, "a running job", given, query)
