"""Columns as text: what databases read faster than values one by one."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType


def plain(column: pa.Array, kind: DataType) -> pa.Array:
    """Each value as PostgreSQL writes it; NULL stays NULL."""
    family = family_of(kind)
    if family is Family.ARRAY:
        return pa.array([None if value is None else array_text(value) for value in column.to_pylist()], pa.string())
    if family is Family.BYTES:
        return pa.array([None if value is None else "\\x" + value.hex() for value in column.to_pylist()], pa.string())
    if family is Family.INSTANT:
        return pc.binary_join_element_wise(_naive(column), pa.scalar("+00"), "")
    if family is Family.TIMESTAMP:
        return _naive(column)
    return pc.cast(column, pa.string())


def array_text(values: Sequence[Any]) -> str:
    """A list as PostgreSQL writes arrays."""
    return "{" + ",".join(_element(value) for value in values) + "}"


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return array_text(value)
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, bytes):
        value = "\\x" + value.hex()
    if isinstance(value, dt.datetime):
        value = value.isoformat(sep=" ")
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def joined(texts: pa.Array) -> str:
    """A column of texts as one array literal of PostgreSQL."""
    inside = _escaped(texts)
    if not len(texts) or texts.null_count:
        quoted = pc.fill_null(pc.binary_join_element_wise(pa.scalar('"'), inside, pa.scalar('"'), ""), "NULL")
        return "{" + _all(quoted, ",") + "}"
    # One pass: nothing but the texts differs between the quotes.
    return '{"' + _all(inside, '","') + '"}'


def _escaped(texts: pa.Array) -> pa.Array:
    """What stands between the quotes of an array's element. Most texts have nothing to escape."""
    for char in ("\\", '"'):
        if (_characters(texts) == ord(char)).any():
            texts = pc.replace_substring(texts, char, "\\" + char)
    return texts


def _characters(texts: pa.Array) -> npt.NDArray[np.uint8]:
    """The bytes of all texts, one after the other."""
    _, offsets, data = texts.buffers()
    if data is None or offsets is None:
        return np.empty(0, np.uint8)
    ends = np.frombuffer(offsets, np.int32)
    return np.frombuffer(data, np.uint8)[ends[texts.offset] : ends[texts.offset + len(texts)]]


def rows_of(columns: Sequence[pa.Array]) -> pa.Array:
    """Literals side by side: ``(1,'a')``."""
    parts = pc.binary_join_element_wise(*columns, ",")
    return pc.binary_join_element_wise(pa.scalar("("), parts, pa.scalar(")"), "")


def pieces(texts: pa.Array, most: int) -> list[str]:
    """The texts with commas between them, in pieces of about ``most`` bytes."""
    ends = np.cumsum(pc.binary_length(texts).to_numpy(zero_copy_only=False))
    found, begin = [], 0
    while begin < len(texts):
        before = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + most, "right")))
        found.append(_all(texts.slice(begin, end - begin), ","))
        begin = end
    return found


def _all(texts: pa.Array, separator: str) -> str:
    lists = pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts)
    return str(pc.binary_join(lists, separator)[0].as_py())


def sql(column: pa.Array, kind: DataType, escape: Callable[[pa.Array], pa.Array], database: str) -> pa.Array:
    """Each value as a literal of SQL with quotes; NULL as the word.

    :param escape: what stands between the quotes.
    :raises ValueError: a number that the database does not have: NaN or an infinity.
    """
    family = family_of(kind)
    if family is Family.APPROXIMATE and not pc.all(pc.is_finite(column), min_count=0).as_py():
        raise ValueError(f"{database} has no NaN and no infinity")
    if family is Family.BOOLEAN:
        texts = pc.if_else(column, "1", "0")
    elif family is Family.BYTES:
        texts = pa.array([None if value is None else f"x'{value.hex()}'" for value in column.to_pylist()], pa.string())
    elif family is Family.APPROXIMATE:
        texts = _approximate(column)
    elif family in (Family.INTEGER, Family.DECIMAL):
        texts = pc.cast(column, pa.string())
    else:
        bare = _naive(column) if family in (Family.INSTANT, Family.TIMESTAMP) else pc.cast(column, pa.string())
        texts = pc.binary_join_element_wise(pa.scalar("'"), escape(bare), pa.scalar("'"), "")
    return pc.fill_null(texts, "NULL")


def _approximate(column: pa.Array) -> pa.Array:
    """Numbers as DOUBLEs with all their digits, FLOATs too: databases compare these with what a FLOAT is exactly, and
    the largest one with fewer digits would be too large. The exponent keeps the sign of -0.0."""
    texts = pc.cast(pc.cast(column, pa.float64()), pa.string())
    return pc.if_else(pc.match_substring(texts, "e"), texts, pc.binary_join_element_wise(texts, "e0", ""))


def _naive(column: pa.Array) -> pa.Array:
    """Times as text, instants in UTC."""
    return pc.cast(pc.cast(column, pa.timestamp("us")), pa.string())


def constant(value: Any, kind: DataType, text: Callable[[str], str]) -> str | None:
    """A value as a literal that databases agree on; None for kinds that they do not compare alike.

    :param text: quotes and escapes.
    """
    family = family_of(kind)
    if value is None or family in (Family.BOOLEAN, Family.BYTES, Family.TIME):
        return None
    if family is Family.INTEGER:
        return str(int(value))
    if family is Family.DECIMAL and isinstance(value, decimal.Decimal):
        return format(value, "f")
    if family is Family.TEXT:
        return None if "\0" in value else text(value)
    if family is Family.DATE:
        return f"DATE '{value.isoformat()}'"
    if family is Family.TIMESTAMP:
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    return None
