"""Conversion of text and numbers to times and back: TO_TIMESTAMP, TO_DATE, UNIX_TIMESTAMP, DATE_FORMAT and their
like."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import types as t
from millrace.relational.functions.registry import (
    BIGINT,
    BIGINT_TYPE,
    STRING,
    TEXT,
    Column,
    Signature,
    SignatureError,
    Surroundings,
    by_row,
    is_number,
    is_text,
    scalar,
    signature,
    takes,
)
from millrace.relational.functions.time_formatting import Field, Format, Text, formatter, read_pattern, strftime
from millrace.relational.functions.time_parsing import Parse, iso_times, plain_times, simple_parser, strict_parser
from millrace.relational.functions.time_values import STAMP_OR_TEXT, STAMPS
from millrace.relational.rex import Call, Literal, Rex
from millrace.relational.time_zones import EPOCH, instant_of, instants, local_times, zone_of, zone_or_gmt, zone_or_none
from millrace.relational.types import DataType

DEFAULT = "yyyy-MM-dd HH:mm:ss"
_UNPARSED = -(2**63)
"""what UNIX_TIMESTAMP gives for text that is no time"""
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""the years 1 to 9999 in microseconds: beyond them TO_TIMESTAMP_LTZ gives NULL"""
_FRACTION, _QUOTED = re.compile("S+"), re.compile("'[^']*'")
"""parts of a pattern"""
_PLAIN = r"^\d{4}-\d{2}-\d{2}( \d{2}:\d{2}:\d{2}(\.\d{1,6})?)?$"
_LOOSE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?: (\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?)?", re.ASCII)
_TIMESTAMP3, _LTZ3 = t.TimestampType(3), t.LocalZonedTimestampType(3)


# -- TO_TIMESTAMP -----------------------------------------------------------------------------------------------------


@scalar(
    "TO_TIMESTAMP",
    takes(TEXT, TEXT, result=_TIMESTAMP3, optional=1, nullable=True),
    syntax="TO_TIMESTAMP(string[, format])",
)
def to_timestamp(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    if len(args) == 2:
        fast = plain_times(args[0], args[1].as_py()) if isinstance(args[1], pa.Scalar) and args[1].is_valid else None
        if fast is None:
            return by_row(call, args, _parsed, prepare={1: _parser})
    else:
        fast = _plain_timestamps(args[0])
        if fast is None:
            return by_row(call, args, _default)
    return pc.floor_temporal(fast, unit="millisecond")


def _plain_timestamps(column: Column) -> Column | None:
    """Text of the usual form by Arrow's own cast; None if there is other text among it."""
    if isinstance(column, pa.Scalar) or not pc.all(pc.match_substring_regex(column, _PLAIN)).as_py():
        return None
    return iso_times(column)


def _default(text: str) -> datetime | None:
    """Text of the form 2024-5-6 or 2024-05-06 10:20:30.123456789."""
    found = _LOOSE.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    if not (year and 1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second < 60):
        return None
    micros = int((found[7] or "").ljust(3, "0")[:3]) * 1000
    while True:  # the 31st of a shorter month is its last day
        try:
            return datetime(year, month, day, hour, minute, second, micros)
        except ValueError:
            day -= 1


def _parser(pattern: str, digits: int = 3) -> Parse:
    """A parser by a pattern, which cuts to ``digits`` digits of a second. Text that does not fit is tried in the
    default form."""
    strict = strict_parser(pattern)
    unit = 10 ** max(0, 6 - digits)

    def parse(text: str) -> datetime | None:
        found = strict(text)
        if found is None:
            return _default(text.strip())
        return found.replace(microsecond=found.microsecond // unit * unit)

    return parse


def _parsed(text: str, parse: Parse) -> datetime | None:
    return parse(text)


# -- TO_TIMESTAMP_LTZ -------------------------------------------------------------------------------------------------


def _infer_ltz(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    types = _with_types([arg.type for arg in args])
    if 1 <= len(args) <= 3 and all(map(is_text, types)):
        _check_zone(args)
        return signature(types, _ltz_of_format(args), True)
    if 1 <= len(args) <= 2 and is_number(types[0]) and all(isinstance(each, t.IntegralType) for each in types[1:]):
        return signature(types, _ltz_of_precision(args), True)
    raise SignatureError("it takes (NUMERIC [, INT]) or (STRING [, format [, zone]])")


def _with_types(types: Sequence[DataType]) -> list[DataType]:
    """A bare NULL is what goes with the other arguments, text where there are none."""
    number = any(map(is_number, types))
    return [(t.IntType() if number else STRING) if isinstance(each, t.NullType) else each for each in types]


def _check_zone(args: Sequence[Rex]) -> None:
    """A zone that is written in the query has to be one; unknown ones among the data give NULL."""
    if len(args) == 3 and isinstance(args[2], Literal) and args[2].value is not None:
        try:
            zone_of(args[2].value)
        except ValueError as error:
            raise SignatureError(str(error)) from error


def _ltz_of_format(args: Sequence[Rex]) -> DataType:
    """TIMESTAMP_LTZ with the digits of a second that the format reads; 3 if they are fewer, or the format is no
    constant."""
    pattern = args[1].value if len(args) > 1 and isinstance(args[1], Literal) else None
    runs = _FRACTION.findall(_QUOTED.sub("", pattern or ""))
    return t.LocalZonedTimestampType(min(max([3, *map(len, runs)]), 9))


def _ltz_of_precision(args: Sequence[Rex]) -> DataType:
    """TIMESTAMP_LTZ with the digits of a second of the given precision; 3 if they are fewer, or the precision is no
    constant."""
    digits = args[1].value if len(args) > 1 and isinstance(args[1], Literal) else None
    if digits is None:
        return _LTZ3
    if not 0 <= digits <= 9:
        raise SignatureError(f"it takes a precision of 0 (seconds) to 9 (nanoseconds), not {digits}")
    return t.LocalZonedTimestampType(max(3, digits))


@scalar("TO_TIMESTAMP_LTZ", _infer_ltz, syntax="TO_TIMESTAMP_LTZ(number[, precision] | string[, format[, zone]])")
def to_timestamp_ltz(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """Text without a zone is a time in UTC, whatever the zone of the session."""
    if is_text(call.args[0].type):
        return _text_as_instants(call, args)
    if isinstance(call.args[0].type, t.IntegralType) and (len(args) == 1 or isinstance(call.args[1], Literal)):
        return _epochs(args[0].cast(pa.int64()), args[1].as_py() if len(args) == 2 else 3)
    return by_row(call, args, partial(_epoch, wanted=_digits(call)))


def _digits(call: Call) -> int:
    assert isinstance(call.type, t.LocalZonedTimestampType)
    return call.type.precision


def _text_as_instants(call: Call, args: Sequence[Column]) -> Column:
    if len(args) == 1:
        fast = _plain_timestamps(args[0])
        if fast is not None:
            return instants(pc.floor_temporal(fast, unit="millisecond"), "UTC")
        return by_row(call, args, lambda text: _in_zone(_default(text), timezone.utc))
    return by_row(
        call,
        args,
        lambda text, parse, zone=timezone.utc: _in_zone(parse(text), zone),
        prepare={1: partial(_parser, digits=_digits(call)), 2: zone_or_none},
    )


def _epochs(numbers: Any, precision: int | None) -> Column:
    """A column of whole numbers of units of 10 ** -precision seconds."""
    if precision is None:
        return pa.scalar(None, pa.timestamp("us", "UTC"))
    if precision > 6:
        numbers, precision = _floor_divided(numbers, 10 ** (precision - 6)), 6
    in_micros = 10 ** (6 - precision)
    first, last = pa.scalar(_FIRST // in_micros, pa.int64()), pa.scalar(_LAST // in_micros, pa.int64())
    inside = pc.and_(pc.greater_equal(numbers, first), pc.less_equal(numbers, last))
    kept = pc.if_else(inside, numbers, pa.scalar(None, pa.int64()))
    return pc.multiply(kept, pa.scalar(in_micros, pa.int64())).cast(pa.timestamp("us", "UTC"))


def _floor_divided(numbers: Any, divisor: int) -> Any:
    """Rounded down, where Arrow rounds towards zero."""
    quotient = pc.divide(numbers, pa.scalar(divisor, pa.int64()))
    above = pc.greater(pc.multiply(quotient, pa.scalar(divisor, pa.int64())), numbers)
    return pc.subtract(quotient, above.cast(pa.int64()))


def _in_zone(local: datetime | None, zone: Any) -> int | None:
    return None if local is None or zone is None else instant_of(local, zone)


def _epoch(number: int | float | Decimal, precision: int = 3, wanted: int = 3) -> int | None:
    """Microseconds of a number of units of 10 ** -precision seconds, to the wanted digits. Of DECIMALs Flink drops the
    fraction of a unit, not so of FLOAT and DOUBLE."""
    if not 0 <= precision <= 9:
        raise ValueError(f"TO_TIMESTAMP_LTZ takes a precision of 0 (seconds) to 9 (nanoseconds), not {precision}")
    if isinstance(number, float) and not math.isfinite(number):
        return None
    whole = int(number)
    rest = number - whole if isinstance(number, float) else 0.0
    digits = max(wanted, precision)
    found = whole * 10 ** (digits - precision) + int(rest * 10 ** (digits - precision))
    found = found * 10**6 // 10**digits
    unit = 10 ** max(0, 6 - wanted)
    return found // unit * unit if _FIRST <= found <= _LAST else None


# -- TO_DATE ----------------------------------------------------------------------------------------------------------


@scalar(
    "TO_DATE", takes(TEXT, TEXT, result=t.DateType(), optional=1, nullable=True), syntax="TO_DATE(string[, format])"
)
def to_date(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    if len(args) == 1:
        return by_row(call, args, _default_date)
    return by_row(call, args, _date, prepare={1: simple_parser})


def _default_date(text: str) -> date | None:
    """Read 2024-05-06, 2024-5 or 2024 as a date; text after a blank is ignored."""
    cut = text.find(" ")
    parts = [part.strip() for part in (text[:cut] if cut > 0 else text).split("-", 2)]
    if not all(part.isascii() and part.isdigit() for part in parts):
        return None
    try:
        return date(*map(int, [*parts, "1", "1"][:3]))
    except (ValueError, OverflowError):
        return None


def _date(text: str, parse: Callable[[str], Any]) -> date | None:
    found = parse(text)
    if found is None:
        return None
    local, zone = found
    if zone is not None:
        local = EPOCH + timedelta(microseconds=instant_of(local, zone))
    return date(local.year, local.month, local.day)


# -- UNIX_TIMESTAMP, FROM_UNIXTIME, CONVERT_TZ ------------------------------------------------------------------------


@scalar(
    "UNIX_TIMESTAMP",
    takes(TEXT, TEXT, optional=2, result=BIGINT_TYPE),
    deterministic=False,
    syntax="UNIX_TIMESTAMP([string[, format]])",
)
def unix_timestamp(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    if not args:
        return pa.scalar(int(time.time()), pa.int64())
    parse = simple_parser(DEFAULT)
    zone = zone_of(around.zone)
    fast = plain_times(args[0], DEFAULT) if len(args) == 1 else None
    if fast is not None:
        return pc.divide(instants(fast, around.zone, later=True).cast(pa.int64()), pa.scalar(1_000_000, pa.int64()))

    def seconds(text: str, parse: Callable[[str], Any] = parse) -> int:
        found = parse(text)
        if found is None:
            return _UNPARSED
        local, own = found
        micros = instant_of(local, own or zone, later=True)
        return micros // 1_000_000 if micros > 0 else -(-micros // 1_000_000)  # towards zero, as Java divides

    return by_row(call, args, seconds, prepare={1: simple_parser})


@scalar(
    "FROM_UNIXTIME",
    takes(BIGINT, TEXT, result=STRING, optional=1, nullable=True),
    syntax="FROM_UNIXTIME(seconds[, format])",
)
def from_unixtime(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    zone = zone_of(around.zone)
    write = formatter(DEFAULT, True)
    if len(args) == 1 and not isinstance(args[0], pa.Scalar) and _in_range(args[0]):
        stamps = args[0].cast(pa.timestamp("s")).cast(pa.timestamp("us", "UTC"))
        return pc.strftime(local_times(stamps, around.zone).cast(pa.timestamp("s")), format="%Y-%m-%d %H:%M:%S")

    def text(seconds: int, write: Callable[[datetime], str] = write) -> str | None:
        if not _FIRST <= seconds * 1_000_000 <= _LAST:
            return None
        return write((_EPOCH_UTC + timedelta(seconds=seconds)).astimezone(zone))

    return by_row(call, args, text, prepare={1: lambda pattern: formatter(pattern, True)})


def _in_range(seconds: pa.Array) -> bool:
    """Whether all are of years that have four digits; NULL does not matter."""
    first, last = _FIRST // 1_000_000 + 86400, _LAST // 1_000_000 - 86400
    inside = pc.and_(pc.greater_equal(seconds, first), pc.less(seconds, last))
    return bool(pc.all(inside).as_py())


_EPOCH_UTC = EPOCH.replace(tzinfo=timezone.utc)
_write, _read = formatter(DEFAULT, True), simple_parser(DEFAULT)


@scalar(
    "CONVERT_TZ", takes(TEXT, TEXT, TEXT, result=STRING, nullable=True), syntax="CONVERT_TZ(string, from zone, to zone)"
)
def convert_tz(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """An unknown zone is GMT, as in Flink."""

    def text(shown: str, source: Any, target: Any) -> str | None:
        found = _read(shown)
        if found is None:
            return None
        instant = instant_of(found[0], source, later=True)
        return _write((_EPOCH_UTC + timedelta(microseconds=instant)).astimezone(target))

    return by_row(call, args, text, prepare={1: zone_or_gmt, 2: zone_or_gmt})


# DATE_FORMAT

_read_default = simple_parser(DEFAULT)


_PLACES = {"y": (1, 4), "M": (6, 2), "d": (9, 2), "H": (12, 2), "m": (15, 2), "s": (18, 2)}
"""where the parts are in Spark's text of a TIMESTAMP, and how long they are"""


def _spark(call: Call, args: Sequence[str]) -> str | None:
    """SQL text for plain patterns. It does not use ``date_format``, which would move times that the session's zone
    skips."""
    time, pattern = call.args
    if not isinstance(time.type, STAMPS) or not isinstance(pattern, Literal) or pattern.value is None:
        return None
    if strftime(pattern.value) is None:
        return None
    parts = []
    for part in read_pattern(pattern.value, False):
        if isinstance(part, Field):
            start, length = _PLACES[part.letter]
            parts.append(f"substring(CAST({args[0]} AS STRING), {start}, {length})")
        elif isinstance(part, Text):
            escaped = part.text.replace("\\", "\\\\").replace("'", "\\'")
            parts.append(f"'{escaped}'")
    return f"concat({', '.join(parts)})"


@scalar(
    "DATE_FORMAT",
    takes(STAMP_OR_TEXT, TEXT, result=STRING, nullable=True),
    spark=_spark,
    syntax="DATE_FORMAT(time, format)",
)
def date_format(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """Text is read as yyyy-MM-dd HH:mm:ss first. Of a TIMESTAMP_LTZ what clocks in the session's zone show."""
    times, pattern = args
    data_type = call.args[0].type
    if is_text(data_type):
        return by_row(call, args, _of_text, prepare={1: _simple})
    if isinstance(data_type, t.DateType):
        return by_row(call, args, _of_date, prepare={1: _simple})
    if isinstance(data_type, t.LocalZonedTimestampType):
        times = local_times(times, around.zone)
    if isinstance(pattern, pa.Scalar) and pattern.is_valid and not isinstance(times, pa.Scalar):
        plain = strftime(pattern.as_py())
        if plain is not None:
            return _written(times, plain)
    return by_row(call, [times, pattern], _of_stamp, prepare={1: lambda text: formatter(text, False)})


def _written(times: pa.Array, directives: str) -> pa.Array:
    """Format times, each different text once: formatting takes longer than finding out which times have the same
    text."""
    unit = next((unit for directive, unit in _UNITS if directive in directives), "day")
    rounded = pc.floor_temporal(times, unit=unit).cast(pa.timestamp("s")).dictionary_encode()
    return pc.strftime(rounded.dictionary, format=directives).take(rounded.indices)


_UNITS = (("%S", "second"), ("%M", "minute"), ("%H", "hour"))
"""what has to be the same for the texts to be so, smallest first"""


def _simple(pattern: str) -> Format:
    return formatter(pattern, True)


def _of_stamp(at: datetime, write: Callable[[datetime], str]) -> str:
    return write(at)


def _of_date(day: date, write: Callable[[datetime], str]) -> str:
    return write(datetime(day.year, day.month, day.day))


def _of_text(text: str, write: Callable[[Any], str]) -> str | None:
    found = _read_default(text)
    return None if found is None else write(found[0])
