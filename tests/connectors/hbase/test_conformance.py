"""What is written passes the kit for connectors: whatever dies, nothing is lost, and repeating it changes nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest
from tests.connectors.hbase.conftest import Families
from tests.connectors.stores.as_rows import AsRows
from tests.connectors.stores.checks import chosen_checks
from tests.servers.proxy import Proxy

from millrace.common.sink import Sink
from millrace.connectors.hbase.hbase_layout import Layout
from millrace.connectors.hbase.hbase_table import Gateway, HBaseChanges
from millrace.connectors.stores import BufferedSink, Buffering, Retrying
from millrace.relational.rex import Field
from millrace.relational.types import IntType, RowField, RowType, string
from millrace.testing import Check
from millrace.testing.connectors import SinkUnderTest

PLACES: list[Families] = []
"""the one that is tested: checks are listed before it is there"""


@pytest.fixture(autouse=True)
def chosen(families: Families) -> Iterator[None]:
    PLACES.append(families)
    yield
    PLACES.clear()


def with_family(element: str) -> list[Any]:
    return [pa.array([element]), pa.array([{"a": 1}], pa.struct([("a", pa.int32())]))]


class Written(SinkUnderTest):
    exactly_once = False  # what no checkpoint covers is seen before
    seen_after_ms = 1_000

    def __init__(self) -> None:
        (self.place,) = PLACES
        self.name = self.place.create("f")

    def sink(self) -> Sink[Any]:
        layout = Layout.of((Field("k", string()), Field("f", RowType([RowField("a", IntType())]))))
        gateway = Gateway("127.0.0.1", self.place.port, self.name)
        return AsRows(BufferedSink(gateway, HBaseChanges(gateway, layout), Buffering(max_rows=3), len), with_family)

    def written(self) -> Sequence[str]:
        return [key.decode() for key in self.place.all(self.name)]


@pytest.mark.parametrize("check", chosen_checks(Written), ids=str)
def test_a_table(check: Check) -> None:
    check()


def test_a_server_that_is_gone_for_a_while(families: Families) -> None:
    proxy = Proxy()
    proxy.start([families.port])
    name = families.create("f")
    gateway = Gateway("127.0.0.1", proxy.ports[0], name, timeout=30)
    retrying = Retrying(gateway, Buffering(retries=200, pause=0.002))

    def put(key: bytes) -> None:
        retrying.run(lambda connection: connection.table.put(key, {b"f:a": b"1"}))

    put(b"1")
    proxy.cut()
    back = threading.Timer(0.3, proxy.mend)
    back.start()
    put(b"2")
    back.join()
    retrying.close()
    proxy.stop()
    assert sorted(families.all(name)) == [b"1", b"2"]
