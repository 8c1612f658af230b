"""Lets the tables that were made for LMDB read and write any ordered store: transactions and cursors over four calls.

There is one writer and no other reader, so a transaction only has to gather what is written.
"""

from __future__ import annotations

from collections.abc import Iterator

from millrace.common.state.storage import KeyValueStore


class NoError(Exception):
    """Never raised."""


class StoreEnvironment:
    """What ``Reader`` and ``Writer`` ask of an environment."""

    failure: type[Exception] = Exception
    """what reading may raise: anything"""
    full: type[Exception] = NoError
    """a store has no map that would have to grow"""

    def __init__(self, store: KeyValueStore) -> None:
        self._store = store

    def explained(self, error: Exception) -> Exception:
        """Its own words are what is known."""
        return error

    def begin(self) -> Transaction:
        return Transaction(self._store)

    def end(self, transaction: Transaction) -> None:
        transaction.abort()

    def write(self) -> Transaction:
        return Transaction(self._store)

    def grow(self) -> None:
        """There is nothing that could be full."""


class Transaction:
    """Changes on their way to the store."""

    def __init__(self, store: KeyValueStore) -> None:
        self.store = store
        self._changes: dict[bytes, bytes | None] = {}

    def get(self, key: bytes) -> bytes | None:
        return self._changes[key] if key in self._changes else self.store.get(key)

    def put(self, key: bytes, value: bytes) -> None:
        self._changes[key] = value

    def delete(self, key: bytes) -> None:
        self._changes[key] = None

    def cursor(self) -> Cursor:
        return Cursor(self)

    def commit(self) -> None:
        """Hand the changes over; others may follow."""
        if self._changes:
            self.store.write(sorted(self._changes.items()))
            self._changes = {}

    def abort(self) -> None:
        self._changes = {}


class Cursor:
    """A place among the entries. It sees what its transaction has written."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._start = b""
        self._found: tuple[bytes, bytes] | None = None
        self._rest: Iterator[tuple[bytes, bytes]] = iter(())

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *error: object) -> None:
        self._rest = iter(())

    def set_range(self, start: bytes) -> bool:
        """Go to the first entry whose key is ``start`` or later; False without."""
        self._transaction.commit()
        self._start, self._rest = start, self._transaction.store.scan(start)
        self._found = next(self._rest, None)
        return self._found is not None

    def iternext(self) -> Iterator[tuple[bytes, bytes]]:
        """The entry at hand and all that follow."""
        if self._found is not None:
            yield self._found
            yield from self._rest

    def prev(self) -> bool:
        """Go to the entry before the place that was asked for; False without."""
        self._found = self._transaction.store.last_before(self._start)
        return self._found is not None

    def last(self) -> bool:
        """Go to the last entry, when there is none from the place on that was asked for."""
        return self.prev()

    def key(self) -> bytes:
        return self.item()[0]

    def item(self) -> tuple[bytes, bytes]:
        assert self._found is not None, "the cursor is at no entry"
        return self._found

    def putmulti(self, entries: list[tuple[bytes, bytes]]) -> None:
        for key, value in entries:
            self._transaction.put(key, value)
