"""What a cell shows that ends with a table or a stream: its columns, its first rows, its plan.

Nothing runs for a query or a stream that reads something without an end: reading may take messages from a broker, which
looking at a variable must not do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from millrace.cli.sql.views import TableView
from millrace.graph.picture import of_plan_json
from millrace.notebook.grid import folded, grid
from millrace.notebook.plans import of_relations
from millrace.notebook.programs import alone, collected, has_end
from millrace.relational import nodes as n
from millrace.spark.jobs.client import JobCancelledError
from millrace.spark.jobs.listeners import PlainListener, listened_by
from millrace.table.planner.advice import bounded
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
Found = tuple[Sequence[Cells], str]
"""rows, and what is told of them"""


def table_html(table: Table) -> str:
    """A table for a notebook. An error of its rows stands below the columns, since a variable is only looked at."""
    schema = table._plan.schema
    ends = all(_has_end(leaf) for leaf in n.walk(table._plan) if not leaf.inputs)
    rows, note = _safely(lambda: _rows_of_table(table)) if ends else ((), _LIVE)
    plan = folded("Plan", svg(of_relations(table._plan), "plan of the table"))
    return grid([column.name for column in schema], [str(column.type) for column in schema], rows, note) + plan


def _has_end(leaf: n.Rel) -> bool:
    return has_end(leaf.stream) if isinstance(leaf, n.StreamScan) else bounded(leaf) is True


def stream_html(stream: DataStream) -> str:
    """A stream for a notebook: its first elements, and the operators above it."""
    with alone(stream) as env:
        plan = folded("Operators", svg(of_plan_json(env._plan()), "operators of the stream"))
    rows, note = _safely(lambda: _elements_of(stream)) if has_end(stream) else ((), _LIVE)
    return grid([f"{type(stream).__name__} of {stream.get_type()}"], [], rows, note) + plan


def _safely(found: Callable[[], Found]) -> Found:
    try:
        with listened_by(PlainListener):
            return found()
    except Exception as error:
        return (), f"No rows: {error}"


def _rows_of_table(table: Table) -> Found:
    texts = row_texts([column.type for column in table._plan.schema], table._t_env._session.zone)
    view = TableView(10 * ROWS)
    # In streaming mode rows are taken back and replaced until the end, so all changes of these few are needed.
    changes = table.limit(ROWS + 1).execute().collect()
    whole = _read(changes, lambda row: view.add(row.get_row_kind(), texts(list(row))))
    return _first(view.rows(), whole)


def _elements_of(stream: DataStream) -> Found:
    found: list[Cells] = []
    elements = collected(stream)
    whole = _read(islice(elements, ROWS + 1), lambda element: found.append((repr(element),)), elements.close)
    return _first(found, whole)


def _read(elements: Any, add: Callable[[Any], None], close: Callable[[], None] | None = None) -> bool:
    """Read to the end or for a while; whether it was to the end.

    :param close: ends the job; None: the elements' own method.
    """
    close = close or elements.close
    deadline = threading.Timer(SECONDS, close)
    deadline.daemon = True
    deadline.start()
    try:
        for element in elements:
            add(element)
    except JobCancelledError:
        return False
    finally:
        deadline.cancel()
        close()
    return True


def _first(rows: Sequence[Cells], whole: bool) -> Found:
    count = len(rows)
    told = f"The first {ROWS}." if count > ROWS else "1 row." if count == 1 else f"{count} rows."
    return rows[:ROWS], told if whole else f"What came within {SECONDS:g} s."
