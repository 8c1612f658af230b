"""Values as the texts of which ids and names of indexes are made."""

from __future__ import annotations

from datetime import datetime, time

import pyarrow as pa

from millrace.formats.tables.numbers import float_texts
from millrace.relational.type_table import ByFamily, Family, family_of
from millrace.relational.types import DataType
from millrace.util.exceptions import TableException


def key_texts(column: pa.Array, kind: DataType) -> pa.Array:
    """A column as Java writes its values (``toString()``), which is what Flink makes ids of. NULL stays NULL."""
    texts: pa.Array = _TEXTS[family_of(kind)](column)
    return texts


def check_key(name: str, kind: DataType, table: str, what: str) -> None:
    """:raises TableException: values of the column have no good text."""
    if family_of(kind) not in _TEXTS:
        raise TableException(f"table {table}, column '{name}': a {kind} cannot be part of {what}")


def _moment(at: datetime | None) -> str | None:
    return None if at is None else f"{at.date().isoformat()}T{_clock(at.time())}"


def _clock(at: time | None) -> str | None:
    """Without seconds if there are none, and a fraction of three digits or of six."""
    if at is None:
        return None
    if not at.second and not at.microsecond:
        return at.isoformat("minutes")
    if not at.microsecond:
        return at.isoformat("seconds")
    return at.isoformat("microseconds" if at.microsecond % 1000 else "milliseconds")


_TEXTS: ByFamily = {
    Family.TEXT: lambda column: column,
    Family.INTEGER: lambda column: column.cast(pa.string()),
    Family.BOOLEAN: lambda column: column.cast(pa.string()),
    Family.APPROXIMATE: float_texts,
    Family.DECIMAL: lambda column: _decimals(column),
    Family.DATE: lambda column: column.cast(pa.string()),
    Family.TIME: lambda column: pa.array(map(_clock, column.to_pylist()), pa.string()),
    Family.TIMESTAMP: lambda column: pa.array(map(_moment, column.to_pylist()), pa.string()),
    # What Flink has of an instant is its time in UTC, and so without a zone.
    Family.INSTANT: lambda column: pa.array(map(_moment, column.to_pylist()), pa.string()),
}


def _decimals(column: pa.Array) -> pa.Array:
    """With all digits of the scale: 1.50 of a DECIMAL(5, 2) is not 1.5."""
    return pa.array([None if each is None else f"{each:f}" for each in column.to_pylist()], pa.string())
