"""The gateway's application: its routes, protected as those of the REST API."""

from __future__ import annotations

from typing import cast

from starlette.applications import Starlette

from millrace.cluster.gateway.gateway import Gateway
from millrace.cluster.gateway.routes import routes
from millrace.cluster.holder import JobHolder
from millrace.cluster.rest.app import application
from millrace.cluster.rest.web.call import Site
from millrace.cluster.rest.web.settings import RestSettings
from millrace.cluster.rest.web.triggers import Triggers


def make_gateway_app(gateway: Gateway, settings: RestSettings) -> Starlette:
    """REST in front of a gateway."""
    no_jobs = cast(JobHolder, None)  # none of its routes asks for any
    return application([*routes(gateway)], Site(no_jobs, None, settings, Triggers(1, 1.0)), pages=False)
