"""What PySpark imports in a driver only to look whether it is there: pandas, and its own tools for tests.

They are a sixth of all that a driver imports before its first row. Millrace hands Arrow batches and texts over.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

from pyspark.sql import types
from pyspark.sql.pandas import functions

_CHECK = "require_minimum_pandas_version"


class _Thread(threading.local):
    on_batches = False


_thread = _Thread()


def look_without_imports() -> None:
    """Let PySpark look for values of numpy in the arguments of calls into the JVM without importing anything: they are
    there only when numpy is imported."""
    if hasattr(types, "NumpyScalarConverter") and hasattr(types, "NumpyArrayConverter"):
        types.NumpyScalarConverter.can_convert = _is_scalar
        types.NumpyArrayConverter.can_convert = _is_array


def _is_scalar(_: types.NumpyScalarConverter, value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


def _is_array(_: types.NumpyArrayConverter, value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray) and value.ndim == 1


@contextlib.contextmanager
def on_batches() -> Iterator[None]:
    """Functions that this thread makes inside are for Arrow batches: PySpark need not see how old pandas is."""
    _thread.on_batches = True
    try:
        yield
    finally:
        _thread.on_batches = False


def _checked_elsewhere(check: Any) -> Any:
    def checked() -> None:
        if not _thread.on_batches:
            check()

    return checked


if hasattr(functions, _CHECK):
    setattr(functions, _CHECK, _checked_elsewhere(getattr(functions, _CHECK)))
