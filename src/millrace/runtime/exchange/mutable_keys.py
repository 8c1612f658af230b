"""Keys that are lists or dicts, or have some in them. PyFlink takes them, since it tells keys apart by their bytes."""

from __future__ import annotations

from typing import Any

from millrace.runtime.exchange.keygroups import stable_hash
from millrace.runtime.exchange.nan_keys import one_nan


class ListKey(list[Any]):
    """A list that can be looked up. It equals the list; who changes it changes a key, and loses the state behind it."""

    def __hash__(self) -> int:  # type: ignore[override]  # lists have none, since they may be changed
        return hash(tuple(self))

    def __stable_hash__(self) -> int:
        return stable_hash(tuple(self))


class DictKey(dict[Any, Any]):
    """The same of a dict. The order of its entries means nothing, as for dicts."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __stable_hash__(self) -> int:
        return sum(map(stable_hash, self.items())) & 0xFFFFFFFF


def hashable(keys: list[Any]) -> list[Any]:
    """The keys of a chunk, made hashable (the first one tells whether there is anything to do), with one NaN."""
    keys = one_nan(keys)
    try:
        hash(keys[0] if keys else None)
    except Exception:  # what cannot be helped here is told by who looks the keys up
        return [_hashable(key) for key in keys]
    return keys


def _hashable(key: Any) -> Any:
    kind = type(key)
    if kind is list:
        return ListKey(map(_hashable, key))
    if kind is dict:
        return DictKey((name, _hashable(value)) for name, value in key.items())
    return tuple(map(_hashable, key)) if kind is tuple else key
