"""Maps on disk, entry by entry: getting or putting an entry takes the same time however large the map is.

The key of an entry is the address of its map and the user's key. Its payload begins with a number that gives the order
of the entries, which is that of a dict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from millrace.runtime.state.disk.keys import decode, is_plain, part
from millrace.runtime.state.disk.reader import Reader
from millrace.runtime.state.disk.records import SHARED, decode_value, encode_value, identities
from millrace.runtime.state.disk.stored_table import StoredTable, in_order
from millrace.runtime.state.disk.tables import DiskTable
from millrace.runtime.state.disk.writer import Writer
from millrace.runtime.state.tables import ABSENT, MapTable

_NUMBER = 8
"""bytes of an entry's number in its payload"""
LARGE = 64
"""number of entries from which on a walk over the addresses skips the rest of a map"""
_NOTHING: dict[Any, Any] = {}


class _Changes:
    """The changes of one map since the store's version."""

    __slots__ = ("fresh", "removed", "values")

    def __init__(self, fresh: bool, values: dict[Any, Any]) -> None:
        self.fresh = fresh
        """whether the stored map is replaced"""
        self.values = values
        """user key -> value, in the order of insertion, for keys that are new or were inserted again"""
        self.removed: dict[Any, None] = {}
        """user keys whose stored entry is deleted, even if the key was inserted again"""

    def remove(self, key: Any) -> None:
        self.values.pop(key, None)
        if not self.fresh:
            self.removed[key] = None

    def do(self, row: dict[Any, Any]) -> None:
        """Apply the changes to a stored map."""
        for key in self.removed:
            row.pop(key, None)
        row.update(self.values)


class DiskMapTable(DiskTable, MapTable):
    in_memory = False

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        del self.rows  # nothing here may use them
        self._changes: dict[Any, _Changes] = {}

    # -- what states do -------------------------------------------------------------------------------------------

    def get(self, at: Any, key: Any) -> Any:
        found = self._find(at, key)
        return None if found is ABSENT else found

    def contains(self, at: Any, key: Any) -> bool:
        return self._find(at, key) is not ABSENT

    def is_empty(self, at: Any) -> bool:
        changes = self._changes.get(at)
        if changes is not None:
            if changes.values or changes.fresh:
                return not changes.values
            return all(key in changes.removed for key, _ in self._stored(at))
        return next(self._stored(at), None) is None

    def row(self, at: Any) -> Any:
        changes = self._changes.get(at)
        if changes is not None and changes.fresh:
            return changes.values or None
        row = _ordered(list(self._stored(at)))
        if changes is not None:
            changes.do(row)
        return row or None

    def put(self, at: Any, key: Any, value: Any) -> None:
        self._of(at).values[key] = value
        self.touched.setdefault(at, {}).setdefault(key, False)

    def remove_key(self, at: Any, key: Any) -> None:
        if self.contains(at, key):
            self._of(at).remove(key)
            self.touched.setdefault(at, {})[key] = True

    def remove(self, at: Any) -> None:
        if not self.is_empty(at):
            self._changes[at] = _Changes(True, {})
            self.touched.pop(at, None)
            self.cleared[at] = None

    def addresses(self) -> Iterator[Any]:
        before = {at: not self.is_empty(at) for at in self._changes}
        yield from (at for at, exists in before.items() if exists)
        yield from (at for at in self._stored_addresses() if at not in before and not self.is_empty(at))

    def _of(self, at: Any) -> _Changes:
        changes = self._changes.get(at)
        if changes is None:
            changes = self._changes[at] = _Changes(False, {})
        return changes

    def _find(self, at: Any, key: Any) -> Any:
        changes = self._changes.get(at)
        if changes is not None:
            if key in changes.values:
                return changes.values[key]
            if changes.fresh or key in changes.removed:
                return ABSENT
        payload = self.shelf.payload(_base(at) + part(key), (at, key))
        return ABSENT if payload is None else decode_value(payload[_NUMBER:])

    # -- what the store has ---------------------------------------------------------------------------------------

    def _stored(self, at: Any) -> Iterator[tuple[Any, bytes]]:
        """The stored entries of one map as (user key, payload)."""
        base = _base(at)
        for key, record in self.shelf.below(base):
            if record[0] != SHARED:
                yield decode(key[len(base) :]), record
            else:
                yield from ((own, payload) for (other, own), payload in identities(record) if other == at)

    def _stored_addresses(self) -> Iterator[Any]:
        """The addresses of all stored maps, each once."""
        start: bytes | None = b""
        while start is not None:
            walk, start, base, passed = self.shelf.walk(start), None, b"", 0
            for key, record in walk:
                if base and key.startswith(base):
                    passed += 1
                    if passed < LARGE:
                        continue
                    start = base + b"\xff"  # on to the next map, however many entries this one has
                    break
                base, passed = _base_of(key), 0
                yield from _addresses_of(base, record, self.shelf)

    def _stored_maps(self) -> Iterator[tuple[Any, dict[Any, Any]]]:
        """All stored maps as (address, map), in one walk."""
        for base, entries in groupby(self.shelf.below(b""), lambda entry: _base_of(entry[0])):
            maps: dict[Any, list[tuple[Any, bytes]]] = {}
            for key, record in entries:
                if record[0] == SHARED:
                    for (at, own), payload in identities(record):
                        maps.setdefault(at, []).append((own, payload))
                else:
                    maps.setdefault(decode(base[1:]), []).append((decode(key[len(base) :]), record))
            yield from ((at, _ordered(found)) for at, found in maps.items())

    # -- deltas ---------------------------------------------------------------------------------------------------

    def delta(self) -> dict[Any, Any]:
        deltas: dict[Any, Any] = {}
        for at in self.cleared | dict.fromkeys(self.touched):
            values = self._changes[at].values
            if at in self.cleared:
                deltas[at] = (True, dict(values), []) if values else ABSENT
                continue
            keys = self.touched[at]
            items = {key: ABSENT for key in keys if key not in values}
            items.update((key, value) for key, value in values.items() if key in keys)
            deltas[at] = (False, items, [key for key, removed in keys.items() if removed and key in values])
        self.touched, self.cleared = {}, {}
        return deltas

    def apply(self, changes: dict[Any, Any]) -> None:
        for at, change in changes.items():
            fresh, items, again = (True, _NOTHING, ()) if change is ABSENT else change
            if fresh:
                self._changes[at] = _Changes(True, dict(items))
                continue
            known = self._of(at)
            for key in again:
                known.remove(key)
            for key, value in items.items():
                if value is ABSENT:
                    known.remove(key)
                else:
                    known.values[key] = value

    def pending(self) -> int:
        return sum(1 + len(changes.values) + len(changes.removed) for changes in self._changes.values())

    def forget(self) -> None:
        self._changes.clear()

    def flush(self, writer: Writer, prefix: bytes) -> None:
        for encoded, at in in_order(self._changes):
            changes, base = self._changes[at], prefix + bytes((len(encoded),)) + encoded
            if changes.fresh:
                writer.remove_below(base, partial(_is_of, at))
            for key in changes.removed:
                writer.remove(base + part(key), (at, key))
            first = writer.take_map_numbers(len(changes.values))
            numbers = {key: first + place for place, key in enumerate(changes.values)}
            plain = is_plain(at, encoded)
            for end, key in in_order(changes.values):
                number = numbers[key].to_bytes(_NUMBER, "big")
                if not changes.fresh and key not in changes.removed:
                    before = writer.payload(base + end, (at, key))
                    number = number if before is None else before[:_NUMBER]
                payload = number + encode_value(changes.values[key])
                if plain and is_plain(key, end):
                    writer.put(base + end, payload)
                else:
                    writer.put_shared(base + end, (at, key), payload)

    def everything(self) -> Iterator[tuple[Any, Any, int]]:
        left = dict(self._changes)
        for at, row in self._stored_maps():
            changes = self._changes.get(at)
            if changes is None:
                yield at, (True, row, []), len(row)
            elif not changes.fresh:
                del left[at]
                changes.do(row)
                if row:
                    yield at, (True, row, []), len(row)
        rest = ((at, changes.values) for at, changes in left.items() if changes.values)
        yield from ((at, (True, dict(row), []), len(row)) for at, row in rest)


def _base(at: Any) -> bytes:
    """The prefix of a map's keys."""
    encoded = part(at)
    return bytes((len(encoded),)) + encoded


def _is_of(at: Any, identity: tuple[Any, Any]) -> bool:
    """Whether an entry belongs to the map at this address."""
    return bool(identity[0] == at)


def _base_of(key: bytes) -> bytes:
    return key[: 1 + key[0]]


def _addresses_of(base: bytes, record: bytes, shelf: StoredTable) -> Iterable[Any]:
    """The addresses of the maps whose keys have this prefix, given the first record."""
    if record[0] != SHARED:
        return (decode(base[1:]),)
    records = [record for _, record in shelf.below(base) if record[0] == SHARED]
    return dict.fromkeys(at for record in records for (at, _), _ in identities(record))


def _ordered(entries: list[tuple[Any, bytes]]) -> dict[Any, Any]:
    """A map made of its (user key, payload) entries."""
    entries.sort(key=itemgetter(1))  # their numbers are all different
    return {key: decode_value(payload[_NUMBER:]) for key, payload in entries}
