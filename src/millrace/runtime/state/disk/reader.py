"""Reads a task's environment: the content of one version, whatever is written meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, takewhile
from typing import Any

from millrace.runtime.state.disk.environment import Environment
from millrace.runtime.state.disk.ordered import StoreEnvironment


class Reader:
    """A read transaction that all tables of a task share. Between ``end`` and ``begin`` it is empty.

    :param on_damage: called with an error of the store; returns the error to raise instead.
    """

    def __init__(self, on_damage: Callable[[Exception], Exception]) -> None:
        self._on_damage = on_damage
        self._failure: type[Exception] = UnboundLocalError
        self._environment: Environment | StoreEnvironment | None = None
        self._txn: Any = None
        self._get: Callable[[bytes], bytes | None] = _nothing

    def begin(self, environment: Environment | StoreEnvironment) -> None:
        """Begin to read the present content."""
        self.end()
        self._failure = environment.failure
        self._environment, self._txn = environment, environment.begin()
        self._get = self._txn.get

    def end(self) -> None:
        """End the read transaction, so that the space of old pages can be used again."""
        if self._environment is not None:
            self._environment.end(self._txn)
            self._environment, self._txn, self._get = None, None, _nothing

    def get(self, key: bytes) -> bytes | None:
        try:
            return self._get(key)
        except self._failure as error:
            raise self._on_damage(error) from error

    def damaged(self, error: Exception) -> Exception:
        """The error to raise for one of reading what lies beside the environment; the environment is withdrawn."""
        return self._on_damage(error)

    def below(self, base: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All (key, record) whose key begins with ``base``, in order. To be exhausted before ``end``."""
        return self.after(base, base)

    def after(self, base: bytes, start: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All (key, record) whose key begins with ``base`` and is ``start`` or later, in order."""
        if self._txn is None:
            return
        try:
            with self._txn.cursor() as cursor:
                if cursor.set_range(start):
                    for key, record in cursor.iternext():
                        if not key.startswith(base):
                            return
                        yield key, record
        except self._failure as error:
            raise self._on_damage(error) from error

    def runs(self, base: bytes, size: int) -> Iterator[list[tuple[bytes, bytes]]]:
        """The entries of ``below`` in lists of at most ``size``."""
        if self._txn is None:
            return
        try:
            with self._txn.cursor() as cursor:
                entries = cursor.iternext() if cursor.set_range(base) else iter(())
                while run := list(islice(entries, size)):
                    if not run[-1][0].startswith(base):
                        run = list(takewhile(lambda entry: entry[0].startswith(base), run))
                        entries = iter(())
                    yield run
        except self._failure as error:
            raise self._on_damage(error) from error

    def last(self, base: bytes, end: bytes) -> tuple[bytes, bytes] | None:
        """The last (key, record) below ``base`` whose key is before ``end``."""
        if self._txn is None:
            return None
        try:
            with self._txn.cursor() as cursor:
                return last_before(cursor, base, end)
        except self._failure as error:
            raise self._on_damage(error) from error


def _nothing(key: bytes) -> None:
    return None


def last_before(cursor: Any, base: bytes, end: bytes) -> tuple[bytes, bytes] | None:
    """The last (key, record) below ``base`` whose key is before ``end``; None: there is none."""
    found = cursor.prev() if cursor.set_range(end) else cursor.last()
    return cursor.item() if found and cursor.key().startswith(base) else None
