"""Rows for other programs: CSV, a JSON object in each line, or a stream of Arrow batches with their types."""

from __future__ import annotations

import csv
import io
import json
import math
import time
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

from millrace.cli.sql.results import cells_of, names_of
from millrace.common.types import Row
from millrace.table.sessions.table_result import TableResult

if TYPE_CHECKING:
    import pyarrow as pa


OPERATION = "op"
"""name of the column with the kind of a change, in streaming mode"""


def formatted(result: TableResult, output: str, zone: str, streaming: bool) -> Generator[str, None, None]:
    """Lines of a result as its rows come.

    :param output: ``csv`` or ``json``.
    :param streaming: the rows are changes: their kinds come first.
    """
    names = [*([OPERATION] if streaming else []), *names_of(result)]
    texts = cells_of(result, zone)
    write = _csv_line if output == "csv" else _json_line(names)
    if output == "csv":
        yield _csv_line(names, names)
    rows = result.collect()
    try:
        for row in rows:
            kind = [str(row.get_row_kind())] if streaming else []
            yield write([*kind, *row], [*kind, *texts(row)])
    finally:
        rows.close()


def _csv_line(values: Sequence[Any], texts: Sequence[str]) -> str:
    """A row as a line of CSV. NULL is an empty field, and so is an empty text."""
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="")
    writer.writerow(["" if value is None else text for value, text in zip(values, texts)])
    return line.getvalue()


def _json_line(names: Sequence[str]) -> Callable[[Sequence[Any], Sequence[str]], str]:
    def line(values: Sequence[Any], texts: Sequence[str]) -> str:
        found = {name: _plain(value, text) for name, value, text in zip(names, values, texts)}
        return json.dumps(found, ensure_ascii=False)

    return line


def _plain(value: Any, text: str | None = None) -> Any:
    """A value in JSON's types; a value that JSON cannot represent becomes text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Row):
        names = value._fields or [f"f{number}" for number in range(len(value))]
        return {name: _plain(each) for name, each in zip(names, value)}
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if text is not None:
        return text
    return value.hex() if isinstance(value, bytes) else str(value)


ROWS = 1_000
"""rows of an Arrow batch, at most"""
SECONDS = 1.0
"""Time after which an unfinished batch is written (s), checked when a row arrives."""


def arrow_parts(result: TableResult, zone: str, streaming: bool) -> Generator[bytes, None, None]:
    """The bytes of one stream in Arrow's IPC format, while rows arrive.

    :param zone: time zone of TIMESTAMP_LTZ.
    :param streaming: whether the rows are changes: the first column holds their kind.
    """
    import pyarrow as pa

    empty = _batch([], result, zone, streaming)
    out = io.BytesIO()
    rows = result.collect()
    try:
        with pa.ipc.new_stream(out, empty.schema) as writer:
            waiting: list[Row] = []
            since = time.monotonic()
            for row in rows:
                waiting.append(row)
                if len(waiting) == ROWS or time.monotonic() - since > SECONDS:
                    writer.write_batch(_batch(waiting, result, zone, streaming))
                    waiting, since = [], time.monotonic()
                    yield _taken(out)
            if waiting:
                writer.write_batch(_batch(waiting, result, zone, streaming))
        yield _taken(out)
    finally:
        rows.close()


def _batch(rows: list[Row], result: TableResult, zone: str, streaming: bool) -> pa.RecordBatch:
    import pyarrow as pa

    from millrace.relational.rows import Rows, record_batch
    from millrace.relational.values import to_arrow
    from millrace.table.values.arrow_tables import arrow_of

    columns = result._columns
    values: list[list[Any]] = [[row[place] for row in rows] for place in range(len(columns))]
    arrays = [to_arrow(each, column.type) for each, column in zip(values, columns)]
    table = arrow_of(columns, [Rows(record_batch(arrays, len(rows)))], zone)
    if streaming:
        table = table.add_column(0, OPERATION, pa.array([str(row.get_row_kind()) for row in rows], pa.string()))
    return pa.RecordBatch.from_arrays([each.combine_chunks() for each in table.columns], schema=table.schema)


def _taken(out: io.BytesIO) -> bytes:
    """The bytes that were written since the last call."""
    found = out.getvalue()
    out.seek(0)
    out.truncate()
    return found
