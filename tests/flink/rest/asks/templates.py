"""Paths about a job, a vertex, a task manager, and the states that they are asked in."""

from __future__ import annotations

from tests.flink.rest.asks.operations import OPERATIONS

UNKNOWN = "0123456789abcdef0123456789abcdef"
"""an id that nothing has"""
MALFORMED = "xyz"

STATES = {
    "running": "a running job",
    "plain": "a running job without checkpoints",
    "finished": "a finished job",
    "failed": "a failed job",
    "canceled": "a cancelled job",
    "restarting": "a restarting job",
    "batch": "a finished batch job",
}

ASYNCHRONOUS = ("triggerid", "rescaleuuid")


def reading(*, inside: str = "", without: tuple[str, ...] = ()) -> list[str]:
    """The GET paths about jobs; ``inside`` names what else they are about ("vertexid")."""
    found = []
    for method, path in OPERATIONS:
        names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
        if method != "GET" or "jobid" not in names or any(name in names for name in (*ASYNCHRONOUS, *without)):
            continue
        if (inside in names) if inside else names == ["jobid"]:
            found.append(path)
    return found


def names_of(path: str) -> list[str]:
    return [part[1:-1] for part in path.split("/") if part.startswith("{")]
