"""pa.Array as PostgreSQL writes them, in columns of a type."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.connectors.cdc.changes import UNCHANGED
from millrace.connectors.jdbc.dialects.values import FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT
from millrace.relational import types as t
from millrace.relational.arrow import arrow_type
from millrace.relational.canonical import canonical
from millrace.relational.decimals import fit
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType

FAMILIES = frozenset(
    {
        Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.DECIMAL, Family.TEXT, Family.BYTES, Family.DATE,
        Family.TIME, Family.TIMESTAMP, Family.INSTANT, Family.ARRAY,
    }
)  # fmt: skip


def column(values: Sequence[Any] | pa.Array, kind: DataType, where: str) -> pa.Array:
    """pa.Array, NULLs and ``UNCHANGED`` as a column.

    :raises ValueError: a text is no value of the type, or the log does not have one.
    """
    texts = values if isinstance(values, pa.Array) else _texts(values, where)
    try:
        return _convert(texts, kind)
    except (ValueError, ArithmeticError, TypeError) as error:
        raise _first_wrong(texts, kind, where, error) from None


def _texts(values: Sequence[Any], where: str) -> pa.Array:
    try:
        return pa.array(values, pa.string())
    except (TypeError, pa.ArrowException):
        if any(value is UNCHANGED for value in values):
            raise ValueError(
                f"{where}: the log does not have the value, which is stored apart (TOAST) and did not change when its "
                f"row was updated. ALTER TABLE ... REPLICA IDENTITY FULL lets the log have it from then on; tables of "
                f"Millrace without this column do not need it"
            ) from None
        raise


def _first_wrong(texts: pa.Array, kind: DataType, where: str, error: Exception) -> ValueError:
    for place in range(len(texts)):
        try:
            _convert(texts.slice(place, 1), kind)
        except (ValueError, ArithmeticError, TypeError) as cause:
            return ValueError(f"{where} has {str(texts[place].as_py())[:100]!r}, which is no {kind}: {cause}")
    return ValueError(f"{where}: {error}")


def _convert(texts: pa.Array, kind: DataType) -> pa.Array:
    convert = _BY_FAMILY.get(family_of(kind))
    if convert is None:
        raise ValueError(f"PostgreSQL has no columns of type {kind}")
    return canonical(convert(texts, kind), kind)


def _booleans(texts: pa.Array, kind: DataType) -> pa.Array:
    found = pc.index_in(texts, value_set=pa.array(["f", "t", "false", "true", "0", "1"]))
    if found.null_count != texts.null_count:
        raise ValueError("neither t nor f")
    return pc.equal(pc.bit_wise_and(found, 1), 1)


def _cast(texts: pa.Array, kind: DataType) -> pa.Array:
    return texts.cast(arrow_type(kind))


def _dates(texts: pa.Array, kind: DataType) -> pa.Array:
    """Infinite times are the first and the last one that Python has."""
    first, last = (FIRST_DAY, LAST_DAY) if isinstance(kind, t.DateType) else (FIRST_MOMENT, LAST_MOMENT)
    zone = "+00" if family_of(kind) is Family.INSTANT else ""
    is_last, is_first = (pc.fill_null(pc.equal(texts, each), False) for each in ("infinity", "-infinity"))
    return _cast(pc.case_when(pc.make_struct(is_last, is_first), f"{last}{zone}", f"{first}{zone}", texts), kind)


def _decimals(texts: pa.Array, kind: DataType) -> pa.Array:
    wanted = arrow_type(kind)
    try:
        return texts.cast(wanted)
    except pa.ArrowInvalid:  # more digits than there is room for, or none at all
        assert isinstance(kind, t.DecimalType)
        precision, scale = kind.precision, kind.scale

        def one(text: str | None) -> Decimal | None:
            if text is None:
                return None
            found = fit(Decimal(text), precision, scale)
            if found is None:
                raise ValueError("too large")
            return found

        try:
            return pa.array(list(map(one, texts.to_pylist())), wanted)
        except InvalidOperation:
            raise ValueError("no number") from None


def _strings(texts: pa.Array, kind: DataType) -> pa.Array:
    return pc.utf8_rpad(texts, kind.length) if isinstance(kind, t.CharType) else texts


def _bytes(texts: pa.Array, kind: DataType) -> pa.Array:
    def one(text: str | None) -> bytes | None:
        if text is None:
            return None
        if not text.startswith("\\x"):
            return text.encode()
        return bytes.fromhex(text[2:])

    return pa.array(list(map(one, texts.to_pylist())), pa.binary())


def _times(texts: pa.Array, kind: DataType) -> pa.Array:
    def one(text: str | None) -> dt.time | None:
        return None if text is None else dt.time.fromisoformat(_six_digits(text))

    return pa.array(list(map(one, texts.to_pylist())), pa.time64("us")).cast(arrow_type(kind))


def _six_digits(text: str) -> str:
    """Older versions of Python read 3 or 6 digits of a second, no others."""
    if "." not in text:
        return text
    whole, _, digits = text.partition(".")
    return f"{whole}.{digits:0<6}"


def _arrays(texts: pa.Array, kind: DataType) -> pa.Array:
    assert isinstance(kind, t.ArrayType)
    elements: list[str | None] = []
    offsets: list[int | None] = []
    for text in texts.to_pylist():
        offsets.append(None if text is None else len(elements))
        if text is not None:
            elements += array_elements(text)
    inner = _convert(pa.array(elements, pa.string()), kind.element_type)
    found = pa.ListArray.from_arrays(pa.array([*offsets, len(elements)], pa.int32()), inner)
    return found.cast(arrow_type(kind))


def array_elements(text: str) -> list[str | None]:
    """The elements of an array's text form, texts again: ``{1,"a b",NULL,{2}}``."""
    if text.startswith("["):  # bounds other than from 1 on
        text = text.partition("=")[2]
    return list(_elements(text))


def _elements(text: str) -> Iterator[str | None]:
    place, end = 1, len(text) - 1
    while place < end:
        if text[place] == '"':
            found = []
            place += 1
            while text[place] != '"':
                place += text[place] == "\\"
                found.append(text[place])
                place += 1
            yield "".join(found)
            place += 2
            continue
        begin, depth, quoted = place, 0, False
        while place < end and (text[place] != "," or depth or quoted):
            each = text[place]
            if each == "\\" and quoted:
                place += 1
            elif each == '"':
                quoted = not quoted
            elif not quoted:
                depth += (each == "{") - (each == "}")
            place += 1
        found_text = text[begin:place]
        yield None if found_text == "NULL" else found_text
        place += 1


_BY_FAMILY: dict[Family, Callable[[pa.Array, DataType], pa.Array]] = {
    Family.BOOLEAN: _booleans,
    Family.INTEGER: _cast,
    Family.APPROXIMATE: _cast,
    Family.DECIMAL: _decimals,
    Family.TEXT: _strings,
    Family.BYTES: _bytes,
    Family.DATE: _dates,
    Family.TIME: _times,
    Family.TIMESTAMP: _dates,
    Family.INSTANT: _dates,
    Family.ARRAY: _arrays,
}
