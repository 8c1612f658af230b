"""What a cell shows that ends with a table or a stream: its columns, its first rows, its plan.

Nothing runs for a query or a stream that reads something without an end: reading may take messages from a broker, which
looking at a variable must not do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from millrace.cli.sql.views import TableView
from millrace.graph.picture import of_plan_json
from millrace.notebook.grid import folded, grid
from millrace.notebook.plans import of_relations
from millrace.notebook.programs import apart
from millrace.relational import nodes as n
from millrace.spark.jobs.client import JobCancelledError
from millrace.spark.jobs.listeners import PlainListener, listened_by
from millrace.table.values.cells import row_texts
from millrace.util.drawing.svg import svg

if TYPE_CHECKING:
    from millrace.datastream.data_stream import DataStream
    from millrace.table.table import Table

ROWS = 20
SECONDS = 30.0
"""how long the rows of a preview are waited for, once its job has begun"""
_LIVE = "This has no end: .live() runs it and shows what comes."
Cells = Sequence[str]


def table_html(table: Table) -> str:
    """A table for a notebook. An error of its rows stands below the columns, since a variable is only looked at."""
    schema = table._plan.schema
    rows: Sequence[Cells] = ()
    note = _LIVE
    if all(_ends(leaf) for leaf in n.walk(table._plan) if not leaf.inputs):
        rows, note = _safely(lambda: _rows_of_table(table))
    plan = folded("Plan", svg(of_relations(table._plan), "plan of the table"))
    return grid([column.name for column in schema], [str(column.type) for column in schema], rows, note) + plan


def _ends(leaf: Any) -> bool:
    if isinstance(leaf, n.StreamScan):
        return leaf.stream._env._unbounded_source() is None
    return isinstance(leaf, n.Values) or bool(getattr(getattr(leaf, "source", None), "bounded", False))


def stream_html(stream: DataStream) -> str:
    """A stream for a notebook: its first elements, and the operators above it."""
    with apart(stream) as collecting:
        plan = folded("Operators", svg(of_plan_json(stream._env.get_execution_plan()), "operators of the stream"))
        rows: Sequence[Cells] = ()
        note = _LIVE
        if stream._env._bounded():
            rows, note = _safely(lambda: _first(collecting(), lambda element: (repr(element),)))
    return grid([f"{type(stream).__name__} of {stream.get_type()}"], [], rows, note) + plan


def _safely(rows: Callable[[], tuple[Sequence[Cells], str]]) -> tuple[Sequence[Cells], str]:
    try:
        with listened_by(PlainListener):
            return rows()
    except Exception as error:
        return (), f"No rows: {error}"


def _rows_of_table(table: Table) -> tuple[Sequence[Cells], str]:
    texts = row_texts([column.type for column in table._plan.schema], table._t_env._session.zone)
    view = TableView(10 * ROWS)

    def changed(row: Any) -> Cells:
        view.add(row.get_row_kind(), texts(list(row)))
        return ()

    # In streaming mode rows are taken back and replaced until the end, so all changes of these few are needed.
    _, late = _first(table.limit(ROWS + 1).execute().collect(), changed, most=None)
    return view.rows()[:ROWS], late or _told(len(view.rows()))


def _first(
    elements: Any, cells: Callable[[Any], Cells], most: int | None = ROWS + 1
) -> tuple[Sequence[Cells], str]:
    """The first elements, and what is to be told of the others."""
    deadline = threading.Timer(SECONDS, elements.close)
    deadline.daemon = True
    deadline.start()
    found: list[Cells] = []
    try:
        _fill(found, elements, cells, most)
    except JobCancelledError:
        return found[:ROWS], f"What came within {SECONDS:g} s."
    finally:
        deadline.cancel()
        elements.close()
    return found[:ROWS], "" if most is None else _told(len(found))


def _fill(found: list[Cells], elements: Iterable[Any], cells: Callable[[Any], Cells], most: int | None) -> None:
    for element in elements:
        found.append(cells(element))
        if len(found) == most:
            return


def _told(count: int) -> str:
    return f"The first {ROWS}." if count > ROWS else "1 row." if count == 1 else f"{count} rows."
