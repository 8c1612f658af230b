"""Columns of lists and tuples of any length, and of dicts, whose parts are all of one kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["SEQUENCE_FORMS", "encode_sequence"]

Encode = Callable[[Sequence[Any]], tuple[Any, dict[str, Any]]]
Decode = Callable[[Any, dict[str, Any]], list[Any]]
Described = dict[str, Any]

_NONE = type(None)


def encode_sequence(values: Sequence[Any], cls: type, encode: Encode) -> tuple[Any, Described] | None:
    """A list column for lists and tuples, a map column for dicts; None where their parts would have to be pickled:
    then one pickle for the whole is better."""
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
    """Where each value's parts are in the children, of which only what this array refers to is kept."""
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
