"""Versioned tables: what a temporal join in event time reads.

Elsewhere a key that changes twice in a batch gives one change. Here each change is a version that rows of its time ask
for, so all of them are needed.
"""

from __future__ import annotations

from dataclasses import replace

from millrace.relational import nodes as n
from millrace.relational.rex import Literal, Ref, Rex


def versions(node: n.Rel) -> n.Rel:
    """The plan of the right side of a temporal join, so that it gives every version."""
    if isinstance(node, n.Scan):
        return replace(node, versions=True)
    if isinstance(node, (n.Project, n.Watermark, n.Filter, n.Hinted)):
        return node.with_inputs((versions(node.input),))
    return _every_row(node) if isinstance(node, n.Deduplicate) else node


def _every_row(node: n.Deduplicate) -> n.Rel:
    """The last row of each key by event time: every row is one for a while, until the next one's time."""
    if not node.last or node.window is not None or node.input.schema[node.time].time != n.ROWTIME:
        return node
    columns: list[Rex] = [Ref(column.type, index) for index, column in enumerate(node.input.schema)]
    if node.number is not None:
        columns.append(Literal(node.number.type, 1))
    return n.Project(node.input, tuple(columns), node.schema)
