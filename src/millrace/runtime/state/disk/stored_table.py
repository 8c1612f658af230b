"""The records of one table in a task's store: its keys begin with a prefix of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from operator import itemgetter
from typing import Any

from millrace.runtime.state.disk.keys import decode, parts
from millrace.runtime.state.disk.reader import Reader
from millrace.runtime.state.disk.records import SHARED, find, identities

TOGETHER = 256
"""The number of entries that a walk over the table reads at a time; the walk may last longer than a read
transaction."""

Found = tuple[Any, bytes]
"""(identity, payload)"""


class StoredTable:
    """Reads the records of one table: its keys begin with ``prefix``, which is None until the store knows the table."""

    __slots__ = ("prefix", "reader")

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.prefix: bytes | None = None

    def payload(self, key: bytes, identity: Any) -> bytes | None:
        """The payload of an identity under a key (without the prefix); None: there is none."""
        if self.prefix is None:
            return None
        record = self.reader.get(self.prefix + key)
        return find(record, identity) if record is not None and record[0] == SHARED else record

    def below(self, base: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All (key without the prefix, record) whose key begins with ``base``."""
        if self.prefix is None:
            return
        length = len(self.prefix)
        for key, record in self.reader.below(self.prefix + base):
            yield key[length:], record

    def runs(self, size: int) -> Iterator[tuple[list[bytes], list[bytes]]]:
        """(keys without the prefix, records) of the whole table, at most ``size`` at a time; nothing may change
        meanwhile."""
        if self.prefix is None:
            return
        length = len(self.prefix)
        for run in self.reader.runs(self.prefix, size):
            yield [key[length:] for key, _ in run], [record for _, record in run]

    def onward(self, start: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All (key without the prefix, record) from ``start`` on; nothing may change meanwhile."""
        if self.prefix is None:
            return
        length = len(self.prefix)
        for key, record in self.reader.after(self.prefix, self.prefix + start):
            yield key[length:], record

    def first(self, start: bytes) -> bytes | None:
        """The first key (without the prefix) that is ``start`` or later; None: there is none."""
        found = next(self.onward(start), None)
        return None if found is None else found[0]

    def last(self, base: bytes) -> tuple[bytes, bytes] | None:
        """The last entry of ``below`` whose key continues with a byte less than 255."""
        if self.prefix is None:
            return None
        found = self.reader.last(self.prefix + base, self.prefix + base + b"\xff")
        return None if found is None else (found[0][len(self.prefix) :], found[1])

    def walk(self, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """All (key without the prefix, record) of the table from ``start`` on, also across versions of the store."""
        while self.prefix is not None:
            prefix = self.prefix
            some = list(islice(self.reader.after(prefix, prefix + start), TOGETHER))
            for key, record in some:
                yield key[len(prefix) :], record
            if len(some) < TOGETHER:
                return
            start = some[-1][0][len(prefix) :] + b"\0"


def contents(entries: Iterable[tuple[bytes, bytes]], place: int = 0) -> Iterator[Found]:
    """(identity, payload) of records. An identity that is not in its record is the end of the key, from ``place``
    on.
    """
    for key, record in entries:
        if record[0] == SHARED:
            yield from identities(record)
        else:
            yield decode(key[place:]), record


def in_order(values: Iterable[Any]) -> list[tuple[bytes, Any]]:
    """(part, value) of addresses, in the order of the parts."""
    values = list(values)
    if set(map(type, values)) == {int}:
        values.sort()  # nearly the order of the parts, and numbers compare much faster than bytes
    pairs = list(zip(parts(values), values))
    pairs.sort(key=itemgetter(0))
    return pairs
