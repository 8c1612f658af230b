"""A draft of a write: changes for an environment that are held in memory in the environment's own form."""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from millrace.common.state.storage import KeyValueStore
from millrace.runtime.state.disk.environment import Environment
from millrace.runtime.state.disk.ordered import NoError, StoreEnvironment, Transaction
from millrace.runtime.state.disk.reader import Reader
from millrace.runtime.state.disk.writer import Writer

TOGETHER = 10_000
"""The number of entries that are written in one call."""

_TABLE = 2
"""length in bytes of a table's key prefix"""


class WriteBatch(StoreEnvironment):
    """An environment with unwritten changes. Readers of the draft see both.

    :param environment: None: no environment exists yet.
    :param on_damage: as for ``Reader``.
    """

    failure = NoError
    """the base class of errors that reading may raise: none, because ``below`` has converted them"""

    def __init__(self, environment: Environment | None, on_damage: Callable[[Exception], Exception]) -> None:
        self.below = Reader(on_damage)
        """reads the environment, while the draft is read"""
        self._environment = environment
        self._layer = _Layer(self.below)
        super().__init__(self._layer)

    def __len__(self) -> int:
        """The number of changed entries."""
        return len(self._layer.changes)

    def begin(self) -> Transaction:
        if self._environment is not None:
            self.below.begin(self._environment)
        return super().begin()

    def end(self, transaction: Transaction) -> None:
        super().end(transaction)
        self.below.end()

    def copy_to(self, writer: Writer, last: bytes) -> None:
        """Write the changes, with the key ``last`` at the end."""
        changes, puts = self._layer.changes, list[tuple[bytes, bytes]]()
        for key in self._layer.changed_from(b""):
            record = changes[key]
            if record is None:
                writer.delete(key)
            elif key != last:
                puts.append((key, record))
                if len(puts) == TOGETHER:
                    writer.put_all(puts)
                    puts = []
        writer.put_all(puts)
        if (record := changes.get(last)) is not None:
            writer.put(last, record)


class _Layer(KeyValueStore):
    """Changes over the content of a reader."""

    def __init__(self, below: Reader) -> None:
        self.changes: dict[bytes, bytes | None] = {}
        self._below = below
        self._keys: dict[bytes, list[bytes]] = {}
        """table prefix -> sorted keys of its changes; tables are written one after the other, so new keys come at the
        end"""

    def get(self, key: bytes) -> bytes | None:
        return self.changes[key] if key in self.changes else self._below.get(key)

    def write(self, changes: Sequence[tuple[bytes, bytes | None]]) -> None:
        for key, _ in changes:
            if key not in self.changes:
                insort(self._keys.setdefault(key[:_TABLE], []), key)
        self.changes.update(changes)

    def scan(self, start: bytes) -> Iterator[tuple[bytes, bytes]]:
        changes = self.changes
        changed = ((key, changes[key]) for key in self.changed_from(start))
        same = (entry for entry in self._below.after(b"", start) if entry[0] not in changes)
        entries: Iterator[tuple[bytes, Any]] = heapq.merge(changed, same, key=itemgetter(0))
        return (entry for entry in entries if entry[1] is not None)

    def changed_from(self, start: bytes) -> Iterator[bytes]:
        """The keys of changes from ``start`` on, in order."""
        for table in sorted(self._keys):
            if table >= start[:_TABLE]:
                keys = self._keys[table]
                yield from (keys[place] for place in range(bisect_left(keys, start), len(keys)))

    def last_before(self, end: bytes) -> tuple[bytes, bytes] | None:
        found = [entry for entry in (self._last_changed(end), self._last_same(end)) if entry is not None]
        return max(found, default=None)

    def _last_changed(self, end: bytes) -> tuple[bytes, bytes] | None:
        for table in sorted(self._keys, reverse=True):
            keys = self._keys[table]
            for place in reversed(range(bisect_left(keys, end))):
                record = self.changes[keys[place]]
                if record is not None:
                    return keys[place], record
        return None

    def _last_same(self, end: bytes) -> tuple[bytes, bytes] | None:
        found = self._below.last(b"", end)
        while found is not None and found[0] in self.changes:
            found = self._below.last(b"", found[0])
        return found
