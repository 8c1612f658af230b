"""Event time in columns: milliseconds of time attributes, and rows that wait for a watermark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.rows import Rows, concat
from millrace.relational.time_zones import standard_name
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.row_buffer_table import RowBufferTable
from millrace.runtime.tables.columns.keys import Ids


def millis(column: pa.Array, zone: str | None = None) -> Ids:
    """A column of timestamps as ms since the epoch.

    :param zone: the time zone of a column without one: the session's for windows of a TIMESTAMP_LTZ.
    :raises ValueError: a timestamp is NULL.
    """
    if column.null_count:
        raise ValueError("the time attribute of a row is NULL: filter such rows before the watermark is assigned")
    if zone is not None and zone != "UTC" and column.type.tz is None:
        column = pc.assume_timezone(column, standard_name(zone), ambiguous="earliest", nonexistent="earliest")
    found: Ids = column.view(pa.int64()).to_numpy() // 1000
    return found


def row_buffer(
    backend: KeyedStateBackend, name: str, types: Sequence[pa.DataType], key: tuple[int, ...]
) -> RowBufferTable:
    """A state for rows that wait; to be called in ``setup``.

    :param key: the columns by which the input is partitioned.
    """
    table: RowBufferTable = backend.table_of(name, RowBufferTable.kind)
    table.describe(types, key)
    return table


def take_due(table: RowBufferTable, until: int) -> tuple[Rows, Ids] | None:
    """The rows that are due at ``until`` (ms), by time and then by arrival, with their times; None: there are none."""
    due = table.take(until)
    if not due:
        return None
    rows, times = concat([rows for rows, _ in due]), np.concatenate([times for _, times in due])
    if (np.diff(times) >= 0).all():
        return rows, times
    order = np.argsort(times, kind="stable")
    return rows.take(order), times[order]


def drop_late(operator: Any, rows: Rows, times: Ids, watermark: int) -> tuple[Rows, Ids]:
    """The rows that are due after the watermark (ms); the others are late, and counted in the operator's metric."""
    late = times <= watermark
    if not late.any():
        return rows, times
    operator.late.inc(int(late.sum()))
    return rows.where(~late), times[~late]
