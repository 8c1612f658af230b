"""Sessions of a gateway."""

from __future__ import annotations

import time

import pytest

from millrace.cluster.gateway.gateway import Gateway
from millrace.cluster.gateway.operations import GatewayError, NoSuchSessionError

DEADLINE = 120.0


def test_idle_sessions_are_closed() -> None:
    gateway = Gateway({}, idle=0.05, look=0.01)
    try:
        session = gateway.open({})
        deadline = time.monotonic() + DEADLINE
        while session.handle in gateway._sessions:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        with pytest.raises(NoSuchSessionError):
            gateway.session(session.handle)
    finally:
        gateway.stop()


def test_there_are_so_many_at_most() -> None:
    gateway = Gateway({}, idle=0, most=1)
    try:
        session = gateway.open({})
        with pytest.raises(GatewayError, match="exceeds the max count: 1"):
            gateway.open({})
        gateway.close(session.handle)
        gateway.open({})
    finally:
        gateway.stop()


def test_properties() -> None:
    gateway = Gateway({"parallelism.default": "3"}, idle=0)
    try:
        older = gateway.open({"planner": "blink", "execution_type": "batch"})
        assert older.properties == {"parallelism.default": "3", "execution.runtime-mode": "batch"}
        with pytest.raises(GatewayError) as raised:
            gateway.open({"execution.runtime-mode": "sometimes"})
        assert "execution.runtime-mode" in str(raised.value.__cause__)
    finally:
        gateway.stop()
