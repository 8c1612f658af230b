"""What state is made from: elements of a program, or the rows of a table, which are dicts."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import pyarrow as pa

from millrace.common.functions import KeySelector
from millrace.common.functions.adapt import as_key_selector

__all__ = ["Getter", "as_getter", "as_selector", "batches_of", "is_frame", "rows_of"]

Getter = Callable[[Any], Any]
BATCH = 10_000


def is_frame(rows: Any) -> bool:
    """Whether this is a DataFrame of Spark."""
    return hasattr(rows, "mapInArrow")


def batches_of(rows: Any) -> Iterator[list[Any]]:
    """The rows of an Arrow table, a pandas DataFrame or any iterable, some at a time.

    :raises TypeError: it is none of these.
    """
    if isinstance(rows, pa.RecordBatch):
        yield from map(rows_of, pa.Table.from_batches([rows]).to_batches(BATCH))
    elif isinstance(rows, pa.Table):
        yield from map(rows_of, rows.to_batches(BATCH))
    elif isinstance(rows, pa.RecordBatchReader):
        yield from map(rows_of, rows)
    elif type(rows).__module__.partition(".")[0] == "pandas":
        yield from map(rows_of, pa.Table.from_pandas(rows, preserve_index=False).to_batches(BATCH))
    elif isinstance(rows, Iterable) and not isinstance(rows, (str, bytes)):
        remaining = iter(rows)
        while batch := list(islice(remaining, BATCH)):
            yield batch
    else:
        raise TypeError(
            f"state is made from a pyarrow Table, a DataFrame of pandas or Spark, or an iterable, not from {rows!r}"
        )


def rows_of(batch: Any) -> list[dict[str, Any]]:
    """The rows of a record batch, by column."""
    names = batch.schema.names
    return [dict(zip(names, values)) for values in zip(*(_values(column) for column in batch.columns))]


def _values(column: Any) -> list[Any]:
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        # In UTC, which has one object that all savepoints know.
        utc = datetime.timezone.utc
        local: list[Any] = column.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us")).to_pylist()
        return [value and value.replace(tzinfo=utc) for value in local]
    values: list[Any] = column.to_pylist()
    return values


class _Column:
    """Takes a column of a row."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, row: Any) -> Any:
        return row[self._name]


class _Whole:
    """Takes the row itself."""

    def __call__(self, row: Any) -> Any:
        return row


def as_getter(part: str | Getter | None, what: str) -> Getter:
    """What takes a part of a row: a column by its name, a function, or all of it for None."""
    if part is None:
        return _Whole()
    if isinstance(part, str):
        return _Column(part)
    if callable(part):
        return part
    raise TypeError(f"{what} must be the name of a column or a function of a row, not {part!r}")


def as_selector(key: str | KeySelector | Getter) -> KeySelector:
    """The key selector behind a name of a column, a function of a row, or a key selector."""
    return key if isinstance(key, KeySelector) else as_key_selector(as_getter(key, "key"))
