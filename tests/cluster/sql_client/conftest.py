"""Sessions at a gateway in this process, whose queries give rows of the test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.cluster.gateway.conftest import engine, gateway
from tests.cluster.sql_client.app_transport import AppTransport

from millrace.cluster.gateway.gateway import Gateway
from millrace.cluster.gateway.routes import make_gateway_app
from millrace.cluster.rest.settings import RestSettings
from millrace.cluster.sql_client import RemoteSession

__all__ = ["engine", "gateway"]

URL = "http://localhost:8083"
TABLES = (
    "CREATE TABLE t (n INT, s STRING) WITH ('connector' = 'datagen')",
    "CREATE TABLE sink (n INT, s STRING) WITH ('connector' = 'blackhole')",
)


@pytest.fixture
def transport(gateway: Gateway) -> AppTransport:
    return AppTransport(make_gateway_app(gateway, RestSettings(token="secret")))


@pytest.fixture
def session(transport: AppTransport) -> Iterator[RemoteSession]:
    opened = RemoteSession(URL, "secret", {"my.own": "one"}, heartbeat=None, transport=transport)
    for each in TABLES:
        opened.submit(each).header(30)
    yield opened
    opened.close()
