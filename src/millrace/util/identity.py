"""Dictionaries and sets that know objects by identity (``is``), whatever their ``==`` says.

The nodes of a plan are values: two equal ones may stand at two places, and comparing large ones is slow. Both keep the
objects alive, so that no other one gets an ``id`` that is in use here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping, MutableSet
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class IdentityDict(MutableMapping[K, V]):
    """A dictionary by object.

    >>> one, other = [1], [1]
    >>> found = IdentityDict([(one, "first")])
    >>> one in found, other in found, found[one]
    (True, False, 'first')
    """

    def __init__(self, entries: Iterable[tuple[K, V]] = ()) -> None:
        self._entries = {id(key): (key, value) for key, value in entries}

    def __getitem__(self, key: K) -> V:
        try:
            return self._entries[id(key)][1]
        except KeyError:
            raise KeyError(key) from None

    def __setitem__(self, key: K, value: V) -> None:
        self._entries[id(key)] = key, value

    def __delitem__(self, key: K) -> None:
        try:
            del self._entries[id(key)]
        except KeyError:
            raise KeyError(key) from None

    def __iter__(self) -> Iterator[K]:
        return (key for key, _ in self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return id(key) in self._entries


class IdentitySet(MutableSet[K]):
    """A set of objects.

    >>> one, other = [1], [1]
    >>> found = IdentitySet([one, one])
    >>> one in found, other in found, len(found)
    (True, False, 1)
    """

    def __init__(self, members: Iterable[K] = ()) -> None:
        self._members = {id(member): member for member in members}

    def add(self, value: K) -> None:
        self._members[id(value)] = value

    def discard(self, value: K) -> None:
        self._members.pop(id(value), None)

    def __iter__(self) -> Iterator[K]:
        return iter(self._members.values())

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, value: object) -> bool:
        return id(value) in self._members
