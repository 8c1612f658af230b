"""Rows as commands, all of a batch at once."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.connectors.redis.sink import CommandEncoder, Words
from millrace.connectors.tables.redis.layout import CommandLayout, Kind
from millrace.connectors.tables.redis.words import SEPARATOR, words_of
from millrace.relational.fields import Schema
from millrace.relational.formats import EncodingFormat
from millrace.relational.rows import Rows

_NEVER_EXPIRE = ("PUBLISH", "DEL")


@dataclass(frozen=True)
class Expiry:
    """
    :ivar seconds: after which a key is gone, from its last write.
    :ivar at: the time of day at which it is gone.
    :ivar new_only: whether a key that has a time already keeps it.
    """

    seconds: int | None = None
    at: dt.time | None = None
    new_only: bool = False

    def command(self, key: bytes, now: dt.datetime) -> Words | None:
        """What follows a write of the key."""
        more = ("NX",) if self.new_only else ()
        if self.seconds is not None:
            return ("EXPIRE", key, self.seconds, *more)
        if self.at is None:
            return None
        then = dt.datetime.combine(now.date(), self.at, now.tzinfo)
        if then <= now:
            then += dt.timedelta(days=1)
        return ("EXPIREAT", key, int(then.timestamp()), *more)


@dataclass(frozen=True)
class RowCommands(CommandEncoder):
    """
    :ivar whole: whether the value is the whole row, its columns one after the other.
    :ivar format: of the value, which is the whole row; None: it is a column, or ``whole``.
    :ivar absent_only: whether what is there stays.
    """

    layout: CommandLayout
    columns: Schema
    whole: bool = False
    format: EncodingFormat | None = None
    expiry: Expiry = Expiry()
    absent_only: bool = False

    def commands(self, element: Rows) -> Iterable[Words]:
        words = [words_of(column, field.type) for column, field in zip(element.columns, self.columns)]
        values = self._values(element, words)
        now = dt.datetime.now().astimezone()
        needed, taken_back = self._needed(values is not None), self.layout.key or self._needed(False)
        for number, (row, add) in enumerate(zip(zip(*words), element.adds().tolist())):
            self._check(row, needed if add else taken_back)
            if not add:
                yield self._taken_back(row)
                continue
            yield from self._written(row, None if values is None else values[number])
            if self.layout.name not in _NEVER_EXPIRE:
                after = self.expiry.command(row[0], now)
                if after is not None:
                    yield after

    def _needed(self, has_values: bool) -> Sequence[int]:
        """The columns that must not be NULL where a row is written."""
        return range(len(self.layout.columns) - has_values) or (0,)

    def _check(self, row: Sequence[bytes | None], places: Sequence[int]) -> None:
        for place in places:
            if row[place] is None:
                raise ValueError(
                    f"column '{self.columns[place].name}' must not be NULL for {self.layout.name}: Redis has no NULL"
                )

    def _values(self, element: Rows, words: Sequence[Sequence[bytes | None]]) -> list[bytes] | None:
        """The value of each row, where that is the whole row."""
        if self.format is not None:
            return [each or b"" for each in self.format.encode(element).to_pylist()]
        if self.whole:
            return [SEPARATOR.join(each or b"" for each in row) for row in zip(*words)]
        return None

    def _taken_back(self, row: Sequence[Any]) -> Words:
        layout = self.layout
        if layout.adds:
            place = layout.columns.index("number")
            return (layout.name, *row[:place], _negative(row[place]), *row[place + 1 : len(layout.columns)])
        return (layout.deletes, *(row[place] for place in layout.key))

    def _written(self, row: Sequence[Any], value: bytes | None) -> Iterable[Words]:
        layout = self.layout
        if layout.kind in (Kind.WHOLE_HASH, Kind.STREAM):
            yield from self._fields(row)
            return
        words = row[: len(layout.columns)] if value is None else (*row[: len(layout.columns) - 1], value)
        if layout.name == "HSET" and self.absent_only:
            yield ("HSETNX", *words)
        elif layout.name == "SET" and self.absent_only:
            yield ("SET", *words, "NX")
        else:
            yield (layout.name, *words)

    def _fields(self, row: Sequence[Any]) -> Iterable[Words]:
        names = [field.name for field in self.columns[1:]]
        pairs = [(name, value) for name, value in zip(names, row[1:]) if value is not None]
        flat = [word for pair in pairs for word in pair]
        if self.layout.kind is Kind.STREAM:
            yield ("XADD", row[0], "*", *flat)
            return
        gone = [name for name, value in zip(names, row[1:]) if value is None]
        if flat:
            yield ("HSET", row[0], *flat)
        if gone:
            yield ("HDEL", row[0], *gone)


def _negative(number: bytes) -> bytes:
    return number[1:] if number.startswith(b"-") else b"-" + number
