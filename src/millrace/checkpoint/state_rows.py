"""State tables as Arrow tables with named columns, and back.

The columns of keyed state: ``key_group``, ``key``; for state of a window ``window_start`` and ``window_end`` (ms), for
state of any other namespace ``namespace``; then those of the content, which has a row for each address or for each of
its parts (elements of a list, entries of a map). The rows of an address are consecutive, and numbered by ``position``
if there are several. Rows of different files may be combined in any order, as long as those of one address stay
together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, repeat
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.checkpoint.classes import Classes, EvolutionError
from millrace.checkpoint.columns import Described, check_keys, decode, encode
from millrace.checkpoint.sections import key_groups
from millrace.common.window import TimeWindow
from millrace.runtime.state.address import Scoped

# The content of one address

Columns = dict[str, Sequence[Any]]
Slices = Sequence[slice]


@dataclass(frozen=True)
class Content:
    """One kind of content. ``split`` processes the contents of many addresses."""

    names: tuple[str, ...]
    """names of the columns"""
    split: Callable[[Sequence[Any]], Columns]
    join: Callable[[Columns, Slices], list[Any]]
    """the inverse of ``split``; for one row per address the slices are ignored"""
    size: Callable[[Any], int] | None = None
    """gives the number of rows of one content; None: always one"""


# A full entry of a list is (0, elements), a full entry of a map is (True, items, []): see the tables.


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
"""(time in ms, registration number), which orders timers of the same time"""

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
    """The rows of each address as a slice, given where they begin."""
    return [slice(a, b) for a, b in pairwise([*starts, rows])]


# Tables of rows

Entries = dict[Any, Any]
"""the entries of a table in full form"""
Table = tuple[pa.Table, dict[str, Described]]
"""(an Arrow table, the descriptions of its columns)"""

BY_WINDOW = frozenset({"windows", "window lists"})
TIMERS = "timers"
KEY_GROUP, POSITION = "key_group", "position"


# -- to rows ----------------------------------------------------------------------------------------------------------


def explode(kind: str, entries: Entries, max_parallelism: int, limit: int) -> Iterator[Table]:
    """A state as tables of about ``limit`` rows."""
    content = CONTENTS[kind]
    for addresses, contents in _flat(kind, entries):
        for part in _parts(content, contents, limit):
            yield _table(kind, addresses[part], content, contents[part], max_parallelism)


def _flat(kind: str, entries: Entries) -> Iterator[tuple[list[Any], list[Any]]]:
    """Addresses, all of one form, and the content at each."""
    if kind in BY_WINDOW:
        ends, rows = list(entries), [row for _, row in entries.values()]
        yield (
            [(end, key) for end, row in zip(ends, rows) for key in row],
            [content for row in rows for content in row.values()],
        )
    elif kind == TIMERS:
        addresses = list(map(itemgetter(1), entries))
        yield from _by_form(addresses, list(zip(map(itemgetter(0), entries), entries.values())))
    else:
        yield from _by_form(list(entries), list(entries.values()))


def _by_form(addresses: list[Any], contents: list[Any]) -> Iterator[tuple[list[Any], list[Any]]]:
    if _are_alike(addresses):
        yield addresses, contents
        return
    forms: dict[type | None, tuple[list[Any], list[Any]]] = {}
    for at, content in zip(addresses, contents):
        found = forms.setdefault(_form(at), ([], []))
        found[0].append(at)
        found[1].append(content)
    yield from forms.values()


def _are_alike(addresses: list[Any]) -> bool:
    """Whether all addresses have one form; the frequent cases are found without a loop in Python."""
    types = set(map(type, addresses))
    if Scoped not in types:
        return True
    namespaces = set(map(type, map(itemgetter(1), addresses))) if len(types) == 1 else {TimeWindow, Scoped}
    return namespaces == {TimeWindow} or TimeWindow not in namespaces


def _form(at: Any) -> type | None:
    if at.__class__ is not Scoped:
        return None
    return TimeWindow if at.namespace.__class__ is TimeWindow else Scoped


def _parts(content: Content, contents: Sequence[Any], limit: int) -> Iterator[slice]:
    """Slices of about ``limit`` rows."""
    if content.size is None:
        yield from (slice(start, start + limit) for start in range(0, len(contents), limit))
        return
    start = rows = 0
    for place, size in enumerate(map(content.size, contents), 1):
        rows += size
        if rows >= limit:
            yield slice(start, place)
            start, rows = place, 0
    if start < len(contents):
        yield slice(start, len(contents))


def _table(
    kind: str, addresses: Sequence[Any], content: Content, contents: Sequence[Any], max_parallelism: int
) -> Table:
    named = _address_columns(kind, addresses)
    groups = pa.array(key_groups(named["key"], max_parallelism))
    encoded = {name: (encode_shared if name == "namespace" else encode)(column) for name, column in named.items()}
    arrays = {KEY_GROUP: groups, **{name: array for name, (array, _) in encoded.items()}}
    if content.size is not None:
        sizes = np.fromiter(map(content.size, contents), np.int64, len(contents))
        places = pa.array(np.repeat(np.arange(len(sizes)), sizes))
        arrays = {name: array.take(places) for name, array in arrays.items()}
        starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
        arrays[POSITION] = pa.array(np.arange(len(starts)) - starts)
    return _with_content(arrays, encoded, content, contents)


def _address_columns(kind: str, addresses: Sequence[Any]) -> dict[str, Sequence[Any]]:
    if kind in BY_WINDOW:
        return {"key": list(map(itemgetter(1), addresses)), "window_end": list(map(itemgetter(0), addresses))}
    form = _form(addresses[0]) if addresses else None
    if form is None:
        return {"key": addresses}
    keys, namespaces = list(map(itemgetter(0), addresses)), list(map(itemgetter(1), addresses))
    if form is Scoped:
        return {"key": keys, "namespace": namespaces}
    return {
        "key": keys,
        "window_start": list(map(itemgetter(0), namespaces)),
        "window_end": list(map(itemgetter(1), namespaces)),
    }


def _with_content(
    arrays: dict[str, pa.Array],
    encoded: dict[str, tuple[pa.Array, Described]],
    content: Content,
    contents: Sequence[Any],
) -> Table:
    encoded = {**encoded, **{name: encode(column) for name, column in content.split(contents).items()}}
    arrays = {**arrays, **{name: encoded[name][0] for name in content.names}}
    return pa.table(arrays), {name: description for name, (_, description) in encoded.items()}


# -- from rows --------------------------------------------------------------------------------------------------------


def groups_of(table: pa.Table) -> list[int]:
    """The lowest and the highest key group of some rows."""
    extremes = pc.min_max(table[KEY_GROUP])
    return [extremes["min"].as_py(), extremes["max"].as_py()]


def by_key_group(table: pa.Table, least: int) -> tuple[pa.Table, list[slice]]:
    """The rows sorted by key group, and slices of ``least`` or more rows that share no key group."""
    groups = table[KEY_GROUP].to_numpy()
    order = np.argsort(groups, kind="stable")  # rows of one address stay together
    ordered = groups[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]).tolist()
    parts, begin = [], 0
    for end in [*starts[1:], len(ordered)]:
        if end - begin >= least or end == len(ordered):
            parts.append(slice(begin, end))
            begin = end
    return table.take(pa.array(order)), parts


def of_key_groups(table: pa.Table, groups: range) -> pa.Table:
    """The rows that belong to some key groups."""
    column = table[KEY_GROUP]
    if len(table):
        lowest, highest = groups_of(table)
        if groups.start <= lowest and highest < groups.stop:
            return table
    return table.filter(pc.and_(pc.greater_equal(column, groups.start), pc.less(column, groups.stop)))


def implode(kind: str, table: pa.Table, described: dict[str, Described], known: Classes, entries: Entries) -> None:
    """Add the content of the rows to ``entries``, which are changes onto an empty table.

    :raises EvolutionError: the values don't fit the classes of this program.
    """
    content = CONTENTS[kind]
    addressed, slices = table, []
    if content.size is not None:
        starts = np.flatnonzero(table[POSITION].to_numpy() == 0)
        slices = slices_at(starts.tolist(), len(table))
        addressed = table.take(pa.array(starts))
    problems = check_keys(described["key"], known)
    if problems:
        raise EvolutionError(problems)
    names = [name for name in described if name not in content.names]
    columns = {
        name: (decode_shared if name == "namespace" else decode)(addressed[name], described[name], known)
        for name in names
    }
    contents = content.join(_decoded(content, table, described, known), slices)
    if kind in BY_WINDOW:
        for end, key, found in zip(columns["window_end"], columns["key"], contents):
            if end not in entries:
                entries[end] = (False, {})  # not as a new window: other rows may belong to it, too
            entries[end][1][key] = found
    elif kind == TIMERS:
        timers = zip(map(itemgetter(0), contents), _addresses(columns))
        entries.update(zip(timers, map(itemgetter(1), contents)))
    else:
        entries.update(zip(_addresses(columns), contents))


def _decoded(
    content: Content, table: pa.Table, described: dict[str, Described], known: Classes
) -> dict[str, Sequence[Any]]:
    return {name: decode(table[name], described[name], known) for name in content.names}


def _addresses(columns: dict[str, list[Any]]) -> Iterable[Any]:
    keys = columns["key"]
    if "window_start" in columns:
        bounds = zip(columns["window_start"], columns["window_end"])
        windows = list(map(tuple.__new__, repeat(TimeWindow), bounds))
        shared: dict[TimeWindow, TimeWindow] = {}  # many keys have the same windows: one object each
        return _scoped(keys, map(shared.setdefault, windows, windows))
    return _scoped(keys, columns["namespace"]) if "namespace" in columns else keys


def _scoped(keys: Iterable[Any], namespaces: Iterable[Any]) -> Iterable[Any]:
    return map(tuple.__new__, repeat(Scoped), zip(keys, namespaces))


_SHARED = (pa.large_binary(), pa.large_string(), pa.int64())


def encode_shared(values: Sequence[Any]) -> tuple[pa.Array, Described]:
    """As ``encode``, for values that are mostly a few shared objects, such as the global window."""
    places: dict[int, int] = {}
    indices = [places.setdefault(id(value), len(places)) for value in values]
    distinct = dict(zip(indices, values))
    array, description = encode(list(distinct.values()))
    return array.take(pa.array(indices, pa.int64())), description


def decode_shared(array: pa.ChunkedArray, description: Described, known: Classes) -> list[Any]:
    """As ``decode``, with one object for equal rows where that saves work. Only for immutable values."""
    if array.type not in _SHARED:
        return decode(array, description, known)
    coded = array.combine_chunks().dictionary_encode()
    distinct = decode(coded.dictionary, description, known)
    return [None if place is None else distinct[place] for place in coded.indices.to_pylist()]


# -- operator state ---------------------------------------------------------------------------------------------------


def explode_operator_state(distribution: str, entry: Any) -> Table:
    """A table for the entry of a list or broadcast state; its rows have no address."""
    return _with_content({}, {}, CONTENTS[distribution], [entry])


def implode_operator_state(distribution: str, table: pa.Table, described: dict[str, Described], known: Classes) -> Any:
    content = CONTENTS[distribution]
    return content.join(_decoded(content, table, described, known), [slice(0, len(table))])[0]
