"""What the tables keep at one address, as columns: a row for each, or a row for each of its parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from operator import itemgetter
from typing import Any

__all__ = ["CONTENTS", "Content", "TIMER_CONTENT"]

Columns = dict[str, Sequence[Any]]
Slices = Sequence[slice]


@dataclass(frozen=True)
class Content:
    """One kind of content. ``split`` takes those of many addresses."""

    names: tuple[str, ...]
    """of the columns"""
    split: Callable[[Sequence[Any]], Columns]
    join: Callable[[Columns, Slices], list[Any]]
    """back; of one row per address the slices say nothing"""
    size: Callable[[Any], int] | None = None
    """number of rows of one content; None: always one"""


# A full entry of a list is (0, elements), that of a map is (True, items, []): see the tables.


def _elements(entries: Sequence[Any]) -> list[Any]:
    return list(chain.from_iterable(map(itemgetter(1), entries)))


def _entries_of_lists(rows: Sequence[Any], slices: Slices) -> list[Any]:
    return [(0, list(rows[part])) for part in slices]


def _items(entries: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    maps = list(map(itemgetter(1), entries))
    return list(chain.from_iterable(maps)), list(chain.from_iterable(map(dict.values, maps)))


def _entries_of_maps(keys: Sequence[Any], values: Sequence[Any], slices: Slices) -> list[Any]:
    return [(True, dict(zip(keys[part], values[part])), []) for part in slices]


def _stamped(pairs: Sequence[Any]) -> Columns:
    return {"last_access": list(map(itemgetter(0), pairs)), "value": list(map(itemgetter(1), pairs))}


def _pairs(columns: Columns) -> list[Any]:
    return list(zip(columns["last_access"], columns["value"]))


_VALUE = Content(("value",), lambda values: {"value": values}, lambda columns, slices: list(columns["value"]))

_LIST = Content(
    ("value",),
    lambda entries: {"value": _elements(entries)},
    lambda columns, slices: _entries_of_lists(columns["value"], slices),
    lambda entry: len(entry[1]),
)


def _split_maps(entries: Sequence[Any]) -> Columns:
    keys, values = _items(entries)
    return {"map_key": keys, "value": values}


_MAP = Content(
    ("map_key", "value"),
    _split_maps,
    lambda columns, slices: _entries_of_maps(columns["map_key"], columns["value"], slices),
    lambda entry: len(entry[1]),
)

_TTL_VALUE = Content(("last_access", "value"), _stamped, lambda columns, slices: _pairs(columns))

_TTL_LIST = Content(
    ("last_access", "value"),
    lambda entries: _stamped(_elements(entries)),
    lambda columns, slices: _entries_of_lists(_pairs(columns), slices),
    lambda entry: len(entry[1]),
)


def _split_ttl_maps(entries: Sequence[Any]) -> Columns:
    keys, pairs = _items(entries)
    return {"map_key": keys, **_stamped(pairs)}


_TTL_MAP = Content(
    ("map_key", "last_access", "value"),
    _split_ttl_maps,
    lambda columns, slices: _entries_of_maps(columns["map_key"], _pairs(columns), slices),
    lambda entry: len(entry[1]),
)


def _split_sessions(entries: Sequence[Any]) -> Columns:
    sessions = list(chain.from_iterable(entries))
    names = ("window_start", "window_end", "value")
    return {name: list(map(itemgetter(place), sessions)) for place, name in enumerate(names)}


def _join_sessions(columns: Columns, slices: Slices) -> list[Any]:
    sessions = list(map(list, zip(columns["window_start"], columns["window_end"], columns["value"])))
    return [sessions[part] for part in slices]


_SESSIONS = Content(("window_start", "window_end", "value"), _split_sessions, _join_sessions, len)


def _split_buffers(entries: Sequence[Any]) -> Columns:
    return {
        "timestamp": list(chain.from_iterable(map(itemgetter(0), entries))),
        "value": list(chain.from_iterable(map(itemgetter(1), entries))),
    }


def _join_buffers(columns: Columns, slices: Slices) -> list[Any]:
    times, values = columns["timestamp"], columns["value"]
    return [(list(times[part]), list(values[part])) for part in slices]


_BUFFERS = Content(("timestamp", "value"), _split_buffers, _join_buffers, lambda entry: len(entry[0]))

TIMER_CONTENT = Content(
    ("timestamp", "registration"),
    lambda timers: {"timestamp": list(map(itemgetter(0), timers)), "registration": list(map(itemgetter(1), timers))},
    lambda columns, slices: list(zip(columns["timestamp"], columns["registration"])),
)
"""(time, number of its registration), by which timers of the same time are in order"""

CONTENTS: dict[str, Content] = {
    "value": _VALUE,
    "list": _LIST,
    "map": _MAP,
    "TTL value": _TTL_VALUE,
    "TTL list": _TTL_LIST,
    "TTL map": _TTL_MAP,
    "windows": _VALUE,
    "window lists": _LIST,
    "sessions": _SESSIONS,
    "time buffers": _BUFFERS,
    "row buffers": _BUFFERS,
    "event buffers": _BUFFERS,
    "timers": TIMER_CONTENT,
    "SPLIT_DISTRIBUTE": _LIST,
    "UNION": _LIST,
    "BROADCAST": _MAP,
}
"""kind of a table, or distribution of an operator state -> its content"""

LIST_KINDS = frozenset(kind for kind, content in CONTENTS.items() if content in (_LIST, _TTL_LIST))
MAP_KINDS = frozenset(kind for kind, content in CONTENTS.items() if content in (_MAP, _TTL_MAP))


def slices_at(starts: Sequence[int], rows: int) -> list[slice]:
    """The rows of each address, given where they begin."""
    return [slice(a, b) for a, b in pairwise([*starts, rows])]
