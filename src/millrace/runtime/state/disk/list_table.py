"""Lists on disk, in chunks: the cost of appending depends on the appended elements, not on the length of the list.

The key of a chunk is the address of its list and the index of its first element. Elements are appended to the last
chunk while it is small.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from operator import eq
from typing import Any

from millrace.runtime.state.disk.keys import decode, is_plain, part
from millrace.runtime.state.disk.reader import Reader
from millrace.runtime.state.disk.records import SHARED, decode_value, encode_value, find, identities
from millrace.runtime.state.disk.stored_table import in_order
from millrace.runtime.state.disk.tables import READS, DiskTable
from millrace.runtime.state.disk.writer import Writer
from millrace.runtime.state.tables import ABSENT, ListTable

SMALL = 1_024
"""Bytes of the last chunk from which on appended elements get a chunk of their own."""
LONGEST = 4_096
"""The most elements in a chunk."""
REPLACED = -1

_PLACE = 8
"""bytes of a chunk's index in its key"""


class _Changes:
    """The changes of one list since the store's version."""

    __slots__ = ("added", "fresh")

    def __init__(self, fresh: bool, added: list[Any]) -> None:
        self.fresh = fresh
        """whether the stored list is replaced"""
        self.added = added


class DiskListTable(DiskTable, ListTable):
    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        del self.rows  # nothing here may use them
        self._changes: dict[Any, _Changes] = {}
        self.touched: dict[Any, int] = {}
        """address -> number of elements of ``added`` that the last delta contained; ``REPLACED`` if the whole list is
        new"""
        self._read: dict[Any, list[Any]] = {}
        self._read_elements = 0

    # -- what states do -------------------------------------------------------------------------------------------

    def row(self, at: Any) -> Any:
        changes = self._changes.get(at)
        if changes is None:
            return self._stored(at) or None
        return (changes.added if changes.fresh else [*self._stored(at), *changes.added]) or None

    def append(self, at: Any, value: Any) -> None:
        changes = self._changes.get(at)
        if changes is None:
            changes = self._changes[at] = _Changes(False, [])
        if at not in self.touched:
            self.touched[at] = len(changes.added)
        changes.added.append(value)

    def replace(self, at: Any, values: list[Any]) -> None:
        self._changes[at] = _Changes(True, list(values))
        self.touched[at] = REPLACED

    def remove(self, at: Any) -> None:
        if self._exists(at):
            self.replace(at, [])

    def _exists(self, at: Any) -> bool:
        changes = self._changes.get(at)
        if changes is not None and (changes.fresh or changes.added):
            return bool(changes.added)
        return self._length(at) > 0

    def addresses(self) -> Iterator[Any]:
        before = {at: self._exists(at) for at in self._changes}
        yield from (at for at, exists in before.items() if exists)
        yield from (at for at in self._stored_addresses() if at not in before and self._exists(at))

    # -- what the store has ---------------------------------------------------------------------------------------

    def _stored(self, at: Any) -> list[Any]:
        """The stored elements of a list; not a copy."""
        row = self._read.get(at)
        if row is None:
            base, row = _base(at), []
            for _, record in self.shelf.below(base):
                payload = find(record, at) if record[0] == SHARED else record
                if payload is not None:
                    row += decode_value(payload)
            if self._read_elements + len(row) >= READS:
                self._read, self._read_elements = {}, 0
            self._read[at] = row
            self._read_elements += len(row) + 1
        return row

    def _length(self, at: Any) -> int:
        """The number of stored elements of a list."""
        if at in self._read:
            return len(self._read[at])
        base = _base(at)
        found = self.shelf.last(base)
        if found is None:
            return 0
        key, record = found
        if record[0] == SHARED:
            return len(self._stored(at))
        return _place_of(key) + len(decode_value(record))

    def _stored_addresses(self) -> Iterator[Any]:
        for key, record in self.shelf.walk():
            if _place_of(key) > 0:
                continue
            if record[0] == SHARED:
                yield from (at for at, _ in identities(record))
            else:
                yield decode(key[1:-_PLACE])

    # -- deltas ---------------------------------------------------------------------------------------------------

    def delta(self) -> dict[Any, Any]:
        deltas: dict[Any, Any] = {}
        for at, known in self.touched.items():
            changes = self._changes[at]
            if known == REPLACED:
                deltas[at] = (0, list(changes.added)) if changes.added else ABSENT
            else:
                before = 0 if changes.fresh else self._length(at)
                deltas[at] = (before + known, changes.added[known:])
        self.touched = {}
        return deltas

    def apply(self, changes: dict[Any, Any]) -> None:
        for at, change in changes.items():
            kept, added = (0, ()) if change is ABSENT else change
            known = self._changes.get(at)
            if kept == 0:
                self._changes[at] = _Changes(True, list(added))
            elif known is None:
                self._changes[at] = _Changes(False, list(added))
            else:  # lists are replaced or appended to, so all that there was is kept
                known.added += added

    def pending(self) -> int:
        return len(self._changes)

    def forget(self) -> None:
        self._changes.clear()
        self._read, self._read_elements = {}, 0

    def flush(self, writer: Writer, prefix: bytes) -> None:
        for encoded, at in in_order(self._changes):
            changes, base = self._changes[at], prefix + bytes((len(encoded),)) + encoded
            plain = is_plain(at, encoded)
            place, elements = 0, changes.added
            if changes.fresh:
                writer.remove_below(base, partial(eq, at))
            else:
                place, last = _end(writer, base, at, plain)
                elements = last + elements
            for start in range(0, len(elements), LONGEST):
                key = base + (place + start).to_bytes(_PLACE, "big")
                payload = encode_value(elements[start : start + LONGEST])
                if plain:
                    writer.put(key, payload)
                else:
                    writer.put_shared(key, at, payload)

    def everything(self) -> Iterator[tuple[Any, Any, int]]:
        left = dict(self._changes)
        for at, row in self._stored_lists():
            changes = self._changes.get(at)
            if changes is None:
                yield at, (0, row), len(row)
            elif not changes.fresh:
                del left[at]
                row += changes.added
                yield at, (0, row), len(row)
        rest = ((at, changes.added) for at, changes in left.items() if changes.added)
        yield from ((at, (0, row), len(row)) for at, row in rest)

    def _stored_lists(self) -> Iterator[tuple[Any, list[Any]]]:
        """All stored lists as (address, list), in one walk."""
        base, lists = b"", dict[Any, list[Any]]()
        for key, record in self.shelf.below(b""):
            if key[:-_PLACE] != base:
                yield from lists.items()
                base, lists = key[:-_PLACE], {}
            for at, payload in identities(record) if record[0] == SHARED else ((decode(base[1:]), record),):
                lists.setdefault(at, []).extend(decode_value(payload))
        yield from lists.items()


def _base(at: Any) -> bytes:
    """The prefix of a list's keys."""
    encoded = part(at)
    return bytes((len(encoded),)) + encoded


def _place_of(key: bytes) -> int:
    return int.from_bytes(key[-_PLACE:], "big")


def _end(writer: Writer, base: bytes, at: Any, plain: bool) -> tuple[int, list[Any]]:
    """Where appended elements are written: the index of the chunk, and its present elements, which are written again
    with them."""
    if plain:
        found = writer.last(base, base + b"\xff")
        chunks = [] if found is None else [found]
    else:
        chunks = list(writer.below(base))
    place, last = 0, b""
    for key, record in chunks:
        payload = find(record, at) if record[0] == SHARED else record
        if payload is not None:
            place, last = _place_of(key), payload
    elements: list[Any] = decode_value(last) if last else []
    return (place, elements) if len(last) < SMALL else (place + len(elements), [])
