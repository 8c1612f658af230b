"""TABLE_MAP_EVENT: what the log says of a table before its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from millrace.connectors.cdc.mysql.log import column_types as types
from millrace.connectors.cdc.mysql.log.octets import packed_bytes, packed_number, packed_numbers

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


def parse(body: bytes, mariadb: bool) -> TableMap:
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
        kind, detail, used = types.described(code, details, used, f"{database}.{table}")
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
            _LABELS: lambda value: self._collations(types.has_labels, _by_default(value)),
            _EACH_LABELS: lambda value: self._collations(types.has_labels, packed_numbers(value).__getitem__),
            _NAMES: self._names,
            _SETS: lambda value: self._labels(types.SET, value),
            _ENUMS: lambda value: self._labels(types.ENUM, value),
            _KEY: self._simple_key,
            _KEY_PREFIXES: self._key_with_prefixes,
        }
        if what in take:
            take[what](value)

    def _is_text(self, kind: int) -> bool:
        return types.is_text(kind, self.mariadb)

    def _signs(self, value: bytes) -> None:
        places = self._places(types.is_number)
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
