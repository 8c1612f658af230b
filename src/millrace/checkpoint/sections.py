"""Divides keyed state by key groups, so that a task of another parallelism reads only what it needs.

State comes in pieces, in any order. They are gathered by ranges of key groups until there is enough for sections that
are worth a request each. The key groups of many keys are computed at once, with the results of
``runtime.exchange.keys``; bytes that a process has read are cached for its next task.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from millrace.runtime.exchange.keys import MASK, Hashes, column_hashes, groups_of, stable_hash
from millrace.runtime.state.address import Scoped
from millrace.runtime.state.backend import TIMERS, KeyedDelta
from millrace.runtime.state.column_deltas import divided, is_told
from millrace.runtime.state.kinds import TABLES
from millrace.runtime.state.row_buffer_table import EventBufferTable, RowBufferTable
from millrace.runtime.state.window_tables import WindowListTable, WindowTable
from millrace.runtime.storage import dumps

# A cache of what was read


class CachedBytes:
    """A cache for bytes of one checkpoint at a time, up to a limit; bytes beyond it are read by every task."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._of = ""
        self._known: dict[Hashable, bytes] = {}
        self._size = 0

    def get(self, checkpoint: str, name: Hashable, read: Callable[[], bytes]) -> bytes:
        """The bytes with a name of a checkpoint: cached, or read now."""
        if checkpoint != self._of:
            self._of, self._known, self._size = checkpoint, {}, 0
        content = self._known.get(name)
        if content is None:
            content = read()
            if self._size + len(content) <= self._limit:
                self._known[name] = content
                self._size += len(content)
        return content


# Key groups of many keys

_TUPLE_SEED = 2

Numbers = npt.NDArray[np.integer[Any]]


def key_groups(keys: Sequence[Any], max_parallelism: int) -> npt.NDArray[np.int32]:
    """The key group of each key. Raises ``UnstableKeyError`` for a key without a stable hash."""
    return groups_of(_hashes(keys), max_parallelism).astype(np.int32)


def _hashes(keys: Sequence[Any]) -> Hashes:
    found = column_hashes(keys)
    if found is not None:
        return found
    if set(map(type, keys)) == {tuple} and len(set(map(len, keys))) == 1:
        result = np.full(len(keys), _TUPLE_SEED, np.uint64)
        for place in range(len(keys[0])):
            result = (result * np.uint64(31) + _hashes(list(map(itemgetter(place), keys)))) & MASK
        return result
    return np.fromiter(map(stable_hash, keys), np.uint64, len(keys))


# Sections

RANGES = 1_024
"""The most ranges of key groups; each group is a range if there are fewer."""
GATHERED_BYTES = 16 * 1024 * 1024
"""The most bytes that wait in memory until they are written."""
LEAST_BYTES = 32 * 1024
"""Neighbouring sections smaller than this (bytes) are merged."""
SLICE = 65_536
"""The number of entries that are divided at a time."""

_BY_WINDOW = frozenset({WindowTable.kind, WindowListTable.kind})
_BUFFERS = frozenset({RowBufferTable.kind, EventBufferTable.kind})
BY_ADDRESS = frozenset({TIMERS, *TABLES}) - _BY_WINDOW - _BUFFERS
"""kinds of tables whose changes at an address don't depend on other addresses"""
_WHOLE_ONLY = _BY_WINDOW | _BUFFERS
"""kinds of tables of which only the full form can be divided"""

Entries = dict[Any, Any]


class Grouped(NamedTuple):
    """The state of the key groups from ``first`` to ``last``, as consecutive pickles."""

    first: int
    last: int
    content: bytes


class Divider:
    """Divides the keyed state of one operator that is written into a file.

    :param whole: whether the pieces are full state, not changes.
    """

    def __init__(self, max_parallelism: int, whole: bool) -> None:
        self._max_parallelism = max_parallelism
        self._width = -(-max_parallelism // RANGES)
        self._whole = whole
        self._kinds = BY_ADDRESS | _WHOLE_ONLY if whole else BY_ADDRESS
        self._ranges: dict[int, list[bytes]] = {}
        self.size = 0
        """number of gathered bytes"""

    def add(self, keyed: KeyedDelta) -> KeyedDelta:
        """Gather what can be divided; returns the rest."""
        left: KeyedDelta = {}
        for name, (kind, entries) in keyed.items():
            told = is_told(entries)
            if told and self._whole:
                self._gather(name, kind, divided(entries, self._places_of_hashes))
            elif kind not in self._kinds or told:
                left[name] = (kind, entries)
            else:
                for some in _slices(entries):
                    self._gather(name, kind, self._divided(kind, some))
        return left

    def _gather(self, name: str, kind: str, parts: dict[int, Entries]) -> None:
        for place, part in parts.items():
            content = dumps(({name: (kind, part)}, None, None, None, None))
            self._ranges.setdefault(place, []).append(content)
            self.size += len(content)

    def _places_of_hashes(self, hashes: Hashes) -> Numbers:
        return groups_of(hashes, self._max_parallelism) // self._width

    def _divided(self, kind: str, entries: Entries) -> dict[int, Entries]:
        """Range of key groups -> its part of the entries."""
        if kind not in _BY_WINDOW:
            return _split(list(entries.items()), self._places(_keys(kind, entries)))
        found: dict[int, Entries] = {}
        for end, (_, row) in entries.items():
            for place, part in _split(list(row.items()), self._places(list(row))).items():
                found.setdefault(place, {})[end] = (False, part)  # not as a new window: others may have parts of it
        return found

    def _places(self, keys: Sequence[Any]) -> Numbers:
        return key_groups(keys, self._max_parallelism) // self._width

    def take(self) -> Iterator[Grouped]:
        """Take the gathered state, in the order of key groups."""
        waiting, self._ranges, self.size = self._ranges, {}, 0
        first, contents, size = 0, list[bytes](), 0
        for place in sorted(waiting):
            if not contents:
                first = place * self._width
            contents += waiting.pop(place)
            size = sum(map(len, contents))
            if size >= LEAST_BYTES:
                yield Grouped(first, self._last(place), b"".join(contents))
                contents, size = [], 0
            last = place
        if contents:
            yield Grouped(first, self._last(last), b"".join(contents))

    def _last(self, place: int) -> int:
        return min((place + 1) * self._width, self._max_parallelism) - 1


def of_groups(kind: str, entries: Entries, max_parallelism: int, groups: range) -> Entries:
    """The entries, or changes by address or by key, of some key groups."""
    if not entries:
        return entries
    if is_told(entries):
        parts = divided(entries, lambda hashes: np.isin(groups_of(hashes, max_parallelism), groups).astype(np.int64))
        return parts.get(1, {})
    found = key_groups(_keys(kind, entries), max_parallelism)
    chosen = (found >= groups.start) & (found < groups.stop)
    if chosen.all():
        return entries
    items = list(entries.items())
    return dict(map(items.__getitem__, np.flatnonzero(chosen).tolist()))


def _keys(kind: str, entries: Entries) -> list[Any]:
    addresses = list(map(itemgetter(1), entries)) if kind == TIMERS else list(entries)
    if Scoped in set(map(type, addresses)):
        return [at.key if at.__class__ is Scoped else at for at in addresses]
    return addresses


def _slices(entries: Entries) -> Iterator[Entries]:
    if len(entries) <= SLICE:
        yield entries
        return
    items = iter(entries.items())
    while some := dict(islice(items, SLICE)):
        yield some


def _split(items: list[tuple[Any, Any]], places: Numbers) -> dict[int, Entries]:
    """Divide items by their targets; items of one target stay in order."""
    if not items:
        return {}
    order = np.argsort(places, kind="stable")
    sorted_places = places[order]
    starts = np.flatnonzero(np.r_[True, sorted_places[1:] != sorted_places[:-1]])
    ends = [*starts[1:].tolist(), len(items)]
    item, positions = items.__getitem__, order.tolist()
    return {
        place: dict(map(item, positions[start:end]))
        for place, start, end in zip(sorted_places[starts].tolist(), starts.tolist(), ends)
    }
