"""Rows of a table out of the events of the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.connectors.cdc.mysql.log import column_types as types
from millrace.connectors.cdc.mysql.log import json_binary, kinds, values
from millrace.connectors.cdc.mysql.log.compression import mariadb_plain
from millrace.connectors.cdc.mysql.log.event import Event
from millrace.connectors.cdc.mysql.log.octets import packed_number
from millrace.connectors.cdc.mysql.log.table_map import LoggedColumn
from millrace.connectors.cdc.mysql.log.values import Read

Row = tuple[Any, ...]
_INTEGERS = {types.TINY: 1, types.SHORT: 2, types.INT24: 3, types.LONG: 4, types.LONGLONG: 8}


@dataclass(frozen=True)
class Known:
    """What has to be known of a column besides what every log says.

    :ivar codec: of texts and labels, as Python calls it; None: they are bytes.
    :ivar convert: makes the value of the bytes, for types that only MariaDB has.
    """

    unsigned: bool = False
    codec: str | None = None
    labels: tuple[str, ...] = ()
    convert: Callable[[bytes], Any] | None = None


def reader(column: LoggedColumn, known: Known, where: str) -> Read:
    """How to read a column's values.

    :raises ValueError: a type that is not read.
    """
    kind, detail = column.kind, column.detail
    if kind in _INTEGERS:
        return values.whole(_INTEGERS[kind], not known.unsigned)
    if kind in (types.FLOAT, types.DOUBLE):
        return values.approximate(detail[0])
    if kind == types.DECIMAL:
        return values.decimal(*detail)
    if kind in (types.VARCHAR, types.VAR_STRING, types.STRING):
        length = int.from_bytes(detail, "little")
        width = 2 if length > 255 else 1
        if known.convert is not None:
            return values.through(values.octets(width, length), known.convert)
        if known.codec is None:
            return values.octets(width, length if kind == types.STRING else 0)
        return values.text(width, known.codec)
    if kind in (types.BLOB, types.TINY_BLOB, types.MEDIUM_BLOB, types.LONG_BLOB, types.GEOMETRY, types.VECTOR):
        return values.octets(detail[0]) if known.codec is None else values.text(detail[0], known.codec)
    if kind == types.JSON:
        return values.through(values.octets(detail[0]), json_binary.text)
    if kind == types.ENUM:
        return values.one_of(known.labels, detail[0])
    if kind == types.SET:
        return values.some_of(known.labels, detail[0])
    if kind == types.BIT:
        return values.bit(detail[0] + 8 * detail[1])
    by_digits = {types.DATETIME: values.datetime, types.TIMESTAMP: values.timestamp, types.TIME: values.time}
    if kind in by_digits:
        return by_digits[kind](detail[0])
    plain: dict[int, Read] = {
        types.YEAR: values.year, types.DATE: values.date, types.NEW_DATE: values.date,
        types.OLD_TIMESTAMP: values.old_timestamp, types.OLD_DATETIME: values.old_datetime,
        types.OLD_TIME: values.old_time,
    }  # fmt: skip
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
        what = kinds.ROWS[event.kind]
        body = event.body
        at = 8
        if event.kind in kinds.ROWS_WITH_EXTRA:
            at += int.from_bytes(body[8:10], "little")
        number, at = packed_number(body, at)
        if number != len(self._readers):
            raise ValueError(f"rows of table {self._table} have {number} columns, but it has {len(self._readers)}")
        for _ in range(2 if what == kinds.UPDATE else 1):
            if body[at : at + self._nulls] != self._all:
                raise ValueError(
                    f"the log has some columns only of a row of table {self._table}: some session or server wrote it "
                    "with binlog_row_image other than FULL. Set it to FULL everywhere, and take a new snapshot"
                )
            at += self._nulls
        if event.kind in kinds.ROWS_COMPRESSED:
            body, at = mariadb_plain(body[at:]), 0
        found: list[tuple[Row | None, Row | None]] = []
        row, end = self._row, len(body)
        while at < end:
            first, at = row(body, at)
            if what == kinds.UPDATE:
                second, at = row(body, at)
                found.append((first, second))
            else:
                found.append((None, first) if what == kinds.INSERT else (first, None))
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
