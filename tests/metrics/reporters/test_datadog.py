"""What Datadog gets."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

import pytest
from tests.metrics.reporters.samples import ALL, COUNTER, GROUPED, Web, of_operator, opened, setup, web

from millrace.metrics.report import CounterSnapshot
from millrace.metrics.reporters.http_target import HttpError
from millrace.metrics.reporters.scheduling import ReporterThread

KIND = "datadog.DatadogHttpReporterFactory"
AT = "h.taskmanager.spark.my job.Map.0"


def series(server: Web) -> list[dict[str, Any]]:
    return [one for request in server.requests for one in json.loads(request.body)["series"]]


def test_series() -> None:
    with web() as server:
        one, reporter = opened(KIND, apikey="geheim", url=server.url, tags="team:a, x")
        began = int(time.time())
        reporter.report(one.select(ALL))
        (request,) = server.requests
        found = {each["metric"]: each for each in series(server)}
    assert (request.method, request.path) == ("POST", "/api/v1/series")
    assert request.headers["DD-API-KEY"] == "geheim" and b"geheim" not in request.body
    count = found[f"{AT}.numRecordsIn"]
    ((at, value),) = count["points"]
    assert began <= at <= time.time() and value == 7
    assert (count["type"], count["interval"], count["host"]) == ("count", 10, "h")
    assert {"team:a", "x", "job_name:my job", "subtask_index:0"} <= set(count["tags"])
    assert not any(tag.startswith("host:") for tag in count["tags"])
    gauges = {
        name.removeprefix(f"{AT}."): each["points"][0][1] for name, each in found.items() if each["type"] == "gauge"
    }
    assert gauges == {
        "perSecond": 2.5,
        "currentInputWatermark": -(2**63),
        "lengths.count": 3,
        "lengths.min": 1,
        "lengths.max": 3,
        "lengths.avg": 2.0,
        "latency.count": 200,
        "latency.min": 1,
        "latency.max": 100,
        "latency.avg": 50.5,
        "latency.median": 51,
        "latency.95percentile": 96,
    }


def test_counts_are_what_came_since_a_report_arrived() -> None:
    def counter(count: int) -> Any:
        return one.select([of_operator(("n",), CounterSnapshot(count))])

    with web() as server:
        one, reporter = opened(KIND, apikey="k", url=server.url, useLogicalIdentifier=True)
        reporter.report(counter(3))
        server.status = 500
        with pytest.raises(HttpError, match="answers 500"):
            reporter.report(counter(5))
        server.status = 202
        reporter.report(counter(10))
        reporter.report(counter(10))
        counts = [each["points"][0][1] for each in series(server)]
        assert counts == [3, 2, 7, 0]
        assert series(server)[0]["metric"] == "taskmanager.job.task.operator.n"


def test_requests_are_cut() -> None:
    with web() as server:
        one, reporter = opened(KIND, apikey="k", url=server.url, maxMetricsPerRequest=2)
        reporter.report(one.select([COUNTER, GROUPED, COUNTER]))
        assert [len(json.loads(request.body)["series"]) for request in server.requests] == [2, 1]


def test_through_a_proxy() -> None:
    with web() as server:
        one, reporter = opened(
            KIND, apikey="k", url="http://datadog.example:81", proxyHost="127.0.0.1", proxyPort=server.port
        )
        reporter.report(one.select([COUNTER]))
        (request,) = server.requests
    assert request.path == "http://datadog.example:81/api/v1/series"
    assert request.headers["Host"] == "datadog.example:81"


def test_the_key_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    with web() as server, caplog.at_level(logging.DEBUG):
        server.status = 403
        kind = f"org.apache.flink.metrics.{KIND}"
        one = setup(kind, apikey="geheim", url=f"http://u:geheim@127.0.0.1:{server.port}", interval="1 h")
        thread = ReporterThread(one, lambda: [COUNTER])
        thread.start()
        thread.opened_by(time.monotonic() + 60)
        thread.stop()
        thread.ended_by(time.monotonic() + 60)
    assert "answers 403" in caplog.text
    assert "geheim" not in caplog.text
