"""The connection over which PostgreSQL sends its log, to servers that are none."""

from __future__ import annotations

import threading
import time

import pytest
from tests.connectors.stores.store_tables import silent_server

from millrace.connectors.cdc.postgres.replication_stream import StreamFailed, WalStream
from millrace.connectors.jdbc.dialect import Target
from millrace.testing.services.server import free_ports


def test_a_silent_server_is_waited_for_without_stopping_the_process() -> None:
    went_on = threading.Event()

    def later() -> None:
        time.sleep(0.05)
        went_on.set()

    with silent_server() as port:
        target = Target((("127.0.0.1", port),), "d", "u", "secret", {"connect_timeout": "1"})
        thread = threading.Thread(target=later)
        thread.start()
        with pytest.raises(StreamFailed, match="no connection within 1 s") as caught:
            WalStream(target, "n")
        assert went_on.is_set(), "nothing else ran meanwhile"
        thread.join()
    assert "secret" not in str(caught.value)


def test_the_next_host_is_tried() -> None:
    hosts = tuple(("127.0.0.1", port) for port in free_ports(2))
    with pytest.raises(StreamFailed, match=rf"port {hosts[1][1]} failed: Connection refused"):
        WalStream(Target(hosts, "d", "u"), "n")
