"""Keyed state divided by key groups, so that a task of another parallelism reads only what it needs.

State comes in pieces of any order. They are gathered by ranges of groups until there is enough for sections of a size
that is worth a request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from millrace.checkpoint.tasks.key_groups import key_groups
from millrace.runtime.exchange.hash_columns import groups_of
from millrace.runtime.pickling import dumps
from millrace.runtime.state.address import Scoped
from millrace.runtime.state.backend import TIMERS, KeyedDelta
from millrace.runtime.state.kinds import TABLES
from millrace.runtime.state.row_buffer_table import EventBufferTable, RowBufferTable
from millrace.runtime.state.told import divided, is_told
from millrace.runtime.state.window_tables import WindowListTable, WindowTable

__all__ = ["BY_ADDRESS", "Divider", "Grouped", "of_groups"]

RANGES = 1_024
"""Ranges of key groups that are told apart at most; all groups, where there are fewer."""
GATHERED_BYTES = 16 * 1024 * 1024
"""What waits in memory until it is written."""
LEAST_BYTES = 32 * 1024
"""Smaller neighbours become one section."""
SLICE = 65_536
"""Entries that are divided at a time."""

_BY_WINDOW = frozenset({WindowTable.kind, WindowListTable.kind})
_BUFFERS = frozenset({RowBufferTable.kind, EventBufferTable.kind})
BY_ADDRESS = frozenset({TIMERS, *TABLES}) - _BY_WINDOW - _BUFFERS
"""kinds whose changes say for each address what becomes of it, whatever there is at others"""
_WHOLE_ONLY = _BY_WINDOW | _BUFFERS
"""kinds of which only the full form can be divided"""

Entries = dict[Any, Any]


class Grouped(NamedTuple):
    """What belongs to the key groups from ``first`` to ``last``: pickles, one after the other."""

    first: int
    last: int
    content: bytes


class Divider:
    """The keyed state of one operator on its way into a file.

    :param whole: whether the pieces are full state, not changes.
    """

    def __init__(self, max_parallelism: int, whole: bool) -> None:
        self._max_parallelism = max_parallelism
        self._width = -(-max_parallelism // RANGES)
        self._whole = whole
        self._kinds = BY_ADDRESS | _WHOLE_ONLY if whole else BY_ADDRESS
        self._ranges: dict[int, list[bytes]] = {}
        self.size = 0
        """bytes that are gathered"""

    def add(self, keyed: KeyedDelta) -> KeyedDelta:
        """Take in what can be divided; the rest."""
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

    def _places_of_hashes(self, hashes: Any) -> Any:
        return groups_of(hashes, self._max_parallelism) // self._width

    def _divided(self, kind: str, entries: Entries) -> dict[int, Entries]:
        """Range -> its part."""
        if kind not in _BY_WINDOW:
            return _split(list(entries.items()), self._places(_keys(kind, entries)))
        found: dict[int, Entries] = {}
        for end, (_, row) in entries.items():
            for place, part in _split(list(row.items()), self._places(list(row))).items():
                found.setdefault(place, {})[end] = (False, part)  # not as a new window: others may have parts of it
        return found

    def _places(self, keys: Sequence[Any]) -> Any:
        return key_groups(keys, self._max_parallelism) // self._width

    def take(self) -> Iterator[Grouped]:
        """What is gathered, in the order of the groups."""
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
    """The entries, or changes by address or by key, that belong to some key groups."""
    if not entries:
        return entries
    if is_told(entries):
        chosen = divided(entries, lambda hashes: np.isin(groups_of(hashes, max_parallelism), groups).astype(np.int64))
        return chosen.get(1, {})
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


def _split(items: list[tuple[Any, Any]], places: Any) -> dict[int, Entries]:
    """Items by the places that they go to; those of one place in their order."""
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
