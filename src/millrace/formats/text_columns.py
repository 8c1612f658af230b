"""Numbers and times as text in messages: whole columns at once by Arrow's casts, where they read exactly as Flink does,
and single values where a column has something unusual.

Functions for columns raise ``Doubtful`` or an error of Arrow for text that they do not read, functions for values
ValueError that says what is wrong. Few values are made one by one: Arrow's functions take as long for one value as for
a hundred.
"""

from __future__ import annotations

import base64
import ctypes
import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.formats import text_values
from millrace.relational import types as t
from millrace.relational.functions.text_values import double_text, float_text, parser
from millrace.relational.precision import EXACT, cut_digits, decimals_of_texts
from millrace.relational.type_table import WHOLE, ByFamily, Family, arrow_type, family_of
from millrace.relational.types import DataType

_DATE = "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?"
BLANKS = "".join(map(chr, range(0x21)))
"""what Java's ``trim`` takes away"""
_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME_OF_DAY = re.compile(r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{0,9})?)?")
_WITH_SECONDS = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{0,9})?")
_MIDNIGHT = re.compile(r"24:00:00(?:\.0{0,9})?")
"""the end of a day"""
_BASE64 = re.compile("[A-Za-z0-9+/]*={0,2}")
_MICROSECONDS = len("2000-01-01 00:00:00.000000")
_SECONDS = len("2000-01-01 00:00:00")
_PLAIN_LENGTHS = (_SECONDS, _SECONDS + 4, _SECONDS + 7)
_YEAR_1 = -62_135_596_800_000_000
_EPOCH_DAY = "1970-01-01 "
US, US_UTC, CLOCK = pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.time64("us")


FEW = 64
"""The most messages that are read and written one by one; reading all at once takes half a ms, however few they are."""


def is_few(count: int) -> bool:
    """Whether this many messages are read or written one by one."""
    return count <= FEW


class NoForm(TypeError):
    """A format has no form for the values of a type; the message says for which and why."""


class Doubtful(ValueError):
    """A column that has to be looked at value by value."""


@dataclass(frozen=True)
class TimeForm:
    """What stands between date and time."""

    separator: str


SQL, ISO = TimeForm(" "), TimeForm("T")


def _all_match(texts: pa.Array, pattern: str) -> None:
    if pc.all(pc.match_substring_regex(texts, f"^{pattern}$")).as_py() is False:
        raise Doubtful


def dates(texts: pa.Array) -> pa.Array:
    _all_match(texts, _DATE)
    return texts.cast(pa.date32())


def clocks(texts: pa.Array, precision: int) -> pa.Array:
    """TIME values with ``precision`` digits of a second; further digits are cut off."""
    _all_match(texts, _CLOCK)
    # Arrow reads no bare time of day.
    moments = pc.binary_join_element_wise(_EPOCH_DAY, texts, "")
    found = cut_digits(pc.utf8_slice_codeunits(moments, 0, _MICROSECONDS).cast(US), precision)
    return found.cast(pa.int64()).cast(CLOCK)


def timestamps(texts: pa.Array, form: TimeForm, precision: int) -> pa.Array:
    found = _plain_timestamps(texts, form)
    if found is not None:
        return cut_digits(found, precision)
    _all_match(texts, f"{_DATE}{form.separator}{_CLOCK}")
    return cut_digits(pc.utf8_slice_codeunits(texts, 0, _MICROSECONDS).cast(US), precision)


def _plain_timestamps(texts: pa.Array, form: TimeForm) -> pa.Array | None:
    """Timestamps of which all have seconds, and microseconds at most: what Arrow then reads is what the pattern of
    ``timestamps`` says. None if they have to be compared with it."""
    if texts.null_count or not len(texts) or not pa.types.is_string(texts.type):
        return None
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
    if int(np.diff(offsets).min()) < _SECONDS:
        return None
    data = np.frombuffer(texts.buffers()[2], np.uint8)
    if (data[offsets[:-1] + len("2000-01-01")] != ord(form.separator)).any():
        return None
    try:
        found = texts.cast(US)
    except pa.ArrowInvalid:
        return None
    return found if int(found.view(pa.int64()).to_numpy().min()) >= _YEAR_1 else None


def instants(texts: pa.Array, form: TimeForm, precision: int) -> pa.Array:
    """TIMESTAMP_LTZ: text in UTC with a Z at its end."""
    _all_match(texts, f"{_DATE}{form.separator}{_CLOCK}Z")
    plain = pc.utf8_slice_codeunits(pc.utf8_rtrim(texts, characters="Z"), 0, _MICROSECONDS)
    return cut_digits(plain.cast(US), precision).cast(US_UTC)


def parse_date(text: str) -> dt.date:
    return text_values.parse_date(_whole(_DAY, text, "a date"))


def parse_clock(text: str, precision: int) -> dt.time:
    value = text_values.parse_time(_whole(_TIME_OF_DAY, text, "a time").rstrip("."))
    return value.replace(microsecond=_cut_micros(value.microsecond, precision))


def plain_date(text: str) -> dt.date | None:
    """The day of a text like 2020-12-30; None: it has another form, or there is no such day."""
    if len(text) == len("2000-01-01") and text[4] == text[7] == "-":
        try:
            return dt.date.fromisoformat(text)
        except ValueError:
            return None
    return None


def plain_timestamp(text: str) -> dt.datetime | None:
    """The moment of a text like 2020-12-30 12:13:14.123; None: it has another form, or there is no such moment."""
    if len(text) in _PLAIN_LENGTHS and text[4] == text[7] == "-" and text[13] == text[16] == ":":
        if len(text) > _SECONDS and not (text[_SECONDS] == "." and text[_SECONDS + 1 :].isdigit()):
            return None
        try:
            return dt.datetime.fromisoformat(text)
        except ValueError:
            return None
    return None


def parse_timestamp(text: str, form: TimeForm, precision: int) -> dt.datetime:
    found = plain_timestamp(text) if text[10:11] == form.separator else None
    if found is not None:
        return found.replace(microsecond=_cut_micros(found.microsecond, precision)) if found.microsecond else found
    day, time = text[:10], text[11:]
    clock = _WITH_SECONDS if form == SQL else _TIME_OF_DAY
    if text[10:11] != form.separator or not _DAY.fullmatch(day) or not clock.fullmatch(time):
        raise ValueError(f"not a timestamp: {text!r} (wanted: 2020-12-30{form.separator}12:13:14.123)")
    if form == SQL and _MIDNIGHT.fullmatch(time):
        return dt.datetime.fromisoformat(day) + dt.timedelta(days=1)
    value = text_values.parse_timestamp(text.rstrip("."))
    return value.replace(microsecond=_cut_micros(value.microsecond, precision))


def _whole(pattern: re.Pattern[str], text: str, what: str) -> str:
    if pattern.fullmatch(text) is None:
        raise ValueError(f"not {what}: {text!r}")
    return text


def parse_instant(text: str, form: TimeForm, precision: int) -> dt.datetime:
    if not text.endswith("Z"):
        raise ValueError(f"not a timestamp in UTC: {text!r} (wanted: 2020-12-30{form.separator}12:13:14.123Z)")
    return parse_timestamp(text[:-1], form, precision).replace(tzinfo=dt.timezone.utc)


def _cut_micros(micros: int, precision: int) -> int:
    unit: int = 10 ** max(6 - precision, 0)
    return micros // unit * unit


def date_texts(column: pa.Array) -> pa.Array:
    return column.cast(pa.string())


def clock_texts(column: pa.Array) -> pa.Array:
    """``12:13:14`` with as many digits of a fraction as needed."""
    return _without_zeros(column.cast(pa.string()))


def timestamp_texts(column: pa.Array, form: TimeForm, end: str = "") -> pa.Array:
    """``2020-12-30 12:13:14.1`` with as many digits as needed; instants in UTC.

    :param end: what stands at the end of each text (Z).
    """
    texts = _without_zeros(column.cast(US).cast(pa.string()))
    if form.separator != " ":
        texts = pc.utf8_replace_slice(texts, start=10, stop=11, replacement=form.separator)
    return pc.binary_join_element_wise(texts, end, "") if end else texts


def _without_zeros(texts: pa.Array) -> Any:
    return pc.utf8_rtrim(pc.utf8_rtrim(texts, characters="0"), characters=".")


_WHOLE = re.compile(r"[+-]?[0-9]+")
_PLAIN_FROM, _PLAIN_BELOW = 1e-3, 1e7
"""where Java writes floating numbers without an exponent"""


def parse_whole(text: str, bits: int) -> int:
    """An integer of so many bits; blanks around are ignored."""
    if _WHOLE.fullmatch(text.strip()) is None:
        raise ValueError(f"not an integer: {text!r}")
    return in_range(int(text), bits)


def parse_any_whole(text: str) -> int:
    """An integer of any size."""
    return parse_whole(text, 4096)


def unsigned(text: str, bits: int) -> int:
    """An integer of so many bits without a sign."""
    value = parse_whole(text, bits + 1)
    if value < 0:
        raise ValueError(f"{value} is less than 0")
    return value


def in_range(value: int, bits: int) -> int:
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"{value} does not fit into {bits} bits")
    return value


def plain_number(text: str) -> str:
    """The text of a decimal number, as it is. :raises ValueError: it is none."""
    return _whole(_PLAIN_NUMBER, text, "a decimal number")


def exact_decimal(text: str) -> Decimal:
    """A number with all its digits.

    :raises ValueError: the text is none, or one of more digits than Java's have.
    """
    value = EXACT.create_decimal(plain_number(text))
    if abs(value.adjusted()) > _MOST_DIGITS:
        raise ValueError(f"a number of too many digits: {text!r}")
    return value if value else abs(value)  # Java's has no zero below zero


_MOST_DIGITS = (1 << 31) - 1


def base64_value(text: str) -> bytes:
    """:raises ValueError: the text is not Base64, or has more or less padding than it needs."""
    if len(text) % 4:
        raise ValueError(f"not Base64, whose length is a multiple of 4: {text!r}")
    return base64.b64decode(_whole(_BASE64, text, "Base64"), validate=True)


def single(value: float) -> float:
    """The nearest number of 32 bits; infinite if there is none."""
    return ctypes.c_float(value).value


def number_parser(data_type: DataType) -> Any:
    """From text to FLOAT, DOUBLE, DECIMAL; digits after the point that are too many are rounded, a DECIMAL with too
    many before it is NULL."""
    read = parser(data_type, "UTC")
    assert read is not None
    return read


def float_texts(column: pa.Array) -> pa.Array:
    """FLOAT and DOUBLE as Java writes them."""
    size = pc.abs(column)
    plain = pc.or_(pc.and_(pc.greater_equal(size, _PLAIN_FROM), pc.less(size, _PLAIN_BELOW)), pc.equal(size, 0.0))
    texts = column.cast(pa.string())
    texts = pc.if_else(pc.match_substring(texts, "."), texts, pc.binary_join_element_wise(texts, ".0", ""))
    java = float_text if column.type == pa.float32() else double_text
    return patched(texts, pc.invert(plain), column, java)


def decimal_texts(column: pa.Array, exponents: bool) -> pa.Array:
    """DECIMAL without zeros at its end.

    :param exponents: write 100 as ``1E+2`` and 0.00000001 as ``1E-8``, as Java does unless told otherwise.
    """
    texts = column.cast(pa.string())
    odd = pc.match_substring(texts, "E")
    if column.type.scale > 0:
        texts = pc.utf8_rtrim(pc.utf8_rtrim(texts, characters="0"), characters=".")
    if exponents:
        odd = pc.or_(odd, pc.and_(pc.ends_with(texts, "0"), pc.not_equal(texts, "0")))
    return patched(texts, odd, column, decimal_text(exponents))


def decimal_text(exponents: bool) -> Callable[[Decimal], str]:
    """The function from a single DECIMAL to its text; ``exponents``: with an exponent where Java writes one."""
    if exponents:
        return lambda value: str(value.normalize(EXACT))
    return lambda value: format(value.normalize(EXACT), "f")


def patched(texts: pa.Array, mask: pa.Array, column: pa.Array, text: Any) -> pa.Array:
    """The texts with those of marked rows computed value by value."""
    mask = mask.fill_null(False)
    if not pc.any(mask).as_py():
        return texts
    return pc.replace_with_mask(
        texts, mask, pa.array([text(value) for value in column.filter(mask).to_pylist()], texts.type)
    )


def base64_texts(column: pa.Array) -> pa.Array:
    return pa.array([each and base64.b64encode(each).decode("ascii") for each in column.to_pylist()], pa.string())


def millisecond_texts(column: pa.Array) -> pa.Array:
    """Spans of time as their milliseconds."""
    return pc.divide(column.cast(pa.int64()), 1000).cast(pa.string())


_MILLISECOND = dt.timedelta(milliseconds=1)


def texts_of_few(
    column: pa.Array, kind: DataType, separator: str, exponents: bool, whole: Callable[[pa.Array], pa.Array]
) -> list[str | None]:
    """The texts of values; NULL is None.

    :param separator: between date and time.
    :param exponents: write DECIMAL with an exponent where Java does.
    :param whole: makes the texts of a column: where values have to be seen together, or are out of Python's range.
    """
    text = text_of(kind, separator, exponents)
    if text is None:
        return whole(column).to_pylist()  # type: ignore[no-any-return]
    try:
        # Of times with a zone Python would look up what is UTC anyway.
        values = (column.cast(US) if family_of(kind) is Family.INSTANT else column).to_pylist()
    except (ValueError, OverflowError):  # years that Python has not
        return whole(column).to_pylist()  # type: ignore[no-any-return]
    return [None if value is None else text(value) for value in values]


def text_of(kind: DataType, separator: str, exponents: bool) -> Callable[[Any], str] | None:
    """The function from a value of a type to its text, instants in UTC; None: values have to be seen together."""
    make = _TEXTS.get(family_of(kind))
    return None if make is None else make(kind, separator, exponents)


def _clock(value: dt.time | dt.datetime) -> str:
    text = f"{value.hour:02}:{value.minute:02}:{value.second:02}"
    return f"{text}.{value.microsecond:06}".rstrip("0") if value.microsecond else text


def _milliseconds(value: dt.timedelta) -> str:
    size = abs(value) // _MILLISECOND
    return str(size if value >= dt.timedelta(0) else -size)


def _moment(separator: str, end: str) -> Callable[[Any], str]:
    return lambda value: f"{value.year:04}-{value.month:02}-{value.day:02}{separator}{_clock(value)}{end}"


_TEXTS: ByFamily = {
    Family.TEXT: lambda kind, separator, exponents: str,
    **dict.fromkeys((Family.INTEGER, Family.MONTHS), lambda kind, separator, exponents: str),
    Family.BOOLEAN: lambda kind, separator, exponents: lambda value: "true" if value else "false",
    Family.APPROXIMATE: lambda kind, separator, exponents: float_text if isinstance(kind, t.FloatType) else double_text,
    Family.DECIMAL: lambda kind, separator, exponents: decimal_text(exponents),
    Family.SPAN: lambda kind, separator, exponents: _milliseconds,
    Family.DATE: lambda kind, separator, exponents: dt.date.isoformat,
    Family.TIME: lambda kind, separator, exponents: _clock,
    Family.TIMESTAMP: lambda kind, separator, exponents: _moment(separator, ""),
    Family.INSTANT: lambda kind, separator, exponents: _moment(separator, "Z"),
    Family.BYTES: lambda kind, separator, exponents: lambda value: base64.b64encode(value).decode("ascii"),
}


_WHOLE_TEXT = r"^[+-]?[0-9]+$"
_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_PLAIN_NUMBER = re.compile(_NUMBER[1:-1])
_BOOLEAN = "^(?i:true|false)$"


def values_of_texts(texts: pa.Array, kind: DataType, form: TimeForm) -> pa.Array:
    """The values of texts."""
    read = _READERS.get(family_of(kind))
    if read is None:
        raise Doubtful
    found: pa.Array = read(texts, kind, form)
    return found


def whole_numbers(column: pa.Array, kind: DataType) -> pa.Array:
    """Numbers, or texts of them, as values of a type that is a whole number outside (an INTERVAL is milliseconds)."""
    if family_of(kind) is Family.SPAN:
        return pc.multiply_checked(column.cast(pa.int64()), 1000).cast(pa.duration("us"))
    return column.cast(arrow_type(kind))


def _checked(texts: pa.Array, pattern: str) -> pa.Array:
    if pc.all(pc.match_substring_regex(texts, pattern)).as_py() is False:
        raise Doubtful
    return texts


def _whole_texts(texts: pa.Array, kind: DataType, form: TimeForm) -> pa.Array:
    return whole_numbers(_checked(texts, _WHOLE_TEXT), kind)


def _float_texts(texts: pa.Array, kind: DataType, form: TimeForm) -> pa.Array:
    return _checked(texts, _NUMBER).cast(arrow_type(kind))


def _decimal_texts(texts: pa.Array, kind: t.DecimalType, form: TimeForm) -> pa.Array:
    return decimals_of_texts(_checked(texts, _NUMBER), kind)


_READERS: ByFamily = {
    **dict.fromkeys(WHOLE, _whole_texts),
    Family.APPROXIMATE: _float_texts,
    Family.DECIMAL: _decimal_texts,
    Family.BOOLEAN: lambda texts, kind, form: _checked(texts, _BOOLEAN).cast(pa.bool_()),
    Family.DATE: lambda texts, kind, form: dates(texts),
    Family.TIME: lambda texts, kind, form: clocks(texts, kind.precision),
    Family.TIMESTAMP: lambda texts, kind, form: timestamps(texts, form, kind.precision),
    Family.INSTANT: lambda texts, kind, form: instants(texts, form, kind.precision),
    Family.BYTES: lambda texts, kind, form: pa.array(
        [each if each is None else base64_value(each) for each in texts.to_pylist()], pa.binary()
    ),
    Family.TEXT: lambda texts, kind, form: texts,
}


def list_column(lengths: pa.Array, elements: pa.Array) -> pa.ListArray:
    """A column of lists with these lengths, filled with the values one after the other; a NULL length gives a NULL
    list."""
    ends = pc.cumulative_sum(lengths.fill_null(0).cast(pa.int64())).cast(pa.int32())
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    kind = pa.list_(elements.type)
    return pa.ListArray.from_arrays(offsets, elements, kind, mask=lengths.is_null() if lengths.null_count else None)


def relisted(column: pa.Array, elements: pa.Array) -> pa.ListArray:
    """The lists of a column with other elements, as many as ``column.flatten()`` has."""
    return list_column(pc.list_value_length(column), elements)
