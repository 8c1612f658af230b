"""The table of all routes."""

from __future__ import annotations

from millrace.cluster.rest.routes import (
    applications,
    checkpoints,
    cluster,
    jobs,
    logs,
    managers,
    metrics,
    millrace,
    programs,
    savepoints,
    steering,
    vertices,
)
from millrace.cluster.rest.web.operation import Operation
from millrace.cluster.rest.web.settings import RestSettings


def operations(submits: bool, settings: RestSettings) -> tuple[Operation, ...]:
    """All operations of a server.

    :param submits: whether it takes programs.
    """
    return (
        *cluster.OPERATIONS,
        *jobs.OPERATIONS,
        *steering.operations(settings),
        *vertices.OPERATIONS,
        *metrics.OPERATIONS,
        *checkpoints.OPERATIONS,
        *savepoints.OPERATIONS,
        *managers.OPERATIONS,
        *logs.OPERATIONS,
        *applications.OPERATIONS,
        *(programs.OPERATIONS if submits else ()),
        *millrace.OPERATIONS,
    )
