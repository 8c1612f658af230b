"""The sink passes the kit for connectors: at least once, wherever tasks and driver die."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from tests.connectors.http.conftest import QUICK
from tests.connectors.http.service import Asked, Reply, Service

from millrace.common.sink import Sink
from millrace.connectors.http.http_sink import HttpSink
from millrace.testing import Check
from millrace.testing.connectors import SinkUnderTest, sink_checks


class ServiceToWrite(SinkUnderTest):
    """Every fifth request fails at first, after or before the service has taken it."""

    exactly_once = False
    seen_after_ms = 5_000

    def __init__(self) -> None:
        self.taken: list[str] = []
        self.service = Service(self.answer)

    def answer(self, asked: Asked) -> Any:
        number = len(self.service.asked)
        if number % 10 == 5:
            return Reply(status=503)
        self.taken += asked.json
        return Reply(close=number % 10 == 0)

    def sink(self) -> Sink[Any]:
        builder = HttpSink.builder().set_endpoint_url(self.service.url).set_max_batch_size(3)
        return builder.set_element_converter(json.dumps).set_properties(QUICK).build()

    def written(self) -> Sequence[str]:
        return list(self.taken)

    def close(self) -> None:
        self.service.close()


@pytest.mark.parametrize("check", sink_checks(ServiceToWrite), ids=str)
def test_at_least_once(check: Check) -> None:
    check()
