"""Types of columns: in the words of ``information_schema``, as the log describes them, and values in Arrow columns.

A table may have changed since the log was written, so ``type_fits`` compares both descriptions before rows are read.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from millrace.connectors.cdc.mysql import binlog_values
from millrace.connectors.cdc.mysql.binlog_rows import ColumnTraits, LoggedColumn
from millrace.connectors.jdbc.driver_values import from_driver
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import CharType, DataType
from millrace.relational.values import to_arrow

BINARY = 63
"""the collation of bytes"""
_BLOBS = frozenset((binlog_values.BLOB, binlog_values.TINY_BLOB, binlog_values.MEDIUM_BLOB, binlog_values.LONG_BLOB))
_VARIABLE = frozenset((binlog_values.VARCHAR, binlog_values.VAR_STRING))
_FIXED = frozenset((binlog_values.STRING,))
_GEOMETRY = frozenset((binlog_values.GEOMETRY,))
_KINDS: Mapping[str, frozenset[int]] = {
    "tinyint": frozenset((binlog_values.TINY,)),
    "smallint": frozenset((binlog_values.SHORT,)),
    "mediumint": frozenset((binlog_values.INT24,)),
    "int": frozenset((binlog_values.LONG,)),
    "bigint": frozenset((binlog_values.LONGLONG,)),
    "float": frozenset((binlog_values.FLOAT, binlog_values.DOUBLE)),
    "double": frozenset((binlog_values.DOUBLE,)),
    "decimal": frozenset((binlog_values.DECIMAL,)),
    "bit": frozenset((binlog_values.BIT,)),
    "year": frozenset((binlog_values.YEAR,)),
    "date": frozenset((binlog_values.DATE, binlog_values.NEW_DATE)),
    "time": frozenset((binlog_values.TIME, binlog_values.OLD_TIME)),
    "datetime": frozenset((binlog_values.DATETIME, binlog_values.OLD_DATETIME)),
    "timestamp": frozenset((binlog_values.TIMESTAMP, binlog_values.OLD_TIMESTAMP)),
    "json": frozenset((binlog_values.JSON,)) | _BLOBS,
    "enum": frozenset((binlog_values.ENUM,)),
    "set": frozenset((binlog_values.SET,)),
    "vector": frozenset((binlog_values.VECTOR,)) | _VARIABLE,
    **dict.fromkeys(("char", "binary", "uuid", "inet4", "inet6"), _FIXED | _VARIABLE),
    **dict.fromkeys(("varchar", "varbinary"), _VARIABLE),
    **dict.fromkeys((f"{size}{kind}" for size in ("tiny", "", "medium", "long") for kind in ("text", "blob")), _BLOBS),
    **dict.fromkeys(
        (
            "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
            "geometrycollection", "geomcollection",
        ),
        _GEOMETRY,
    ),
}  # fmt: skip
_BYTES = frozenset(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "bit", "vector"))
_UNSIGNED = frozenset(("tinyint", "smallint", "mediumint", "int", "bigint"))
_NAMES = {
    binlog_values.TINY: "tinyint",
    binlog_values.SHORT: "smallint",
    binlog_values.INT24: "mediumint",
    binlog_values.LONG: "int",
    binlog_values.LONGLONG: "bigint",
    binlog_values.FLOAT: "float",
    binlog_values.DOUBLE: "double",
    binlog_values.YEAR: "year",
    binlog_values.DATE: "date",
    binlog_values.NEW_DATE: "date",
    binlog_values.OLD_TIME: "time",
    binlog_values.OLD_DATETIME: "datetime",
    binlog_values.OLD_TIMESTAMP: "timestamp",
    binlog_values.JSON: "json",
    binlog_values.GEOMETRY: "geometry",
    binlog_values.VECTOR: "vector",
}
_DIGITS = {binlog_values.TIME: "time", binlog_values.DATETIME: "datetime", binlog_values.TIMESTAMP: "timestamp"}
_SIZES = {1: "tiny", 2: "", 3: "medium", 4: "long"}


def base_type(native: str) -> str:
    """``int`` of ``int(10) unsigned``."""
    match = re.match(r"[a-z0-9]+", native.strip().lower())
    return match[0] if match else native


def is_bytes(native: str) -> bool:
    return base_type(native) in _BYTES or _KINDS.get(base_type(native)) is _GEOMETRY


def is_unsigned(native: str) -> bool:
    return "unsigned" in native.lower().partition(")")[2] or " unsigned" in native.lower()


def type_fits(native: str, logged: LoggedColumn) -> bool:
    """Whether a column of a type may be what the log describes."""
    kind = base_type(native)
    if logged.kind not in _KINDS.get(kind, frozenset((logged.kind,))):
        return False
    if kind in _UNSIGNED and logged.unsigned is not None and logged.unsigned != is_unsigned(native):
        return False
    if kind == "decimal":
        return _numbers(native, (10, 0)) == tuple(logged.detail)
    if logged.kind in _DIGITS:
        return _numbers(native, (0,))[0] == logged.detail[0]
    if logged.labels is not None and kind in ("enum", "set"):
        return len(labels_of(native)) == len(logged.labels)
    return logged.collation is None or is_bytes(native) == (logged.collation == BINARY) or kind in _OWN


def native_of(column: LoggedColumn) -> str:
    """A type for what the log describes; it does not have all that a type says: no display widths, say."""
    kind, detail = column.kind, column.detail
    binary = column.collation == BINARY
    if kind in _BLOBS:
        return _SIZES[detail[0]] + ("blob" if binary else "text")
    if kind in (binlog_values.STRING, binlog_values.VARCHAR, binlog_values.VAR_STRING):
        name = (
            ("binary" if binary else "char") if kind == binlog_values.STRING else ("varbinary" if binary else "varchar")
        )
        # The log counts bytes, of which a character has up to four.
        length = int.from_bytes(detail, "little")
        return f"{name}({length})" if binary else f"{name}({max(1, length // 4)})"
    if kind == binlog_values.DECIMAL:
        return f"decimal({detail[0]},{detail[1]})"
    if kind in _DIGITS:
        return f"{_DIGITS[kind]}({detail[0]})" if detail[0] else _DIGITS[kind]
    if kind == binlog_values.BIT:
        return f"bit({detail[0] + 8 * detail[1]})"
    if kind in (binlog_values.ENUM, binlog_values.SET):
        given = ",".join("'" + each.decode(errors="replace").replace("'", "''") + "'" for each in column.labels or ())
        return f"{'enum' if kind == binlog_values.ENUM else 'set'}({given})"
    return _NAMES[kind] + (
        " unsigned" if column.unsigned and kind not in (binlog_values.FLOAT, binlog_values.DOUBLE) else ""
    )


def labels_of(native: str) -> tuple[str, ...]:
    """The labels of an ENUM or a SET type."""
    return tuple(each.replace("''", "'") for each in re.findall(r"'((?:[^']|'')*)'", native))


def column_traits(
    logged: LoggedColumn, native: str, codec: Callable[[int], str | None], charset: str | None
) -> ColumnTraits:
    """What has to be known to read a column.

    :param codec: of collations, by their numbers. :param charset: Python's name of the column's, if the log has none.
    """
    own = _OWN.get(base_type(native))
    if own is not None and logged.kind in _FIXED:
        return ColumnTraits(convert=own)
    if logged.collation is None:
        found = None if is_bytes(native) else charset or "utf-8"
    else:
        found = codec(logged.collation)
    unsigned = is_unsigned(native) if logged.unsigned is None else logged.unsigned
    if logged.labels is None:
        return ColumnTraits(unsigned, found, labels_of(native))
    return ColumnTraits(unsigned, found, tuple(each.decode(found or "utf-8") for each in logged.labels))


def _numbers(native: str, default: tuple[int, ...]) -> tuple[int, ...]:
    found = tuple(map(int, re.findall(r"\d+", native.partition("(")[2].partition(")")[0])))
    return found + default[len(found) :]


def _uuid(data: bytes) -> Any:
    return str(uuid.UUID(bytes=data.ljust(16, b"\0")))


def _inet4(data: bytes) -> Any:
    return str(ipaddress.IPv4Address(data.ljust(4, b"\0")))


def _inet6(data: bytes) -> Any:
    address = ipaddress.IPv6Address(data.ljust(16, b"\0"))
    return f"::ffff:{address.ipv4_mapped}" if address.ipv4_mapped else str(address)


_OWN: Mapping[str, Callable[[bytes], Any]] = {"uuid": _uuid, "inet4": _inet4, "inet6": _inet6}
"""MariaDB's types that its log has as bytes"""


_ALIKE = frozenset(
    [(name, Family.INTEGER) for name in ("tinyint", "smallint", "mediumint", "int", "bigint", "year")]
    + [
        (name, Family.TEXT)
        for name in ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "json")
    ]
    + [(name, Family.BYTES) for name in ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob")]
)
"""MySQL type -> kind of values that are already in the form that Arrow takes"""
_DATES = (Family.DATE, Family.TIMESTAMP, Family.INSTANT)


def typed_column(values: Sequence[Any], native: str, kind: DataType, zone: ZoneInfo, where: str) -> pa.Array:
    """:param zone: of the server: what its TIMESTAMP shows there, and what its DATETIME means.
    :raises ValueError: a value is none of the type.
    """
    if (base_type(native), family_of(kind)) in _ALIKE and not isinstance(kind, CharType):
        try:
            return to_arrow(list(values), kind)
        except (ValueError, TypeError, ArithmeticError, pa.ArrowException):
            pass  # the way below says which value it is
    convert = _converter(native, kind, zone)
    try:
        return to_arrow([None if value is None else convert(value) for value in values], kind)
    except (ValueError, TypeError, ArithmeticError, pa.ArrowException):
        for value in values:
            try:
                to_arrow([None if value is None else convert(value)], kind)
            except (ValueError, TypeError, ArithmeticError, pa.ArrowException) as error:
                raise ValueError(f"{where} has {_time(value)[:100]!r}, which is no {kind}: {error}") from None
        raise


def _converter(native: str, kind: DataType, zone: ZoneInfo) -> Callable[[Any], Any]:
    family = family_of(kind)
    convert = from_driver(kind)
    name = base_type(native)
    if family is Family.TEXT:
        write = _TEXTS.get(name)
        if name == "timestamp":
            return lambda value: convert(_moment(_in_zone(value, zone)))
        return convert if write is None else lambda value: convert(write(value))
    if family in _DATES:
        return _date(name, family, convert, zone)
    return convert


def _date(name: str, family: Family, convert: Callable[[Any], Any], zone: ZoneInfo) -> Callable[[Any], Any]:
    """Dates that are none (0000-00-00, the 31st of June) are NULL."""

    def moved(value: Any) -> Any:
        if name == "timestamp" and family is not Family.INSTANT:
            return _in_zone(value, zone)
        if name == "datetime" and family is Family.INSTANT:
            return value.replace(tzinfo=zone).astimezone(dt.timezone.utc).replace(tzinfo=None)
        return value

    return lambda value: None if isinstance(value, str) else convert(moved(value))


def _in_zone(value: Any, zone: ZoneInfo) -> Any:
    """What a clock there shows at a time that is given in UTC."""
    if isinstance(value, str):
        return value
    return value.replace(tzinfo=dt.timezone.utc).astimezone(zone).replace(tzinfo=None)


def _moment(value: Any) -> str:
    return value if isinstance(value, str) else value.isoformat(sep=" ")


def _time(value: Any) -> str:
    """As MySQL writes it: -838:59:59."""
    if not isinstance(value, dt.timedelta):
        return str(value)
    amount = abs(value)
    seconds = amount.days * 86_400 + amount.seconds
    text = f"{'-' if value < dt.timedelta() else ''}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{amount.microseconds:06d}" if amount.microseconds else text


def _float(value: Any) -> str:
    return str(np.float32(value))


def _decimal(value: Any) -> str:
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _bits(value: Any) -> str:
    return "".join(f"{each:08b}" for each in value) if isinstance(value, bytes) else str(value)


_TEXTS: dict[str, Callable[[Any], str]] = {
    "time": _time, "datetime": _moment, "float": _float, "decimal": _decimal, "bit": _bits,
}  # fmt: skip
