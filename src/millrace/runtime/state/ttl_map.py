"""Map state in which each key has a time to live."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from millrace.common.state import MapState
from millrace.runtime.state import keyed
from millrace.runtime.state.address import Addressed
from millrace.runtime.state.keyed import HeapMapState
from millrace.runtime.state.ttl import Entry, Expiry
from millrace.runtime.state.ttl_tables import TtlMapTable


class TtlMapState(MapState[Any, Any]):
    def __init__(self, backend: Addressed, table: TtlMapTable, expiry: Expiry) -> None:
        self._expiry = expiry
        self._inner = HeapMapState(backend, table)

    def _read(self, key: Any) -> Entry | None:
        expiry, inner = self._expiry, self._inner
        now = expiry.access()
        return expiry.read(inner.get(key), now, inner.put, inner.remove, key)

    def get(self, key: Any) -> Any:
        entry = self._read(key)
        return None if entry is None else entry[1]

    def contains(self, key: Any) -> bool:
        return self._read(key) is not None

    def put(self, key: Any, value: Any) -> None:
        self._put(key, value, self._expiry.access())

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        now = self._expiry.access()
        for key, value in dict_value.items():
            self._put(key, value, now)

    def _put(self, key: Any, value: Any, now: int) -> None:
        inner = self._inner
        old = inner.get(key)
        if old is not None:
            if self._expiry.is_hidden(old[0], now):
                inner.remove(key)  # a key that comes back goes to the end, whether or not it was cleaned up before
            else:
                now = max(now, old[0])
        inner.put(key, (now, value))

    def remove(self, key: Any) -> None:
        self._expiry.access()
        self._inner.remove(key)

    def items(self) -> Iterable[tuple[Any, Any]]:
        expiry, inner = self._expiry, self._inner
        now = expiry.access()
        read, put, remove = expiry.read, inner.put, inner.remove
        return iter([(key, entry[1]) for key, entry in inner.items() if read(entry, now, put, remove, key) is not None])

    def keys(self) -> Iterable[Any]:
        return iter([key for key, _ in self.items()])

    def values(self) -> Iterable[Any]:
        return iter([value for _, value in self.items()])

    def is_empty(self) -> bool:
        expiry = self._expiry
        now = expiry.access()
        return all(expiry.is_hidden(stamp, now) for stamp, _ in self._inner.values())

    def clear(self) -> None:
        self._inner.clear()


# Kinds, which entry points name

MAP = replace(keyed.MAP, made=TtlMapState)
