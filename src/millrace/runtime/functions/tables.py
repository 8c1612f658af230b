"""Table functions on a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.types import DataType
from millrace.runtime.bases.base import failing
from millrace.runtime.functions.results import result_column, result_rows, row_values
from millrace.runtime.functions.runner import FunctionRunner

Made = tuple[Any, list[pa.Array]]
"""(the input row of each row that was made, in order, as numpy integers; the columns)"""


def made_rows(
    runner: FunctionRunner, wrapper: Any, arguments: list[tuple[Any, ...]], types: Sequence[DataType]
) -> Made:
    """What a table function makes of the arguments of each row: columns of these types.

    :raises OperatorError: the function failed, or gave something that does not fit.
    """
    function, width = runner.of(wrapper).eval, len(types)
    owners: list[int] = []
    made: list[Sequence[Any]] = []
    remaining = iter(arguments)
    try:
        for number, values in enumerate(remaining):
            for result in result_rows(function(*values)):
                made.append(row_values(result, width))
                owners.append(number)
    except Exception as error:
        raise runner.error(error, f"{wrapper.name}()", failing(arguments, remaining)) from error
    cells = zip(*made) if made else [()] * width
    columns = [result_column(runner, list(values), each, wrapper.name) for values, each in zip(cells, types)]
    return np.array(owners, np.int64), columns
