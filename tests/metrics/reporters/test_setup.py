"""Which reporters a configuration asks for, and what is wrong with it."""

from __future__ import annotations

import pytest
from tests.metrics.reporters import own
from tests.metrics.reporters.samples import setup

from millrace.metrics.reporters.scheduling import reporter_class, setups

KEEPS = "tests.metrics.reporters.own:Keeps"
FLINKS = {
    "prometheus.PrometheusReporter": "PrometheusReporter",
    "prometheus.PrometheusPushGatewayReporter": "PushGatewayReporter",
    "statsd.StatsDReporter": "StatsDReporter",
    "datadog.DatadogHttpReporter": "DatadogReporter",
    "influxdb.InfluxdbReporter": "InfluxdbReporter",
    "graphite.GraphiteReporter": "GraphiteReporter",
    "otel.OpenTelemetryMetricReporter": "OpenTelemetryReporter",
    "ganglia.GangliaReporter": "GangliaReporter",
    "slf4j.Slf4jReporter": "LogReporter",
}


@pytest.mark.parametrize("name", FLINKS)
def test_flinks_classes_and_factories(name: str) -> None:
    for ending in ("", "Factory"):
        assert reporter_class(f"org.apache.flink.metrics.{name}{ending}").__name__ == FLINKS[name]


def test_those_listed_else_all() -> None:
    configuration = {f"metrics.reporter.{name}.factory.class": KEEPS for name in "abc"} | {
        "metrics.reporter.a.interval": "60 SECONDS",
        "metrics.reporter.d.class": KEEPS,
    }
    assert [one.config.name for one in setups(configuration, "j")] == ["a", "b", "c", "d"]
    listed = setups(configuration | {"metrics.reporters": "c, a"}, "j")
    assert [(one.config.name, one.config.interval) for one in listed] == [("c", 10.0), ("a", 60.0)]
    assert all(isinstance(one.reporter, own.Keeps) for one in listed)
    assert setups({}, "j") == []


@pytest.mark.parametrize(
    ("kind", "options", "problem"),
    [
        ("org.apache.flink.metrics.jmx.JMXReporterFactory", {}, "JmxSink"),
        (
            "org.apache.flink.metrics.nothing.Reporter",
            {},
            "there are: org.apache.flink.metrics.datadog.Datadog",
        ),
        ("com.example.Reporter", {}, "module:Class"),
        ("no_such_module:Reporter", {}, "no_such_module"),
        ("tests.metrics.reporters.own:Missing", {}, "Missing"),
        ("tests.metrics.reporters.own:NOT_A_CLASS", {}, "MetricReporter"),
        (KEEPS, {"interval": "0 s"}, "more than 0"),
        (KEEPS, {"interval": "soon"}, r"metrics\.reporter\.r\.interval"),
        (KEEPS, {"scope__variables__additional": "a"}, "key:value"),
    ],
)
def test_what_cannot_be(kind: str, options: dict[str, str], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        setup(kind, **options)


def test_a_reporter_that_is_not_described() -> None:
    with pytest.raises(ValueError, match=r"metrics\.reporter\.x\.factory\.class is not set"):
        setups({"metrics.reporters": "x", "metrics.reporter.x.port": "1"}, "j")


@pytest.mark.parametrize(
    ("kind", "options", "problem"),
    [
        ("prometheus.PrometheusReporter", {"port": "9250-x"}, r"metrics\.reporter\.r\.port: '9250-x'"),
        ("prometheus.PrometheusPushGatewayReporter", {}, "hostUrl is not set"),
        ("prometheus.PrometheusPushGatewayReporter", {"hostUrl": "gateway:9091"}, "not a URL"),
        ("prometheus.PrometheusPushGatewayReporter", {"hostUrl": "http://g", "groupingKey": "a"}, "key=value"),
        ("prometheus.PrometheusPushGatewayReporter", {"hostUrl": "http://g", "randomJobNameSuffix": False}, "jobName"),
        ("statsd.StatsDReporter", {"host": "h"}, "port is not set"),
        ("graphite.GraphiteReporter", {"host": "h", "port": 1, "protocol": "SCTP"}, "none of TCP, UDP"),
        ("influxdb.InfluxdbReporter", {"host": "h"}, "db is not set"),
        ("datadog.DatadogHttpReporter", {}, "apikey is not set"),
        ("datadog.DatadogHttpReporter", {"apikey": "k", "dataCenter": "MARS"}, "none of US, EU"),
        ("otel.OpenTelemetryMetricReporter", {}, "exporter.endpoint is not set"),
        ("otel.OpenTelemetryMetricReporter", {"exporter__protocol": "gRPC"}, "4318"),
        ("ganglia.GangliaReporter", {}, "host is not set"),
    ],
)
def test_options_that_are_wrong(kind: str, options: dict[str, str], problem: str) -> None:
    one = setup(f"org.apache.flink.metrics.{kind}", **options)
    with pytest.raises(ValueError, match=problem):
        one.reporter.open(one.config)


def test_secrets_are_not_shown() -> None:
    one = setup(KEEPS, password="p w/d", apikey="K&1", host="h")
    text = "p w/d p%20w%2Fd K&1 K%261 https://u:geheim@h"
    hidden = one.config.hidden(text)
    assert not any(secret in hidden for secret in ("p w/d", "p%20", "K&1", "K%261", "geheim"))
    assert "K&1" not in repr(one)
