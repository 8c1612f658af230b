"""Values between drivers and columns: rows of a driver as columns, columns as literals of SQL.

Databases read long literals faster than values one by one. ``rows_by_key`` tells which key found which row where a
statement does not say it.
"""

from __future__ import annotations

import datetime as dt
import decimal
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.rows import record_batch
from millrace.relational.type_table import ByFamily, Family, conversion, family_of
from millrace.relational.types import CharType, DataType
from millrace.relational.values import to_arrow, to_python

FETCH = 10_000
YEARS = ": Python has the years 1 to 9999. Declare the column as STRING"
"""what to do about a time of another year"""
_FAR = re.compile(r"-\d|\d{5,}-|\d+-\d+-\d+.*BC")
_DATED = (Family.DATE, Family.TIMESTAMP, Family.INSTANT)
FIRST_DAY, LAST_DAY = dt.date.min, dt.date.max
FIRST_MOMENT, LAST_MOMENT = dt.datetime.min, dt.datetime.max
"""what ``-infinity`` and ``infinity`` of a database are, which are before and after all times that Python has"""


def columns_of(rows: Sequence[Sequence[Any]], kinds: Sequence[DataType], names: Sequence[str] = ()) -> list[list[Any]]:
    """Rows as columns.

    :param names: of the columns, for errors.
    :raises ValueError: a value is not of the type that is declared.
    """
    columns = zip(*rows) if rows else [()] * len(kinds)
    titles = [f"'{name}'" for name in names] or [f"{place} of the query" for place in range(1, len(kinds) + 1)]
    return [_converted(column, kind, title) for column, kind, title in zip(columns, kinds, titles)]


def from_driver(kind: DataType) -> Callable[[Any], Any]:
    """Makes values of a type of what drivers give. Raises what comes of values that are none."""
    return conversion(kind, _FROM_DRIVER)


def _converted(column: Sequence[Any], kind: DataType, title: str) -> list[Any]:
    convert = from_driver(kind)
    try:
        return [convert(value) for value in column]
    except (ValueError, TypeError, ArithmeticError) as error:
        wrong = next(value for value in column if _fails(convert, value))
        raise ValueError(f"column {title} has {wrong!r}, which is no {kind}: {error}{_advice(wrong, kind)}") from None


def _advice(value: Any, kind: DataType) -> str:
    far = isinstance(value, str) and _FAR.match(value) and family_of(kind) in _DATED
    return YEARS if far else ""


def _fails(convert: Callable[[Any], Any], value: Any) -> bool:
    try:
        convert(value)
    except (ValueError, TypeError, ArithmeticError):
        return True
    return False


def fetched(cursor: Any, kinds: Sequence[DataType], fetch: int) -> Iterator[pa.RecordBatch]:
    """The rows of a cursor as batches."""
    names = [each[0] for each in cursor.description]
    while rows := cursor.fetchmany(fetch or FETCH):
        columns = columns_of(rows, kinds, names)
        yield record_batch([to_arrow(column, kind) for column, kind in zip(columns, kinds)], len(rows))


def _truth(value: Any) -> bool:
    return bool(int.from_bytes(value, "big")) if isinstance(value, bytes) else bool(value)


def _whole(value: Any) -> int:
    if isinstance(value, bytes):  # BIT
        return int.from_bytes(value, "big")
    if isinstance(value, (float, Decimal)) and value != int(value):
        raise ValueError("it is no whole number")
    return int(value)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _date(value: Any) -> dt.date:
    if isinstance(value, dt.datetime):
        return value.date()
    return value if isinstance(value, dt.date) else dt.date.fromisoformat(value)


def _time(value: Any) -> dt.time:
    if isinstance(value, dt.timedelta):
        if not dt.timedelta() <= value < dt.timedelta(days=1):
            raise ValueError("it is no time of a day")
        return (dt.datetime.min + value).time()
    return value if isinstance(value, dt.time) else dt.time.fromisoformat(value)


def _timestamp(value: Any) -> dt.datetime:
    if isinstance(value, str):
        value = dt.datetime.fromisoformat(value)
    if not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    found: dt.datetime = value.astimezone(dt.timezone.utc).replace(tzinfo=None) if value.tzinfo else value
    return found


_FROM_DRIVER: ByFamily = {
    Family.BOOLEAN: lambda kind: _truth,
    Family.INTEGER: lambda kind: _whole,
    Family.APPROXIMATE: lambda kind: float,
    Family.DECIMAL: lambda kind: lambda value: value if isinstance(value, Decimal) else Decimal(str(value)),
    Family.TEXT: lambda kind: (lambda value: _text(value).ljust(kind.length)) if isinstance(kind, CharType) else _text,
    Family.BYTES: lambda kind: _bytes,
    Family.DATE: lambda kind: _date,
    Family.TIME: lambda kind: _time,
    Family.TIMESTAMP: lambda kind: _timestamp,
    Family.INSTANT: lambda kind: lambda value: _timestamp(value).replace(tzinfo=dt.timezone.utc),
}


def rows_by_key(
    rows: Sequence[Sequence[Any]],
    keys: Sequence[tuple[str, DataType]],
    values: Sequence[pa.Array],
    unlike: Collection[int] = (),
) -> list[tuple[int, tuple[Any, ...]]] | None:
    """Rows that end with the values of their key. None: one has a text that was not asked for in these very letters, as
    databases find that take capitals and small letters for the same, or blanks at the end for nothing. Rows whose key
    differs in anything but a text are left out.

    :param unlike: places of key columns that the database has not as texts, though they are read as such.
    """
    kinds = [kind for _, kind in keys]
    asked = {key: place for place, key in enumerate(zip(*(to_python(each, kind) for each, kind in zip(values, kinds))))}
    width = len(keys)
    exact = [place for place, kind in enumerate(kinds) if family_of(kind) is not Family.TEXT or place in unlike]
    wanted = {tuple(key[place] for place in exact) for key in asked}
    pairs = zip(zip(*columns_of([row[-width:] for row in rows], kinds)), rows) if rows else ()
    found = [(key, row) for key, row in pairs if tuple(key[place] for place in exact) in wanted]
    if any(key not in asked for key, _ in found):
        return None if len(asked) > 1 else [(0, tuple(row[:-width])) for _, row in found]
    if len(asked) > 1 and len(set(map(_folded, asked))) < len(asked):
        return None  # 'a' and 'A' may both find what only one of them is
    return [(asked[key], tuple(row[:-width])) for key, row in found]


def _folded(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(each.casefold().rstrip() if isinstance(each, str) else each for each in key)


def plain_texts(column: pa.Array, kind: DataType) -> pa.Array:
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


def array_literal(texts: pa.Array) -> str:
    """A column of texts as one array literal of PostgreSQL."""
    inside = _escaped(texts)
    if not len(texts) or texts.null_count:
        quoted = pc.fill_null(pc.binary_join_element_wise(pa.scalar('"'), inside, pa.scalar('"'), ""), "NULL")
        return "{" + _concatenated(quoted, ",") + "}"
    # One pass: nothing but the texts differs between the quotes.
    return '{"' + _concatenated(inside, '","') + '"}'


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


def row_literals(columns: Sequence[pa.Array]) -> pa.Array:
    """Literals side by side: ``(1,'a')``."""
    parts = pc.binary_join_element_wise(*columns, ",")
    return pc.binary_join_element_wise(pa.scalar("("), parts, pa.scalar(")"), "")


def text_pieces(texts: pa.Array, most: int) -> list[str]:
    """The texts with commas between them, in pieces of about ``most`` bytes."""
    ends = np.cumsum(pc.binary_length(texts).to_numpy(zero_copy_only=False))
    found, begin = [], 0
    while begin < len(texts):
        before = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + most, "right")))
        found.append(_concatenated(texts.slice(begin, end - begin), ","))
        begin = end
    return found


def _concatenated(texts: pa.Array, separator: str) -> str:
    lists = pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts)
    return str(pc.binary_join(lists, separator)[0].as_py())


def sql_literals(column: pa.Array, kind: DataType, escape: Callable[[pa.Array], pa.Array], database: str) -> pa.Array:
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


def sql_constant(value: Any, kind: DataType, text: Callable[[str], str]) -> str | None:
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
