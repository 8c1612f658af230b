"""Columns as texts and texts as columns, as CAST says, outside of expressions."""

from __future__ import annotations

import pyarrow as pa

from millrace.relational.arrow import arrow_type
from millrace.relational.functions.casts.columns import kernel
from millrace.relational.functions.casts.values import caster
from millrace.relational.types import DataType, string
from millrace.relational.values import plain_values


def column_texts(column: pa.Array, kind: DataType, zone: str = "UTC") -> list[str | None]:
    """The text of each value.

    :raises ValueError: values of this type have none.
    """
    found: list[str | None] = _cast(column, kind, string(), zone).to_pylist()
    return found


def column_of_texts(texts: list[str | None], kind: DataType, zone: str = "UTC") -> pa.Array:
    """The values that texts mean.

    :raises ValueError: a text is no value of the type, or there are none.
    """
    return _cast(pa.array(texts, pa.string()), string(), kind, zone)


def _cast(column: pa.Array, source: DataType, target: DataType, zone: str) -> pa.Array:
    fast = kernel(source, target, zone)
    found = None if fast is None else fast(column)
    if found is not None:
        return found
    convert = caster(source, target, zone)
    if convert is None:
        raise ValueError(f"{source} cannot become {target}")
    return pa.array(
        [None if value is None else convert(value) for value in plain_values(column)], arrow_type(target)
    )
