"""State by address for operators that process many keys at a time: one object, or a dict entry by entry.

Both interfaces exist with time to live and without. Without it they are the tables themselves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from millrace.common.state import MapStateDescriptor, StateTtlConfig, ValueStateDescriptor
from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.tables import MapTable, ValueTable


class KeyedValue(ABC):
    """One object per address. An object that is changed in place must be put again."""

    @abstractmethod
    def get(self, at: Any) -> Any:
        """The object; None: there is none."""

    @abstractmethod
    def put(self, at: Any, value: Any) -> None:
        """Store an object, which must not be None."""

    @abstractmethod
    def remove(self, at: Any) -> None: ...


class KeyedMap(ABC):
    """A dict per address, in the order in which keys were added."""

    @abstractmethod
    def get(self, at: Any, key: Any) -> Any:
        """The value of a key; None: there is none."""

    @abstractmethod
    def put(self, at: Any, key: Any, value: Any) -> None:
        """Store a value, which must not be None."""

    @abstractmethod
    def remove(self, at: Any, key: Any) -> None: ...

    @abstractmethod
    def items(self, at: Any) -> list[tuple[Any, Any]]:
        """All entries; the map may change meanwhile."""

    @abstractmethod
    def clear(self, at: Any) -> None: ...


class _Value(KeyedValue):
    def __init__(self, table: ValueTable) -> None:
        self._rows, self._touched = table.rows, table.touched

    def get(self, at: Any) -> Any:
        return self._rows.get(at)

    def put(self, at: Any, value: Any) -> None:
        self._rows[at] = value
        self._touched[at] = None

    def remove(self, at: Any) -> None:
        if self._rows.pop(at, None) is not None:
            self._touched[at] = None


class _Map(KeyedMap):
    def __init__(self, table: MapTable) -> None:
        self._table = table

    def get(self, at: Any, key: Any) -> Any:
        return self._table.get(at, key)

    def put(self, at: Any, key: Any, value: Any) -> None:
        self._table.put(at, key, value)

    def remove(self, at: Any, key: Any) -> None:
        self._table.remove_key(at, key)

    def items(self, at: Any) -> list[tuple[Any, Any]]:
        return list((self._table.row(at) or {}).items())

    def clear(self, at: Any) -> None:
        self._table.remove(at)


class _ValueWithTtl(KeyedValue):
    def __init__(self, backend: KeyedStateBackend, descriptor: ValueStateDescriptor) -> None:
        self._view = backend
        self._state = backend.get_state(descriptor)

    def get(self, at: Any) -> Any:
        self._view.at = at
        return self._state.value()

    def put(self, at: Any, value: Any) -> None:
        self._view.at = at
        self._state.update(value)

    def remove(self, at: Any) -> None:
        self._view.at = at
        self._state.clear()


class _MapWithTtl(KeyedMap):
    def __init__(self, backend: KeyedStateBackend, descriptor: MapStateDescriptor) -> None:
        self._view = backend
        self._state = backend.get_map_state(descriptor)

    def get(self, at: Any, key: Any) -> Any:
        self._view.at = at
        return self._state.get(key)

    def put(self, at: Any, key: Any, value: Any) -> None:
        self._view.at = at
        self._state.put(key, value)

    def remove(self, at: Any, key: Any) -> None:
        self._view.at = at
        self._state.remove(key)

    def items(self, at: Any) -> list[tuple[Any, Any]]:
        self._view.at = at
        return list(self._state.items())

    def clear(self, at: Any) -> None:
        self._view.at = at
        self._state.clear()


def keyed_value(backend: KeyedStateBackend, name: str, ttl: int = 0) -> KeyedValue:
    """The state of this name; to be called in ``setup``.

    :param ttl: ms after its last write until an object expires; 0: never.
    """
    if not ttl:
        return _Value(backend.value_table(name))
    descriptor = ValueStateDescriptor(name, Types.PICKLED_BYTE_ARRAY())
    descriptor.enable_time_to_live(_expiring(ttl))
    return _ValueWithTtl(backend, descriptor)


def keyed_map(backend: KeyedStateBackend, name: str, ttl: int = 0) -> KeyedMap:
    """As ``keyed_value``, with a dict; each entry of a dict expires separately."""
    if not ttl:
        return _Map(backend.table_of(name, MapTable.kind))
    descriptor = MapStateDescriptor(name, Types.PICKLED_BYTE_ARRAY(), Types.PICKLED_BYTE_ARRAY())
    descriptor.enable_time_to_live(_expiring(ttl))
    return _MapWithTtl(backend, descriptor)


def _expiring(ttl: int) -> StateTtlConfig:
    """The rules of Flink's SQL operators: processing time since the last write, and expired entries are not visible."""
    return StateTtlConfig.new_builder(Time.milliseconds(ttl)).cleanup_full_snapshot().build()
