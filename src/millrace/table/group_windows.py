"""Group windows against the columns of a table."""

from __future__ import annotations

import datetime

from millrace.relational import types as t
from millrace.relational.nodes import WindowSpec
from millrace.relational.rex import Ref
from millrace.table import unbound as u
from millrace.table.binding import Binder
from millrace.table.expression_text import text
from millrace.table.grouping import BoundWindow
from millrace.table.not_yet import not_yet
from millrace.table.problems import problem
from millrace.table.window import GroupWindow

_TIMES = (t.TimestampType, t.LocalZonedTimestampType)


def bound_window(window: GroupWindow, binder: Binder, streaming: bool) -> BoundWindow:
    """The window over a column.

    :raises TableException: the column is no time attribute (in batch: no timestamp).
    """
    parts = window._parts
    assert parts.time is not None
    slide = None if parts.slide is None else _millis(parts.slide)
    spec = WindowSpec(parts.kind, _millis(parts.size), slide)
    time = binder.bind(parts.time)
    if not isinstance(time, Ref):
        raise problem(f"on({text(parts.time)}): a window is over a column")
    column = binder.schema[time.index]
    if column.time is None and (streaming or not isinstance(column.type, _TIMES)):
        what = f"a time attribute, and '{column.name}' is a plain {column.type}"
        raise problem(f"a window is over {what}: declare WATERMARK FOR it, or use PROCTIME()")
    if any(each.name == window.name for each in binder.schema):
        raise problem(f"the window is called '{window.name}', as a column of the table is: give it another alias")
    return BoundWindow(spec, time.index, window.name)


def _millis(node: u.Node) -> int:
    if isinstance(node, u.Literal) and isinstance(node.value, datetime.timedelta):
        millis = node.value // datetime.timedelta(milliseconds=1)
        if millis > 0:
            return millis
        raise problem(f"a window of {millis} ms: its size and slide are greater than 0")
    if isinstance(node, u.RowCount):
        raise not_yet("a group window of a number of rows", "an over window with row_interval(n), or count_window")
    raise problem(f"the size of a window is a span of time, as in lit(10).minutes, not {text(node)}")
