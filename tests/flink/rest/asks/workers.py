"""Task managers: the list, one of them, its metrics, logs, threads, profiler."""

from __future__ import annotations

from collections.abc import Iterator

from tests.flink.rest.ask import REST, Ask

ONE = "/taskmanagers/{taskmanagerid}"
BELOW = ("", "/logs", "/metrics", "/thread-dump", "/log", "/stdout", "/profiler")


def asks() -> Iterator[Ask]:
    yield Ask(REST, "GET", "/taskmanagers")
    for part in BELOW:
        yield Ask(REST, "GET", ONE + part, "", {"taskmanagerid": "@taskmanager"})
        yield Ask(REST, "GET", ONE + part, "no such task manager", {"taskmanagerid": "nobody"})
    for about, name in (("no such file", "nothing.log"), ("a way out of the folder", "..%2F..%2Fetc%2Fpasswd")):
        yield Ask(REST, "GET", f"{ONE}/logs/{{name}}", about, {"taskmanagerid": "@taskmanager", "name": name})
    unknown = {"taskmanagerid": "nobody", "name": "nothing.log"}
    yield Ask(REST, "GET", f"{ONE}/logs/{{name}}", "no such task manager", unknown)
    given = {"taskmanagerid": "@taskmanager", "file": "nothing.html"}
    yield Ask(REST, "GET", f"{ONE}/profiler/{{file}}", "no such file", given)
    profile = {"mode": "CPU", "duration": 1}
    yield Ask(REST, "POST", f"{ONE}/profiler", "not enabled", {"taskmanagerid": "@taskmanager"}, body=profile)
