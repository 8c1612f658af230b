"""Methods that a path does not have."""

from __future__ import annotations

from collections.abc import Iterator

from tests.flink.rest.ask import REST, Ask
from tests.flink.rest.asks.malformed import KNOWN
from tests.flink.rest.asks.operations import OPERATIONS
from tests.flink.rest.asks.templates import UNKNOWN, names_of

METHODS = ("POST", "DELETE", "PUT", "PATCH", "GET")
OTHERS = {**KNOWN, "jarid": "nothing.jar", "applicationid": "@running", "datasetid": UNKNOWN}


def asks() -> Iterator[Ask]:
    methods: dict[str, set[str]] = {}
    for method, path in OPERATIONS:
        methods.setdefault(path, set()).add(method)
    for path, known in methods.items():
        given = {name: OTHERS[name] for name in names_of(path)}
        # Flink takes /jars/upload for /jars/{jarid} and /datasets/delete for a data set: no method is wrong there.
        wrong = next(each for each in METHODS if each not in known)
        yield Ask(REST, wrong, path, f"not {', '.join(sorted(known))}", given, body={} if wrong != "GET" else None)
    for method in ("HEAD", "OPTIONS"):
        for path in ("/overview", "/jobs", "/jobs/{jobid}"):
            given = {name: OTHERS[name] for name in names_of(path)}
            yield Ask(REST, method, path, "another method", given)
