"""The base of formats of changes: a message says what happened to a row, with its old or new values or both. Old rows
may have only what changed.

Written messages are JSON, two for an update: a deletion of the old row, and a creation of the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.formats.tables.format_options import IGNORE, Options, malformed
from millrace.formats.tables.json_format import JsonTexts
from millrace.formats.tables.json_reading import JsonReader
from millrace.formats.tables.message_reading import Numbers, Piece
from millrace.formats.text_columns import relisted
from millrace.relational import types as t
from millrace.relational.nodes import Schema
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Rows, record_batch
from millrace.relational.sources import ALL_KINDS, Decoded, DecodingFormat, EncodingFormat
from millrace.relational.types import DataType

CREATED, UPDATED, DELETED, NOTHING, UNKNOWN = range(5)

_KINDS = {CREATED: (INSERT,), UPDATED: (UPDATE_BEFORE, UPDATE_AFTER), DELETED: (DELETE,), NOTHING: (), UNKNOWN: ()}
_COUNTS = np.array([len(_KINDS[each]) for each in range(len(_KINDS))])
_FIRST = np.array([(*_KINDS[each], 0)[0] for each in range(len(_KINDS))], np.uint8)


@dataclass(frozen=True)
class Changes:
    """Changes of rows."""

    operations: np.ndarray[Any, np.dtype[np.int64]]
    """for each change what happened: CREATED, UPDATED or DELETED"""
    before: pa.StructArray
    """old rows of changes that are UPDATED or DELETED; NULL for others"""
    after: pa.StructArray
    """new rows of changes that are CREATED or UPDATED; NULL for others"""
    messages: Numbers
    """for each change the position of its message, ascending"""
    problems: tuple[tuple[int, str], ...] = ()
    """messages without meaning: position and reason"""


class Interpreter(Protocol):
    """What a format makes of the columns of its messages."""

    def changes(self, columns: Sequence[pa.Array]) -> Changes: ...

    def metadata(self, columns: Sequence[pa.Array]) -> list[pa.Array]:
        """The metadata that is wanted, a value for each message."""


@dataclass(frozen=True)
class Metadata:
    """A member of the messages that a table can have as a column."""

    member: str
    read_as: DataType
    type: DataType
    convert: Callable[[pa.Array], pa.Array] | None = None
    """converts the column from ``read_as`` to ``type``; None: nothing to convert"""

    def of(self, column: pa.Array) -> pa.Array:
        return column if self.convert is None else self.convert(column)


class Reader(Protocol):
    """Reads messages into the columns that an interpreter knows."""

    def read(self, messages: pa.Array) -> Piece: ...


class ChangeDecoding(DecodingFormat):
    """:param lenient: messages that are malformed are left out and counted."""

    kinds = ALL_KINDS

    def __init__(self, table: str, reader: Reader, interpreter: Interpreter, lenient: bool) -> None:
        self._table = table
        self._reader = reader
        self._interpreter = interpreter
        self._lenient = lenient

    def decode(self, messages: pa.Array) -> Decoded:
        found = self._reader.read(messages)
        changes = self._interpreter.changes(found.columns)
        skipped = found.skipped
        if changes.problems:
            first, reason = min(changes.problems)
            if not self._lenient:
                number = int(found.numbers[first])
                raise malformed(self._table, number, messages[number].as_py(), reason)
            bad = {position for position, _ in changes.problems}
            skipped += len(bad)
            operations = np.where(np.isin(changes.messages, list(bad)), NOTHING, changes.operations)
        else:
            operations = changes.operations
        columns, kinds, origins = _rows(changes, operations)
        where = pa.array(origins)
        columns += [each.take(where) for each in self._interpreter.metadata(found.columns)]
        return Decoded(Rows(record_batch(columns, len(origins)), kinds), found.numbers[origins], skipped)


def _rows(changes: Changes, operations: Any) -> tuple[list[pa.Array], Any, Numbers]:
    """The columns of the rows that were changed, their kinds, the positions of their messages."""
    counts = _COUNTS[operations]
    change = np.repeat(np.arange(len(operations)), counts)
    starts = np.cumsum(counts) - counts
    second = np.arange(len(change)) > starts[change]
    kinds = np.where(second, UPDATE_AFTER, _FIRST[operations][change]).astype(np.uint8)
    new = (kinds == INSERT) | (kinds == UPDATE_AFTER)
    where = pa.array(np.where(new, change + len(operations), change))
    both = zip(changes.before.flatten(), changes.after.flatten())
    columns = [pa.concat_arrays(each).take(where) for each in both]
    return columns, kinds, changes.messages[change]


@dataclass(frozen=True)
class Members:
    """Members of a message with one change.

    ``operations`` are the values of the member that says what happened. ``missing`` is the reason that is given for an
    old row that is not there, with ``{}`` for what happened.
    """

    operation: str
    operations: Mapping[str, int]
    missing_before: str
    missing_after: str

    def changes(
        self, operation: pa.Array, before: pa.Array, after: pa.Array, messages: Numbers | None = None
    ) -> Changes:
        """:param messages: as of ``Changes``; None: one message each."""
        if messages is None:
            messages = np.arange(len(operation))
        codes = self.codes(operation)
        problems = [(int(messages[at]), reason) for at, reason in self.unknown(operation, codes)]
        for code, what, old, new in ((CREATED, "INSERT", 0, 1), (UPDATED, "UPDATE", 1, 1), (DELETED, "DELETE", 1, 0)):
            mine = codes == code
            if old and before.null_count:
                problems += _all(messages[mine & np.asarray(before.is_null())], self.missing_before.format(what))
            if new and after.null_count:
                problems += _all(messages[mine & np.asarray(after.is_null())], self.missing_after.format(what))
        return Changes(codes, before, after, messages, tuple(problems))

    def unknown(self, operation: pa.Array, codes: np.ndarray[Any, np.dtype[np.int64]]) -> list[tuple[int, str]]:
        """The positions of operations that there are not, with the reason to give."""
        wrong = np.flatnonzero(codes == UNKNOWN).tolist()
        return [(at, f'unknown "{self.operation}" value {operation[at].as_py()!r}') for at in wrong]

    def codes(self, operation: pa.Array) -> np.ndarray[Any, np.dtype[np.int64]]:
        found = pc.index_in(operation, value_set=pa.array(list(self.operations), pa.string()))
        codes = np.array([*self.operations.values(), UNKNOWN], np.int64)
        return codes[np.asarray(found.fill_null(len(self.operations)))]  # type: ignore[no-any-return]


def _all(messages: Numbers, reason: str) -> list[tuple[int, str]]:
    return [(int(message), reason) for message in messages]


def row_type(columns: Schema) -> t.RowType:
    """The columns as one type."""
    return t.RowType([t.RowField(column.name, column.type) for column in columns])


def milliseconds(column: pa.Array) -> pa.Array:
    """Numbers of milliseconds since 1970 as TIMESTAMP_LTZ."""
    return pc.multiply_checked(column, 1000).cast(pa.timestamp("us", "UTC"))


def seconds(column: pa.Array) -> pa.Array:
    """Numbers of seconds since 1970 as TIMESTAMP_LTZ."""
    return pc.multiply_checked(column, 1_000_000).cast(pa.timestamp("us", "UTC"))


DATA, OLD, TYPE = range(3)
"""positions of the columns"""


@dataclass(frozen=True)
class PartialRows:
    """For messages with the members ``data``, ``old`` and ``type``. In ``old`` a member that is null was NULL, one that
    is missing has not changed.

    :param update: the type of messages with an old row.
    :param lists: whether ``data`` and ``old`` are lists of as many rows.
    """

    update: str
    lists: bool

    def unsure(self, columns: list[pa.Array], messages: pa.Array) -> pa.Array:
        updates = pc.equal(columns[TYPE], self.update).fill_null(False)
        unsure = pc.and_(updates, pc.match_substring(messages, b"null"))
        if not self.lists:
            return unsure
        same = pc.equal(pc.list_value_length(columns[DATA]), pc.list_value_length(columns[OLD]))
        return pc.or_(unsure, pc.and_(updates, pc.invert(same.fill_null(False))))

    def columns(self, columns: list[pa.Array]) -> list[pa.Array]:
        data, old, kinds = columns[:3]
        updates = pc.equal(kinds, self.update).fill_null(False)
        if not pc.any(updates).as_py():
            return columns
        filled = self._filled(data.filter(updates), old.filter(updates))
        where = pc.if_else(updates, pc.cumulative_sum(updates.cast(pa.int64())), 0)
        merged = pa.concat_arrays([pa.nulls(1, old.type), filled]).take(where)
        return [data, merged, *columns[2:]]

    def _filled(self, data: pa.Array, old: pa.Array) -> pa.Array:
        if self.lists:
            return relisted(old, _coalesced(data.flatten(), old.flatten()))
        return _coalesced(data, old)

    def message(self, message: Any) -> Any:
        if not isinstance(message, dict) or message.get("type") != self.update:
            return message
        data, old = message.get("data"), message.get("old")
        if self.lists and isinstance(data, list) and isinstance(old, list) and len(data) == len(old):
            return {**message, "old": [_merged(*each) for each in zip(data, old)]}
        return message if self.lists else {**message, "old": _merged(data, old)}


def _merged(data: Any, old: Any) -> Any:
    return {**data, **old} if isinstance(data, dict) and isinstance(old, dict) else old


def _coalesced(data: pa.Array, old: pa.Array) -> pa.Array:
    parts = [pc.coalesce(*each) for each in zip(old.flatten(), data.flatten())]
    return pa.StructArray.from_arrays(parts, fields=list(old.type), mask=old.is_null() if old.null_count else None)


@dataclass(frozen=True)
class FlatChanges:
    """What a format makes of such messages."""

    wanted: tuple[Metadata, ...]

    def changes(self, columns: Sequence[pa.Array]) -> Changes:
        raise NotImplementedError

    def metadata(self, columns: Sequence[pa.Array]) -> list[pa.Array]:
        return [each.of(column) for each, column in zip(self.wanted, columns[3:])]


def flat_decoding(
    options: Options,
    interpreter: FlatChanges,
    members: Sequence[tuple[str, DataType]],
    completion: PartialRows | None = None,
) -> ChangeDecoding:
    """Reads the three members and the metadata that is wanted.

    :param completion: for old rows that have only what was changed.
    """
    table, lenient = options.table.table, options.flag(IGNORE)
    members = [*members, *((each.member, each.read_as) for each in interpreter.wanted)]
    reader = JsonReader(table, members, options.times(), lenient=lenient, completion=completion)
    return ChangeDecoding(table, reader, interpreter, lenient)


@dataclass(frozen=True)
class Frame:
    """The text around the JSON of a row."""

    start: str
    end: str


class ChangeEncoding(EncodingFormat):
    kinds = ALL_KINDS

    def __init__(self, columns: Schema, texts: JsonTexts, created: Frame, deleted: Frame) -> None:
        self._columns = columns
        self._texts = texts
        self._created = created
        self._deleted = deleted

    def encode(self, rows: Rows) -> pa.Array:
        fields = [(column.name, array, column.type) for column, array in zip(self._columns, rows.columns)]
        adds = pa.array(rows.adds())
        start = pc.if_else(adds, self._created.start, self._deleted.start)
        end = pc.if_else(adds, self._created.end, self._deleted.end)
        return pc.binary_join_element_wise(start, self._texts.objects(fields, len(rows)), end, "").cast(pa.binary())


def before_and_after(member: str, created: str, deleted: str, leave_out_nulls: bool) -> tuple[Frame, Frame]:
    """The frames of messages with the row before and after, one of them null, and a member that says what happened."""
    no_before, no_after = ("", "") if leave_out_nulls else ('"before":null,', '"after":null,')
    return (
        Frame(f'{{{no_before}"after":', f',"{member}":"{created}"}}'),
        Frame('{"before":', f',{no_after}"{member}":"{deleted}"}}'),
    )
