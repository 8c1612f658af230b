"""Converts Arrow columns to the pandas arguments of vectorised functions, and their results back to Arrow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from millrace.relational.precision import fit

BATCH_SIZE = "python.fn-execution.arrow.batch.size"
DEFAULT_BATCH_SIZE = "1000"
BUNDLE_SIZE = "python.fn-execution.bundle.size"


def to_pandas(column: pa.Array) -> Any:
    """A Series; for a ROW a DataFrame with a column for each field, in which the fields of a nested ROW are columns
    themselves."""
    if pa.types.is_struct(column.type):
        parts = [(field.name, to_pandas(values)) for field, values in zip(column.type, column.flatten())]
        named = [part if isinstance(part, pd.DataFrame) else part.rename(name) for name, part in parts]
        return pd.concat(named, axis=1) if named else pd.DataFrame(index=range(len(column)))
    return column.to_pandas(date_as_object=True)


def batch_size(configuration: Mapping[str, str]) -> int:
    """The most rows of one call of a vectorised function: never more than the bundle size, if it is set."""
    size = int(configuration.get(BATCH_SIZE, DEFAULT_BATCH_SIZE))
    return min(size, int(configuration.get(BUNDLE_SIZE, size)))


def call_vectorized(
    function: Callable[..., Any], args: Sequence[pa.Array], data_type: pa.DataType, length: int, size: int, name: str
) -> pa.Array:
    """The result of a vectorised function for ``length`` rows, called with ``size`` rows at a time. Raises what
    ``from_pandas`` and the function raise."""
    parts = []
    for start in range(0, length, size):
        rows = min(size, length - start)
        result = function(*(to_pandas(arg.slice(start, rows)) for arg in args))
        parts.append(from_pandas(result, data_type, rows, name))
    return pa.chunked_array(parts, data_type).combine_chunks()


def _fit(value: Any, data_type: pa.DataType) -> Any:
    return fit(value, data_type.precision, data_type.scale) if isinstance(value, Decimal) else value


def from_pandas(result: Any, data_type: pa.DataType, length: int, name: str) -> pa.Array:
    """The result of a function for ``length`` rows as a column.

    :raises ValueError: it has another length.
    :raises TypeError: a value does not fit into the type.
    """
    if not hasattr(result, "__len__") or isinstance(result, (str, bytes)):
        raise TypeError(
            f"The result type of Pandas UDF '{name}' must be pandas.Series or pandas.DataFrame, got {type(result)}"
        )
    if len(result) != length:
        raise ValueError(
            f"The result length '{len(result)}' of Pandas UDF '{name}' is not equal to the input length '{length}'"
        )
    if isinstance(result, pd.DataFrame):
        fields = list(data_type)
        parts = [from_pandas(result.iloc[:, place], each.type, length, name) for place, each in enumerate(fields)]
        return pa.StructArray.from_arrays(parts, fields=fields)
    series = result if isinstance(result, pd.Series) else pd.Series(result)
    missing = np.asarray(series.isnull(), bool)
    if pa.types.is_timestamp(data_type) and data_type.tz and getattr(series.dt, "tz", None) is None:
        series = series.dt.tz_localize(data_type.tz)
    if pa.types.is_decimal(data_type):  # as a function of rows: rounded, and NULL with too many digits
        series = pd.Series([_fit(each, data_type) for each in series], dtype=object)
        missing = np.asarray(series.isnull(), bool)
    try:
        # Digits of times that the type does not have are cut off; any other loss is an error.
        array = pa.Array.from_pandas(series, mask=missing, type=data_type, safe=not pa.types.is_timestamp(data_type))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        text = f"{name}() is declared as {data_type} and returned a Series of {series.dtype}: {error}"
        raise TypeError(text) from None
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
