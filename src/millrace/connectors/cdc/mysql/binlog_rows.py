"""Rows out of the events of a binary log.

``TableMap`` is what the log says of a table before its rows; ``RowDecoder`` reads the rows of one table as long as its
columns stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from millrace.connectors.cdc.mysql import binlog_stream, binlog_values
from millrace.connectors.cdc.mysql.binlog_stream import (
    Event,
    mariadb_plain,
    packed_bytes,
    packed_number,
    packed_numbers,
)
from millrace.connectors.cdc.mysql.binlog_values import Read

_SIGNS, _TEXTS, _EACH_TEXT, _NAMES, _SETS, _ENUMS = 1, 2, 3, 4, 5, 6
_KEY, _KEY_PREFIXES, _LABELS, _EACH_LABELS = 8, 9, 10, 11


@dataclass(frozen=True)
class LoggedColumn:
    """A column as the log describes it. What a server leaves out of its log is None.

    :ivar kind: its number in MySQL's protocol.
    :ivar detail: what the kind needs besides: a length, digits, a precision; by its bytes.
    :ivar collation: of texts, by number; 63 are bytes.
    :ivar labels: of an ENUM or a SET, undecoded.
    """

    kind: int
    detail: bytes
    name: str | None = None
    unsigned: bool | None = None
    collation: int | None = None
    labels: tuple[bytes, ...] | None = None


@dataclass(frozen=True)
class TableMap:
    """A table and its columns at a place of the log.

    :ivar key: places of the columns of its PRIMARY KEY, None if the log does not tell.
    """

    database: str
    table: str
    columns: tuple[LoggedColumn, ...]
    key: tuple[int, ...] | None = None

    @property
    def is_named(self) -> bool:
        """Whether the server writes the names of columns (``binlog_row_metadata = FULL``)."""
        return all(column.name is not None for column in self.columns)


def table_number(body: bytes) -> int:
    """By which the rows behind it name the table."""
    return int.from_bytes(body[:6], "little")


def parse_table_map(body: bytes, mariadb: bool) -> TableMap:
    """:raises ValueError: a type of column is not known."""
    size = body[8]
    database = body[9 : 9 + size].decode()
    at = 10 + size
    size = body[at]
    table = body[at + 1 : at + 1 + size].decode()
    number, at = packed_number(body, at + 2 + size)
    codes = body[at : at + number]
    details, at = packed_bytes(body, at + number)
    columns, used = [], 0
    for code in codes:
        kind, detail, used = binlog_values.described(code, details, used, f"{database}.{table}")
        columns.append(LoggedColumn(kind, detail))
    more = _Metadata(tuple(columns), mariadb)
    at += (number + 7) // 8
    while at < len(body):
        what = body[at]
        value, at = packed_bytes(body, at + 1)
        more.take(what, value)
    return TableMap(database, table, tuple(more.columns), more.key)


@dataclass
class _Metadata:
    """Adds what follows the types, field by field."""

    columns: Sequence[LoggedColumn]
    mariadb: bool
    key: tuple[int, ...] | None = field(default=None)

    def take(self, what: int, value: bytes) -> None:
        take: Mapping[int, Callable[[bytes], None]] = {
            _SIGNS: self._signs,
            _TEXTS: lambda value: self._collations(self._is_text, _by_default(value)),
            _EACH_TEXT: lambda value: self._collations(self._is_text, packed_numbers(value).__getitem__),
            _LABELS: lambda value: self._collations(binlog_values.has_labels, _by_default(value)),
            _EACH_LABELS: lambda value: self._collations(binlog_values.has_labels, packed_numbers(value).__getitem__),
            _NAMES: self._names,
            _SETS: lambda value: self._labels(binlog_values.SET, value),
            _ENUMS: lambda value: self._labels(binlog_values.ENUM, value),
            _KEY: self._simple_key,
            _KEY_PREFIXES: self._key_with_prefixes,
        }
        if what in take:
            take[what](value)

    def _is_text(self, kind: int) -> bool:
        return binlog_values.is_text(kind, self.mariadb)

    def _signs(self, value: bytes) -> None:
        places = self._places(binlog_values.is_number)
        signs = {place: bool(value[nth >> 3] & (0x80 >> (nth & 7))) for nth, place in enumerate(places)}
        self.columns = [replace(each, unsigned=signs.get(place)) for place, each in enumerate(self.columns)]

    def _collations(self, wanted: Callable[[int], bool], of: Callable[[int], int]) -> None:
        found = {place: of(nth) for nth, place in enumerate(self._places(wanted))}
        self.columns = [
            replace(each, collation=found[place]) if place in found else each for place, each in enumerate(self.columns)
        ]

    def _names(self, value: bytes) -> None:
        names, at = [], 0
        while at < len(value):
            name, at = packed_bytes(value, at)
            names.append(name.decode())
        self.columns = [replace(each, name=name) for each, name in zip(self.columns, names)]

    def _labels(self, kind: int, value: bytes) -> None:
        at, found = 0, {}
        for place in self._places(lambda each: each == kind):
            number, at = packed_number(value, at)
            labels = []
            for _ in range(number):
                label, at = packed_bytes(value, at)
                labels.append(label)
            found[place] = tuple(labels)
        self.columns = [
            replace(each, labels=found[place]) if place in found else each for place, each in enumerate(self.columns)
        ]

    def _simple_key(self, value: bytes) -> None:
        self.key = tuple(packed_numbers(value))

    def _key_with_prefixes(self, value: bytes) -> None:
        self.key = tuple(packed_numbers(value)[::2])

    def _places(self, wanted: Callable[[int], bool]) -> list[int]:
        return [place for place, column in enumerate(self.columns) if wanted(column.kind)]


def _by_default(value: bytes) -> Callable[[int], int]:
    """One collation for most columns, and others by the number of the column."""
    default, *others = packed_numbers(value)
    different = dict(zip(others[::2], others[1::2]))
    return lambda nth: different.get(nth, default)


Row = tuple[Any, ...]
_INTEGERS = {
    binlog_values.TINY: 1,
    binlog_values.SHORT: 2,
    binlog_values.INT24: 3,
    binlog_values.LONG: 4,
    binlog_values.LONGLONG: 8,
}


@dataclass(frozen=True)
class ColumnTraits:
    """What has to be known of a column besides what every log says.

    :ivar codec: of texts and labels, as Python calls it; None: they are bytes.
    :ivar convert: makes the value of the bytes, for types that only MariaDB has.
    """

    unsigned: bool = False
    codec: str | None = None
    labels: tuple[str, ...] = ()
    convert: Callable[[bytes], Any] | None = None


def value_reader(column: LoggedColumn, known: ColumnTraits, where: str) -> Read:
    """How to read a column's values.

    :raises ValueError: a type that is not read.
    """
    kind, detail = column.kind, column.detail
    if kind in _INTEGERS:
        return binlog_values.whole(_INTEGERS[kind], not known.unsigned)
    if kind in (binlog_values.FLOAT, binlog_values.DOUBLE):
        return binlog_values.approximate(detail[0])
    if kind == binlog_values.DECIMAL:
        return binlog_values.decimal(*detail)
    if kind in (binlog_values.VARCHAR, binlog_values.VAR_STRING, binlog_values.STRING):
        length = int.from_bytes(detail, "little")
        width = 2 if length > 255 else 1
        if known.convert is not None:
            return binlog_values.through(binlog_values.octets(width, length), known.convert)
        if known.codec is None:
            return binlog_values.octets(width, length if kind == binlog_values.STRING else 0)
        return binlog_values.characters(width, known.codec)
    if kind in (
        binlog_values.BLOB,
        binlog_values.TINY_BLOB,
        binlog_values.MEDIUM_BLOB,
        binlog_values.LONG_BLOB,
        binlog_values.GEOMETRY,
        binlog_values.VECTOR,
    ):
        return (
            binlog_values.octets(detail[0]) if known.codec is None else binlog_values.characters(detail[0], known.codec)
        )
    if kind == binlog_values.JSON:
        return binlog_values.through(binlog_values.octets(detail[0]), binlog_values.json_text)
    if kind == binlog_values.ENUM:
        return binlog_values.one_of(known.labels, detail[0])
    if kind == binlog_values.SET:
        return binlog_values.some_of(known.labels, detail[0])
    if kind == binlog_values.BIT:
        return binlog_values.bit(detail[0] + 8 * detail[1])
    by_digits = {
        binlog_values.DATETIME: binlog_values.datetime,
        binlog_values.TIMESTAMP: binlog_values.timestamp,
        binlog_values.TIME: binlog_values.time,
    }
    if kind in by_digits:
        return by_digits[kind](detail[0])
    plain: dict[int, Read] = {
        binlog_values.YEAR: binlog_values.year,
        binlog_values.DATE: binlog_values.date,
        binlog_values.NEW_DATE: binlog_values.date,
        binlog_values.OLD_TIMESTAMP: binlog_values.old_timestamp,
        binlog_values.OLD_DATETIME: binlog_values.old_datetime,
        binlog_values.OLD_TIME: binlog_values.old_time,
    }
    if kind in plain:
        return plain[kind]
    raise ValueError(
        f"{where} has a type that is not read from the log (number {kind}), as columns with COMPRESSED are"
    )


class RowDecoder:
    """Reads the rows of one table as long as its columns stay as they are."""

    def __init__(self, readers: Sequence[Read], table: str) -> None:
        self._readers = tuple(readers)
        self._table = table
        self._nulls = (len(self._readers) + 7) // 8
        self._all = bytes(
            [255] * (len(self._readers) // 8) + ([(1 << len(self._readers) % 8) - 1] if len(self._readers) % 8 else [])
        )

    def rows(self, event: Event) -> list[tuple[Row | None, Row | None]]:
        """(before, after) of each row.

        :raises ValueError: the log has only some of the columns, or is damaged.
        """
        what = binlog_stream.ROWS[event.kind]
        body = event.body
        at = 8
        if event.kind in binlog_stream.ROWS_WITH_EXTRA:
            at += int.from_bytes(body[8:10], "little")
        number, at = packed_number(body, at)
        if number != len(self._readers):
            raise ValueError(f"rows of table {self._table} have {number} columns, but it has {len(self._readers)}")
        for _ in range(2 if what == binlog_stream.UPDATE else 1):
            if body[at : at + self._nulls] != self._all:
                raise ValueError(
                    f"the log has some columns only of a row of table {self._table}: some session or server wrote it "
                    "with binlog_row_image other than FULL. Set it to FULL everywhere, and take a new snapshot"
                )
            at += self._nulls
        if event.kind in binlog_stream.ROWS_COMPRESSED:
            body, at = mariadb_plain(body[at:]), 0
        found: list[tuple[Row | None, Row | None]] = []
        row, end = self._row, len(body)
        while at < end:
            first, at = row(body, at)
            if what == binlog_stream.UPDATE:
                second, at = row(body, at)
                found.append((first, second))
            else:
                found.append((None, first) if what == binlog_stream.INSERT else (first, None))
        return found

    def _row(self, body: bytes, at: int) -> tuple[Row, int]:
        begin, at = at, at + self._nulls
        nulls = int.from_bytes(body[begin:at], "little")
        made: list[Any] = []
        for read in self._readers:
            if nulls & 1:
                made.append(None)
            else:
                value, at = read(body, at)
                made.append(value)
            nulls >>= 1
        return tuple(made), at
