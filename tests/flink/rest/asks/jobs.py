"""What is asked about a job in each of its states."""

from __future__ import annotations

from collections.abc import Iterator

from tests.flink.rest.ask import REST, Ask
from tests.flink.rest.asks.templates import STATES, UNKNOWN, reading

DETAILS = "/jobs/{jobid}/checkpoints/details/{checkpointid}"


def asks() -> Iterator[Ask]:
    for state, about in STATES.items():
        for path in reading():
            yield Ask(REST, "GET", path, about, {"jobid": f"@{state}"})
    for path in ("/jobs", "/jobs/overview", "/overview"):
        yield Ask(REST, "GET", path, "with jobs in all states")
    yield from _checkpoints()
    yield from _queries()


def _checkpoints() -> Iterator[Ask]:
    for state in ("running", "finished", "failed", "canceled"):
        given = {"jobid": f"@{state}", "checkpointid": f"@{state}.checkpoint"}
        yield Ask(REST, "GET", DETAILS, STATES[state], given)
        for vertex in ("vertex", "sink"):
            which = "the first vertex" if vertex == "vertex" else "the last vertex"
            yield Ask(
                REST,
                "GET",
                f"{DETAILS}/subtasks/{{vertexid}}",
                f"{which} of {STATES[state]}",
                {**given, "vertexid": f"@{state}.{vertex}"},
            )
    for state in ("running", "plain", "finished"):
        yield Ask(REST, "GET", DETAILS, f"no such checkpoint of {STATES[state]}", _missing(state))
    path = f"{DETAILS}/subtasks/{{vertexid}}"
    yield Ask(REST, "GET", path, "no such checkpoint", {**_missing("running"), "vertexid": "@running.vertex"})
    known = {"jobid": "@running", "checkpointid": "@running.checkpoint"}
    yield Ask(REST, "GET", path, "a vertex that is not in the checkpoint", {**known, "vertexid": UNKNOWN})
    for state in ("running", "finished"):
        given = {"jobid": f"@{state}", "taskmanagerid": "@taskmanager"}
        yield Ask(REST, "GET", "/jobs/{jobid}/taskmanagers/{taskmanagerid}/log-url", STATES[state], given)
    heartbeat = {"expiredTimestamp": 4102444800000}
    for state in ("running", "finished"):
        given = {"jobid": f"@{state}"}
        yield Ask(REST, "PATCH", "/jobs/{jobid}/clientHeartbeat", STATES[state], given, body=heartbeat)


def _missing(state: str) -> dict[str, str]:
    return {"jobid": f"@{state}", "checkpointid": "987654321"}


def _queries() -> Iterator[Ask]:
    for path, state, query in (
        ("/jobs/{jobid}/exceptions", "restarting", "maxExceptions=1"),
        ("/jobs/{jobid}/exceptions", "restarting", "maxExceptions=0"),
        ("/jobs/{jobid}/exceptions", "restarting", "maxExceptions=1000"),
        ("/jobs/{jobid}/exceptions", "restarting", "maxExceptions=-1"),
        ("/jobs/{jobid}/exceptions", "restarting", "failureLabelFilter=type:user"),
        ("/jobs/{jobid}/exceptions", "restarting", "failureLabelFilter=nonsense"),
        ("/jobs/{jobid}/exceptions", "failed", "maxExceptions=1"),
        ("/jobs/{jobid}/accumulators", "running", "includeSerializedValue=true"),
        ("/jobs/{jobid}/accumulators", "finished", "includeSerializedValue=true"),
        ("/jobs/{jobid}/accumulators", "finished", "includeSerializedValue=false"),
        ("/jobs/{jobid}", "running", "nothing=known"),
        ("/jobs/overview", "", "state=RUNNING"),
    ):
        given = {"jobid": f"@{state}"} if state else {}
        yield Ask(REST, "GET", path, STATES.get(state, "with jobs in all states"), given, query)
