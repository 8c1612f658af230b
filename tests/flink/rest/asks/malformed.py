"""Ids and parameters that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator

from tests.flink.rest.ask import REST, Ask
from tests.flink.rest.asks.operations import OPERATIONS
from tests.flink.rest.asks.templates import MALFORMED, UNKNOWN, names_of

KNOWN = {
    "jobid": "@running",
    "vertexid": "@running.vertex",
    "checkpointid": "1",
    "subtaskindex": "0",
    "attempt": "0",
    "triggerid": UNKNOWN,
    "rescaleuuid": "01234567-89ab-cdef-0123-456789abcdef",
    "taskmanagerid": "@taskmanager",
}
ANY = ("taskmanagerid", "jarid", "applicationid", "datasetid")
"""that may be any text, or that other files ask about"""


def asks() -> Iterator[Ask]:
    for method, path in OPERATIONS:
        for name in names_of(path):
            if name in ANY or "savepoint" in path or (method == "POST" and name == "jobid"):
                continue
            given = {each: KNOWN[each] for each in names_of(path)}
            yield Ask(REST, method, path, f"a malformed {name}", {**given, name: MALFORMED}, body=_body(method))
    running = {"jobid": "@running"}
    for about, value in (
        ("too short", "0123"),
        ("too long", UNKNOWN + "00"),
        ("capital letters", UNKNOWN.upper()),
        ("with dashes", "01234567-89ab-cdef-0123-456789abcdef"),
        ("escaped", "%7Bjobid%7D"),
        ("with a blank", "a%20b"),
    ):
        yield Ask(REST, "GET", "/jobs/{jobid}", f"an id that is {about}", {"jobid": value})
    for path, query in (
        ("/jobs/{jobid}/exceptions", "maxExceptions=x"),
        ("/jobs/{jobid}/exceptions", "maxExceptions=1.5"),
        ("/jobs/{jobid}/exceptions", "maxExceptions="),
        ("/jobs/{jobid}/exceptions", "maxExceptions=1&maxExceptions=2"),
        ("/jobs/{jobid}/accumulators", "includeSerializedValue=x"),
        ("/jobs/{jobid}/accumulators", "includeSerializedValue=TRUE"),
    ):
        yield Ask(REST, "GET", path, "a malformed parameter", running, query)
    for query in ("parallelism=x", "parallelism=0", "parallelism=-1", "parallelism=2", ""):
        yield Ask(REST, "PATCH", "/jobs/{jobid}/rescaling", "a running job", running, query)
    yield from _requirements()
    for body in ({"expiredTimestamp": "x"}, {}, "{nothing"):
        yield Ask(REST, "PATCH", "/jobs/{jobid}/clientHeartbeat", "a malformed body", running, body=body)


def _requirements() -> Iterator[Ask]:
    path = "/jobs/{jobid}/resource-requirements"
    bounds = {"parallelism": {"lowerBound": 1, "upperBound": 2}}
    for about, body in (
        ("a running job", {"@running.vertex": bounds}),
        ("nothing", {}),
        ("an unknown vertex", {UNKNOWN: bounds}),
        ("a malformed vertex", {MALFORMED: bounds}),
        ("not JSON", "{nothing"),
    ):
        yield Ask(REST, "PUT", path, about, {"jobid": "@running"}, body=body)


def _body(method: str) -> object:
    return {} if method in ("POST", "PUT") else None
