"""The events of a source as lines of a file: elements, watermarks, and idleness.

Values are JSON that names their types; reading a file never runs code of the file's choice.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from millrace.common.types import Row, RowKind
from millrace.relational.rows import Rows, record_batch


class RecordingError(Exception):
    """A recording can't be made, read or used; the text says why."""


def encode(value: Any) -> Any:
    """A value as what ``json`` writes: plain values as they are, others as ``{"$tuple": [...]}``.

    :raises RecordingError: a value of another kind.
    """
    if value is None or value.__class__ in (bool, int, str):
        return value
    if value.__class__ is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if value.__class__ is list:
        return [encode(each) for each in value]
    if value.__class__ is dict:
        return _encode_dict(value)
    for name, kind, (write, _) in _KINDS:
        if value.__class__ is kind:
            return {f"${name}": write(value)}
    if isinstance(value, np.generic):
        return {"$numpy": [value.dtype.str, encode(value.item())]}
    names = _field_names(type(value))
    if names is not None:
        path = f"{type(value).__module__}:{type(value).__qualname__}"
        return {"$object": path, "fields": {name: encode(getattr(value, name)) for name in names}}
    raise RecordingError(
        f"a {type(value).__module__}.{type(value).__qualname__} can't be recorded: recordings hold plain values, rows, "
        f"times, named tuples and dataclasses"
    )


def _encode_dict(value: dict[Any, Any]) -> Any:
    if all(key.__class__ is str and not key.startswith("$") for key in value):
        return {key: encode(each) for key, each in value.items()}
    return {"$dict": [[encode(key), encode(each)] for key, each in value.items()]}


def decode(value: Any) -> Any:
    """Decode a value that ``encode`` has written.

    :raises RecordingError: it is not of its making, or a class is no longer there.
    """
    if isinstance(value, list):
        return [decode(each) for each in value]
    if not isinstance(value, dict):
        return value
    name = next(iter(value), "")
    if not name.startswith("$"):
        return {key: decode(each) for key, each in value.items()}
    if name == "$object":
        return _object(value["$object"], value["fields"])
    if name not in _READ:
        raise RecordingError(f"{name} is no kind of value that a recording has")
    return _READ[name](value[name])


def _encode_row(row: Row) -> Any:
    names = row._fields
    values = [encode(each) for each in row._values]
    kind = {} if row.get_row_kind() is RowKind.INSERT else {"kind": str(row.get_row_kind())}
    return {"values": values, **({} if names is None else {"names": list(names)}), **kind}


def _decode_row(text: Any) -> Row:
    row = Row(*map(decode, text["values"]))
    if "names" in text:
        row.set_field_names(list(text["names"]))
    kinds = {str(kind): kind for kind in RowKind}
    row.set_row_kind(kinds[text.get("kind", str(RowKind.INSERT))])
    return row


def _sorted(value: Any) -> list[Any]:
    return sorted((encode(each) for each in value), key=repr)


def _delta(text: list[int]) -> datetime.timedelta:
    return datetime.timedelta(*text)


_KINDS: tuple[tuple[str, type, tuple[Callable[[Any], Any], Callable[[Any], Any]]], ...] = (
    ("tuple", tuple, (lambda value: [encode(each) for each in value], lambda text: tuple(map(decode, text)))),
    ("row", Row, (_encode_row, _decode_row)),
    ("bytes", bytes, (lambda value: base64.b64encode(value).decode(), base64.b64decode)),
    ("decimal", decimal.Decimal, (str, decimal.Decimal)),
    ("timestamp", pd.Timestamp, (lambda value: value.isoformat(), pd.Timestamp)),
    ("datetime", datetime.datetime, (lambda value: value.isoformat(), datetime.datetime.fromisoformat)),
    ("date", datetime.date, (lambda value: value.isoformat(), datetime.date.fromisoformat)),
    ("time", datetime.time, (lambda value: value.isoformat(), datetime.time.fromisoformat)),
    ("timedelta", datetime.timedelta, (lambda value: [value.days, value.seconds, value.microseconds], _delta)),
    ("set", set, (_sorted, lambda text: set(map(decode, text)))),
    ("frozenset", frozenset, (_sorted, lambda text: frozenset(map(decode, text)))),
)
"""name, class, (function to JSON's types, function back)"""

_READ: dict[str, Callable[[Any], Any]] = {
    **{f"${name}": read for name, _, (_, read) in _KINDS},
    "$float": float,
    "$dict": lambda text: {decode(key): decode(each) for key, each in text},
    "$numpy": lambda text: np.dtype(text[0]).type(decode(text[1])),
}


def _field_names(kind: type) -> list[str] | None:
    """The fields of a dataclass or a named tuple, None for other classes."""
    if dataclasses.is_dataclass(kind):
        return [each.name for each in dataclasses.fields(kind)]
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return list(kind._fields)
    return None


def _object(name: str, fields: dict[str, Any]) -> Any:
    """Make an object of a class of the program, without calling its constructor."""
    module, _, path = name.partition(":")
    kind: Any = sys.modules.get(module)
    for part in path.split("."):
        kind = getattr(kind, part, None)
    names = _field_names(kind) if isinstance(kind, type) else None
    if names is None or names != list(fields):
        raise RecordingError(f"the program has no dataclass or named tuple {path} ({module}) with {', '.join(fields)}")
    values = {each: decode(value) for each, value in fields.items()}
    if issubclass(kind, tuple):
        return tuple.__new__(kind, values.values())
    made = object.__new__(kind)
    for each, value in values.items():
        object.__setattr__(made, each, value)
    return made


KINDS = [str(kind) for kind in RowKind]
IDLE, OPENED, RELEASED = "idle", "opened", "released"


@dataclass(frozen=True)
class Place:
    """The origin of an event: a subtask, and the split if the reader has an output for each split."""

    subtask: int
    split: str | None = None


@dataclass(frozen=True)
class Element:
    """An element, or one row of a table's source."""

    place: Place
    value: Any
    timestamp: int | None = None
    """ms, as the source gave it"""


@dataclass(frozen=True)
class Mark:
    """A watermark that the source itself emitted."""

    place: Place
    watermark: int
    """ms"""


@dataclass(frozen=True)
class Sign:
    """Any other event of a reader."""

    place: Place
    what: str
    """``IDLE``; ``OPENED`` or ``RELEASED``: the output of a split"""


Event = Element | Mark | Sign


class EventWriter:
    """Appends to a file. The schema of tables' rows comes before the first of them."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._schema: pa.Schema | None = None

    def write(self, events: Sequence[Event]) -> None:
        """:raises RecordingError: a value that can't be recorded."""
        lines = [json.dumps(line, ensure_ascii=False) for event in events for line in self._lines(event)]
        with open(self._path, "a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)

    def _lines(self, event: Event) -> Iterator[dict[str, Any]]:
        place = event.place
        of = {"task": place.subtask} if place.split is None else {"task": place.subtask, "split": place.split}
        if isinstance(event, Mark):
            yield {**of, "watermark": event.watermark}
        elif isinstance(event, Sign):
            yield {**of, "sign": event.what}
        else:
            yield from self._of_element(of if event.timestamp is None else {**of, "at": event.timestamp}, event.value)

    def _of_element(self, of: dict[str, Any], value: Any) -> Iterator[dict[str, Any]]:
        if not isinstance(value, Rows):
            yield {**of, "value": encode(value)}
            return
        schema = value.batch.schema
        if schema != self._schema:
            self._schema = schema
            shown = [f"{field.name} {field.type}" for field in schema]
            yield {"columns": shown, "schema": base64.b64encode(schema.serialize().to_pybytes()).decode()}
        for kind, values in cells(value):
            yield {**of, "row": values, **({} if kind == KINDS[0] else {"kind": kind})}


def cells(rows: Rows) -> Iterator[tuple[str, list[Any]]]:
    """The kind of each row, and its values in JSON's types."""
    columns = [column.to_pylist() for column in rows.columns]
    values = zip(*columns) if columns else iter([()] * len(rows))
    for kind, row in zip(rows.kind_values().tolist(), values):
        yield KINDS[kind], [encode(each) for each in row]


def read_events(path: Path) -> Iterator[Event]:
    """The events of a file, in order.

    :raises RecordingError: it can't be read.
    """
    schema: pa.Schema | None = None
    try:
        for line in lines_of(path):
            event = json.loads(line)
            if "schema" in event:
                schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(event["schema"])))
            else:
                yield _event(event, schema)
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise RecordingError(f"{path} can't be read: {error}") from error


def lines_of(path: Path) -> list[str]:
    """The lines of a file; texts may contain Unicode's other line separators."""
    return [line for line in path.read_text("utf-8").split("\n") if line]


def _event(line: dict[str, Any], schema: pa.Schema | None) -> Event:
    place = Place(line["task"], line.get("split"))
    if "watermark" in line:
        return Mark(place, line["watermark"])
    if "sign" in line:
        return Sign(place, line["sign"])
    value = _rows(line, schema) if "row" in line else decode(line["value"])
    return Element(place, value, line.get("at"))


def _rows(event: dict[str, Any], schema: pa.Schema | None) -> Rows:
    if schema is None:
        raise ValueError("a row comes before the columns")
    columns = [pa.array([decode(each)], field.type) for each, field in zip(event["row"], schema, strict=True)]
    kind = KINDS.index(event.get("kind", KINDS[0]))
    return Rows(record_batch(columns, 1), None if kind == 0 else np.array([kind], np.uint8))
