"""Writes changes into an environment: all in one transaction or, if they are many, in several."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, takewhile
from typing import Any

from millrace.runtime.state.disk.environment import Environment
from millrace.runtime.state.disk.ordered import StoreEnvironment
from millrace.runtime.state.disk.reader import last_before
from millrace.runtime.state.disk.records import SHARED, find, with_payload, without

BATCH = 20_000
"""The most entries of one transaction, because LMDB keeps changed pages in memory. Larger ones are slower, too."""


class Writer:
    """The only writer of an environment. The caller must hold the lock of the task's directory.

    :param at_once: whether all changes must become visible together, in one transaction.
    """

    def __init__(self, environment: Environment | StoreEnvironment, at_once: bool) -> None:
        self._environment = environment
        self.at_once = at_once
        self.map_number = 0
        """number of the next map entry"""
        self._begin()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is None:
            self._commit()
        else:
            self._txn.abort()

    def _begin(self) -> None:
        self._txn = self._environment.write()
        self._cursor = self._txn.cursor()
        self._written = 0
        self._steps: list[Callable[[], None]] = []
        """the steps of the transaction so far"""

    def _do(self, step: Callable[[], None]) -> None:
        try:
            step()
        except self._environment.full:
            self._txn.abort()
            self._grow()
            self._do(step)
        else:
            self._steps.append(step)

    def _grow(self) -> None:
        """The memory map is full and the transaction lost: enlarge the map and repeat the steps."""
        steps, written = self._steps, self._written
        self._environment.grow()
        self._begin()
        self._written = written
        for step in steps:
            self._do(step)

    def _commit(self) -> None:
        try:
            self._txn.commit()
        except self._environment.full:
            self._grow()
            self._commit()
        except self._environment.failure as error:
            raise self._environment.explained(error) from error

    def commit(self) -> None:
        """Make everything written so far visible, and begin the next transaction."""
        self._commit()
        self._begin()

    def _wrote(self, count: int) -> None:
        self._written += count
        if self._written >= BATCH and not self.at_once:
            self.commit()

    def take_map_numbers(self, count: int) -> int:
        """Reserve this many numbers for map entries; returns the first of them."""
        first = self.map_number
        self.map_number += count
        return first

    def get(self, key: bytes) -> bytes | None:
        record: bytes | None = self._txn.get(key)
        return record

    def payload(self, key: bytes, identity: Any) -> bytes | None:
        """The payload of an identity under a key; None: there is none."""
        record = self.get(key)
        return find(record, identity) if record is not None and record[0] == SHARED else record

    def put_all(self, entries: list[tuple[bytes, bytes]]) -> None:
        """Store payloads under keys that identify their values, in the order of keys."""
        self._do(lambda: self._put_all(entries))
        self._wrote(len(entries))

    def _put_all(self, entries: list[tuple[bytes, bytes]]) -> None:
        self._cursor.putmulti(entries)

    def put(self, key: bytes, payload: bytes) -> None:
        """Store one payload under a key that identifies its value."""
        self._put(key, payload)
        self._wrote(1)

    def _put(self, key: bytes, record: bytes) -> None:
        self._do(lambda: self._txn.put(key, record))

    def put_shared(self, key: bytes, identity: Any, payload: bytes) -> None:
        """Store a payload under a key that other values may share."""
        self._put(key, with_payload(self.get(key), identity, payload))
        self._wrote(1)

    def delete(self, key: bytes) -> None:
        """Delete a whole record, with all values that share it, if it exists."""
        self._do(lambda: self._txn.delete(key))
        self._wrote(1)

    def remove(self, key: bytes, identity: Any) -> None:
        record = self.get(key)
        if record is not None:
            self._remove(key, record, lambda other: bool(other == identity))
            self._wrote(1)

    def remove_below(self, base: bytes, is_removed: Callable[[Any], bool] = lambda identity: True) -> None:
        """Delete all records whose key begins with ``base``; in shared records only identities for which ``is_removed``
        holds."""
        start: bytes | None = base
        while start is not None:
            found = self._some_below(base, start)
            for key, record in found:
                self._remove(key, record, is_removed)
            start = found[-1][0] + b"\0" if len(found) == BATCH else None
            self._wrote(len(found))

    def below(self, base: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All (key, record) whose key begins with ``base``, in order; write nothing meanwhile."""
        cursor = self._cursor
        entries = cursor.iternext() if cursor.set_range(base) else ()
        return takewhile(lambda entry: entry[0].startswith(base), entries)

    def last(self, base: bytes, end: bytes) -> tuple[bytes, bytes] | None:
        """The last (key, record) below ``base`` whose key is before ``end``."""
        return last_before(self._cursor, base, end)

    def _some_below(self, base: bytes, start: bytes) -> list[tuple[bytes, bytes]]:
        cursor = self._cursor
        entries = cursor.iternext() if cursor.set_range(start) else ()
        return list(islice(takewhile(lambda entry: entry[0].startswith(base), entries), BATCH))

    def _remove(self, key: bytes, record: bytes, is_removed: Callable[[Any], bool]) -> None:
        left = without(record, is_removed) if record[0] == SHARED else None
        if left is None:
            self._do(lambda: self._txn.delete(key))
        else:
            self._put(key, left)
