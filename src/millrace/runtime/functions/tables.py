"""Table functions on a batch."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from types import GeneratorType
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.common.types import Row
from millrace.relational.types import DataType
from millrace.runtime.failure import check_complete
from millrace.runtime.functions.arguments import Arguments
from millrace.runtime.functions.results import result_column, result_rows, row_values
from millrace.runtime.functions.runner import FunctionRunner

Made = tuple[Any, list[pa.Array]]
"""(the input row of each row that was made, in order, as numpy integers; the columns)"""


def made_rows(runner: FunctionRunner, wrapper: Any, arguments: Arguments, types: Sequence[DataType]) -> Made:
    """What a table function makes of the arguments of each row: columns of these types.

    :raises OperatorError: the function failed, or gave something that does not fit.
    """
    made: list[Any] = []
    ends: list[int] = []
    try:
        for results in arguments.calls(runner.of(wrapper).eval):
            if results is not None:
                kind = results.__class__
                made.extend(results if kind is GeneratorType or kind is list else result_rows(results))
            ends.append(len(made))
        check_complete(ends, arguments)
    except Exception as error:
        raise runner.error(error, f"{wrapper.name}()", arguments.current()) from error
    owners = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    cells = _cells(made, len(types))
    if cells is None:
        cells = _cells_of_each(runner, wrapper, arguments, made, owners, len(types))
    columns = [result_column(runner, values, each, wrapper.name) for values, each in zip(cells, types)]
    return owners, columns


def _cells(made: list[Any], width: int) -> list[list[Any]] | None:
    """The columns of rows that all have the same plain form; None where each has to be looked at."""
    kinds = set(map(type, made))
    if kinds == {tuple} and set(map(len, made)) == {width}:
        return [list(map(itemgetter(place), made)) for place in range(width)]
    if width == 1 and not any(issubclass(kind, (tuple, Row)) for kind in kinds):
        return [made]
    return None


def _cells_of_each(
    runner: FunctionRunner, wrapper: Any, arguments: Arguments, made: list[Any], owners: Any, width: int
) -> list[list[Any]]:
    """The columns of rows of any forms."""
    rows: list[Sequence[Any]] = []
    try:
        rows.extend(row_values(result, width) for result in made)
    except Exception as error:
        raise runner.error(error, f"{wrapper.name}()", arguments.row(int(owners[len(rows)]))) from error
    return [list(map(itemgetter(place), rows)) for place in range(width)]
