"""Rows from and to Arrow columns, a column at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import repeat
from typing import Any

import pyarrow as pa

from millrace.common.time import Instant
from millrace.common.types import Row, row_of
from millrace.formats.types import BIG_INT
from millrace.relational.decimals import fit

__all__ = ["columns_of_rows", "rows_of_batch", "values_of_row"]

_Convert = Callable[[Any], Any]


def rows_of_batch(batch: Any, names: list[str]) -> list[Row]:
    """The rows of a record batch; ``names`` is shared between them."""
    if not batch.num_columns:
        return [row_of([], names) for _ in range(batch.num_rows)]
    columns = [_values(column) for column in batch.columns]
    return list(map(row_of, map(list, zip(*columns, strict=True)), repeat(names)))


def _values(column: Any) -> list[Any]:
    type_ = column.type
    if not column.null_count and (pa.types.is_integer(type_) or pa.types.is_floating(type_)):
        # Many times faster than to_pylist, which makes a scalar object per value.
        values: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
        return values
    if pa.types.is_timestamp(type_) and type_.unit == "ns":
        column = column.cast(pa.timestamp("us", type_.tz), safe=False)  # pandas' type for ns is not what users expect
    if pa.types.is_timestamp(type_) and type_.tz is not None:
        micros = column.cast(pa.timestamp("us", type_.tz), safe=False).cast(pa.int64()).to_pylist()
        return [None if value is None else _instant(value) for value in micros]
    values = column.to_pylist()
    convert = _from_arrow(type_)
    return values if convert is None else [None if value is None else convert(value) for value in values]


def _instant(micros: int) -> Instant:
    seconds, rest = divmod(micros, 1_000_000)
    return Instant(seconds, rest * 1000)


def _from_arrow(type_: Any) -> _Convert | None:
    """From what ``to_pylist`` gives to what programs see; None when that is the same."""
    is_ = pa.types
    if is_.is_struct(type_):
        names = [field.name for field in type_]
        fields = [(field.name, _from_arrow(field.type) or _same) for field in type_]
        return lambda value: row_of([_nullable(convert, value[name]) for name, convert in fields], names)
    if is_.is_map(type_):
        key, item = _from_arrow(type_.key_type) or _same, _from_arrow(type_.item_type) or _same
        return lambda value: {key(k): _nullable(item, v) for k, v in value}
    if is_.is_list(type_) or is_.is_large_list(type_) or is_.is_fixed_size_list(type_):
        element = _from_arrow(type_.value_type)
        return None if element is None else lambda value: [_nullable(element, v) for v in value]
    if is_.is_timestamp(type_) and type_.tz is not None:
        return lambda value: Instant(int(value.timestamp() // 1), value.microsecond * 1000)
    return int if type_ == BIG_INT else None


def _same(value: Any) -> Any:
    return value


def _nullable(convert: _Convert, value: Any) -> Any:
    return None if value is None else convert(value)


def _rounded(value: Any, type_: Any) -> Any:
    """A decimal rounded half up to the digits of its type, as Flink does."""
    if not isinstance(value, Decimal):
        return value
    found = fit(value, type_.precision, type_.scale)
    if found is None:
        raise ValueError(f"{value} has too many digits for DECIMAL({type_.precision}, {type_.scale})")
    return found


def values_of_row(element: Any, names: Sequence[str]) -> Sequence[Any]:
    """The fields of a Row, tuple, list or dict in the order of ``names``.

    :raises TypeError: for anything else. :raises ValueError: if the number of fields differs.
    """
    if isinstance(element, Row):
        values: Sequence[Any] = element.get_fields_by_names(names)
    elif isinstance(element, (tuple, list)):
        values = element
    elif isinstance(element, dict):
        values = [element.get(name) for name in names]
    else:
        raise TypeError(f"a Row, tuple or dict is needed, got {type(element).__name__} {element!r}")
    if len(values) != len(names):
        raise ValueError(f"the schema has {len(names)} fields ({', '.join(names)}), got {len(values)}: {element!r}")
    return values


def columns_of_rows(rows: Sequence[Sequence[Any]], schema: Any) -> Any:
    """A record batch of rows given as sequences of values."""
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in schema]
    arrays = []
    for field, column in zip(schema, columns, strict=True):
        convert = _to_arrow(field.type)
        values = column if convert is None else [_nullable(convert, value) for value in column]
        try:
            arrays.append(pa.array(values, field.type))
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"field {field.name!r} ({field.type}): {error}") from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _to_arrow(type_: Any) -> _Convert | None:
    is_ = pa.types
    if is_.is_decimal128(type_):
        return lambda value: _rounded(value, type_)
    if is_.is_struct(type_):
        names = [field.name for field in type_]
        converts = [_to_arrow(field.type) or _same for field in type_]
        return lambda value: {
            name: _nullable(convert, field)
            for name, convert, field in zip(names, converts, values_of_row(value, names), strict=True)
        }
    if is_.is_map(type_):
        key, item = _to_arrow(type_.key_type) or _same, _to_arrow(type_.item_type) or _same
        return lambda value: [(key(k), _nullable(item, v)) for k, v in value.items()]
    if is_.is_list(type_):
        element = _to_arrow(type_.value_type)
        return None if element is None else lambda value: [_nullable(element, v) for v in value]
    if is_.is_timestamp(type_) and type_.tz is not None:
        return lambda value: value.seconds * 1_000_000 + value.nanos // 1000 if isinstance(value, Instant) else value
    return None
