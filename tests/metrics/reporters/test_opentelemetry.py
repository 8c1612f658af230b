"""What a collector of OpenTelemetry gets."""

from __future__ import annotations

import gzip
import sys
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from tests.metrics.reporters.samples import ALL, COUNTER, OPERATOR, of_operator, opened, setup, web

from millrace.metrics.report import CounterSnapshot
from millrace.metrics.reporters.http_target import HttpError

KIND = "otel.OpenTelemetryMetricReporterFactory"
START = "flink.taskmanager.job.task.operator."


def read(body: bytes) -> tuple[dict[str, str], list[dict[str, Any]]]:
    request = ExportMetricsServiceRequest.FromString(body)
    (resource,) = MessageToDict(request)["resourceMetrics"]
    (scope,) = resource["scopeMetrics"]
    return attributes(resource["resource"]), scope["metrics"]


def attributes(of: dict[str, Any]) -> dict[str, str]:
    return {each["key"]: each["value"]["stringValue"] for each in of.get("attributes", [])}


def test_metrics() -> None:
    with web() as server:
        options = {"service__name": "flink", "service__version": "2"}
        one, reporter = opened(KIND, exporter__endpoint=f"{server.url}/v1/metrics", **options)
        reporter.report(one.select(ALL))
        (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/v1/metrics")
    assert request.headers["Content-Type"] == "application/x-protobuf"
    resource, metrics = read(request.body)
    assert resource == {"service.name": "flink", "service.version": "2"}
    found = {metric["name"].removeprefix(START): metric for metric in metrics}
    assert found.keys() == {
        *("numRecordsIn", "perSecond.count", "perSecond.rate", "currentInputWatermark", "table.late"),
        *("lengths", "latency", "flink.jobmanager.job.numEpochs"),
    }
    sum = found["numRecordsIn"]["sum"]
    assert sum["aggregationTemporality"] == "AGGREGATION_TEMPORALITY_DELTA"
    (point,) = sum["dataPoints"]
    assert point["asInt"] in ("5", "7")
    assert attributes(point).keys() == {key[1:-1] for key in OPERATOR}
    assert int(point["startTimeUnixNano"]) <= int(point["timeUnixNano"])
    assert found["perSecond.rate"]["gauge"]["dataPoints"][0]["asDouble"] == 2.5
    assert found["currentInputWatermark"]["gauge"]["dataPoints"][0]["asInt"] == str(-(2**63))
    latency = found["latency"]["summary"]["dataPoints"][0]
    assert (latency["count"], latency["sum"]) == ("200", 5050.0)
    quantiles = {each.get("quantile", 0): each["value"] for each in latency["quantileValues"]}
    assert quantiles == {0: 1, 0.5: 51, 0.75: 76, 0.95: 96, 0.99: 100, 1: 100}
    assert found["lengths"]["summary"]["dataPoints"][0]["sum"] == 6


def test_counts_are_not_lost_with_a_report() -> None:
    with web() as server:
        endpoint = {"exporter__endpoint": server.url, "exporter__compression": "gzip"}
        one, reporter = opened(KIND, **endpoint)
        for count, status in ((3, 200), (5, 503), (10, 200)):
            server.status = status
            try:
                reporter.report(one.select([of_operator(("n",), CounterSnapshot(count))]))
            except HttpError:
                assert status == 503
        points = [
            read(gzip.decompress(request.body))[1][0]["sum"]["dataPoints"][0]["asInt"] for request in server.requests
        ]
        assert points == ["3", "2", "7"]
        assert server.requests[0].path == "/v1/metrics"
        assert server.requests[0].headers["Content-Encoding"] == "gzip"


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.proto.metrics.v1", None)
    one = setup(f"org.apache.flink.metrics.{KIND}", exporter__endpoint="http://h:4318")
    with pytest.raises(ValueError, match=r"pip install 'millrace-streaming\[opentelemetry\]'"):
        one.reporter.open(one.config)
    assert one.select([COUNTER])
