"""Programs that were described and never executed: commands tell who has written them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from millrace.graph.nodes import Node
from millrace.graph.program import Program

_watched: list[list[Program]] = []
"""the innermost watch is the last one"""


def begun(program: Program) -> None:
    """An environment has this program from now on."""
    if _watched:
        _watched[-1].append(program)


@contextmanager
def watching() -> Iterator[list[Program]]:
    """The programs of all environments that are made inside."""
    made: list[Program] = []
    _watched.append(made)
    try:
        yield made
    finally:
        _watched.pop()


def never_executed(programs: list[Program]) -> Node | None:
    """The first sink that no job has had; None if each had one."""
    sinks = (node for program in programs for node in program.added() if node.kind == "Sink: ")
    return next(sinks, None)
