"""Numbers and times out of rows: written here after the description of the form, read by Millrace."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from millrace.connectors.cdc.mysql import binlog_values

BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)


@st.composite
def decimals(draw: st.DrawFn) -> tuple[int, int, Decimal]:
    precision = draw(st.integers(1, 65))
    scale = draw(st.integers(0, min(30, precision)))
    digits = draw(st.text("0123456789", min_size=precision, max_size=precision))
    sign = draw(st.sampled_from(("", "-"))) if digits.strip("0") else ""
    return precision, scale, Decimal(f"{sign}{digits}E-{scale}")


def stored(precision: int, scale: int, value: Decimal) -> bytes:
    """Groups of nine digits, from the point to both sides; the sign is the first bit, negative ones have all others
    turned round."""
    digits = "".join(map(str, value.as_tuple().digits)).zfill(precision)
    whole, fraction = digits[: precision - scale], digits[precision - scale :]
    first = len(whole) % 9
    parts = [whole[:first], *(whole[at : at + 9] for at in range(first, len(whole), 9))]
    parts += [fraction[at : at + 9] for at in range(0, len(fraction), 9)]
    data = b"".join(int(part).to_bytes(BYTES[len(part)], "big") for part in parts if part)
    if value.is_signed():
        data = bytes(each ^ 0xFF for each in data)
    return bytes([data[0] ^ 0x80]) + data[1:]


@given(decimals())
def test_decimals(drawn: tuple[int, int, Decimal]) -> None:
    precision, scale, value = drawn
    data = stored(precision, scale, value)
    found, end = binlog_values.decimal(precision, scale)(b"x" + data + b"y", 1)
    assert (found.as_tuple().exponent, found) == (-scale, value)
    assert end == 1 + len(data)


@given(st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)), st.integers(0, 6))
def test_datetimes(value: dt.datetime, digits: int) -> None:
    width = (digits + 1) // 2
    unit = 10 ** (6 - 2 * width)
    value = value.replace(microsecond=value.microsecond // unit * unit if width else 0)
    days = (value.year * 13 + value.month) << 5 | value.day
    number = days << 17 | value.hour << 12 | value.minute << 6 | value.second
    data = (number + (1 << 39)).to_bytes(5, "big") + (value.microsecond // unit).to_bytes(width, "big")
    assert binlog_values.datetime(digits)(data, 0) == (value, len(data))


LONGEST = dt.timedelta(hours=838, minutes=59, seconds=59)


@given(st.timedeltas(-LONGEST, LONGEST), st.integers(0, 6))
def test_times(value: dt.timedelta, digits: int) -> None:
    width = (digits + 1) // 2
    unit = 10 ** (6 - 2 * width)
    micro = (
        abs(value) // dt.timedelta(microseconds=1) // unit * unit
        if width
        else abs(value) // dt.timedelta(seconds=1) * 10**6
    )
    value = dt.timedelta(microseconds=micro) * (-1 if value < dt.timedelta() else 1)
    seconds, fraction = divmod(micro, 10**6)
    packed = (seconds // 3600 << 12 | seconds // 60 % 60 << 6 | seconds % 60) << 8 * width | fraction // unit
    number = (-packed if value < dt.timedelta() else packed) + (0x800000 << 8 * width)
    assert binlog_values.time(digits)(number.to_bytes(3 + width, "big"), 0) == (value, 3 + width)


def test_dates_that_are_none_are_texts() -> None:
    assert binlog_values.date(bytes(3), 0) == ("0000-00-00", 3)
    assert binlog_values.date((2024 << 9 | 0 << 5 | 7).to_bytes(3, "little"), 0) == ("2024-00-07", 3)
    assert binlog_values.datetime(2)(bytes([0x80, 0, 0, 0, 0, 0]), 0) == ("0000-00-00 00:00:00.00", 6)
    assert binlog_values.timestamp(0)(bytes(4), 0) == ("0000-00-00 00:00:00", 4)


def test_old_forms() -> None:
    assert binlog_values.old_datetime((20240229_235958).to_bytes(8, "little"), 0) == (
        dt.datetime(2024, 2, 29, 23, 59, 58),
        8,
    )
    assert binlog_values.old_time((-123456).to_bytes(3, "little", signed=True), 0) == (
        -dt.timedelta(hours=12, minutes=34, seconds=56),
        3,
    )
    assert binlog_values.old_timestamp((86_400).to_bytes(4, "little"), 0) == (dt.datetime(1970, 1, 2), 4)


def test_labels() -> None:
    assert binlog_values.one_of(("a", "b"), 1)(b"\x02", 0) == ("b", 1)
    assert binlog_values.one_of(("a", "b"), 1)(b"\x00", 0) == ("", 1)
    assert binlog_values.some_of(("x", "y", "z"), 1)(b"\x05", 0) == ("x,z", 1)
