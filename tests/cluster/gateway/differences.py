"""What our SQL gateway answers otherwise than Flink's, with jobs that run in this process."""

from __future__ import annotations

from typing import Any, cast

import pytest
from tests.cluster.gateway.local_jobs import run_here
from tests.flink.rest import send
from tests.flink.rest.ask import GATEWAY
from tests.flink.rest.compare import compare
from tests.flink.rest.differences import Difference
from tests.flink.rest.world import World

from millrace.cli.program import RunSettings
from millrace.cli.program_jobs import hooks
from millrace.cluster.gateway.gateway import Gateway
from millrace.cluster.gateway.routes import make_gateway_app
from millrace.cluster.rest.serving import RestServer
from millrace.cluster.rest.settings import Binding, RestSettings

SECONDS = 30


def compared() -> list[Difference]:
    """All differences."""
    gateway = Gateway({"table.local-time-zone": "UTC", "parallelism.default": "1"}, idle=0)
    server = RestServer(make_gateway_app(gateway, RestSettings()), Binding(ports=[0]))
    server.start()
    with pytest.MonkeyPatch.context() as patch, hooks(RunSettings({}, ()), gateway.submit, gateway.listener):
        patch.setattr(send, "UNTIL_SECONDS", SECONDS)
        run_here(patch)
        try:
            base = server.address.replace("localhost", "127.0.0.1")
            return compare({GATEWAY: base}, World(base, cast(Any, None)))
        finally:
            server.stop()
            gateway.stop()
