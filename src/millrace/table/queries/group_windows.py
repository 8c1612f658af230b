"""Group windows against the columns of a table."""

from __future__ import annotations

import datetime

from millrace.relational import types as t
from millrace.relational.nodes import PROCTIME, WindowSpec
from millrace.relational.rex import Ref
from millrace.runtime.tables.windows.count_windows import ROWS
from millrace.table.expression_methods.windows import GroupWindow
from millrace.table.queries.grouping import BoundWindow
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.dispatch import bind
from millrace.table.sql.writing.programs import shown
from millrace.table.values.problems import problem

_TIMES = (t.TimestampType, t.LocalZonedTimestampType)


def bound_window(window: GroupWindow, block: Block, streaming: bool) -> BoundWindow:
    """The window over a column.

    :raises TableException: the column is no time attribute (in batch: no timestamp).
    """
    parts = window._parts
    assert parts.time is not None
    time = bind(parts.time, block)
    if not isinstance(time, Ref):
        raise problem(f"on({shown(parts.time)}): a window is over a column")
    column = block.columns[time.index]
    if column.time is None and (streaming or not isinstance(column.type, _TIMES)):
        what = f"a time attribute, and '{column.name}' is a plain {column.type}"
        raise problem(f"a window is over {what}: declare WATERMARK FOR it, or use PROCTIME()")
    if any(each.name == window.name for each in block.columns):
        raise problem(f"the window is called '{window.name}', as a column of the table is: give it another alias")
    if isinstance(parts.size, nodes.RowCount):
        return BoundWindow(_rows(window, streaming and column.time == PROCTIME), time.index, window.name)
    slide = None if parts.slide is None else _millis(parts.slide)
    return BoundWindow(WindowSpec(parts.kind, _millis(parts.size), slide), time.index, window.name)


def _rows(window: GroupWindow, processing_time: bool) -> WindowSpec:
    """A window of a number of rows, in the order of their arrival."""
    parts = window._parts
    if parts.kind == "SESSION":
        raise problem(f"the gap of a session is a span of time, as in lit(10).minutes, not {shown(parts.size)}")
    if not processing_time:
        raise problem(
            f"the window '{window.name}' of a number of rows is over PROCTIME() in streaming mode: rows have no other "
            f"order that is settled when they come"
        )
    slide = parts.slide
    if slide is not None and not isinstance(slide, nodes.RowCount):
        raise problem(f"a window of rows begins again every so many rows, as in row_interval(5), not {shown(slide)}")
    return WindowSpec(ROWS, _count(parts.size), None if slide is None else _count(slide))


def _count(node: nodes.Node) -> int:
    assert isinstance(node, nodes.RowCount)
    if node.rows < 1:
        raise problem(f"a window of {node.rows} rows: its size and slide are greater than 0")
    return node.rows


def _millis(node: nodes.Node) -> int:
    if isinstance(node, nodes.Constant) and isinstance(node.value, datetime.timedelta):
        millis = node.value // datetime.timedelta(milliseconds=1)
        if millis > 0:
            return millis
        raise problem(f"a window of {millis} ms: its size and slide are greater than 0")
    raise problem(f"the size of a window is a span of time, as in lit(10).minutes, not {shown(node)}")
