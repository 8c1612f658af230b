"""What a job gave to its sinks, in a form in which runs can be compared."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.sink import Committer, Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.common.types import Row, RowKind
from millrace.relational.rows import Rows
from millrace.testing.recording.events import KINDS, cells
from millrace.testing.recording.values import encode

_ADDS = frozenset({str(RowKind.INSERT), str(RowKind.UPDATE_AFTER)})


@dataclass(frozen=True)
class Change:
    """An element of a stream, or a change of a table."""

    text: str
    """the element as JSON, without its kind"""
    kind: str = KINDS[0]
    key: str | None = None
    """which row it changes, if a later change of the same key takes its place"""


def changes_of(element: Any, key: Sequence[int] | None = None) -> Iterator[Change]:
    """An element as changes: a batch of rows has several.

    :param key: the columns by which changes of a table know their rows; None: by all columns.
    :raises RecordingError: a value that can't be recorded.
    """
    if isinstance(element, Rows):
        for kind, values in cells(element):
            known = None if key is None else _json([values[column] for column in key])
            yield Change(_json(values), kind, known)
    elif isinstance(element, Row) and element.get_row_kind() is not RowKind.INSERT:
        plain = Row(*element._values)
        if element._fields is not None:
            plain.set_field_names(element._fields)
        yield Change(_json(encode(plain)), str(element.get_row_kind()))
    else:
        yield Change(_json(encode(element)))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def left_over(changes: Iterable[Change]) -> list[str]:
    """The elements, or the rows of the table that changes lead to: sorted, since neither epochs nor subtasks have an
    order that counts."""
    rows: Counter[str] = Counter()
    by_key: dict[str, str] = {}
    for change in changes:
        if change.key is None:
            rows[change.text] += 1 if change.kind in _ADDS else -1
        elif change.kind in _ADDS:
            by_key[change.key] = change.text
        elif change.kind != str(RowKind.UPDATE_BEFORE):
            by_key.pop(change.key, None)
    # A row that was taken back more often than given shows: it must not be lost.
    missing = [f"-{text}" for text, count in rows.items() for _ in range(-count)]
    return sorted([*(+rows).elements(), *by_key.values(), *missing])


class KeptSink(Sink[Any]):
    """Keeps what it is given, in the process of the program.

    :param key: see ``changes_of``.
    """

    def __init__(self, key: Sequence[int] | None) -> None:
        self._key = key
        self.changes: list[Change] = []
        """in the order in which epochs were committed"""

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        return _Writer(self._key)

    def create_committer(self) -> Committer[Any]:
        return _Committer(self.changes)


class _Writer(SinkWriter[Any]):
    def __init__(self, key: Sequence[int] | None) -> None:
        self._key = key
        self._changes: list[Change] = []

    def write(self, element: Any, context: SinkWriterContext) -> None:
        self._changes += changes_of(element, self._key)

    def prepare_commit(self) -> list[Any]:
        changes, self._changes = self._changes, []
        return [changes] if changes else []


class _Committer(Committer[list[Change]]):
    def __init__(self, kept: list[Change]) -> None:
        self._kept = kept

    def commit(self, committables: Sequence[list[Change]]) -> None:
        for changes in committables:
            self._kept += changes
