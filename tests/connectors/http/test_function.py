"""A service that is asked for each element of a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.connectors.http.conftest import QUICK
from tests.connectors.http.service import Asked, Reply, Service

from millrace.common.time import Time
from millrace.datastream import AsyncDataStream, StreamExecutionEnvironment
from millrace.datastream.connectors.http import HttpAsyncFunction, HttpRequest
from millrace.runtime.failure import JobFailedError
from millrace.testing.local import run_locally


def asked_for(function: HttpAsyncFunction, values: list[Any]) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    stream = AsyncDataStream.unordered_wait(env.from_collection(values), function, Time.seconds(60), 10)
    return sorted(run_locally(stream).collected)


def test_results_of_answers(serve: Callable[..., Service]) -> None:
    left = [Reply(status=503)]

    def answer(asked: Asked) -> Any:
        if left:
            return left.pop()
        return Reply(status=404) if asked.path == "/3" else {"path": asked.path, "body": asked.body.decode()}

    service = serve(answer)
    properties = {**QUICK, "http.source.lookup.ignored-response-codes": "404"}

    def results(value: Any, answer: Any) -> list[Any]:
        assert answer.headers_map()["content-length"]
        return [(value, answer.status, answer.content.decode())]

    url = service.url
    function = HttpAsyncFunction(lambda value: f"{url}/{value}", results, properties)
    found = asked_for(function, [1, 2, 3])
    assert found == [(n, 200, f'{{"path": "/{n}", "body": ""}}') for n in (1, 2)]
    posts = HttpAsyncFunction(lambda value: HttpRequest("POST", url, body=b"b%d" % value), results, properties)
    assert asked_for(posts, [7]) == [(7, 200, '{"path": "/", "body": "b7"}')]


def test_errors_fail_the_job(serve: Callable[..., Service]) -> None:
    service = serve(lambda asked: Reply(status=400))
    url = service.url
    function = HttpAsyncFunction(lambda value: url, lambda value, answer: [])
    with pytest.raises(JobFailedError, match=r"GET http://127.0.0.1:\d+: status 400"):
        asked_for(function, [1])
