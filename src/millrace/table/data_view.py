"""Lists and dicts in the accumulators of aggregate functions, kept entry by entry in state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

__all__ = ["DataView", "ListView", "MapView"]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class DataView(ABC):
    """A collection in an accumulator whose type says LIST_VIEW or MAP_VIEW."""

    @abstractmethod
    def clear(self) -> None: ...


class ListView(DataView, Generic[T]):
    """A list. In memory here; the runtime puts one in its place that reads and writes state."""

    def __init__(self) -> None:
        self._list: list[T] = []

    def get(self) -> Iterable[T]:
        return self._list

    def add(self, value: T) -> None:
        self._list.append(value)

    def add_all(self, values: list[T]) -> None:
        self._list.extend(values)

    def clear(self) -> None:
        self._list = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListView) and list(self.get()) == list(other.get())

    def __hash__(self) -> int:
        return hash(tuple(self.get()))

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())


class MapView(DataView, Generic[K, V]):
    """A dict. In memory here; the runtime puts one in its place that reads and writes state."""

    def __init__(self) -> None:
        self._dict: dict[K, V] = {}

    def get(self, key: K) -> V:
        """:raises KeyError: it is not there."""
        return self._dict[key]

    def put(self, key: K, value: V) -> None:
        self._dict[key] = value

    def put_all(self, dict_value: dict[K, V]) -> None:
        self._dict.update(dict_value)

    def remove(self, key: K) -> None:
        """:raises KeyError: it is not there."""
        del self._dict[key]

    def contains(self, key: K) -> bool:
        return key in self._dict

    def items(self) -> Iterable[tuple[K, V]]:
        return self._dict.items()

    def keys(self) -> Iterable[K]:
        return self._dict.keys()

    def values(self) -> Iterable[V]:
        return self._dict.values()

    def is_empty(self) -> bool:
        return not any(True for _ in self.keys())

    def clear(self) -> None:
        self._dict.clear()

    def __contains__(self, key: Any) -> bool:
        return self.contains(key)

    def __getitem__(self, key: K) -> V:
        return self.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MapView) and dict(self.items()) == dict(other.items())

    __hash__ = None  # type: ignore[assignment]
