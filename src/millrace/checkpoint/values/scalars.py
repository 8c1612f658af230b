"""Columns of plain values: numbers, text, bytes, times, and windows that no time limits. Every form gives back exactly
the values that went in."""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from millrace.common.window import CountWindow, GlobalWindow

__all__ = ["DECODERS", "encode_numpy", "encode_scalars"]

_UTC = datetime.timezone.utc


class _Form(NamedTuple):
    """How values of one class become a column: None from ``encode`` means that this form can't hold them."""

    name: str
    encode: Callable[[Sequence[Any]], Any]


def encode_scalars(values: Sequence[Any], cls: type) -> tuple[Any, dict[str, Any]] | None:
    """The column of values that are all of class ``cls``, and how it is read; None if no form holds them all."""
    for form in _FORMS.get(cls, ()):
        try:
            array = form.encode(values)
        except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError, ValueError):
            continue
        if array is not None:
            return array, {"form": form.name}
    return None


def encode_numpy(values: Sequence[Any], cls: type) -> tuple[Any, dict[str, Any]] | None:
    """The same for numbers of numpy."""
    dtype = np.dtype(cls)
    if dtype.kind not in "iufb" or dtype.itemsize > 8 or dtype == np.float16:
        return None
    return pa.array(np.array(values, dtype)), {"form": "numpy", "dtype": dtype.name}


def _as(arrow_type: Any) -> Callable[[Sequence[Any]], Any]:
    return lambda values: pa.array(values, arrow_type)


def _surrogates(values: Sequence[str]) -> Any:
    return pa.array([value.encode("utf-8", "surrogatepass") for value in values], pa.large_binary())


def _text(values: Sequence[Any]) -> Any:
    return pa.array(list(map(str, values)), pa.large_string())


def _integers(values: Sequence[int]) -> Any:
    return pa.array(np.fromiter(values, np.int64, len(values)))


def _local_datetimes(values: Sequence[datetime.datetime]) -> Any:
    if any(map(attrgetter("tzinfo"), values)) or any(map(attrgetter("fold"), values)):
        return None
    return pa.array(values, pa.timestamp("us"))


def _utc_datetimes(values: Sequence[datetime.datetime]) -> Any:
    # Other zones are objects that have to come back as they were.
    if any(value.tzinfo is not _UTC or value.fold for value in values):
        return None
    return pa.array(values, pa.timestamp("us", "UTC"))


def _local_times(values: Sequence[datetime.time]) -> Any:
    if any(value.tzinfo is not None or value.fold for value in values):
        return None
    return pa.array(values, pa.time64("us"))


def _uuids(values: Sequence[uuid.UUID]) -> Any:
    return _text(values) if all(value.is_safe is uuid.SafeUUID.unknown for value in values) else None


def _global_windows(values: Sequence[GlobalWindow]) -> Any:
    return pa.array(["GlobalWindow"] * len(values), pa.large_string())


def _count_windows(values: Sequence[CountWindow]) -> Any:
    ids = [value.id for value in values]
    return _integers(ids) if set(map(type, ids)) == {int} else None


_FORMS: dict[type, tuple[_Form, ...]] = {
    bool: (_Form("bool", _as(pa.bool_())),),
    int: (_Form("int", _integers), _Form("big int", _text)),
    float: (_Form("float", _as(pa.float64())),),
    str: (_Form("str", _as(pa.large_string())), _Form("str with surrogates", _surrogates)),
    bytes: (_Form("bytes", _as(pa.large_binary())),),
    datetime.datetime: (_Form("datetime", _local_datetimes), _Form("datetime in UTC", _utc_datetimes)),
    datetime.date: (_Form("date", _as(pa.date32())),),
    datetime.time: (_Form("time", _local_times),),
    datetime.timedelta: (
        _Form("timedelta", lambda values: pa.array(values, pa.duration("us")).cast(pa.int64())),  # Parquet has none
    ),
    decimal.Decimal: (_Form("decimal", _text),),
    uuid.UUID: (_Form("uuid", _uuids),),
    GlobalWindow: (_Form("global window", _global_windows),),
    CountWindow: (_Form("count window", _count_windows),),
}


def _numbers(array: Any, description: Any) -> list[Any]:
    values: list[Any] = array.to_numpy(zero_copy_only=False).tolist()
    return values


def _objects(array: Any, description: Any) -> list[Any]:
    values: list[Any] = array.to_pylist()
    return values


def _parsed(parse: Callable[[Any], Any]) -> Callable[[Any, Any], list[Any]]:
    return lambda array, description: list(map(parse, array.to_pylist()))


def _python_times(unit: str) -> Callable[[Any, Any], list[Any]]:
    # Many times faster than to_pylist.
    return lambda array, description: array.to_numpy(zero_copy_only=False).astype(unit).tolist()


def _timedeltas(array: Any, description: Any) -> list[Any]:
    return _python_times("m8[us]")(array, description)


def _in_utc(array: Any, description: Any) -> list[Any]:
    local = _python_times("M8[us]")(array.cast(pa.timestamp("us")), description)
    return [value.replace(tzinfo=_UTC) for value in local]


def _numpy(array: Any, description: dict[str, Any]) -> list[Any]:
    return list(array.to_numpy(zero_copy_only=False).astype(description["dtype"], copy=False))


DECODERS: dict[str, Callable[[Any, Any], list[Any]]] = {
    "bool": _numbers,
    "int": _numbers,
    "big int": _parsed(int),
    "float": _numbers,
    "str": _objects,
    "str with surrogates": _parsed(lambda value: value.decode("utf-8", "surrogatepass")),
    "bytes": lambda array, description: array.to_numpy(zero_copy_only=False).tolist(),
    "datetime": _python_times("M8[us]"),
    "datetime in UTC": _in_utc,
    "date": _python_times("M8[D]"),
    "time": _objects,
    "timedelta": _timedeltas,
    "decimal": _parsed(decimal.Decimal),
    "uuid": _parsed(uuid.UUID),
    "numpy": _numpy,
    "global window": lambda array, description: [GlobalWindow()] * len(array),
    "count window": lambda array, description: list(map(CountWindow, _numbers(array, description))),
}
"""form -> values of a column without nulls"""
