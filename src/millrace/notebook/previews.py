"""Tables and streams in a cell: columns, first rows and plan of one that the cell ends with, and live views by
``.live()``.

Nothing runs for a query or a stream that reads something without an end: reading may take messages from a broker, which
looking at a variable must not do. A live view shows the newest rows until the table or stream ends, or the cell is
interrupted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from millrace.cli.sql.views import ChangelogView, TableView, View
from millrace.common.types import RowKind
from millrace.notebook.cells import REFRESH_SECONDS, ReplacedOutput, folded, grid
from millrace.relational import nodes as n
from millrace.relational.nodes import Rel
from millrace.runtime.operators.specs import Collect
from millrace.spark.jobs.client import JobCancelledError
from millrace.spark.jobs.listeners import PlainListener, listened_by
from millrace.table.planner.engine import bounded
from millrace.table.values.printed_tables import lines, row_texts, widths_by_content
from millrace.util.graph_drawing import Arrow, Box, Drawing, drawing_of_plan, svg

if TYPE_CHECKING:
    from millrace.datastream import StreamExecutionEnvironment
    from millrace.datastream.data_stream import DataStream
    from millrace.table.table import Table


# Plans


def of_relations(plan: Rel) -> Drawing:
    """The nodes of a query, from its tables to its result. A node that is read twice is drawn once."""
    boxes: dict[int, Box] = {}
    arrows: dict[tuple[int, int], Arrow] = {}

    def add(node: Rel) -> None:
        if id(node) in boxes:
            return
        for each in node.inputs:
            add(each)
            arrows[id(each), id(node)] = Arrow(str(id(each)), str(id(node)))
        boxes[id(node)] = Box(str(id(node)), type(node).__name__, tuple(node.details()))

    add(plan)
    return Drawing(tuple(boxes.values()), tuple(arrows.values()))


# A stream as a program of its own


@contextmanager
def alone(stream: DataStream) -> Iterator[StreamExecutionEnvironment]:
    """The environment of a stream, whose program is reduced to the stream's upstream and a sink."""
    with stream._env._apart() as program:
        program.add("Sink: Collect", Collect(), stream._edges(), None)
        yield stream._env


def has_end(stream: DataStream) -> bool:
    """Whether all sources of the stream are bounded."""
    with alone(stream) as env:
        return env._bounded()


def collected(stream: DataStream) -> Any:
    """Run the stream alone; returns an iterator of its elements (also for a keyed stream), which must be closed."""
    from millrace.datastream.data_stream import DataStream

    with stream._env._apart():
        return DataStream.execute_and_collect(stream)


# Previews

ROWS = 20
SECONDS = 30.0
"""how long a preview waits for rows after its job has begun"""
_LIVE = "This has no end: .live() runs it and shows what comes."
Cells = Sequence[str]
Found = tuple[Sequence[Cells], str]
"""rows, and the line below them"""


def table_html(table: Table) -> str:
    """A table as HTML. An error of its rows is shown below the columns, since the user only looks at a variable."""
    schema = table._plan.schema
    ends = all(_has_end(leaf) for leaf in n.walk(table._plan) if not leaf.inputs)
    rows, note = _safely(lambda: _rows_of_table(table)) if ends else ((), _LIVE)
    plan = folded("Plan", svg(of_relations(table._plan), "plan of the table"))
    return grid([column.name for column in schema], [str(column.type) for column in schema], rows, note) + plan


def _has_end(leaf: n.Rel) -> bool:
    return has_end(leaf.stream) if isinstance(leaf, n.StreamScan) else bounded(leaf) is True


def stream_html(stream: DataStream) -> str:
    """A stream as HTML: its first elements, and the operators upstream."""
    with alone(stream) as env:
        plan = folded("Operators", svg(drawing_of_plan(env._plan()), "operators of the stream"))
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


# Live views

LEAST_CAPACITY = 10_000
"""rows of a changing table that are stored, so that changes can be retracted"""


def watch_table(table: Table, rows: int, seconds: float | None) -> None:
    """The newest rows of the table as its changes have made it so far."""
    schema = table._plan.schema
    texts = row_texts([column.type for column in schema], table._t_env._session.zone)
    view = TableView(max(LEAST_CAPACITY, rows))
    names, types = [column.name for column in schema], [str(column.type) for column in schema]
    watching = _Watching(view, names, types, rows)
    with listened_by(PlainListener):
        changes = table.execute().collect()
    watching.run(changes, lambda row: view.add(row.get_row_kind(), texts(list(row))), seconds)


def watch_stream(stream: DataStream, rows: int, seconds: float | None) -> None:
    """The newest elements of a stream."""
    view = ChangelogView(rows)
    watching = _Watching(view, ["", type(stream).__name__], [], rows)
    with listened_by(PlainListener):
        elements = collected(stream)
    watching.run(elements, lambda element: view.add(RowKind.INSERT, [repr(element)]), seconds)


class _Watching:
    """Reads on a thread of its own, and shows rows on the cell's thread, which is the one that gets interrupted."""

    def __init__(self, view: View, names: Sequence[str], types: Sequence[str], rows: int) -> None:
        if rows < 1:
            raise ValueError(f"live() shows 1 row or more, not {rows}")
        self._view, self._names, self._types, self._rows = view, names, types, rows
        self._lock = threading.Lock()
        self._error: BaseException | None = None
        self._ending = False

    def run(self, elements: Any, add: Callable[[Any], None], seconds: float | None) -> None:
        """Show rows until the elements end, the time is over, or the cell is interrupted; then the job has ended.

        :raises Exception: what made the job fail.
        """
        place, began, said = ReplacedOutput(), time.monotonic(), "interrupted"
        reader = threading.Thread(target=self._read, args=(elements, add), name="millrace-live", daemon=True)
        reader.start()
        try:
            while reader.is_alive() and (seconds is None or time.monotonic() - began < seconds):
                reader.join(REFRESH_SECONDS)
                self._show(place, "running")
            said = f"stopped after {seconds:g} s" if reader.is_alive() and seconds is not None else "ended"
        finally:
            self._ending = True
            elements.close()
            reader.join()
            self._show(place, said if self._error is None else "failed", last=True)
        if self._error is not None:
            raise self._error

    def _read(self, elements: Any, add: Callable[[Any], None]) -> None:
        try:
            for element in elements:
                with self._lock:
                    add(element)
        except BaseException as error:
            # The job that is cancelled here is no failure.
            self._error = None if self._ending else error

    def _show(self, place: ReplacedOutput, state: str, last: bool = False) -> None:
        with self._lock:
            rows, received = self._view.rows()[-self._rows :], self._view.received
        note = f"{received:,} changes received, {state}"
        place.show(
            lambda: grid(self._names, self._types, rows, note),
            lambda: "\n".join([*lines(self._names, rows, widths_by_content(self._names, rows)), note]),
            last,
        )
