"""What computations on Arrow columns share: a loop over the rows where no kernel fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import repeat
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.arrow import arrow_type
from millrace.relational.functions.registry import Column
from millrace.relational.rex import Call

Prepare = dict[int, Callable[[Any], Any]]
"""argument -> what is made of each of its different values once (a compiled pattern, say)"""


def by_row(
    call: Call,
    args: Sequence[Column],
    function: Callable[..., Any],
    *,
    prepare: Prepare | None = None,
    nulls: bool = False,
) -> Column:
    """``function`` of the values of each row; the result has the type of the call.

    :param prepare: makes values ready for use, once a value and not once a row; NULL excepted.
    :param nulls: whether the function is called for rows with NULL. Otherwise they give NULL.
    """
    wanted = arrow_type(call.type)
    if not nulls and any(isinstance(arg, pa.Scalar) and not arg.is_valid for arg in args):
        return pa.scalar(None, wanted)
    if all(isinstance(arg, pa.Scalar) for arg in args):
        row = [_prepared_value(arg.as_py(), (prepare or {}).get(index)) for index, arg in enumerate(args)]
        return pa.scalar(function(*row), wanted)
    columns = [_values(arg, (prepare or {}).get(index)) for index, arg in enumerate(args)]
    if nulls or not any(arg.null_count for arg in args if not isinstance(arg, pa.Scalar)):
        return pa.array(list(map(function, *columns)), wanted)
    valid = [pc.is_valid(arg) for arg in args if not isinstance(arg, pa.Scalar)]
    complete = reduce(pc.and_, valid).to_pylist()
    return pa.array([function(*row) if whole else None for row, whole in zip(zip(*columns), complete)], wanted)


def _prepared_value(value: Any, prepare: Callable[[Any], Any] | None) -> Any:
    return value if prepare is None or value is None else prepare(value)


def _values(arg: Column, prepare: Callable[[Any], Any] | None) -> Any:
    if isinstance(arg, pa.Scalar):
        return repeat(_prepared_value(arg.as_py(), prepare))
    values = arg.to_pylist()
    if prepare is None:
        return values
    ready = {value: prepare(value) for value in set(values) if value is not None}
    return [None if value is None else ready[value] for value in values]


def null(call: Call) -> pa.Scalar:
    """NULL of the type of the call."""
    return pa.scalar(None, arrow_type(call.type))


def is_null_constant(column: Column) -> bool:
    """Whether an argument is NULL in all rows because it is written so."""
    return isinstance(column, pa.Scalar) and not column.is_valid
