"""What functions return, brought to the declared type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from millrace.common.types import Row
from millrace.relational.types import DataType
from millrace.relational.values import to_arrow
from millrace.runtime.functions.runner import FunctionRunner

_MISFITS = (pa.ArrowException, TypeError, ValueError, AttributeError, OverflowError)


def result_column(runner: FunctionRunner, values: list[Any], data_type: DataType, name: str) -> pa.Array:
    """Results of the function ``name`` as a column.

    :raises OperatorError: a value does not fit into the declared type.
    """
    try:
        column = to_arrow(values, data_type)
        if column.null_count and not data_type.is_nullable:
            raise TypeError("the type has no NULL")
    except _MISFITS as error:
        wrong = next((value for value in values if not _fits(value, data_type)), None)
        told = TypeError(f"{name}() is declared as {data_type} and returned {wrong!r}: {error}")
        raise runner.error(told, f"{name}()", wrong) from error
    return column


def _fits(value: Any, data_type: DataType) -> bool:
    try:
        missing = to_arrow([value], data_type).null_count
    except Exception:
        return False
    return data_type.is_nullable or not missing


def result_rows(results: Any) -> Any:
    """The rows that a table function gave: as in PyFlink None is no row, and what is no list, range or iterator is one
    row."""
    if results is None:
        return ()
    return results if isinstance(results, (list, range, Iterator)) else (results,)


def row_values(result: Any, width: int) -> Sequence[Any]:
    """The values of one row: a Row, a tuple or a list of ``width`` values; a single value need not be wrapped.

    :raises ValueError: it has another number of values.
    """
    values: Sequence[Any]
    if isinstance(result, tuple):
        values = result
    elif isinstance(result, Row):
        values = tuple(result)
    else:
        # The list of a function with one column is its value, an array.
        values = result if isinstance(result, list) and width != 1 else (result,)
    if len(values) != width:
        raise ValueError(f"the function makes rows of {width} columns, but gave {result!r}")
    return values
