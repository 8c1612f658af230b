"""Rows for other programs as a stream of Arrow's: with their types, in batches."""

from __future__ import annotations

import io
import time
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from millrace.cli.sql.formats import OPERATION
from millrace.common.types import Row
from millrace.table.sessions.table_result import TableResult

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 1_000
"""of a batch"""
SECONDS = 1.0
"""A batch that is begun goes with the first row after so long."""


def arrow_parts(result: TableResult, zone: str, streaming: bool) -> Generator[bytes, None, None]:
    """The bytes of one stream in Arrow's IPC format, as rows come.

    :param zone: that of TIMESTAMP_LTZ.
    :param streaming: the rows are changes: the first column says of which kind.
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
    """What was written since the last time."""
    found = out.getvalue()
    out.seek(0)
    out.truncate()
    return found
