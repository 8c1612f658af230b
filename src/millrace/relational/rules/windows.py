"""Which columns of a plan are the bounds of windows that a windowing table function has put rows into."""

from __future__ import annotations

from millrace.relational import nodes as n
from millrace.relational.rex import Ref


def window_columns(plan: n.Rel) -> tuple[int, int] | None:
    """The columns with window_start and window_end; None if the rows of the plan are not in windows, or the columns
    are gone."""
    found = find_window(plan)
    return None if found is None or found[1] is None or found[2] is None else (found[1], found[2])


def find_window(plan: n.Rel) -> tuple[n.WindowSpec, int | None, int | None, int | None] | None:
    """The window that rows are in, and the columns with its start, end and time, each None if it is gone."""
    if isinstance(plan, n.WindowTable):
        width = len(plan.schema)
        return plan.window, width - 3, width - 2, width - 1
    if isinstance(plan, n.WindowAggregate) and plan.attached is not None:
        start = len(plan.keys) + len(plan.aggregates)
        places = {name: start + at for at, name in enumerate(plan.properties)}
        return plan.window, places.get("START"), places.get("END"), places.get("ROWTIME", places.get("PROCTIME"))
    if isinstance(plan, (n.Filter, n.Hinted, n.Over, n.Rank, n.Deduplicate, n.Correlate, n.LookupJoin)):
        return find_window(plan.inputs[0])
    if isinstance(plan, n.WindowJoin):
        return find_window(plan.left)
    if isinstance(plan, n.Project):
        return _projected(plan)
    return None


def _projected(plan: n.Project) -> tuple[n.WindowSpec, int | None, int | None, int | None] | None:
    below = find_window(plan.input)
    if below is None:
        return None
    places = {each.index: at for at, each in reversed(list(enumerate(plan.expressions))) if isinstance(each, Ref)}
    start, end, time = (None if each is None else places.get(each) for each in below[1:])
    return below[0], start, end, time
