"""``.live()``: a table or a stream that runs, its newest rows in one place until it ends or the cell is interrupted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from millrace.cli.sql.views import ChangelogView, TableView, View
from millrace.common.types import RowKind
from millrace.notebook.grid import grid
from millrace.notebook.place import REFRESH_SECONDS, Place
from millrace.notebook.programs import collected
from millrace.spark.jobs.listeners import PlainListener, listened_by
from millrace.table.values.cells import row_texts
from millrace.table.values.tableau import lines, widths_by_content

if TYPE_CHECKING:
    from millrace.datastream.data_stream import DataStream
    from millrace.table.table import Table

KEPT = 10_000
"""rows of a changing table that are kept to take changes back"""


def watch_table(table: Table, rows: int, seconds: float | None) -> None:
    """The table as its changes have made it so far, its newest rows."""
    schema = table._plan.schema
    texts = row_texts([column.type for column in schema], table._t_env._session.zone)
    view = TableView(max(KEPT, rows))
    names, types = [column.name for column in schema], [str(column.type) for column in schema]
    watching = _Watching(view, names, types, rows)
    with listened_by(PlainListener):
        changes = table.execute().collect()
    watching.run(changes, lambda row: view.add(row.get_row_kind(), texts(list(row))), seconds)


def watch_stream(stream: DataStream, rows: int, seconds: float | None) -> None:
    """The newest elements."""
    view = ChangelogView(rows)
    watching = _Watching(view, ["", type(stream).__name__], [], rows)
    with listened_by(PlainListener):
        elements = collected(stream)
    watching.run(elements, lambda element: view.add(RowKind.INSERT, [repr(element)]), seconds)


class _Watching:
    """Reads on a thread of its own, shows on that of the cell, which is the one that is interrupted."""

    def __init__(self, view: View, names: Sequence[str], types: Sequence[str], rows: int) -> None:
        if rows < 1:
            raise ValueError(f"live() shows 1 row or more, not {rows}")
        self._view, self._names, self._types, self._rows = view, names, types, rows
        self._lock = threading.Lock()
        self._error: BaseException | None = None
        self._ending = False

    def run(self, elements: Any, add: Callable[[Any], None], seconds: float | None) -> None:
        """Until the elements end, or the time is over, or the cell is interrupted: the job has ended then.

        :raises Exception: what made the job fail.
        """
        place, began, said = Place(), time.monotonic(), "interrupted"
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

    def _show(self, place: Place, state: str, last: bool = False) -> None:
        with self._lock:
            rows, received = self._view.rows()[-self._rows :], self._view.received
        note = f"{received:,} changes received, {state}"
        place.show(
            lambda: grid(self._names, self._types, rows, note),
            lambda: "\n".join([*lines(self._names, rows, widths_by_content(self._names, rows)), note]),
            last,
        )
