"""The base of tables on disk, and the table with one object per address."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, MutableMapping
from itertools import islice
from operator import itemgetter
from typing import Any

from millrace.runtime.state.address import Scoped
from millrace.runtime.state.disk.keys import decode_all, is_plain, part
from millrace.runtime.state.disk.reader import Reader
from millrace.runtime.state.disk.records import (
    any_shared,
    decode_value,
    decode_values,
    encode_value,
    encode_values,
)
from millrace.runtime.state.disk.stored_table import StoredTable, contents, in_order
from millrace.runtime.state.disk.writer import Writer
from millrace.runtime.state.tables import ABSENT, Table, ValueTable

READS = 10_000
"""The number of read values that a table keeps in memory."""
PIECE = 10_000
"""The number of entries in a piece of the full state."""
TOGETHER = 10_000
"""The number of entries that are written in one call."""

_UNKNOWN = object()


class DiskTable(Table):
    """A table whose content is the stored one, with the changes since then in memory."""

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self.shelf = StoredTable(reader)

    @abstractmethod
    def pending(self) -> int:
        """The number of changed entries."""

    @abstractmethod
    def forget(self) -> None:
        """Drop the changes in memory, because the store contains them now."""

    @abstractmethod
    def flush(self, writer: Writer, prefix: bytes) -> None:
        """Write the changes to the store."""

    @abstractmethod
    def everything(self) -> Iterator[tuple[Any, Any, int]]:
        """(address, change onto an empty table, its number of entries) for the whole content, in one walk; nothing may
        change meanwhile."""

    def pieces(self) -> Iterator[dict[Any, Any]]:
        """The whole content as deltas onto an empty table that are applied one after the other."""
        piece: dict[Any, Any] = {}
        size = 0
        for at, change, entries in self.everything():
            piece[at] = change
            size += entries
            if size >= PIECE:
                yield piece
                piece, size = {}, 0
        if piece:
            yield piece

    def entries(self) -> dict[Any, Any]:
        raise NotImplementedError("what is on disk may not fit into memory: ask for its pieces")

    def keys(self) -> Iterator[Any]:
        seen = set()
        for at in self.visible():
            if at.__class__ is not Scoped:
                yield at
            elif at.key not in seen and self.content(at.key) is None:
                seen.add(at.key)
                yield at.key


class DiskRows(MutableMapping[Any, Any]):
    """The entries of a table with one object per address."""

    __slots__ = ("_read", "_shelf", "changes")

    def __init__(self, shelf: StoredTable) -> None:
        self.changes: dict[Any, Any] = {}
        """address -> value; ``ABSENT`` where it was removed"""
        self._read: dict[Any, Any] = {}
        self._shelf = shelf

    def get(self, at: Any, default: Any = None) -> Any:
        value = self.changes.get(at, _UNKNOWN)
        if value is _UNKNOWN:
            value = self._stored(at)
        return default if value is ABSENT else value

    def _stored(self, at: Any) -> Any:
        read = self._read
        value = read.get(at, _UNKNOWN)
        if value is _UNKNOWN:
            payload = self._shelf.payload(part(at), at)
            if payload is None:
                return ABSENT
            if len(read) >= READS:
                read.clear()
            value = read[at] = decode_value(payload)
        return value

    def __getitem__(self, at: Any) -> Any:
        value = self.get(at, ABSENT)
        if value is ABSENT:
            raise KeyError(at)
        return value

    def __contains__(self, at: Any) -> bool:
        return self.get(at, ABSENT) is not ABSENT

    def __setitem__(self, at: Any, value: Any) -> None:
        self.changes[at] = value

    def __delitem__(self, at: Any) -> None:
        if at not in self:
            raise KeyError(at)
        self.changes[at] = ABSENT

    def pop(self, at: Any, *default: Any) -> Any:
        value = self.get(at, ABSENT)
        if value is not ABSENT:
            self.changes[at] = ABSENT
        elif default:
            value = default[0]
        else:
            raise KeyError(at)
        return value

    def __iter__(self) -> Iterator[Any]:
        """All addresses in no particular order. The rows may change meanwhile."""
        before = dict(self.changes)
        yield from (at for at, value in before.items() if value is not ABSENT)
        yield from (at for at, _ in contents(self._shelf.walk()) if at not in before and at in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def pieces(self) -> Iterator[dict[Any, Any]]:
        """All rows in parts; they must not change meanwhile."""
        changes = self.changes
        changed = iter([(at, value) for at, value in changes.items() if value is not ABSENT])
        while some := dict(islice(changed, PIECE)):
            yield some
        for keys, records in self._shelf.runs(PIECE):
            if any_shared(records):
                found = {at: decode_value(payload) for at, payload in contents(zip(keys, records))}
            else:
                found = dict(zip(decode_all(keys), decode_values(records)))
            if changes:
                found = {at: value for at, value in found.items() if at not in changes}
            if found:
                yield found

    def forget_reads(self) -> None:
        self._read.clear()


class DiskValueTable(DiskTable, ValueTable):
    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        self.rows: DiskRows = DiskRows(self.shelf)

    def addresses(self) -> Iterator[Any]:
        return iter(self.rows)

    def delta(self) -> dict[Any, Any]:
        value = self.rows.changes.__getitem__
        changes = {at: value(at) for at in self.touched}
        self.touched.clear()
        return changes

    def apply(self, changes: dict[Any, Any]) -> None:
        self.rows.changes.update(changes)

    def pending(self) -> int:
        return len(self.rows.changes)

    def forget(self) -> None:
        self.rows.changes.clear()
        self.rows.forget_reads()

    def flush(self, writer: Writer, prefix: bytes) -> None:
        changes = self.rows.changes
        ordered = in_order(changes)
        for start in range(0, len(ordered), TOGETHER):
            self._flush(writer, prefix, ordered[start : start + TOGETHER])

    def _flush(self, writer: Writer, prefix: bytes, ordered: list[tuple[bytes, Any]]) -> None:
        """Write the changes at some addresses, which are given with their key parts."""
        values = list(map(self.rows.changes.__getitem__, map(itemgetter(1), ordered)))
        if type(ABSENT) not in set(map(type, values)) and set(map(type, map(itemgetter(1), ordered))) == {int}:
            writer.put_all(list(zip([prefix + encoded for encoded, _ in ordered], encode_values(values))))
            return
        puts = []
        for (encoded, at), value in zip(ordered, values):
            key = prefix + encoded
            if value is ABSENT:
                writer.remove(key, at)
            elif at.__class__ is int or is_plain(at, encoded):
                puts.append((key, encode_value(value)))
            else:
                writer.put_shared(key, at, encode_value(value))
        writer.put_all(puts)

    def everything(self) -> Iterator[tuple[Any, Any, int]]:
        return ((at, value, 1) for piece in self.pieces() for at, value in piece.items())

    def pieces(self) -> Iterator[dict[Any, Any]]:
        return self.rows.pieces()
