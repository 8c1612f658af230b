"""The text of values, as Flink prints them.

A value of a declared type looks as its Java counterpart does: ``(a,1)``, ``+I[a, 1]``, ``true``, ``1.0``, ``null``.
A value without a declared type looks as ``str`` shows it.
"""

from __future__ import annotations

import datetime
import struct
from collections.abc import Callable
from typing import Any, TypeAlias

from millrace.common.time import Instant
from millrace.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from millrace.common.types import Row

__all__ = ["double_text", "float_text", "formatter", "printer"]

Formatter: TypeAlias = Callable[[Any], str]

_EPOCH = datetime.datetime(1970, 1, 1)


def formatter(type_info: TypeInformation) -> Formatter:
    """A function that gives the text of values of ``type_info``; the text of file encoders, and of parts of tuples."""
    text = _text(type_info)
    if text is None:
        return str
    return lambda value: "null" if value is None else text(value)


def printer(type_info: TypeInformation) -> Formatter:
    """The text that ``DataStream.print()`` shows: as ``formatter``, but rows look Pythonic: ``+I[1,True,None]``."""
    inner = type_info._type_info if isinstance(type_info, ExternalTypeInfo) else type_info
    return _python_row if isinstance(inner, RowTypeInfo) else formatter(inner)


def _python_row(row: Row) -> str:
    return f"{row.get_row_kind()}[{','.join(map(str, row))}]"


def double_text(number: float) -> str:
    """A float as Java's ``Double.toString`` gives it: ``1.0``, ``1.0E10``, ``NaN``, ``-Infinity``."""
    return _number_text(number, repr)


def float_text(number: float) -> str:
    """A float of 32 bits as text, as Java's ``Float.toString`` gives it: ``0.1`` for 0.10000000149011612."""
    return _number_text(number, _shortest_single)


def _shortest_single(number: float) -> str:
    single = struct.pack("f", number)
    texts = (f"{number:.{digits}e}" for digits in range(9))
    return next(text for text in texts if _packs_to(single, text))


def _packs_to(single: bytes, text: str) -> bool:
    try:
        return struct.pack("f", float(text)) == single
    except OverflowError:
        return False


def _number_text(number: float, shortest: Callable[[float], str]) -> str:
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "Infinity" if number > 0 else "-Infinity"
    sign = "-" if str(number).startswith("-") else ""
    number = abs(number)
    if number == 0:
        return f"{sign}0.0"
    digits, exponent = _digits(shortest(number))
    if len(digits) == 1:
        # Java gives at least two digits, and takes the nearest such number: 4.9E-324 where Python says 5e-324.
        digits, exponent = _digits(f"{number:.1e}")
    if 1e-3 <= number < 1e7:
        if exponent < 0:
            text = f"0.{'0' * (-exponent - 1)}{digits}"
        else:
            padded = digits.ljust(exponent + 2, "0")
            text = f"{padded[: exponent + 1]}.{padded[exponent + 1 :]}"
    else:
        text = f"{digits[0]}.{digits[1:] or '0'}E{exponent}"
    return sign + text


def _digits(text: str) -> tuple[str, int]:
    """The significant digits and the exponent of the first one."""
    mantissa, _, power = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    exponent = int(power or 0) + len(whole) - 1
    significant = digits.lstrip("0")
    return significant.rstrip("0") or "0", exponent - (len(digits) - len(significant))


def _fraction(nanos: int) -> str:
    """A fraction of a second in groups of three digits, empty for none."""
    if nanos == 0:
        return ""
    if nanos % 1_000_000 == 0:
        return f".{nanos // 1_000_000:03d}"
    return f".{nanos // 1_000:06d}" if nanos % 1_000 == 0 else f".{nanos:09d}"


def _instant(instant: Instant) -> str:
    try:
        whole = (_EPOCH + datetime.timedelta(seconds=instant.seconds)).isoformat()
    except OverflowError:
        return repr(instant)
    return f"{whole}{_fraction(instant.nanos)}Z"


def _sql_timestamp(moment: datetime.datetime) -> str:
    fraction = f"{moment.microsecond:06d}".rstrip("0") or "0"
    return f"{moment.replace(microsecond=0, tzinfo=None).isoformat(' ')}.{fraction}"


def _sql_time(moment: datetime.time) -> str:
    return moment.replace(microsecond=0, tzinfo=None).isoformat()


def _local_time(moment: datetime.time | datetime.datetime) -> str:
    whole = moment.replace(microsecond=0, tzinfo=None).isoformat()
    if moment.microsecond == 0 and moment.second == 0:
        return whole[:-3]
    return whole + _fraction(moment.microsecond * 1000)


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _signed_bytes(value: bytes) -> str:
    return f"[{', '.join(str(byte - 256 if byte > 127 else byte) for byte in value)}]"


_BASIC: dict[BasicType, Formatter] = {
    BasicType.BOOLEAN: _boolean,
    BasicType.FLOAT: float_text,
    BasicType.DOUBLE: double_text,
    BasicType.INSTANT: _instant,
}


def _text(type_info: TypeInformation) -> Formatter | None:
    """The text of values that are not None; None for types without a form of their own."""
    if isinstance(type_info, BasicTypeInfo):
        return _BASIC.get(type_info._basic_type, str)
    if isinstance(type_info, TupleTypeInfo):
        return _record(list(map(formatter, type_info.get_field_types())), ",", lambda value: ("(", ")"))
    if isinstance(type_info, RowTypeInfo):
        return _record(
            list(map(formatter, type_info.get_field_types())), ", ", lambda row: (f"{row.get_row_kind()}[", "]")
        )
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info._element_type == BasicTypeInfo.BYTE_TYPE_INFO():
        return _signed_bytes
    if isinstance(type_info, (PrimitiveArrayTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo)):
        return _list(formatter(type_info._element_type))
    if isinstance(type_info, ListTypeInfo):
        return _list(formatter(type_info.elem_type))
    if isinstance(type_info, MapTypeInfo):
        return _map(formatter(type_info._key_type_info), formatter(type_info._value_type_info))
    if isinstance(type_info, ExternalTypeInfo):
        return _text(type_info._type_info)
    return _temporal(type_info)


def _temporal(type_info: TypeInformation) -> Formatter | None:
    if isinstance(type_info, DateTypeInfo):
        return str
    if isinstance(type_info, TimeTypeInfo):
        return _sql_time
    if isinstance(type_info, TimestampTypeInfo):
        return _sql_timestamp
    if isinstance(type_info, LocalTimeTypeInfo):
        return str if type_info._time_type is LocalTimeTypeInfo.TimeType.LOCAL_DATE else _local_time
    return None


def _record(fields: list[Formatter], separator: str, brackets: Callable[[Any], tuple[str, str]]) -> Formatter:
    def text(record: Any) -> str:
        opening, closing = brackets(record)
        parts = separator.join([field(value) for field, value in zip(fields, record, strict=True)])
        return f"{opening}{parts}{closing}"

    return text


def _list(element: Formatter) -> Formatter:
    return lambda values: f"[{', '.join(map(element, values))}]"


def _map(key: Formatter, value: Formatter) -> Formatter:
    return lambda entries: f"{{{', '.join(f'{key(k)}={value(v)}' for k, v in entries.items())}}}"
