"""What Prometheus reads, by its own client's parser, and the endpoint that it asks."""

from __future__ import annotations

import math
import urllib.error
import urllib.request
from http.client import HTTPConnection

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from tests.metrics.reporters.samples import ALL, COUNTER, METER, OPERATOR, of_job, of_operator, opened, setup

from millrace.metrics.report import CounterSnapshot, DistributionSnapshot, GaugeSnapshot, MetricEntry
from millrace.metrics.reporters.http_reporters import Families
from millrace.metrics.reporters.reporter import PullReporter
from millrace.metrics.reporters.scheduling import ReporterSetup

KIND = "prometheus.PrometheusReporter"
START = "flink_taskmanager_job_task_operator_"


def parsed(entries: list[MetricEntry], filter_values: bool = True, **options: object) -> dict[str, Metric]:
    families = Families()
    families.add(setup(f"org.apache.flink.metrics.{KIND}", **options).select(entries), filter_values)
    found = list(text_string_to_metric_families(families.text()))
    assert len({family.name for family in found}) == len(found)
    return {family.name: family for family in found}


def test_flinks_names_and_types() -> None:
    found = parsed(ALL)
    assert set(found) == {
        "flink_jobmanager_job_numEpochs",
        *(START + name for name in ("numRecordsIn", "perSecond", "currentInputWatermark", "ratio", "table_late")),
        *(START + name for name in ("lengths", "latency")),
    }
    records = found[f"{START}numRecordsIn"]
    assert records.type == "gauge"
    assert records.documentation == "numRecordsIn (scope: taskmanager_job_task_operator)"
    assert {sample.labels["subtask_index"]: sample.value for sample in records.samples} == {"0": 7, "1": 5}
    assert found[f"{START}perSecond"].samples[0].value == 2.5
    assert found[f"{START}currentInputWatermark"].samples[0].value == -(2.0**63)
    assert math.isnan(found[f"{START}ratio"].samples[0].value)
    assert found[f"{START}table_late"].samples[0].labels["table"] == "orders"


def test_labels_are_the_variables() -> None:
    (sample,) = parsed([COUNTER])[f"{START}numRecordsIn"].samples
    assert set(sample.labels) == {key[1:-1] for key in OPERATOR}
    assert sample.labels["task_name"] == "Map____Sink:_out"
    (sample,) = parsed([COUNTER], filter_values=False)[f"{START}numRecordsIn"].samples
    assert sample.labels["task_name"] == "Map -> Sink: out"


def test_values_of_labels_are_escaped() -> None:
    hard = 'a"b\\n\\\nc{x="1"} # 日本'
    (sample,) = parsed([of_operator(("n",), CounterSnapshot(1), own=hard)], False)[f"{START}n"].samples
    assert sample.labels["own"] == hard


def test_histograms_and_distributions_are_summaries() -> None:
    found = parsed(ALL)
    latency = found[f"{START}latency"]
    assert latency.type == "summary"
    by_quantile = {sample.labels.get("quantile"): sample.value for sample in latency.samples}
    assert by_quantile == {"0.5": 51, "0.75": 76, "0.95": 96, "0.98": 99, "0.99": 100, "0.999": 100, None: 200}
    lengths = {
        (sample.name.removeprefix(START), sample.labels.get("quantile")): sample.value
        for sample in found[f"{START}lengths"].samples
    }
    assert lengths == {
        ("lengths", "0.0"): 1,
        ("lengths", "1.0"): 3,
        ("lengths_sum", None): 6,
        ("lengths_count", None): 3,
    }


def test_what_prometheus_would_refuse_is_left_out() -> None:
    twice = of_operator(("same",), CounterSnapshot(2))
    other_type = of_operator(("same",), DistributionSnapshot(1, 1, 1, 1), subtask=1)
    found = parsed([of_operator(("same",), CounterSnapshot(1)), twice, other_type])
    assert [sample.value for sample in found[f"{START}same"].samples] == [1]
    two_names = MetricEntry(("n",), CounterSnapshot(1), {"<a-b>": "1", "<a_b>": "2"})
    assert parsed([two_names, of_job("n", CounterSnapshot(1))]).keys() == {"flink_jobmanager_job_n"}


@pytest.mark.parametrize(
    ("value", "expected"), [(True, 1), (2**70, 2.0**70), (math.inf, math.inf), (-math.inf, -math.inf), (1e-9, 1e-9)]
)
def test_gauges(value: object, expected: float) -> None:
    assert parsed([of_operator(("g",), GaugeSnapshot(value))])[f"{START}g"].samples[0].value == expected


@pytest.mark.parametrize("value", ["text", None, 1j])
def test_gauges_without_a_number(value: object) -> None:
    assert parsed([of_operator(("g",), GaugeSnapshot(value))]) == {}


def get(port: int, path: str = "/metrics", **headers: str) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def serve(
    entries: list[MetricEntry], port: int = 0, host: str = "127.0.0.1"
) -> tuple[ReporterSetup, PullReporter, int]:
    from millrace.metrics.reporters import http_reporters

    one, reporter = opened(KIND, port=port, host=host)
    assert isinstance(reporter, PullReporter)
    reporter.serve(lambda: one.select(entries))
    return one, reporter, http_reporters._endpoints[host, (port,)].port


def test_the_endpoint_answers_as_long_as_the_job_runs() -> None:
    _, reporter, port = serve([METER])
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            (family,) = text_string_to_metric_families(answer.read().decode())
        assert family.name == f"{START}perSecond"
        assert get(port, "/other")[0] == 404
        assert get(port, Host="localhost:1")[0] == 200
        assert get(port, Host="metrics.example.com")[0] == 403
    finally:
        reporter.close()
    with pytest.raises(OSError):
        get(port)


def test_jobs_of_a_process_share_an_endpoint() -> None:
    _, first, port = serve([of_job("a", CounterSnapshot(1))])
    _, second, same = serve([of_job("a", CounterSnapshot(1)), of_job("b", CounterSnapshot(2))])
    assert port == same
    try:
        names = [family.name for family in text_string_to_metric_families(get(port)[1])]
        assert names == ["flink_jobmanager_job_a", "flink_jobmanager_job_b"]
        first.close()
        assert "flink_jobmanager_job_b" in get(port)[1]
    finally:
        second.close()


def test_a_range_of_ports_and_none_that_is_free() -> None:
    _, first, taken = serve([])
    try:
        _, second = opened(KIND, port=f"{taken}-{taken + 20}")
        assert isinstance(second, PullReporter)
        second.serve(list)
        second.close()
        _, third = opened(KIND, port=taken)
        assert isinstance(third, PullReporter)
        with pytest.raises(OSError, match=f"cannot listen at 127.0.0.1, port {taken}"):
            third.serve(list)
        third.close()
    finally:
        first.close()
