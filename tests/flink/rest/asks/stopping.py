"""Ending jobs: cancel in each state, stop with a savepoint, the old paths for both."""

from __future__ import annotations

from collections.abc import Iterator

from tests.flink.rest.ask import REST, Ask
from tests.flink.rest.asks.templates import MALFORMED, STATES, UNKNOWN

JOB = "/jobs/{jobid}"
STOP = "/jobs/{jobid}/stop"
OVER = "status/id=COMPLETED"


def asks() -> Iterator[Ask]:
    for state in ("finished", "failed", "canceled", "batch"):
        yield Ask(REST, "PATCH", JOB, STATES[state], {"jobid": f"@{state}"})
    yield from _canceled("plain", "")
    yield from _canceled("running", "mode=cancel")
    yield from _canceled("restarting", "mode=cancel")
    for about, each, query in (
        ("no such job", UNKNOWN, "mode=cancel"),
        ("a malformed job", MALFORMED, "mode=cancel"),
        ("a malformed mode", "@running", "mode=nonsense"),
        ("a mode of old", "@running", "mode=stop"),
        ("capital letters", UNKNOWN, "mode=CANCEL"),
    ):
        yield Ask(REST, "PATCH", JOB, about, {"jobid": each}, query)
    yield from _stopped()
    yield from _old()


def _canceled(state: str, query: str) -> Iterator[Ask]:
    given = {"jobid": f"@{state}#cancel"}
    yield Ask(REST, "PATCH", JOB, STATES[state], given, query)
    about = f"{STATES[state]}, cancelled"
    yield Ask(REST, "GET", "/jobs/{jobid}/status", about, given, until="status=CANCELED")
    yield Ask(REST, "GET", JOB, about, given)
    yield Ask(REST, "GET", "/jobs/{jobid}/execution-result", about, given, until=OVER)
    yield Ask(REST, "GET", "/jobs/{jobid}/exceptions", about, given)
    yield Ask(REST, "PATCH", JOB, f"{about}, once more", given, query)


def _stopped() -> Iterator[Ask]:
    folder = {"targetDirectory": "@folder"}
    for name, about, job, body in (
        ("stop", "a running job", "@running#stop", folder),
        ("drain", "a running job, drained", "@running#drain", {**folder, "drain": True}),
        ("native", "a running job, in the native format", "@running#native", {**folder, "formatType": "NATIVE"}),
        ("no_folder", "a running job, without a folder", "@running#no_folder", {}),
        ("of_plain", "a running job without checkpoints", "@plain#stop", folder),
        ("of_finished", STATES["finished"], "@finished", folder),
        ("of_canceled", STATES["canceled"], "@canceled", folder),
        ("of_restarting", STATES["restarting"], "@restarting", folder),
        ("of_unknown", "no such job", UNKNOWN, folder),
    ):
        given = {"jobid": job}
        yield Ask(REST, "POST", STOP, about, given, body=body, keep={f"stop_{name}": "request-id"})
        asked = {**given, "triggerid": f"@kept.stop_{name}"}
        polled = "/jobs/{jobid}/savepoints/{triggerid}"
        yield Ask(REST, "GET", polled, f"stop: {about}", asked, until=OVER, keep={f"stop_{name}": "operation/location"})
        if name in ("stop", "drain", "of_plain"):
            ended = "FINISHED"
            yield Ask(REST, "GET", "/jobs/{jobid}/status", f"{about}, stopped", given, until=f"status={ended}")
            yield Ask(REST, "GET", "/jobs/{jobid}/checkpoints", f"{about}, stopped", given)
            yield Ask(REST, "GET", "/jobs/{jobid}/execution-result", f"{about}, stopped", given, until=OVER)


def _old() -> Iterator[Ask]:
    for about, each in (
        ("no such job", UNKNOWN),
        ("a malformed job", MALFORMED),
        ("a finished job", "@finished"),
        ("a running job", "@plain#yarn"),
    ):
        yield Ask(REST, "GET", "/jobs/{jobid}/yarn-cancel", about, {"jobid": each})
    for about, each in (("no such job", UNKNOWN), ("a running job", "@running")):
        yield Ask(REST, "GET", "/jobs/{jobid}/yarn-stop", about, {"jobid": each})
