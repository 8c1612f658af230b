"""Python values as Arrow columns, and back to exactly the same values.

Values of one shape become columns that DuckDB, pandas and Spark can read: numbers, text and times as such, tuples,
rows, dataclasses and the like as structs, lists and dicts as lists and maps. Other values are pickled, one by one. A
description in plain JSON says how a column must be read.

The identity of objects is lost: two values that were one object become two, unless one pickle contains both.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain, pairwise, repeat
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.checkpoint.classes import (
    DATACLASS,
    ENUM,
    NAMED_TUPLE,
    Change,
    Classes,
    Problem,
    change_of,
    describe_class,
    examine,
    kind_of,
    name_of,
    slots_of,
)
from millrace.checkpoint.inert import inert_loads
from millrace.checkpoint.pickles import decode_pickles, encode_pickles
from millrace.common.types import Row, RowKind, row_of
from millrace.common.window import CountWindow, GlobalWindow

Described = dict[str, Any]
"""how a column must be read, in plain JSON"""
Encode = Callable[[Sequence[Any]], tuple[pa.Array, Described]]
Decode = Callable[[pa.Array, Described], list[Any]]

# Plain values

_UTC = datetime.timezone.utc


class _Form(NamedTuple):
    """How values of one class become a column; ``encode`` returns None for values that this form can't hold."""

    name: str
    encode: Callable[[Sequence[Any]], pa.Array | None]


def encode_scalars(values: Sequence[Any], cls: type) -> tuple[pa.Array, Described] | None:
    """A column for values that are all of class ``cls``, and its description; None if no form can hold them all."""
    for form in _FORMS.get(cls, ()):
        try:
            array = form.encode(values)
        except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError, ValueError):
            continue
        if array is not None:
            return array, {"form": form.name}
    return None


def encode_numpy(values: Sequence[Any], cls: type) -> tuple[pa.Array, Described] | None:
    """A column for numpy numbers of class ``cls``, and its description; None if no form can hold them all."""
    dtype = np.dtype(cls)
    if dtype.kind not in "iufb" or dtype.itemsize > 8 or dtype == np.float16:
        return None
    return pa.array(np.array(values, dtype)), {"form": "numpy", "dtype": dtype.name}


def _as(arrow_type: pa.DataType) -> Callable[[Sequence[Any]], pa.Array]:
    return lambda values: pa.array(values, arrow_type)


def _surrogates(values: Sequence[str]) -> pa.Array:
    return pa.array([value.encode("utf-8", "surrogatepass") for value in values], pa.large_binary())


def _text(values: Sequence[Any]) -> pa.Array:
    return pa.array(list(map(str, values)), pa.large_string())


def _integers(values: Sequence[int]) -> pa.Array:
    return pa.array(np.fromiter(values, np.int64, len(values)))


def _local_datetimes(values: Sequence[datetime.datetime]) -> pa.Array | None:
    if any(map(attrgetter("tzinfo"), values)) or any(map(attrgetter("fold"), values)):
        return None
    return pa.array(values, pa.timestamp("us"))


def _utc_datetimes(values: Sequence[datetime.datetime]) -> pa.Array | None:
    # Other zones are objects that must be restored exactly.
    if any(value.tzinfo is not _UTC or value.fold for value in values):
        return None
    return pa.array(values, pa.timestamp("us", "UTC"))


def _local_times(values: Sequence[datetime.time]) -> pa.Array | None:
    if any(value.tzinfo is not None or value.fold for value in values):
        return None
    return pa.array(values, pa.time64("us"))


def _uuids(values: Sequence[uuid.UUID]) -> pa.Array | None:
    return _text(values) if all(value.is_safe is uuid.SafeUUID.unknown for value in values) else None


def _global_windows(values: Sequence[GlobalWindow]) -> pa.Array:
    return pa.array(["GlobalWindow"] * len(values), pa.large_string())


def _count_windows(values: Sequence[CountWindow]) -> pa.Array | None:
    ids = [value.id for value in values]
    return _integers(ids) if set(map(type, ids)) == {int} else None


_FORMS: dict[type, tuple[_Form, ...]] = {
    bool: (_Form("bool", _as(pa.bool_())),),
    int: (_Form("int", _integers), _Form("big int", _text)),
    float: (_Form("float", _as(pa.float64())),),
    str: (_Form("str", _as(pa.large_string())), _Form("str with surrogates", _surrogates)),
    bytes: (_Form("bytes", _as(pa.large_binary())),),
    datetime.datetime: (_Form("datetime", _local_datetimes), _Form("datetime in UTC", _utc_datetimes)),
    datetime.date: (_Form("date", _as(pa.date32())),),
    datetime.time: (_Form("time", _local_times),),
    datetime.timedelta: (
        _Form("timedelta", lambda values: pa.array(values, pa.duration("us")).cast(pa.int64())),  # Parquet has none
    ),
    decimal.Decimal: (_Form("decimal", _text),),
    uuid.UUID: (_Form("uuid", _uuids),),
    GlobalWindow: (_Form("global window", _global_windows),),
    CountWindow: (_Form("count window", _count_windows),),
}


def _numbers(array: pa.Array, description: Described) -> list[Any]:
    values: list[Any] = array.to_numpy(zero_copy_only=False).tolist()
    return values


def _objects(array: pa.Array, description: Described) -> list[Any]:
    values: list[Any] = array.to_pylist()
    return values


def _parsed(parse: Callable[[Any], Any]) -> Callable[[pa.Array, Described], list[Any]]:
    return lambda array, description: list(map(parse, array.to_pylist()))


def _python_times(unit: str) -> Callable[[pa.Array, Described], list[Any]]:
    # Many times faster than to_pylist.
    return lambda array, description: array.to_numpy(zero_copy_only=False).astype(unit).tolist()


def _timedeltas(array: pa.Array, description: Described) -> list[Any]:
    return _python_times("m8[us]")(array, description)


def _in_utc(array: pa.Array, description: Described) -> list[Any]:
    local = _python_times("M8[us]")(array.cast(pa.timestamp("us")), description)
    return [value.replace(tzinfo=_UTC) for value in local]


def _numpy(array: pa.Array, description: Described) -> list[Any]:
    return list(array.to_numpy(zero_copy_only=False).astype(description["dtype"], copy=False))


DECODERS: dict[str, Callable[[pa.Array, Described], list[Any]]] = {
    "bool": _numbers,
    "int": _numbers,
    "big int": _parsed(int),
    "float": _numbers,
    "str": _objects,
    "str with surrogates": _parsed(lambda value: value.decode("utf-8", "surrogatepass")),
    "bytes": lambda array, description: array.to_numpy(zero_copy_only=False).tolist(),
    "datetime": _python_times("M8[us]"),
    "datetime in UTC": _in_utc,
    "date": _python_times("M8[D]"),
    "time": _objects,
    "timedelta": _timedeltas,
    "decimal": _parsed(decimal.Decimal),
    "uuid": _parsed(uuid.UUID),
    "numpy": _numpy,
    "global window": lambda array, description: [GlobalWindow()] * len(array),
    "count window": lambda array, description: list(map(CountWindow, _numbers(array, description))),
}
"""form -> function that gives the values of a column without nulls"""


# Lists, tuples and dicts

_NONE = type(None)


def encode_sequence(values: Sequence[Any], cls: type, encode: Encode) -> tuple[pa.Array, Described] | None:
    """A list column for lists and tuples, a map column for dicts; None if their parts would have to be pickled, since
    then one pickle for each whole value is better."""
    if cls is dict:
        return _encode_dicts(values, encode)
    elements = _encode_parts(list(chain.from_iterable(values)), encode)
    if elements is None:
        return None
    array = pa.LargeListArray.from_arrays(pa.array(_offsets(values)), elements[0])
    return array, {"form": f"{cls.__name__}s", "element": elements[1]}


def _encode_dicts(values: Sequence[dict[Any, Any]], encode: Encode) -> tuple[pa.Array, Described] | None:
    offsets = _offsets(values)
    if offsets[-1] >= 2**31:
        return None  # maps of Arrow are not that large
    keys = _encode_parts(list(chain.from_iterable(values)), encode)
    if keys is None or keys[0].null_count:
        return None
    items = _encode_parts(list(chain.from_iterable(map(dict.values, values))), encode)
    if items is None:
        return None
    array = pa.MapArray.from_arrays(pa.array(offsets.astype(np.int32)), keys[0], items[0])
    return array, {"form": "dicts", "key": keys[1], "value": items[1]}


def _offsets(values: Sequence[Any]) -> npt.NDArray[np.int64]:
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, values), np.int64, len(values)), out=offsets[1:])
    return offsets


def _encode_parts(parts: Sequence[Any], encode: Encode) -> tuple[pa.Array, Described] | None:
    if len(set(map(type, parts)) - {_NONE}) > 1:
        return None
    array, description = encode(parts)
    return None if description["form"] == "pickle" else (array, description)


def _cut(array: pa.Array, children: Sequence[pa.Array]) -> tuple[list[slice], list[pa.Array]]:
    """(slices of each value's parts, the child columns cut to what this array refers to)."""
    offsets = array.offsets.to_numpy().tolist()
    start, end = offsets[0], offsets[-1]
    kept = [child.slice(start, end - start) for child in children]
    return [slice(a - start, b - start) for a, b in pairwise(offsets)], kept


def _decode_plain_lists(array: pa.Array, description: Described, decode: Decode) -> list[Any]:
    cuts, (child,) = _cut(array, [array.values])
    elements = decode(child, description["element"])
    return [elements[cut] for cut in cuts]


def _decode_plain_tuples(array: pa.Array, description: Described, decode: Decode) -> list[Any]:
    return list(map(tuple, _decode_plain_lists(array, description, decode)))


def _decode_plain_dicts(array: pa.Array, description: Described, decode: Decode) -> list[Any]:
    cuts, (key_array, item_array) = _cut(array, [array.keys, array.items])
    keys, items = decode(key_array, description["key"]), decode(item_array, description["value"])
    return [dict(zip(keys[cut], items[cut])) for cut in cuts]


SEQUENCE_FORMS: dict[str, Callable[[pa.Array, Described, Decode], list[Any]]] = {
    "lists": _decode_plain_lists,
    "tuples": _decode_plain_tuples,
    "dicts": _decode_plain_dicts,
}


# Values of any shape

WIDEST = 256
"""Sequences and dicts with more fields than this are not stored as records."""
_KIND = "row kind"

_fields_of_row, _values_of_row, _kind_of_row = attrgetter("_fields"), attrgetter("_values"), attrgetter("_row_kind")


def encode_record(values: Sequence[Any], cls: type, encode: Encode) -> tuple[pa.Array, Described] | None:
    """A struct column for tuples, lists, dicts and rows that all have the same fields; None for others."""
    if cls is Row:
        return _encode_rows(values, encode)
    if cls is dict:
        shapes = set(map(tuple, values))
        names = shapes.pop()
        if shapes or not 0 < len(names) <= WIDEST or set(map(type, chain.from_iterable(values))) != {str}:
            return None
        if not _printable(names):
            return None
        columns: Iterable[Sequence[Any]] = [list(map(itemgetter(name), values)) for name in names]
        return _struct(columns, names, encode, {"form": "dict", "names": list(names)})
    widths = set(map(len, values))
    width = widths.pop()
    if widths or not 0 < width <= WIDEST:
        return None
    return _struct(_columns(values, width), _numbered(width), encode, {"form": cls.__name__})


def _encode_rows(values: Sequence[Row], encode: Encode) -> tuple[pa.Array, Described] | None:
    names, contents = values[0]._fields, list(map(_values_of_row, values))
    widths = set(map(len, contents))
    width = widths.pop()
    if widths or not 0 < width <= WIDEST or list(map(_fields_of_row, values)).count(names) != len(values):
        return None
    if names is not None:
        if type(names) is not list or len(names) != width or len(set(names)) != width or _KIND in names:
            return None
        if set(map(type, names)) != {str} or not _printable(names):
            return None
    columns = _columns(contents, width)
    described: Described = {"form": "row", "names": names and list(names)}
    kinds = list(map(_kind_of_row, values))
    named = list(names or _numbered(width))
    if kinds.count(kinds[0]) == len(kinds):
        described["kind"] = kinds[0].name
    else:
        columns.append([kind.name for kind in kinds])
        named.append(_KIND)
    return _struct(columns, named, encode, described)


def _printable(names: Iterable[str]) -> bool:
    """Whether Arrow accepts these as names."""
    try:
        return bool("".join(names).encode())  # no surrogates
    except UnicodeEncodeError:
        return False


def _numbered(width: int) -> list[str]:
    return [f"f{place}" for place in range(width)]


def _columns(values: Sequence[Any], width: int) -> list[list[Any]]:
    # Not zip(*values): that makes an iterator per value.
    return [list(map(itemgetter(place), values)) for place in range(width)]


def _struct(
    columns: Iterable[Sequence[Any]], names: Sequence[str], encode: Encode, described: Described
) -> tuple[pa.Array, Described]:
    parts = [encode(column) for column in columns]
    array = pa.StructArray.from_arrays([array for array, _ in parts], names=list(names))
    return array, {**described, "columns": [description for _, description in parts]}


def _parts(array: pa.Array, description: Described, decode: Decode) -> list[list[Any]]:
    return [decode(array.field(place), child) for place, child in enumerate(description["columns"])]


def _decode_tuples(array: pa.Array, description: Described, decode: Decode) -> list[Any]:
    return list(zip(*_parts(array, description, decode)))


def _decode_lists(array: pa.Array, description: Described, decode: Decode) -> list[Any]:
    return list(map(list, zip(*_parts(array, description, decode))))


def _decode_dicts(array: pa.Array, description: Described, decode: Decode) -> list[Any]:
    names = description["names"]
    return [dict(zip(names, values)) for values in zip(*_parts(array, description, decode))]


def _decode_rows(array: pa.Array, description: Described, decode: Decode) -> list[Any]:
    parts = _parts(array, description, decode)
    kinds: Iterable[RowKind]
    kinds = repeat(RowKind[description["kind"]]) if "kind" in description else map(RowKind.__getitem__, parts.pop())
    return list(map(row_of, map(list, zip(*parts)), repeat(description["names"]), kinds))


PLAIN_FORMS: dict[str, Callable[[pa.Array, Described, Decode], list[Any]]] = {
    "tuple": _decode_tuples,
    "list": _decode_lists,
    "dict": _decode_dicts,
    "row": _decode_rows,
}


# -- instances of classes ---------------------------------------------------------------------------------------------


def encode_class(values: Sequence[Any], cls: type, encode: Encode) -> tuple[pa.Array, Described] | None:
    """A column for instances of a named tuple, dataclass or enum; None if they have more than its fields."""
    name, kind = name_of(cls), kind_of(cls)
    if name is None:
        return None
    if kind == ENUM:
        return _encode_members(values, cls, encode)
    if kind not in (DATACLASS, NAMED_TUPLE):
        return None
    described = describe_class(cls)
    names: list[str] = list(described["fields"])
    if not 0 < len(names) <= WIDEST:
        return None
    columns = _columns(values, len(names)) if kind == NAMED_TUPLE else _attributes(values, cls, names)
    return None if columns is None else _struct(columns, names, encode, {"form": kind, "class": described})


def _attributes(values: Sequence[Any], cls: type, names: list[str]) -> list[list[Any]] | None:
    """The values of each field; None if an instance lacks one, or has other attributes, too."""
    if cls.__dictoffset__ != 0:
        slots = slots_of(cls)
        if set(map(tuple, map(vars, values))) != {tuple(name for name in names if name not in slots)}:
            return None
    try:
        return [list(map(attrgetter(name), values)) for name in names]
    except AttributeError:  # a slot that was never set
        return None


def _encode_members(values: Sequence[Any], cls: Any, encode: Encode) -> tuple[pa.Array, Described] | None:
    names = list(map(attrgetter("_name_"), values))
    distinct = set(names)
    if not distinct <= cls.__members__.keys():  # combined flags have no name
        return None
    array, _ = encode(names)
    described = {**describe_class(cls), "members": sorted(distinct)}
    return array, {"form": ENUM, "class": described}


def decode_class(array: pa.Array, description: Described, decode: Decode, known: Classes) -> list[Any]:
    """Instances of the present class."""
    change = change_of(description["class"], known)
    if description["form"] == ENUM:
        members: Any = change.cls
        return list(map(members.__members__.__getitem__, array.to_pylist()))
    columns = _columns_now(array, description, decode, change)
    if description["form"] == NAMED_TUPLE:
        return list(map(tuple.__new__, repeat(change.cls), zip(*columns)))
    instances: list[Any] = list(map(object.__new__, repeat(change.cls, len(array))))
    for name, column in zip(change.fields, columns):
        # The class's own __setattr__ may refuse, because it is frozen. A deque of length 0 runs the loop in C.
        deque(map(object.__setattr__, instances, repeat(name), column), 0)
    return instances


def _columns_now(array: pa.Array, description: Described, decode: Decode, change: Change) -> list[Sequence[Any]]:
    """The values of each field of the present class."""
    children = dict(zip(change.stored, description["columns"]))
    if change.upgrade is None:
        return [
            decode(array.field(change.stored.index(name)), children[name])
            if name in children
            else [change.default(name) for _ in range(len(array))]
            for name in change.fields
        ]
    stored = zip(*_parts(array, description, decode))
    upgraded = [change.apply(dict(zip(change.stored, values))) for values in stored]
    return [list(map(itemgetter(name), upgraded)) for name in change.fields]


CLASS_FORMS = frozenset({DATACLASS, NAMED_TUPLE, ENUM})


# All values

INERT = "pickled data"
"""Form of a column of pickles that are read as data only; no stored file has this form."""
DEEPEST = 12
"""Deeper values are pickled as a whole, since they may contain themselves."""


_NO_CLASSES: dict[str, type] = {}


class _TooDeep(Exception):
    pass


def encode(values: Sequence[Any]) -> tuple[pa.Array, Described]:
    """A column of these values and its description. Raises what pickling raises for values that can't be pickled."""
    try:
        return _encode(0, values)
    except _TooDeep:
        return encode_pickles(values)


def _encode(depth: int, values: Sequence[Any]) -> tuple[pa.Array, Described]:
    types = set(map(type, values))
    if _NONE not in types:
        return _encode_present(depth, values, types)
    types.remove(_NONE)
    if not types:
        return pa.nulls(len(values), pa.bool_()), {"form": "none"}
    array, description = _encode_present(depth, [value for value in values if value is not None], types)
    present = np.fromiter((value is not None for value in values), np.bool_, len(values))
    places = pa.array(np.cumsum(present) - 1, mask=~present)
    return array.take(places), description


def _encode_present(depth: int, values: Sequence[Any], types: set[type]) -> tuple[pa.Array, Described]:
    if depth > DEEPEST:
        raise _TooDeep
    found = None
    if len(types) == 1:
        (cls,) = types
        found = _encode_alike(values, cls, partial(_encode, depth + 1))
    return found or (encode_pickles(values) if types else (pa.nulls(0, pa.bool_()), {"form": "none"}))


def _encode_alike(values: Sequence[Any], cls: type, encode_inner: Encode) -> tuple[pa.Array, Described] | None:
    if cls in (list, dict):
        # Many values of one kind are a list, not a record of that width.
        if cls is dict:
            return encode_record(values, cls, encode_inner) or encode_sequence(values, cls, encode_inner)
        return encode_sequence(values, cls, encode_inner) or encode_record(values, cls, encode_inner)
    if cls is tuple or cls is Row:
        found = encode_record(values, cls, encode_inner)
        return encode_sequence(values, cls, encode_inner) if found is None and cls is tuple else found
    if issubclass(cls, np.generic):
        return encode_numpy(values, cls)
    return encode_scalars(values, cls) or encode_class(values, cls, encode_inner)


def decode(array: pa.Array, description: Described, known: Classes = _NO_CLASSES) -> list[Any]:
    """The values of a column.

    :param known: classes of the program's main module, if it can't be imported.
    :raises EvolutionError: the values don't fit the classes of this program.
    """
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    form = description["form"]
    if form == "none":
        return [None] * len(array)
    if not array.null_count:
        return _decode_present(array, description, known)
    values = iter(_decode_present(array.drop_null(), description, known))
    present = array.is_valid().to_numpy(zero_copy_only=False).tolist()
    return [next(values) if is_there else None for is_there in present]


def _decode_present(array: pa.Array, description: Described, known: Classes) -> list[Any]:
    form = description["form"]
    if form in DECODERS:
        return DECODERS[form](array, description)
    if form == "pickle":
        return decode_pickles(array, description, known)
    if form == INERT:
        return list(map(inert_loads, array.to_numpy(zero_copy_only=False).tolist()))
    decode_inner = partial(decode, known=known)
    if form in CLASS_FORMS:
        return decode_class(array, description, decode_inner, known)
    return {**PLAIN_FORMS, **SEQUENCE_FORMS}[form](array, description, decode_inner)


def children(description: Described) -> list[Described]:
    """The descriptions of the columns within a column."""
    inner = list(description.get("columns", ()))
    return inner + [description[part] for part in ("element", "key", "value") if part in description]


def classes_of(description: Described) -> list[Described]:
    """The descriptions (``describe_class``) of all classes of the column's values, and of values inside them."""
    found = [description["class"]] if "class" in description else list(description.get("classes", ()))
    for child in children(description):
        found += classes_of(child)
    return found


def check(description: Described, known: Classes = _NO_CLASSES) -> list[Problem]:
    """Why this program can't read the values of a column; found without reading any."""
    problems = [problem for each in classes_of(description) for problem in examine(each, known)[1]]
    return list(dict.fromkeys(problems))


def check_keys(description: Described, known: Classes = _NO_CLASSES) -> list[Problem]:
    """Why this program can't use the values of a column as keys. Keys must not change at all, because a changed key
    would belong to another subtask."""
    problems = check(description, known)
    for described in [] if problems else classes_of(description):
        change = change_of(described, known)
        if not change.is_none:
            wrong = "it is (part of) the key of stored state and has changed"
            fix = "keep its fields and state_version, or key by another class and start without this state"
            problems.append(Problem(change.name, wrong, fix))
    return problems
