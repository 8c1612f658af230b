"""Converts rows to cells of HBase and back: which column is the row key, which qualifiers the families have, and
values as bytes in the encodings of HBase's class ``Bytes`` and of Flink's connector."""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from millrace.common.types import Row
from millrace.relational.rex import Schema
from millrace.relational.type_table import ByFamily, Family, family_of
from millrace.relational.types import (
    BigIntType,
    CharType,
    DataType,
    FloatType,
    IntType,
    RowType,
    SmallIntType,
    TinyIntType,
)

Encode = Callable[[Any], bytes]
Decode = Callable[[bytes], Any]

MOST_DIGITS = 3
"""The most digits of a second that times in HBase have."""
_EPOCH = dt.datetime(1970, 1, 1)
_DAY_ONE = dt.date(1970, 1, 1)
_MILLISECOND = dt.timedelta(milliseconds=1)
_WHOLE: Mapping[type[DataType], str] = {TinyIntType: ">b", SmallIntType: ">h", IntType: ">i", BigIntType: ">q"}


def problem(kind: DataType) -> str | None:
    """Why HBase has no values of a type, None if it has."""
    family = family_of(kind)
    if family not in _ENCODERS:
        return f"HBase has no values of type {kind}"
    precision = getattr(kind, "precision", 0)
    if family in (Family.TIME, Family.TIMESTAMP, Family.INSTANT) and precision > MOST_DIGITS:
        return f"HBase keeps milliseconds, {kind} has more digits: declare at most ({MOST_DIGITS})"
    return None


def encoder(kind: DataType) -> Encode:
    """From the Python form of a type to bytes; not for NULL."""
    made: Encode = _ENCODERS[family_of(kind)](kind)
    return made


def decoder(kind: DataType) -> Decode:
    """From bytes to the Python form of a type.

    :raises ValueError: from the function, for bytes that are no value of the type.
    """
    made: Decode = _DECODERS[family_of(kind)](kind)

    def decode(data: bytes) -> Any:
        try:
            return made(data)
        except (struct.error, IndexError, UnicodeDecodeError, OverflowError) as error:
            raise ValueError(f"{data[:40]!r} is no {kind}: {error}") from None

    return decode


def _packed(form: str) -> Encode:
    return struct.Struct(form).pack


def _unpacked(form: str) -> Decode:
    unpack = struct.Struct(form).unpack
    return lambda data: unpack(data)[0]


def _whole(kind: DataType) -> str:
    return _WHOLE[type(kind)]


def _approximate(kind: DataType) -> str:
    return ">f" if isinstance(kind, FloatType) else ">d"


def _decimal(value: Decimal) -> bytes:
    """The scale in four bytes, then the digits as the shortest number in two's complement."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int), "decimal columns have no NaN"
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    length = (unscaled + (unscaled < 0)).bit_length() // 8 + 1
    return struct.pack(">i", -exponent) + unscaled.to_bytes(length, "big", signed=True)


def _to_decimal(data: bytes) -> Decimal:
    (scale,) = struct.unpack_from(">i", data)
    if len(data) < 5:
        raise ValueError(f"{data!r} is no DECIMAL: it has no digits")
    unscaled = int.from_bytes(data[4:], "big", signed=True)
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


def _time(value: dt.time) -> bytes:
    return struct.pack(">i", (dt.datetime.combine(_DAY_ONE, value) - _EPOCH) // _MILLISECOND)


def _to_time(data: bytes) -> dt.time:
    return (_EPOCH + dt.timedelta(milliseconds=struct.unpack(">i", data)[0])).time()


def _timestamp(value: dt.datetime) -> bytes:
    return struct.pack(">q", (value.replace(tzinfo=None) - _EPOCH) // _MILLISECOND)


def _to_timestamp(data: bytes) -> dt.datetime:
    return _EPOCH + dt.timedelta(milliseconds=struct.unpack(">q", data)[0])


def _text(kind: DataType) -> Decode:
    return (lambda data: data.decode().ljust(kind.length)) if isinstance(kind, CharType) else bytes.decode


_ENCODERS: ByFamily = {
    Family.TEXT: lambda kind: str.encode,
    Family.BYTES: lambda kind: bytes,
    Family.BOOLEAN: lambda kind: lambda value: b"\xff" if value else b"\x00",
    Family.INTEGER: lambda kind: _packed(_whole(kind)),
    Family.MONTHS: lambda kind: _packed(">i"),
    Family.SPAN: lambda kind: lambda value: struct.pack(">q", value // _MILLISECOND),
    Family.APPROXIMATE: lambda kind: _packed(_approximate(kind)),
    Family.DECIMAL: lambda kind: _decimal,
    Family.DATE: lambda kind: lambda value: struct.pack(">i", (value - _DAY_ONE).days),
    Family.TIME: lambda kind: _time,
    Family.TIMESTAMP: lambda kind: _timestamp,
    Family.INSTANT: lambda kind: _timestamp,
}
_DECODERS: ByFamily = {
    Family.TEXT: _text,
    Family.BYTES: lambda kind: bytes,
    Family.BOOLEAN: lambda kind: lambda data: struct.unpack(">b", data)[0] != 0,
    Family.INTEGER: lambda kind: _unpacked(_whole(kind)),
    Family.MONTHS: lambda kind: _unpacked(">i"),
    Family.SPAN: lambda kind: lambda data: struct.unpack(">q", data)[0] * _MILLISECOND,
    Family.APPROXIMATE: lambda kind: _unpacked(_approximate(kind)),
    Family.DECIMAL: lambda kind: _to_decimal,
    Family.DATE: lambda kind: lambda data: _DAY_ONE + dt.timedelta(days=struct.unpack(">i", data)[0]),
    Family.TIME: lambda kind: _to_time,
    Family.TIMESTAMP: lambda kind: _to_timestamp,
    Family.INSTANT: lambda kind: lambda data: _to_timestamp(data).replace(tzinfo=dt.timezone.utc),
}


Cells = Mapping[bytes, bytes]
"""``family:qualifier`` -> value, of one row"""


@dataclass(frozen=True)
class Cell:
    """A declared column of HBase."""

    name: bytes
    """``family:qualifier``"""
    kind: DataType


@dataclass(frozen=True)
class Layout:
    """The columns of a table as HBase has them.

    :raises ValueError: from ``of``, for columns that HBase cannot have.
    """

    columns: Schema
    key: int
    """position of the row key among the columns"""
    null: bytes = b"null"
    """bytes that stand for NULL in text columns"""

    @staticmethod
    def of(columns: Schema, null: str = "null") -> Layout:
        keys = [place for place, column in enumerate(columns) if not isinstance(column.type, RowType)]
        if len(keys) != 1:
            names = ", ".join(columns[place].name for place in keys) or "none"
            raise ValueError(
                f"a table of HBase has one column for the row key, and families as ROW<qualifier type, ...>; "
                f"columns that are no ROW: {names}"
            )
        layout = Layout(columns, keys[0], null.encode())
        for name, kind in [(columns[keys[0]].name, columns[keys[0]].type)] + [
            (cell.name.decode(), cell.kind) for cell in layout.cells
        ]:
            wrong = problem(kind)
            if wrong is not None:
                raise ValueError(f"column '{name}': {wrong}")
        return layout

    @cached_property
    def families(self) -> Mapping[int, tuple[Cell, ...]]:
        """Column -> what is declared of its family."""
        return {
            place: tuple(
                Cell(f"{column.name}:{name}".encode(), kind)
                for name, kind in zip(column.type.field_names(), column.type.field_types())
            )
            for place, column in enumerate(self.columns)
            if isinstance(column.type, RowType)
        }

    @property
    def cells(self) -> list[Cell]:
        return [cell for cells in self.families.values() for cell in cells]

    # -- rows to cells -------------------------------------------------------------------------------------------

    @cached_property
    def key_encoder(self) -> Callable[[Any], bytes]:
        """:raises ValueError: from the function: HBase has no empty row keys."""
        encode, name = encoder(self.columns[self.key].type), self.columns[self.key].name

        def checked(value: Any) -> bytes:
            made = encode(value)
            if not made:
                raise ValueError(f"the row key '{name}' must not be empty")
            return made

        return checked

    @cached_property
    def _writers(self) -> list[tuple[int, list[tuple[bytes, Callable[[Any], bytes], bytes]]]]:
        return [
            (place, [(cell.name, encoder(cell.kind), self._empty(cell.kind)) for cell in cells])
            for place, cells in self.families.items()
        ]

    def _empty(self, kind: DataType) -> bytes:
        """What is written for NULL."""
        return self.null if family_of(kind) is Family.TEXT else b""

    def cells_of(self, row: Sequence[Any], ignore_nulls: bool) -> dict[bytes, bytes]:
        """What is put for a row. :param ignore_nulls: whether NULL leaves a cell as it is."""
        made: dict[bytes, bytes] = {}
        for place, cells in self._writers:
            values = [None] * len(cells) if row[place] is None else list(row[place])
            for (name, encode, empty), value in zip(cells, values):
                if value is not None:
                    made[name] = encode(value)
                elif not ignore_nulls:
                    made[name] = empty
        return made

    # -- cells to rows -------------------------------------------------------------------------------------------

    @cached_property
    def key_decoder(self) -> Callable[[bytes], Any]:
        return decoder(self.columns[self.key].type)

    def reader(self, place: int) -> Callable[[bytes, Cells], Any]:
        """From a row key and the cells of its row to the value of a column.

        :raises ValueError: from the function, with the row and the cell.
        """
        if place == self.key:
            return lambda key, found: self.key_decoder(key)
        cells = [(cell.name, decoder(cell.kind), self._empty(cell.kind)) for cell in self.families[place]]
        names = self.columns[place].type.field_names()  # type: ignore[attr-defined]

        def read(key: bytes, found: Cells) -> Row:
            values = []
            for name, decode, empty in cells:
                data = found.get(name)
                try:
                    values.append(None if data is None or data == empty else decode(data))
                except ValueError as error:
                    raise ValueError(f"row {key!r}, column {name.decode()}: {error}") from None
            row = Row(*values)
            row.set_field_names(names)
            return row

        return read
