"""The cluster as a whole and its JobManager: overview, configuration, logs, threads, profiler, data sets."""

from __future__ import annotations

from collections.abc import Iterator

from tests.flink.rest.ask import REST, Ask
from tests.flink.rest.asks.templates import MALFORMED, UNKNOWN

READ = (
    "/config",
    "/overview",
    "/datasets",
    "/jobmanager/config",
    "/jobmanager/environment",
    "/jobmanager/logs",
    "/jobmanager/log",
    "/jobmanager/stdout",
    "/jobmanager/thread-dump",
    "/jobmanager/profiler",
    "/",
    "/index.html",
)
WITH_VERSION = ("/v1/config", "/v1/overview", "/v1/jobs", "/v1/jobs/overview", "/v1/taskmanagers", "/v1/jars")


def asks() -> Iterator[Ask]:
    for path in READ:
        yield Ask(REST, "GET", path)
    for path in WITH_VERSION:
        yield Ask(REST, "GET", path, "with a version")
    yield Ask(REST, "GET", "/v1/jobs/{jobid}", "with a version", {"jobid": "@running"})
    yield Ask(REST, "GET", "/v2/overview", "with a version that there is not")
    yield Ask(REST, "GET", "/overview", "unknown query", {}, "nothing=known")
    yield from _logs()
    yield from _data_sets()


def _logs() -> Iterator[Ask]:
    path = "/jobmanager/logs/{name}"
    for about, name in (
        ("no such file", "nothing.log"),
        ("a way out of the folder", "..%2F..%2Fetc%2Fpasswd"),
        ("a folder", "."),
    ):
        yield Ask(REST, "GET", path, about, {"name": name})
    for path in ("/jobmanager/profiler/{file}", "/jobmanager/profiler/nothing/{file}"):
        yield Ask(REST, "GET", path, "no such file", {"file": "nothing.html"})
    yield Ask(REST, "POST", "/jobmanager/profiler", "not enabled", body={"mode": "CPU", "duration": 1})
    yield Ask(REST, "POST", "/jobmanager/profiler", "not enabled", body={"mode": "nonsense", "duration": 1})


def _data_sets() -> Iterator[Ask]:
    for about, each in (("no such data set", UNKNOWN), ("a malformed id", MALFORMED)):
        keep = {"data_set": "request-id"} if each == UNKNOWN else {}
        yield Ask(REST, "DELETE", "/datasets/{datasetid}", about, {"datasetid": each}, keep=keep)
    path = "/datasets/delete/{triggerid}"
    yield Ask(REST, "GET", path, "no such data set", {"triggerid": "@kept.data_set"}, until="status/id=COMPLETED")
    yield Ask(REST, "GET", path, "no such request", {"triggerid": UNKNOWN})
    yield Ask(REST, "GET", path, "a malformed id", {"triggerid": MALFORMED})
