"""Metric reporters of a job on Spark."""

from __future__ import annotations

import re

import pytest
from tests.metrics.reporters.samples import silent, web
from tests.spark.conftest import MakeEnvironment
from tests.spark.test_metrics import Counts


def test_what_a_job_has_counted_arrives(environment: MakeEnvironment, caplog: pytest.LogCaptureFixture) -> None:
    """Also while another reporter gets no answer."""
    with web() as server, silent() as port:
        reporters = {
            "influx.factory.class": "org.apache.flink.metrics.influxdb.InfluxdbReporterFactory",
            "influx.host": "127.0.0.1",
            "influx.port": server.port,
            "influx.db": "flink",
            "influx.interval": "1 h",
            "gate.factory.class": "org.apache.flink.metrics.prometheus.PrometheusPushGatewayReporterFactory",
            "gate.hostUrl": f"http://127.0.0.1:{port}",
        }
        env = environment(2, **{f"metrics.reporter.{key}": value for key, value in reporters.items()})
        env.from_sequence(1, 100).map(Counts()).name("counts").print()
        env.execute("reported")
        (request,) = server.requests
    seen = [
        line
        for line in request.body.decode().splitlines()
        if line.startswith("taskmanager_job_task_operator_mine_seen,")
    ]
    assert sum(int(re.findall(r" count=(\d+)i ", line)[0]) for line in seen) == 100
    assert all("operator_name=counts" in line and "job_name=reported" in line for line in seen)
    names = {line.partition(",")[0] for line in request.body.decode().splitlines()}
    assert {"jobmanager_job_numEpochs", "taskmanager_job_task_busyTimeMsPerSecond"} <= names
    assert "metric reporter 'gate' has not sent its last report in time" in caplog.text


def test_a_reporter_that_cannot_be_fails_the_start(environment: MakeEnvironment) -> None:
    key = "metrics.reporter.jmx.factory.class"
    env = environment(1, **{key: "org.apache.flink.metrics.jmx.JMXReporterFactory"})
    env.from_sequence(1, 10).print()
    with pytest.raises(ValueError, match=r"metrics\.reporter\.jmx\.factory\.class: there is no JMX reporter.*JmxSink"):
        env.execute()
