"""Whether the results of an OVER window are settled when its rows come in the order of time."""

from __future__ import annotations

from millrace.relational import nodes as n
from millrace.relational.rex import Ref
from millrace.runtime.tables.over.over_calls import looks_ahead


def is_settled(node: n.Over, append_only: bool) -> bool:
    """Whether no later row can change the result of a row.

    :param append_only: whether the input has insertions only.
    :raises NotImplementedError: the order is that of processing time, which rows that change do not have.
    """
    first = node.order[0] if node.order else None
    column = first.expression if first is not None else None
    time = node.input.schema[column.index].time if isinstance(column, Ref) else None
    settled = append_only and len(node.order) == 1 and not any(looks_ahead(call, frame) for call, frame in node.calls)
    if time is not None and settled and first is not None and not first.descending:
        return True
    if time == n.PROCTIME:
        raise NotImplementedError(
            "an OVER window ordered by PROCTIME() has insertions below it, no other order and no rows that FOLLOW: "
            "order by a column of the table"
        )
    return False
