"""The entries and columns of a savepoint for readers of data: the entries of the runtime's tables as (key, value) pairs
as users know them, with their changes by a function; the columns with their shapes, shown names, and arrays.

A shape follows from the description of a column (``checkpoint.columns``) without reading it. If the files of one state
differ too much, or values are pickled, the shape is ``Opaque``: the values' text, and next to it their pickles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from millrace.checkpoint.classes import Classes, EvolutionError
from millrace.checkpoint.columns import INERT, decode
from millrace.checkpoint.pickles import encode_pickles
from millrace.common.window import TimeWindow
from millrace.runtime.state.address import Scoped
from millrace.runtime.state.backend import EVENT_TIMERS, TIMERS
from millrace.runtime.state.info import OPERATOR
from millrace.runtime.state.operator_state import Distribution
from millrace.runtime.windows.aligned_window import SLICES
from millrace.state.open_savepoint import Piece, without_classes

# Entries

Entries = dict[Any, Any]
Change = Callable[[Any, Any], Any]
"""(key, value) -> the new value; None removes the entry"""


class Slice(NamedTuple):
    """A part of several windows, which they share.

    >>> Slice(60_000).end
    60000
    """

    end: int
    """end of the slice (ms)"""


class Timer(NamedTuple):
    """A timer that is set.

    >>> Timer("event_time", 5000).timestamp
    5000
    """

    domain: str
    """``event`` or ``processing``"""
    timestamp: int
    """when the timer fires (ms)"""


# -- one content ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Form:
    """The stored form of the content of one address."""

    read: Callable[[Any], Any]
    write: Callable[[Any, Any], Any]
    """(new value, stored content) -> the content to store; None for an empty list or map"""


def _write_list(value: Any, stored: Any) -> Any:
    return (0, list(value)) if value else None


def _write_map(value: Any, stored: Any) -> Any:
    return (True, dict(value), []) if value else None


def _write_ttl_list(value: Any, stored: Any) -> Any:
    # Elements keep their times of access by position; a new element gets the latest of them.
    stamps = [stamp for stamp, _ in stored[1]]
    stamps += [max(stamps)] * (len(value) - len(stamps))
    return (0, list(zip(stamps, value))) if value else None


def _write_ttl_map(value: Any, stored: Any) -> Any:
    entries = stored[1]
    latest = max(stamp for stamp, _ in entries.values())
    return (True, {k: (entries[k][0] if k in entries else latest, v) for k, v in value.items()}, []) if value else None


def _write_buffer(value: Any, stored: Any) -> Any:
    ordered = sorted(value, key=lambda element: element[0])
    return ([time for time, _ in ordered], [element for _, element in ordered]) if value else None


_VALUE = _Form(lambda stored: stored, lambda value, stored: value)
_LIST = _Form(lambda stored: list(stored[1]), _write_list)
_BUFFER = _Form(lambda stored: list(zip(*stored)), _write_buffer)
_FORMS = {
    "value": _VALUE,
    "list": _LIST,
    "map": _Form(lambda stored: dict(stored[1]), _write_map),
    "TTL value": _Form(lambda stored: stored[1], lambda value, stored: (stored[0], value)),
    "TTL list": _Form(lambda stored: [value for _, value in stored[1]], _write_ttl_list),
    "TTL map": _Form(lambda stored: {key: value for key, (_, value) in stored[1].items()}, _write_ttl_map),
    "windows": _VALUE,
    "window lists": _LIST,
    "time buffers": _BUFFER,
    "row buffers": _BUFFER,
    "event buffers": _BUFFER,
}
_SHAPES: dict[str, tuple[type, ...]] = {
    "list": (list, tuple),
    "TTL list": (list, tuple),
    "window lists": (list, tuple),
    "time buffers": (list, tuple),
    "row buffers": (list, tuple),
    "event buffers": (list, tuple),
    "map": (dict,),
    "TTL map": (dict,),
}
_BY_WINDOW = frozenset({"windows", "window lists"})


# -- keyed state ------------------------------------------------------------------------------------------------------


def pairs(state: str, kind: str, entries: Entries) -> Iterator[tuple[Any, Any]]:
    """(key, value) of all entries. For state of a window the key is (key, window), where the window is its end (ms) if
    only that is stored, or a ``Slice``."""
    if kind == TIMERS:
        domain = "event" if state == EVENT_TIMERS else "processing"
        yield from ((at, Timer(domain, timestamp)) for timestamp, at in entries)
    elif kind == "sessions":
        for key, sessions in entries.items():
            yield from ((Scoped(key, TimeWindow(start, end)), content) for start, end, content in sessions)
    elif kind in _BY_WINDOW:
        read = _FORMS[kind].read
        for end, (_, row) in entries.items():
            window = _window(state, end)
            yield from ((Scoped(key, window), read(stored)) for key, stored in row.items())
    else:
        read = _FORMS[kind].read
        yield from ((at, read(stored)) for at, stored in entries.items())


def _window(state: str, end: int) -> int | Slice:
    return Slice(end) if state == SLICES else end


def changed(state: str, kind: str, entries: Entries, change: Change) -> Entries:
    """The entries with new values.

    :raises TypeError: the function returns a value of the wrong kind, or the entries are timers.
    """
    if kind == "sessions":
        changed_sessions = ((key, _sessions(key, sessions, change)) for key, sessions in entries.items())
        return {key: sessions for key, sessions in changed_sessions if sessions}
    if kind in _BY_WINDOW:
        rows: Entries = {}
        for end, (fresh, row) in entries.items():
            window = _window(state, end)
            new = _contents(kind, ((key, Scoped(key, window), stored) for key, stored in row.items()), change)
            if new:
                rows[end] = (fresh, new)
        return rows
    return _contents(kind, ((at, at, stored) for at, stored in entries.items()), change)


def _sessions(key: Any, sessions: Iterable[Any], change: Change) -> list[Any]:
    new = [[start, end, change(Scoped(key, TimeWindow(start, end)), content)] for start, end, content in sessions]
    return [session for session in new if session[2] is not None]


def _contents(kind: str, contents: Iterable[tuple[Any, Any, Any]], change: Change) -> Entries:
    """Change the contents, given as (address in the table, key to show, stored content)."""
    form, allowed = _FORMS[kind], _SHAPES.get(kind)
    new: Entries = {}
    for at, key, stored in contents:
        value = change(key, form.read(stored))
        if value is None:
            continue
        if allowed is not None and not isinstance(value, allowed):
            raise TypeError(
                f"the state holds a {allowed[0].__name__} for each key, but the function gave {value!r} for {key!r}"
            )
        entry = form.write(value, stored)
        if entry is not None:
            new[at] = entry
    return new


# -- operator state ---------------------------------------------------------------------------------------------------


def operator_state_pairs(distribution: str, subtask: int, entry: Any) -> Iterator[tuple[Any, Any]]:
    """(subtask, element) of a list, (key, value) of a broadcast state."""
    if distribution == Distribution.BROADCAST.value:
        yield from entry[1].items()
    else:
        yield from ((subtask, element) for element in entry[1])


def changed_operator_state(distribution: str, subtask: int, entry: Any, change: Change) -> Any:
    """The entry with new values."""
    values = [(key, change(key, value)) for key, value in operator_state_pairs(distribution, subtask, entry)]
    kept = [(key, value) for key, value in values if value is not None]
    if distribution == Distribution.BROADCAST.value:
        return (True, dict(kept), [])
    return (0, [value for _, value in kept])


# Columns: shapes

Described = dict[str, Any]

PICKLE_SUFFIX = "_pickle"
"""suffix of the column with the pickles of an opaque column"""


@dataclass(frozen=True)
class Plain:
    """Values that have an Arrow type."""

    type: Any
    """a ``pyarrow.DataType``"""


@dataclass(frozen=True)
class Record:
    """Structs, for tuples, rows, dataclasses and the like."""

    fields: tuple[tuple[str, Shape], ...]


@dataclass(frozen=True)
class Many:
    """Lists."""

    element: Shape


@dataclass(frozen=True)
class Pairs:
    """Maps."""

    key: Shape
    value: Shape


@dataclass(frozen=True)
class Opaque:
    """Values that have no Arrow type."""


@dataclass(frozen=True)
class Nothing:
    """Only None, or no values at all."""


Shape = Plain | Record | Many | Pairs | Opaque | Nothing

_TEXT, _BYTES = pa.large_string(), pa.large_binary()
PLAIN = {
    "bool": pa.bool_(),
    "int": pa.int64(),
    "big int": _TEXT,
    "float": pa.float64(),
    "str": _TEXT,
    "bytes": _BYTES,
    "datetime": pa.timestamp("us"),
    "datetime in UTC": pa.timestamp("us", "UTC"),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timedelta": pa.duration("us"),
    "decimal": _TEXT,
    "uuid": _TEXT,
    "enum": _TEXT,
    "global window": _TEXT,
    "count window": pa.int64(),
}
"""form of a column -> its Arrow type"""


def shape_of(described: Described) -> Shape:
    """The shape of a column."""
    form = described["form"]
    if form in PLAIN:
        return Plain(PLAIN[form])
    if form == "numpy":
        return Plain(pa.from_numpy_dtype(np.dtype(described["dtype"])))
    if form == "none":
        return Nothing()
    if "columns" in described:
        parts = map(shape_of, described["columns"])
        return Record(tuple(zip(record_names(described), parts)))
    if form in ("lists", "tuples"):
        return _many(shape_of(described["element"]))
    if form == "dicts":
        return _pairs(shape_of(described["key"]), shape_of(described["value"]))
    return Opaque()


def record_names(described: Described) -> list[str]:
    """The names of the fields of a struct column."""
    if "class" in described:
        return list(described["class"]["fields"])
    names = list(described.get("names") or ())
    count = len(described["columns"])
    if described["form"] == "row" and "kind" not in described:
        count -= 1
        return [*(names or _numbered(count)), "row kind"]
    return names or _numbered(count)


def _numbered(count: int) -> list[str]:
    return [f"f{place}" for place in range(count)]


def _many(element: Shape) -> Shape:
    return Opaque() if isinstance(element, Opaque) else Many(element)


def _pairs(key: Shape, value: Shape) -> Shape:
    return Opaque() if Opaque() in (key, value) else Pairs(key, value)


# -- columns of several files -----------------------------------------------------------------------------------------


def unify(shapes: Iterable[Shape]) -> Shape:
    """The shape to which columns of all these shapes can be converted."""
    nothing: Shape = Nothing()
    return reduce(_unify, shapes, nothing)


def _unify(a: Shape, b: Shape) -> Shape:
    if a == b or isinstance(b, Nothing):
        return a
    if isinstance(a, Nothing):
        return b
    if isinstance(a, Record) and isinstance(b, Record):
        names = [name for name, _ in a.fields]
        if names == [name for name, _ in b.fields]:
            parts = (_unify(x, y) for (_, x), (_, y) in zip(a.fields, b.fields))
            return Record(tuple(zip(names, parts)))
    if isinstance(a, Many) and isinstance(b, Many):
        return _many(_unify(a.element, b.element))
    if isinstance(a, Pairs) and isinstance(b, Pairs):
        return _pairs(_unify(a.key, b.key), _unify(a.value, b.value))
    return Opaque()


# -- as Arrow types ---------------------------------------------------------------------------------------------------


def fields_of(columns: Sequence[tuple[str, Shape]]) -> list[Any]:
    """The Arrow fields of columns: one for each, two for an opaque one."""
    fields = []
    for (_, shape), (name, pickles) in zip(columns, column_names(columns)):
        fields.append(pa.field(name, _TEXT if isinstance(shape, Opaque) else type_of(shape)))
        if pickles is not None:
            fields.append(pa.field(pickles, _BYTES))
    return fields


def column_names(columns: Sequence[tuple[str, Shape]]) -> list[tuple[str, str | None]]:
    """For each column its name, and that of the column with its pickles if it is opaque."""
    taken = {name for name, _ in columns}
    found: list[tuple[str, str | None]] = []
    for name, shape in columns:
        pickles = None
        if isinstance(shape, Opaque):
            pickles = f"{name}{PICKLE_SUFFIX}"
            while pickles in taken:
                pickles += "_"
            taken.add(pickles)
        found.append((name, pickles))
    return found


def type_of(shape: Shape) -> Any:
    """The Arrow type of a shape that is not opaque."""
    if isinstance(shape, Plain):
        return shape.type
    if isinstance(shape, Record):
        return pa.struct(fields_of(shape.fields))
    if isinstance(shape, Many):
        return pa.large_list(type_of(shape.element))
    if isinstance(shape, Pairs):
        return pa.map_(type_of(shape.key), type_of(shape.value))
    assert isinstance(shape, Nothing)
    return pa.bool_()


# Names and order of columns

_ORDER = (
    "subtask",
    "key",
    "namespace",
    "window_start",
    "window_end",
    "slice_end",
    "domain",
    "timestamp",
    "position",
    "map_key",
    "last_access",
    "value",
)
_LISTS = frozenset({"list", "TTL list", "window lists"})
_NOT_SHOWN = frozenset({"registration"})
_POSITION: Described = {"form": "int"}


def described_columns(piece: Piece) -> dict[str, Described]:
    """The descriptions of the file's columns, by their shown names."""
    shown = {_shown_name(piece, name): column for name, column in piece.columns.items() if name not in _NOT_SHOWN}
    if piece.kind in _LISTS:
        shown["position"] = _POSITION
    return shown


def _shown_name(piece: Piece, name: str) -> str:
    return "slice_end" if piece.state == SLICES and name == "window_end" else name


def stored_name(name: str) -> str:
    """The name in the file of a shown column."""
    return "window_end" if name == "slice_end" else name


def added(piece: Piece) -> dict[str, tuple[Any, Described]]:
    """Columns that are constant within a file, and not stored in it: values and descriptions."""
    if piece.kind == TIMERS:
        return {"domain": ("event" if piece.state == EVENT_TIMERS else "processing", {"form": "str"})}
    if piece.scope == OPERATOR and piece.kind != Distribution.BROADCAST.value:
        return {"subtask": (piece.subtask, {"form": "int"})}
    return {}


def columns_of(piece: Piece, rows: Any) -> dict[str, tuple[Any, Described]]:
    """The shown columns, as arrays with their descriptions."""
    found = {name: (rows[stored_name(name)], described) for name, described in described_columns(piece).items()}
    for name, (value, described) in added(piece).items():
        found[name] = (pa.array([value] * len(rows), type_of(shape_of(described))), described)
    return found


def shapes_of(pieces: Iterable[Piece]) -> list[tuple[str, Shape]]:
    """The shown columns of all pieces with their shapes, in order; the columns of a value state if there are no
    pieces.
    """
    found: dict[str, list[Shape]] = {}
    for piece in pieces:
        described = {**described_columns(piece), **{name: column for name, (_, column) in added(piece).items()}}
        for name, column in described.items():
            found.setdefault(name, []).append(shape_of(column))
    if not found:
        return [("key", Nothing()), ("value", Nothing())]
    return [(name, unify(found[name])) for name in sorted(found, key=_ORDER.index)]


# Arrays

Column = tuple[Any, Described]
"""(an Arrow array, its description)"""


def arrays_of(columns: Sequence[tuple[Column | None, Shape]], rows: int, known: Classes) -> list[Any]:
    """The arrays for the fields that ``fields_of`` gives for columns of these shapes; None stands for a missing
    column.
    """
    arrays: list[Any] = []
    for column, shape in columns:
        if column is None:
            missing = pa.nulls(rows, pa.large_string() if isinstance(shape, Opaque) else type_of(shape))
            arrays += [missing, pa.nulls(rows, pa.large_binary())] if isinstance(shape, Opaque) else [missing]
        else:
            array, described = column
            if isinstance(array, pa.ChunkedArray):
                array = array.combine_chunks()
            if isinstance(shape, Opaque):
                arrays += _opaque(array, described, known)
            else:
                arrays.append(_array(array, described, shape, known))
    return arrays


def _array(array: Any, described: Described, shape: Shape, known: Classes) -> Any:
    wanted = type_of(shape)
    if described["form"] == "none":
        return pa.nulls(len(array), wanted)
    if array.type == wanted and shape_of(described) == shape:
        return array
    if isinstance(shape, Record):
        return _struct(array, described, shape, known)
    if isinstance(shape, Many):
        elements = _array(array.values, described["element"], shape.element, known)
        return pa.LargeListArray.from_arrays(_own(array.offsets), elements, mask=array.is_null())
    if isinstance(shape, Pairs):
        keys = _array(array.keys, described["key"], shape.key, known)
        items = _array(array.items, described["value"], shape.value, known)
        return pa.MapArray.from_arrays(_own(array.offsets), keys, items, mask=array.is_null())
    return array.cast(wanted)


def _struct(array: Any, described: Described, shape: Record, known: Classes) -> Any:
    parts = [(array.field(place), child) for place, child in enumerate(described["columns"])]
    columns = [(part, child) for part, (_, child) in zip(parts, shape.fields)]
    arrays = arrays_of(columns, len(array), known)
    return pa.StructArray.from_arrays(arrays, fields=fields_of(shape.fields), mask=array.is_null())


def _own(offsets: Any) -> Any:
    """A copy, because no array with a mask can be made of a slice."""
    return pa.array(offsets.to_numpy())


# -- values without a type of Arrow -----------------------------------------------------------------------------------


def _opaque(array: Any, described: Described, known: Classes) -> list[Any]:
    """[texts of the values, their pickles]."""
    if described["form"] == "none":
        return [pa.nulls(len(array), pa.large_string()), pa.nulls(len(array), pa.large_binary())]
    if described["form"] == "pickle":
        return [_texts(_unpickled(array, described, known)), array.cast(pa.large_binary())]
    if described["form"] == INERT:
        return [_texts(decode(array, described)), array.cast(pa.large_binary())]
    try:
        values = decode(array, described, known)
    except EvolutionError:
        values = decode(array, without_classes(described))
    pickles = encode_pickles([value for value in values if value is not None])[0]
    there = np.fromiter((value is not None for value in values), np.bool_, len(values))
    return [_texts(values), pickles.take(pa.array(np.cumsum(there) - 1, mask=~there))]


def _unpickled(array: Any, described: Described, known: Classes) -> list[Any]:
    """The unpickled values. A value whose class is missing becomes a stand-in, so that the rest can be read."""
    try:
        return decode(array, described, known)
    except EvolutionError as error:
        names = ", ".join(each["name"].replace(":", ".") for each in described["classes"]) or "?"
        why = str(error.__cause__ or error).splitlines()[0]
        return [stored and _Unreadable(names, len(stored), why) for stored in array.to_pylist()]


@dataclass(frozen=True)
class _Unreadable:
    """Stands for a value that can't be unpickled."""

    classes: str
    size: int
    why: str

    def __repr__(self) -> str:
        return f"<{self.classes}: {self.size} bytes that can't be unpickled here ({self.why})>"


def _texts(values: Sequence[Any]) -> Any:
    return pa.array([None if value is None else repr(value) for value in values], pa.large_string())
