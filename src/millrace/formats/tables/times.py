"""Times as text in messages: whole columns at once, and single values where a column has something unusual.

Functions for columns raise ``Doubtful`` or an error of Arrow for what they do not read, functions for values ValueError
that says what is wrong.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.formats import time_text
from millrace.relational.canonical import cut_digits

_DATE = "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?"
_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME_OF_DAY = re.compile(r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?")
_MICROSECONDS = len("2000-01-01 00:00:00.000000")
_SECONDS = len("2000-01-01 00:00:00")
_YEAR_1 = -62_135_596_800_000_000
_EPOCH_DAY = "1970-01-01 "
US, US_UTC, CLOCK = pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.time64("us")


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
    """TIME of so many digits; what is finer is cut off."""
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
    return time_text.parse_date(_whole(_DAY, text, "a date"))


def parse_clock(text: str, precision: int) -> dt.time:
    value = time_text.parse_time(_whole(_TIME_OF_DAY, text, "a time"))
    return value.replace(microsecond=_cut_micros(value.microsecond, precision))


def parse_timestamp(text: str, form: TimeForm, precision: int) -> dt.datetime:
    day, time = text[:10], text[11:]
    if text[10:11] != form.separator or not _DAY.fullmatch(day) or not _TIME_OF_DAY.fullmatch(time):
        raise ValueError(f"not a timestamp: {text!r} (wanted: 2020-12-30{form.separator}12:13:14.123)")
    value = time_text.parse_timestamp(text)
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
