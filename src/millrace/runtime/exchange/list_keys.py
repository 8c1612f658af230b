"""Keys that are lists, or tuples with lists in them. PyFlink takes them, since it tells keys apart by their bytes."""

from __future__ import annotations

from typing import Any

from millrace.runtime.exchange.keygroups import stable_hash


class ListKey(list[Any]):
    """A list that can be looked up. It equals the list; who changes it changes a key, and loses the state behind it."""

    def __hash__(self) -> int:  # type: ignore[override]  # lists have none, since they may be changed
        return hash(tuple(self))

    def __stable_hash__(self) -> int:
        return stable_hash(tuple(self))


def hashable(keys: list[Any]) -> list[Any]:
    """The keys of a chunk, lists among them made hashable. The first one tells whether there are any."""
    try:
        hash(keys[0] if keys else None)
    except TypeError:
        return [_hashable(key) for key in keys]
    return keys


def _hashable(key: Any) -> Any:
    if type(key) is list:
        return ListKey(map(_hashable, key))
    return tuple(map(_hashable, key)) if type(key) is tuple else key
