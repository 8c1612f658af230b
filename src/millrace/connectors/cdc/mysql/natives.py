"""Types of columns: as ``information_schema`` writes them, as the log describes them, and whether these fit."""

from __future__ import annotations

import ipaddress
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from millrace.connectors.cdc.mysql.log import column_types as types
from millrace.connectors.cdc.mysql.log.rows import Known
from millrace.connectors.cdc.mysql.log.table_map import LoggedColumn

BINARY = 63
"""the collation of bytes"""
_BLOBS = frozenset((types.BLOB, types.TINY_BLOB, types.MEDIUM_BLOB, types.LONG_BLOB))
_VARIABLE = frozenset((types.VARCHAR, types.VAR_STRING))
_FIXED = frozenset((types.STRING,))
_GEOMETRY = frozenset((types.GEOMETRY,))
_KINDS: Mapping[str, frozenset[int]] = {
    "tinyint": frozenset((types.TINY,)),
    "smallint": frozenset((types.SHORT,)),
    "mediumint": frozenset((types.INT24,)),
    "int": frozenset((types.LONG,)),
    "bigint": frozenset((types.LONGLONG,)),
    "float": frozenset((types.FLOAT, types.DOUBLE)),
    "double": frozenset((types.DOUBLE,)),
    "decimal": frozenset((types.DECIMAL,)),
    "bit": frozenset((types.BIT,)),
    "year": frozenset((types.YEAR,)),
    "date": frozenset((types.DATE, types.NEW_DATE)),
    "time": frozenset((types.TIME, types.OLD_TIME)),
    "datetime": frozenset((types.DATETIME, types.OLD_DATETIME)),
    "timestamp": frozenset((types.TIMESTAMP, types.OLD_TIMESTAMP)),
    "json": frozenset((types.JSON,)) | _BLOBS,
    "enum": frozenset((types.ENUM,)),
    "set": frozenset((types.SET,)),
    "vector": frozenset((types.VECTOR,)) | _VARIABLE,
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
    types.TINY: "tinyint", types.SHORT: "smallint", types.INT24: "mediumint", types.LONG: "int",
    types.LONGLONG: "bigint", types.FLOAT: "float", types.DOUBLE: "double", types.YEAR: "year",
    types.DATE: "date", types.NEW_DATE: "date", types.OLD_TIME: "time", types.OLD_DATETIME: "datetime",
    types.OLD_TIMESTAMP: "timestamp", types.JSON: "json", types.GEOMETRY: "geometry", types.VECTOR: "vector",
}  # fmt: skip
_DIGITS = {types.TIME: "time", types.DATETIME: "datetime", types.TIMESTAMP: "timestamp"}
_SIZES = {1: "tiny", 2: "", 3: "medium", 4: "long"}


def base(native: str) -> str:
    """``int`` of ``int(10) unsigned``."""
    match = re.match(r"[a-z0-9]+", native.strip().lower())
    return match[0] if match else native


def is_bytes(native: str) -> bool:
    return base(native) in _BYTES or _KINDS.get(base(native)) is _GEOMETRY


def is_unsigned(native: str) -> bool:
    return "unsigned" in native.lower().partition(")")[2] or " unsigned" in native.lower()


def fits(native: str, logged: LoggedColumn) -> bool:
    """Whether a column of a type may be what the log describes."""
    kind = base(native)
    if logged.kind not in _KINDS.get(kind, frozenset((logged.kind,))):
        return False
    if kind in _UNSIGNED and logged.unsigned is not None and logged.unsigned != is_unsigned(native):
        return False
    if kind == "decimal":
        return _numbers(native, (10, 0)) == tuple(logged.detail)
    if logged.kind in _DIGITS:
        return _numbers(native, (0,))[0] == logged.detail[0]
    if logged.labels is not None and kind in ("enum", "set"):
        return len(labels(native)) == len(logged.labels)
    return logged.collation is None or is_bytes(native) == (logged.collation == BINARY) or kind in _OWN


def native_of(column: LoggedColumn) -> str:
    """A type for what the log describes; it does not have all that a type says: no display widths, say."""
    kind, detail = column.kind, column.detail
    binary = column.collation == BINARY
    if kind in _BLOBS:
        return _SIZES[detail[0]] + ("blob" if binary else "text")
    if kind in (types.STRING, types.VARCHAR, types.VAR_STRING):
        name = ("binary" if binary else "char") if kind == types.STRING else ("varbinary" if binary else "varchar")
        # The log counts bytes, of which a character has up to four.
        length = int.from_bytes(detail, "little")
        return f"{name}({length})" if binary else f"{name}({max(1, length // 4)})"
    if kind == types.DECIMAL:
        return f"decimal({detail[0]},{detail[1]})"
    if kind in _DIGITS:
        return f"{_DIGITS[kind]}({detail[0]})" if detail[0] else _DIGITS[kind]
    if kind == types.BIT:
        return f"bit({detail[0] + 8 * detail[1]})"
    if kind in (types.ENUM, types.SET):
        given = ",".join("'" + each.decode(errors="replace").replace("'", "''") + "'" for each in column.labels or ())
        return f"{'enum' if kind == types.ENUM else 'set'}({given})"
    return _NAMES[kind] + (" unsigned" if column.unsigned and kind not in (types.FLOAT, types.DOUBLE) else "")


def labels(native: str) -> tuple[str, ...]:
    """Of an ENUM or a SET."""
    return tuple(each.replace("''", "'") for each in re.findall(r"'((?:[^']|'')*)'", native))


def known(logged: LoggedColumn, native: str, codec: Callable[[int], str | None], charset: str | None) -> Known:
    """What has to be known to read a column.

    :param codec: of collations, by their numbers. :param charset: Python's name of the column's, if the log has none.
    """
    own = _OWN.get(base(native))
    if own is not None and logged.kind in _FIXED:
        return Known(convert=own)
    if logged.collation is None:
        found = None if is_bytes(native) else charset or "utf-8"
    else:
        found = codec(logged.collation)
    unsigned = is_unsigned(native) if logged.unsigned is None else logged.unsigned
    if logged.labels is None:
        return Known(unsigned, found, labels(native))
    return Known(unsigned, found, tuple(each.decode(found or "utf-8") for each in logged.labels))


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
