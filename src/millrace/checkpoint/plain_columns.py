"""Columns of plain values, and of lists, tuples and dicts of any length whose parts are all of one kind.

Plain values are numbers, text, bytes, times, and windows without a time limit. Every form restores exactly the values
that were stored.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from millrace.common.window import CountWindow, GlobalWindow

# Plain values

_UTC = datetime.timezone.utc


class _Form(NamedTuple):
    """How values of one class become a column; ``encode`` returns None for values that this form can't hold."""

    name: str
    encode: Callable[[Sequence[Any]], Any]


def encode_scalars(values: Sequence[Any], cls: type) -> tuple[Any, dict[str, Any]] | None:
    """A column for values that are all of class ``cls``, and its description; None if no form can hold them all."""
    for form in _FORMS.get(cls, ()):
        try:
            array = form.encode(values)
        except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError, ValueError):
            continue
        if array is not None:
            return array, {"form": form.name}
    return None


def encode_numpy(values: Sequence[Any], cls: type) -> tuple[Any, dict[str, Any]] | None:
    """A column for numpy numbers of class ``cls``, and its description; None if no form can hold them all."""
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
    # Other zones are objects that must be restored exactly.
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
"""form -> function that gives the values of a column without nulls"""


# Lists, tuples and dicts

Encode = Callable[[Sequence[Any]], tuple[Any, dict[str, Any]]]
Decode = Callable[[Any, dict[str, Any]], list[Any]]
Described = dict[str, Any]

_NONE = type(None)


def encode_sequence(values: Sequence[Any], cls: type, encode: Encode) -> tuple[Any, Described] | None:
    """A list column for lists and tuples, a map column for dicts; None if their parts would have to be pickled, since
    then one pickle for each whole value is better."""
    if cls is dict:
        return _encode_dicts(values, encode)
    elements = _encode_parts(list(chain.from_iterable(values)), encode)
    if elements is None:
        return None
    array = pa.LargeListArray.from_arrays(pa.array(_offsets(values)), elements[0])
    return array, {"form": f"{cls.__name__}s", "element": elements[1]}


def _encode_dicts(values: Sequence[dict[Any, Any]], encode: Encode) -> tuple[Any, Described] | None:
    offsets = _offsets(values)
    if offsets[-1] >= 2**31:
        return None  # maps of Arrow are not that large
    keys = _encode_parts(list(chain.from_iterable(values)), encode)
    if keys is None or keys[0].null_count:
        return None
    items = _encode_parts(list(chain.from_iterable(map(dict.values, values))), encode)
    if items is None:
        return None
    array = pa.MapArray.from_arrays(pa.array(offsets.astype(np.int32)), keys[0], items[0])
    return array, {"form": "dicts", "key": keys[1], "value": items[1]}


def _offsets(values: Sequence[Any]) -> Any:
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, values), np.int64, len(values)), out=offsets[1:])
    return offsets


def _encode_parts(parts: Sequence[Any], encode: Encode) -> tuple[Any, Described] | None:
    if len(set(map(type, parts)) - {_NONE}) > 1:
        return None
    array, description = encode(parts)
    return None if description["form"] == "pickle" else (array, description)


def _cut(array: Any, children: Sequence[Any]) -> tuple[list[slice], list[Any]]:
    """(slices of each value's parts, the child columns cut to what this array refers to)."""
    offsets = array.offsets.to_numpy().tolist()
    start, end = offsets[0], offsets[-1]
    kept = [child.slice(start, end - start) for child in children]
    return [slice(a - start, b - start) for a, b in pairwise(offsets)], kept


def _decode_lists(array: Any, description: Described, decode: Decode) -> list[Any]:
    cuts, (child,) = _cut(array, [array.values])
    elements = decode(child, description["element"])
    return [elements[cut] for cut in cuts]


def _decode_tuples(array: Any, description: Described, decode: Decode) -> list[Any]:
    return list(map(tuple, _decode_lists(array, description, decode)))


def _decode_dicts(array: Any, description: Described, decode: Decode) -> list[Any]:
    cuts, (key_array, item_array) = _cut(array, [array.keys, array.items])
    keys, items = decode(key_array, description["key"]), decode(item_array, description["value"])
    return [dict(zip(keys[cut], items[cut])) for cut in cuts]


SEQUENCE_FORMS: dict[str, Callable[[Any, Described, Decode], list[Any]]] = {
    "lists": _decode_lists,
    "tuples": _decode_tuples,
    "dicts": _decode_dicts,
}
