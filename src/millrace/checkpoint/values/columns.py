"""Python values as Arrow columns, and back to exactly the same values.

Values of one shape become columns that DuckDB, pandas and Spark can read: numbers, text and times as such, tuples,
rows, dataclasses and their like as structs, lists and dicts as lists and maps. What has no such shape is pickled, value
by value. A description in plain JSON says how a column is to be read.

What is not kept is that two values were one object, unless a pickle holds both.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.checkpoint.values.classes import Classes
from millrace.checkpoint.values.evolution import Problem, change_of, examine
from millrace.checkpoint.values.inert import inert_loads
from millrace.checkpoint.values.pickles import decode_pickles, encode_pickles
from millrace.checkpoint.values.records import CLASS_FORMS, PLAIN_FORMS, decode_class, encode_class, encode_record
from millrace.checkpoint.values.scalars import DECODERS, encode_numpy, encode_scalars
from millrace.checkpoint.values.sequences import SEQUENCE_FORMS, encode_sequence
from millrace.common.types import Row

__all__ = ["check", "check_keys", "children", "classes_of", "decode", "encode"]

Described = dict[str, Any]

INERT = "pickled data"
"""Form of a column of pickles that are only looked at; no file says so of itself."""
DEEPEST = 12
"""Values that go deeper are pickled as a whole: they may contain themselves."""
_NONE = type(None)
_NO_CLASSES: dict[str, type] = {}


class _TooDeep(Exception):
    pass


def encode(values: Sequence[Any]) -> tuple[Any, Described]:
    """A column of these values and its description. Raises what pickling raises for values that can't be pickled."""
    try:
        return _encode(0, values)
    except _TooDeep:
        return encode_pickles(values)


def _encode(depth: int, values: Sequence[Any]) -> tuple[Any, Described]:
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


def _encode_present(depth: int, values: Sequence[Any], types: set[type]) -> tuple[Any, Described]:
    if depth > DEEPEST:
        raise _TooDeep
    found = None
    if len(types) == 1:
        (cls,) = types
        found = _encode_alike(values, cls, partial(_encode, depth + 1))
    return found or (encode_pickles(values) if types else (pa.nulls(0, pa.bool_()), {"form": "none"}))


def _encode_alike(values: Sequence[Any], cls: type, encode_inner: Any) -> tuple[Any, Described] | None:
    if cls in (list, dict):
        # Many elements of one kind are a list rather than a record of that width.
        if cls is dict:
            return encode_record(values, cls, encode_inner) or encode_sequence(values, cls, encode_inner)
        return encode_sequence(values, cls, encode_inner) or encode_record(values, cls, encode_inner)
    if cls is tuple or cls is Row:
        found = encode_record(values, cls, encode_inner)
        return encode_sequence(values, cls, encode_inner) if found is None and cls is tuple else found
    if issubclass(cls, np.generic):
        return encode_numpy(values, cls)
    return encode_scalars(values, cls) or encode_class(values, cls, encode_inner)


def decode(array: Any, description: Described, known: Classes = _NO_CLASSES) -> list[Any]:
    """The values of a column.

    :param known: classes of the program's main module, where it can't be imported.
    :raises EvolutionError: they don't fit the classes of this program.
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


def _decode_present(array: Any, description: Described, known: Classes) -> list[Any]:
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
    """The classes that the values of a column are of, or hold, as ``classes`` describes them."""
    found = [description["class"]] if "class" in description else list(description.get("classes", ()))
    for child in children(description):
        found += classes_of(child)
    return found


def check(description: Described, known: Classes = _NO_CLASSES) -> list[Problem]:
    """Why values of a column can't be read by this program, found out without reading any."""
    problems = [problem for each in classes_of(description) for problem in examine(each, known)[1]]
    return list(dict.fromkeys(problems))


def check_keys(description: Described, known: Classes = _NO_CLASSES) -> list[Problem]:
    """The same for a column of keys, which must not change at all: another key would belong to another subtask."""
    problems = check(description, known)
    for described in [] if problems else classes_of(description):
        change = change_of(described, known)
        if not change.is_none:
            wrong = "it is (part of) the key of stored state and has changed"
            fix = "keep its fields and state_version, or key by another class and start without this state"
            problems.append(Problem(change.name, wrong, fix))
    return problems
