"""Applications, which jobs belong to since 2.3: the one of a job has the job's id."""

from __future__ import annotations

from collections.abc import Iterator

from tests.flink.rest.ask import REST, Ask
from tests.flink.rest.asks.templates import MALFORMED, STATES, UNKNOWN

ONE = "/applications/{applicationid}"


def asks() -> Iterator[Ask]:
    yield Ask(REST, "GET", "/applications/overview", "with jobs in all states")
    for part in ("", "/exceptions", "/jobmanager/config"):
        for state, about in STATES.items():
            yield Ask(REST, "GET", ONE + part, f"that of {about}", {"applicationid": f"@{state}"})
        yield Ask(REST, "GET", ONE + part, "no such application", {"applicationid": UNKNOWN})
        yield Ask(REST, "GET", ONE + part, "a malformed id", {"applicationid": MALFORMED})
    for about, each in (
        ("no such application", UNKNOWN),
        ("a malformed id", MALFORMED),
        ("that of a finished job", "@finished"),
        ("that of a running job", "@plain#application"),
        ("that of a running job, once more", "@plain#application"),
    ):
        yield Ask(REST, "POST", f"{ONE}/cancel", about, {"applicationid": each})
    given = {"applicationid": "@plain#application"}
    yield Ask(REST, "GET", ONE, "one that was cancelled", given, until="status=CANCELED")
