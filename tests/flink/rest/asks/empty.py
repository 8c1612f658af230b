"""A cluster that has not run a job yet."""

from __future__ import annotations

from collections.abc import Iterator

from tests.flink.rest.ask import GATEWAY, HISTORY, REST, Ask

PATHS = (
    "/jobs",
    "/jobs/overview",
    "/jobs/metrics",
    "/overview",
    "/jars",
    "/datasets",
    "/applications/overview",
    "/taskmanagers",
)


def asks() -> Iterator[Ask]:
    for path in PATHS:
        yield Ask(REST, "GET", path, "before the first job")
    yield Ask(HISTORY, "GET", "/jobs/overview", "before the first job")
    yield Ask(GATEWAY, "GET", "/api_versions")
