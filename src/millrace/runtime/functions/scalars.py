"""Scalar functions on a batch: of rows, of vectors, asynchronous ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from millrace.relational.arrow import arrow_type
from millrace.relational.canonical import canonical
from millrace.relational.rex import UdfCall
from millrace.runtime.failure import check_complete
from millrace.runtime.functions.arguments import Arguments
from millrace.runtime.functions.asynchronous import CallFailed
from millrace.runtime.functions.runner import FunctionRunner


def call_with_rows(runner: FunctionRunner, call: UdfCall, arguments: Arguments) -> list[Any]:
    """What a function of single values makes of the arguments of each row.

    :raises OperatorError: the function failed.
    """
    function = runner.of(call.function).eval
    if call.asynchronous:
        try:
            return runner.concurrently(function, arguments.rows())
        except CallFailed as failed:
            raise runner.error(failed.cause, f"{call.name}()", failed.arguments) from failed.cause
    try:
        found = list(arguments.calls(function))
        check_complete(found, arguments)
    except Exception as error:
        raise runner.error(error, f"{call.name}()", arguments.current()) from error
    return found


def call_with_columns(runner: FunctionRunner, call: UdfCall, args: Sequence[pa.Array], length: int) -> pa.Array:
    """What a vectorised function makes of ``length`` rows.

    :raises OperatorError: the function failed, or gave something that does not fit.
    """
    # pandas is slow to import, and most jobs have no such function.
    from millrace.runtime.functions.vectors import batch_size, call_vectorized

    function, size = runner.of(call.function).eval, batch_size(runner.configuration)
    try:
        found = call_vectorized(function, args, arrow_type(call.type), length, size, call.name)
    except Exception as error:
        raise runner.error(error, f"{call.name}()") from error
    return canonical(found, call.type)
