"""An adapter by which the tables made for LMDB use any ordered store: transactions and cursors over four calls.

The store has one writer and no other reader, so a transaction only has to gather its changes.
"""

from __future__ import annotations

from collections.abc import Iterator

from millrace.common.state.storage import KeyValueStore


class NoError(Exception):
    """Never raised."""


class StoreEnvironment:
    """The part of ``Environment`` that ``Reader`` and ``Writer`` use, over a ``KeyValueStore``."""

    failure: type[Exception] = Exception
    """the base class of errors that reading may raise: any error"""
    full: type[Exception] = NoError
    """the error for a full memory map, which such a store never raises"""

    def __init__(self, store: KeyValueStore) -> None:
        self._store = store

    def explained(self, error: Exception) -> Exception:
        """The error to raise for an error of the store: the same one, because nothing more is known about it."""
        return error

    def begin(self) -> Transaction:
        return Transaction(self._store)

    def end(self, transaction: Transaction) -> None:
        transaction.abort()

    def write(self) -> Transaction:
        return Transaction(self._store)

    def grow(self) -> None:
        """Does nothing: there is no memory map that could be full."""


class Transaction:
    """A transaction: gathers changes for the store."""

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
        """Write the gathered changes to the store; more changes may follow."""
        if self._changes:
            self.store.write(sorted(self._changes.items()))
            self._changes = {}

    def abort(self) -> None:
        self._changes = {}


class Cursor:
    """A position among the sorted entries. It also sees what its transaction has written."""

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
        """Go to the first entry whose key is ``start`` or later; False: there is none."""
        self._transaction.commit()
        self._start, self._rest = start, self._transaction.store.scan(start)
        self._found = next(self._rest, None)
        return self._found is not None

    def iternext(self) -> Iterator[tuple[bytes, bytes]]:
        """The current entry and all later ones."""
        if self._found is not None:
            yield self._found
            yield from self._rest

    def prev(self) -> bool:
        """Go to the entry before the requested key; False: there is none."""
        self._found = self._transaction.store.last_before(self._start)
        return self._found is not None

    def last(self) -> bool:
        """Go to the last entry, after ``set_range`` has found none."""
        return self.prev()

    def key(self) -> bytes:
        return self.item()[0]

    def item(self) -> tuple[bytes, bytes]:
        assert self._found is not None, "the cursor is at no entry"
        return self._found

    def putmulti(self, entries: list[tuple[bytes, bytes]]) -> None:
        for key, value in entries:
            self._transaction.put(key, value)
