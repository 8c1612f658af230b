"""The list of requests: one file for each thing that they are about, in the order in which they are sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from tests.flink.rest.ask import Ask
from tests.flink.rest.asks import (
    adaptive,
    applications,
    cluster,
    empty,
    gateway,
    gateway_errors,
    gateway_rows,
    history,
    jars,
    jobs,
    malformed,
    metrics,
    savepoints,
    shutdown,
    stopping,
    unknown,
    vertices,
    workers,
    wrong,
)

PARTS: tuple[Callable[[], Iterator[Ask]], ...] = (
    empty.asks,
    jobs.asks,
    vertices.asks,
    metrics.asks,
    cluster.asks,
    workers.asks,
    applications.asks,
    savepoints.asks,
    stopping.asks,
    jars.asks,
    unknown.asks,
    malformed.asks,
    wrong.asks,
    history.asks,
    gateway.asks,
    gateway_rows.asks,
    gateway_errors.asks,
    adaptive.asks,
    shutdown.asks,
)


def all_asks(surface: str = "") -> list[Ask]:
    """Every request, or those to one server."""
    found = [ask for part in PARTS for ask in part() if surface in ("", ask.surface)]
    twice = [key for key, count in Counter(ask.key for ask in found).items() if count > 1]
    if twice:
        raise ValueError(f"requests that nothing tells apart: {twice}")
    return found
