"""What a push gateway gets."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.metrics.reporters.samples import COUNTER, opened, web

from millrace.metrics.reporters.http_target import HttpError

KIND = "prometheus.PrometheusPushGatewayReporterFactory"


def test_a_group_is_put_and_deleted() -> None:
    with web() as server:
        grouping = "env=test env;path=a/b"
        one, reporter = opened(
            KIND, hostUrl=f"{server.url}/gate", jobName="my job", randomJobNameSuffix=False, groupingKey=grouping
        )
        reporter.report(one.select([COUNTER]))
        reporter.close()
        put, delete = server.requests
        assert put.method == "PUT" and delete.method == "DELETE"
        assert put.path == "/gate/metrics/job/my%20job/env/test%20env/path@base64/YS9i" == delete.path
        (family,) = text_string_to_metric_families(put.body.decode())
        assert family.samples[0].value == 7


def test_names_are_random_and_what_was_pushed_may_stay() -> None:
    with web() as server:
        options = {"host": "127.0.0.1", "port": server.port, "jobName": "j", "deleteOnShutdown": "false"}
        for _ in range(2):
            one, reporter = opened(KIND, **options, basicAuth=True, username="u", password="geheim")
            reporter.report(one.select([COUNTER]))
            reporter.close()
        first, second = server.requests
        assert first.path != second.path and first.path.startswith("/metrics/job/j")
        assert first.headers["Authorization"] == "Basic dTpnZWhlaW0="


def test_a_refusal_is_an_error() -> None:
    with web() as server:
        server.status = 400
        one, reporter = opened(KIND, hostUrl=server.url)
        with pytest.raises(HttpError, match=f"http://127.0.0.1:{server.port} answers 400 Bad Request: answer"):
            reporter.report(one.select([COUNTER]))
