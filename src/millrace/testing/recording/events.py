"""What a source gives, as lines of a file: elements, watermarks, and when it was idle."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.common.types import RowKind
from millrace.relational.rows import Rows, record_batch
from millrace.testing.recording.values import RecordingError, decode, encode

KINDS = [str(kind) for kind in RowKind]
IDLE, OPENED, RELEASED = "idle", "opened", "released"


@dataclass(frozen=True)
class Place:
    """Where something came from: a subtask, and the split if the reader has an output for each."""

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
    """What else the reader said."""

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
    """The kind of each row, and its values for JSON."""
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
    """The lines of a file. Texts in them may have what Unicode takes for the end of a line."""
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
