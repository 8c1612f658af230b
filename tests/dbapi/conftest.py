"""Connections to a gateway in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.cluster.gateway.conftest import engine, gateway
from tests.cluster.sql_client.conftest import TABLES, URL, transport

from millrace import dbapi

__all__ = ["engine", "gateway", "transport"]

Connect = Callable[..., dbapi.Connection]


@pytest.fixture
def connect(transport: Any) -> Iterator[Connect]:
    opened: list[dbapi.Connection] = []

    def make(**options: Any) -> dbapi.Connection:
        opened.append(dbapi.connect(URL, "secret", heartbeat=None, transport=transport, **options))
        for each in TABLES:
            opened[-1].execute(each)
        return opened[-1]

    yield make
    for each in opened:
        each.close()
