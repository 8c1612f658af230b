"""A cluster with the adaptive scheduler, flame graphs and the profiler: what is off by default."""

from __future__ import annotations

from collections.abc import Iterator

from tests.flink.rest.ask import ADAPTIVE, Ask
from tests.flink.rest.asks.templates import MALFORMED, UNKNOWN

REQUIREMENTS = "/jobs/{jobid}/resource-requirements"
RESCALES = "/jobs/{jobid}/rescales"
FLAMES = "/jobs/{jobid}/vertices/{vertexid}/flamegraph"


def asks() -> Iterator[Ask]:
    running = {"jobid": "@running"}
    yield Ask(ADAPTIVE, "GET", "/config")
    for path in ("/jobs/overview", "/overview"):
        yield Ask(ADAPTIVE, "GET", path, "before the first job")
    yield Ask(ADAPTIVE, "GET", "/jobs/{jobid}", "a running job", running)
    yield from _requirements()
    for part in ("/config", "/history", "/overview", "/summary"):
        yield Ask(ADAPTIVE, "GET", RESCALES + part, "a running job", running)
        yield Ask(ADAPTIVE, "GET", RESCALES + part, "no such job", {"jobid": UNKNOWN})
        yield Ask(ADAPTIVE, "GET", RESCALES + part, "a malformed job", {"jobid": MALFORMED})
    yield Ask(ADAPTIVE, "GET", f"{RESCALES}/history", "to keep", running, keep={"rescale": "0/rescaleUuid"})
    for about, each in (("a running job", "@kept.rescale"), ("no such", UNKNOWN), ("malformed", MALFORMED)):
        given = {"jobid": "@running", "rescaleuuid": each}
        yield Ask(ADAPTIVE, "GET", f"{RESCALES}/details/{{rescaleuuid}}", about, given)
    yield from _flames()
    yield from _profiler()
    for state in ("finished", "restarting"):
        for path in (REQUIREMENTS, f"{RESCALES}/history", f"{RESCALES}/config", "/jobs/{jobid}"):
            yield Ask(ADAPTIVE, "GET", path, f"a {state} job", {"jobid": f"@{state}"})


def _requirements() -> Iterator[Ask]:
    for about, each in (("a running job", "@running"), ("no such job", UNKNOWN), ("a malformed job", MALFORMED)):
        yield Ask(ADAPTIVE, "GET", REQUIREMENTS, about, {"jobid": each})
    for about, vertex, low, high in (
        ("a vertex that there is not", UNKNOWN, 1, 2),
        ("a malformed vertex", MALFORMED, 1, 2),
        ("a vertex alone", "@running.vertex", 1, 2),
        ("bounds the wrong way round", "@running.vertex", 3, 2),
        ("bounds below zero", "@running.vertex", -1, -1),
    ):
        wrong = {vertex: {"parallelism": {"lowerBound": low, "upperBound": high}}}
        yield Ask(ADAPTIVE, "PUT", REQUIREMENTS, about, {"jobid": "@running"}, body=wrong)
    bounds = {"parallelism": {"lowerBound": 1, "upperBound": 1}}
    both = {"@running.vertex": bounds, "@running.sink": bounds}
    for about, body in (("both vertices", both), ("nothing", {}), ("not JSON", "{nothing"), ("a list", [])):
        yield Ask(ADAPTIVE, "PUT", REQUIREMENTS, about, {"jobid": "@running"}, body=body)
    yield Ask(ADAPTIVE, "PUT", REQUIREMENTS, "no such job", {"jobid": UNKNOWN}, body={UNKNOWN: bounds})
    yield Ask(ADAPTIVE, "GET", REQUIREMENTS, "after it was changed", {"jobid": "@running"})


def _flames() -> Iterator[Ask]:
    given = {"jobid": "@plain", "vertexid": "@plain.vertex"}
    for query in ("", "type=full", "type=on_cpu", "type=off_cpu", "type=nonsense", "subtaskindex=0", "subtaskindex=99"):
        # The first answer is empty; sampling begins with it.
        yield Ask(ADAPTIVE, "GET", FLAMES, "a running job", given, query)
    yield Ask(ADAPTIVE, "GET", FLAMES, "no such vertex", {**given, "vertexid": UNKNOWN})
    yield Ask(ADAPTIVE, "GET", FLAMES, "no such job", {"jobid": UNKNOWN, "vertexid": UNKNOWN})


def _profiler() -> Iterator[Ask]:
    worker = {"taskmanagerid": "@taskmanager"}
    for path, given in (("/jobmanager/profiler", {}), ("/taskmanagers/{taskmanagerid}/profiler", worker)):
        yield Ask(ADAPTIVE, "GET", path, "nothing profiled", given)
        for body in ({"mode": "nonsense", "duration": 1}, {"mode": "CPU", "duration": -1}, {}):
            yield Ask(ADAPTIVE, "POST", path, "malformed", given, body=body)
