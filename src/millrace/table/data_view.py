"""``ListView`` and ``MapView``: a list and a dict in the accumulator of an aggregate function, stored entry by entry
in state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Generic, TypeVar

from millrace.runtime.exchange.keys import with_one_nan

__all__ = ["DataView", "ListView", "MapView", "RemovingIterator"]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class DataView(ABC):
    """A collection in an accumulator whose type says LIST_VIEW or MAP_VIEW.

    >>> issubclass(ListView, DataView), issubclass(MapView, DataView)
    (True, True)
    """

    @abstractmethod
    def clear(self) -> None:
        """Remove everything."""


class ListView(DataView, Generic[T]):
    """A list in an accumulator. This class holds it in memory; the runtime replaces it by one that reads and writes
    state.

    >>> view = ListView()
    >>> view.add("a")
    >>> view.add_all(["b", "c"])
    >>> list(view.get())
    ['a', 'b', 'c']
    """

    def __init__(self) -> None:
        self._list: list[T] = []

    def get(self) -> Iterable[T]:
        """The elements."""
        return self._list

    def add(self, value: T) -> None:
        """Add one element."""
        self._list.append(value)

    def add_all(self, values: list[T]) -> None:
        """Add several elements."""
        self._list.extend(values)

    def clear(self) -> None:
        """Remove all elements."""
        self._list = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListView) and list(self.get()) == list(other.get())

    def __hash__(self) -> int:
        return hash(tuple(self.get()))

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())


class _Entries(Collection[T]):
    """What a map has, in one of three forms."""

    def __init__(self, entries: dict[Any, Any], form: Callable[[Any], T]) -> None:
        self._entries = entries
        self._form = form

    def __iter__(self) -> RemovingIterator[T]:
        return RemovingIterator(self._entries, self._form)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, value: object) -> bool:
        return any(each == value for each in self)


class RemovingIterator(Iterator[T]):
    """Goes through the keys that a map had at first, and can take the last one out."""

    def __init__(self, entries: dict[Any, Any], form: Callable[[Any], T]) -> None:
        self._entries = entries
        self._form = form
        self._keys = iter(list(entries))
        self._last: list[Any] = []

    def __next__(self) -> T:
        self._last[:] = [next(self._keys)]
        return self._form(self._last[0])

    def remove(self) -> None:
        """:raises IndexError: nothing has come, or it was taken out already."""
        del self._entries[self._last.pop()]


class MapView(DataView, Generic[K, V]):
    """A dict in an accumulator. This class holds it in memory; the runtime replaces it by one that reads and writes
    state.

    >>> view = MapView()
    >>> view.put("ink", 3)
    >>> view.get("ink"), view.contains("pen"), list(view.items())
    (3, False, [('ink', 3)])
    """

    def __init__(self) -> None:
        self._dict: dict[K, V] = {}

    def get(self, key: K) -> V:
        """:raises KeyError: it is not there."""
        return self._dict[with_one_nan(key)]

    def put(self, key: K, value: V) -> None:
        """Set the value of a key."""
        self._dict[with_one_nan(key)] = value

    def put_all(self, dict_value: dict[K, V]) -> None:
        """Set the values of several keys."""
        self._dict.update(zip(map(with_one_nan, dict_value), dict_value.values()))

    def remove(self, key: K) -> None:
        """:raises KeyError: it is not there.

        >>> view = MapView()
        >>> view.put("ink", 3)
        >>> view.remove("ink")
        >>> view.is_empty()
        True
        """
        del self._dict[with_one_nan(key)]

    def contains(self, key: K) -> bool:
        """Whether there is a value for the key."""
        return with_one_nan(key) in self._dict

    def items(self) -> Iterable[tuple[K, V]]:
        """Iterators of items, keys and values have ``remove()``, which takes what came last out of the map."""
        return _Entries(self._dict, lambda key: (key, self._dict[key]))

    def keys(self) -> Iterable[K]:
        """All keys."""
        return _Entries(self._dict, lambda key: key)

    def values(self) -> Iterable[V]:
        """All values."""
        return _Entries(self._dict, lambda key: self._dict[key])

    def is_empty(self) -> bool:
        """Whether there is no entry."""
        return not any(True for _ in self.keys())

    def clear(self) -> None:
        """Remove all entries."""
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
