"""The kinds of columns in MySQL's protocol, and what the log says of each."""

from __future__ import annotations

TINY, SHORT, LONG, FLOAT, DOUBLE, LONGLONG, INT24 = 1, 2, 3, 4, 5, 8, 9
OLD_TIMESTAMP, DATE, OLD_TIME, OLD_DATETIME, YEAR, NEW_DATE = 7, 10, 11, 12, 13, 14
VARCHAR, BIT, TIMESTAMP, DATETIME, TIME = 15, 16, 17, 18, 19
COMPRESSED_BLOB, COMPRESSED_VARCHAR = 140, 141
VECTOR, JSON, DECIMAL, ENUM, SET = 242, 245, 246, 247, 248
TINY_BLOB, MEDIUM_BLOB, LONG_BLOB, BLOB, VAR_STRING, STRING, GEOMETRY = 249, 250, 251, 252, 253, 254, 255

_DETAIL = {
    FLOAT: 1, DOUBLE: 1, VARCHAR: 2, VAR_STRING: 2, BIT: 2, DECIMAL: 2, TIMESTAMP: 1, DATETIME: 1, TIME: 1, JSON: 1,
    TINY_BLOB: 1, MEDIUM_BLOB: 1, LONG_BLOB: 1, BLOB: 1, GEOMETRY: 1, VECTOR: 1, STRING: 2, ENUM: 2, SET: 2,
    COMPRESSED_BLOB: 1, COMPRESSED_VARCHAR: 2,
    TINY: 0, SHORT: 0, LONG: 0, LONGLONG: 0, INT24: 0, OLD_TIMESTAMP: 0, DATE: 0, OLD_TIME: 0, OLD_DATETIME: 0,
    YEAR: 0, NEW_DATE: 0,
}  # fmt: skip
"""bytes that describe a column of the kind"""
_NUMBERS = frozenset((TINY, SHORT, INT24, LONG, LONGLONG, DECIMAL, FLOAT, DOUBLE, YEAR))
_TEXTS = frozenset(
    (STRING, VAR_STRING, VARCHAR, BLOB, TINY_BLOB, MEDIUM_BLOB, LONG_BLOB, COMPRESSED_BLOB, COMPRESSED_VARCHAR)
)


def described(code: int, details: bytes, at: int, table: str) -> tuple[int, bytes, int]:
    """The kind of a column, its description, and where that of the next one begins.

    :raises ValueError: a kind that no server of today writes, or that is not known yet.
    """
    if code not in _DETAIL:
        raise ValueError(f"table {table} has a column of a type that is not known here (number {code})")
    end = at + _DETAIL[code]
    detail = details[at:end]
    if code != STRING:
        return code, detail, end
    first, second = detail
    if first in (ENUM, SET):
        return first, bytes([second]), end
    # Two bits of the length are where the kind has them set, in this one only.
    length = second | (((first & 0x30) ^ 0x30) << 4)
    return STRING, length.to_bytes(2, "little"), end


def is_number(kind: int) -> bool:
    """Whether it has a sign, for the log."""
    return kind in _NUMBERS


def is_text(kind: int, mariadb: bool) -> bool:
    """Whether the log has a collation for it; bytes have one, too."""
    return kind in _TEXTS or (mariadb and kind == GEOMETRY)


def has_labels(kind: int) -> bool:
    return kind in (ENUM, SET)
