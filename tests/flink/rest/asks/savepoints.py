"""Savepoints, checkpoints on demand, disposal: triggered, asked for until they have ended, in each state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.flink.rest.ask import REST, Ask
from tests.flink.rest.asks.templates import MALFORMED, STATES, UNKNOWN

SAVEPOINTS = "/jobs/{jobid}/savepoints"
CHECKPOINTS = "/jobs/{jobid}/checkpoints"
DISPOSAL = "/savepoint-disposal"
OVER = "status/id=COMPLETED"
JOB = "@running#savepoints"
FOLDER = {"target-directory": "@folder"}


def asks() -> Iterator[Ask]:
    for name, about, job, body in (
        ("plain", "a running job", JOB, FOLDER),
        ("native", "a running job", JOB, {**FOLDER, "formatType": "NATIVE"}),
        ("canonical", "a running job", JOB, {**FOLDER, "formatType": "CANONICAL", "cancel-job": False}),
        ("no_folder", "a running job, without a folder", JOB, {}),
        ("unknown_field", "a running job", JOB, {**FOLDER, "nothing": 1}),
        ("bad_folder", "a running job, a folder that cannot be written", JOB, {"target-directory": "/proc/nothing"}),
        ("no_scheme", "a running job, a file system that is not there", JOB, {"target-directory": "nothing://here/x"}),
        ("of_plain", "a running job without checkpoints", "@plain", FOLDER),
        ("of_finished", STATES["finished"], "@finished", FOLDER),
        ("of_failed", STATES["failed"], "@failed", FOLDER),
        ("of_canceled", STATES["canceled"], "@canceled", FOLDER),
        ("of_restarting", STATES["restarting"], "@restarting", FOLDER),
        ("of_unknown", "no such job", UNKNOWN, FOLDER),
    ):
        yield from _triggered(SAVEPOINTS, f"savepoint_{name}", about, job, body, f"{SAVEPOINTS}/{{triggerid}}")
    for name, about, job, body in (
        ("plain", "a running job", JOB, {}),
        ("full", "a running job", JOB, {"checkpointType": "FULL"}),
        ("incremental", "a running job", JOB, {"checkpointType": "INCREMENTAL"}),
        ("configured", "a running job", JOB, {"checkpointType": "CONFIGURED"}),
        ("of_plain", "a running job without checkpoints", "@plain", {}),
        ("of_finished", STATES["finished"], "@finished", {}),
        ("of_restarting", STATES["restarting"], "@restarting", {}),
        ("of_unknown", "no such job", UNKNOWN, {}),
    ):
        yield from _triggered(CHECKPOINTS, f"checkpoint_{name}", about, job, body, f"{CHECKPOINTS}/{{triggerid}}")
    yield Ask(REST, "GET", CHECKPOINTS, "after savepoints", {"jobid": JOB})
    yield from _chosen_ids()
    yield from _bad_bodies()
    yield from _disposal()


def _triggered(path: str, name: str, about: str, job: str, body: Any, polled: str) -> Iterator[Ask]:
    given = {"jobid": job}
    yield Ask(REST, "POST", path, about, given, body=body, keep={name: "request-id"})
    asked = {**given, "triggerid": f"@kept.{name}"}
    keep = {name: "operation/location"}
    yield Ask(REST, "GET", polled, f"{name}: {about}", asked, until=OVER, keep=keep)


def _chosen_ids() -> Iterator[Ask]:
    """The client may choose the id of its request: then it can send it twice."""
    for path, folder in ((SAVEPOINTS, FOLDER), (CHECKPOINTS, {})):
        trigger = ("a" if folder else "b") * 32
        body = {**folder, "triggerId": trigger}
        for about in ("with an id of one's own", "with the same id again"):
            yield Ask(REST, "POST", path, about, {"jobid": JOB}, body=body)
            given = {"jobid": JOB, "triggerid": trigger}
            yield Ask(REST, "GET", f"{path}/{{triggerid}}", about, given, until=OVER)
        yield Ask(REST, "POST", path, "a malformed id", {"jobid": JOB}, body={**folder, "triggerId": MALFORMED})
        for about, given in (
            ("no such request", {"jobid": JOB, "triggerid": UNKNOWN}),
            ("a malformed request", {"jobid": JOB, "triggerid": MALFORMED}),
            ("a request of another job", {"jobid": "@running", "triggerid": trigger}),
            ("a malformed job", {"jobid": MALFORMED, "triggerid": trigger}),
        ):
            yield Ask(REST, "GET", f"{path}/{{triggerid}}", about, given)


def _bad_bodies() -> Iterator[Ask]:
    for path in (SAVEPOINTS, CHECKPOINTS, "/jobs/{jobid}/stop"):
        for about, body in (
            ("no body", None),
            ("a body that is not JSON", "{nothing"),
            ("a body that is a list", []),
            ("an unknown format", {"formatType": "nonsense", "checkpointType": "nonsense"}),
            ("a value of another type", {"target-directory": {}, "targetDirectory": {}, "checkpointType": {}}),
        ):
            yield Ask(REST, "POST", path, about, {"jobid": UNKNOWN}, body=body)
        yield Ask(REST, "POST", path, "a malformed job", {"jobid": MALFORMED}, body={})


def _disposal() -> Iterator[Ask]:
    for name, about, where in (
        ("of_savepoint", "a savepoint", "@kept.savepoint_plain"),
        ("again", "a savepoint that is gone", "@kept.savepoint_plain"),
        ("of_nothing", "no such path", "/nothing/here"),
    ):
        body = {"savepoint-path": where}
        yield Ask(REST, "POST", DISPOSAL, about, body=body, keep={f"disposal_{name}": "request-id"})
        given = {"triggerid": f"@kept.disposal_{name}"}
        yield Ask(REST, "GET", f"{DISPOSAL}/{{triggerid}}", about, given, until=OVER)
    yield Ask(REST, "GET", f"{DISPOSAL}/{{triggerid}}", "no such request", {"triggerid": UNKNOWN})
    yield Ask(REST, "GET", f"{DISPOSAL}/{{triggerid}}", "a malformed request", {"triggerid": MALFORMED})
    for about, wrong in (("no body", None), ("no path", {}), ("a body that is not JSON", "{nothing")):
        yield Ask(REST, "POST", DISPOSAL, about, body=wrong)
