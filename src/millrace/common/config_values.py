"""Configuration values: from text or objects to typed ones (``to_*``, ``ValueError`` when impossible), and to text."""

from __future__ import annotations

import base64
import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from millrace.common.constants import MAX_LONG_VALUE, MIN_LONG_VALUE
from millrace.common.text import double_text
from millrace.common.time import Duration, Time, to_millis

T = TypeVar("T")
"""Type of a list's elements."""

_BINARY_TAG = "!!binary"
_NUMBER_AND_UNIT = re.compile(r"\s*(\d+)\s*([a-zµ]*)\s*", re.IGNORECASE)
_ISO = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,9}))?S)?)?", re.IGNORECASE)
_NANOS = {
    **dict.fromkeys(("ns", "nano", "nanos", "nanosecond", "nanoseconds"), 1),
    **dict.fromkeys(("us", "µs", "micro", "micros", "microsecond", "microseconds"), 1_000),
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), 1_000_000),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1_000_000_000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000_000_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000_000_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000_000_000),
}
_BYTES = {
    **dict.fromkeys(("", "b", "byte", "bytes"), 1),
    **dict.fromkeys(("k", "kb", "kibibytes", "kilobyte", "kilobytes"), 1 << 10),
    **dict.fromkeys(("m", "mb", "mebibytes", "megabyte", "megabytes"), 1 << 20),
    **dict.fromkeys(("g", "gb", "gibibytes", "gigabyte", "gigabytes"), 1 << 30),
    **dict.fromkeys(("t", "tb", "tebibytes", "terabyte", "terabytes"), 1 << 40),
}


def to_text(value: Any) -> str:
    """The text of a value as a configuration file would hold it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, (bytes, bytearray)):
        return f"{_BINARY_TAG} |-\n  {base64.b64encode(value).decode()}"
    if isinstance(value, (Duration, Time, datetime.timedelta)):
        return f"{to_millis(value)} ms"
    if isinstance(value, (list, tuple)):
        return ";".join(map(to_text, value))
    if isinstance(value, dict):
        return ",".join(f"{_quoted(str(key))}:{_quoted(to_text(part))}" for key, part in value.items())
    return str(value)


def to_boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).lower()
    if text not in ("true", "false"):
        raise ValueError(f"neither true nor false: {value!r}")
    return text == "true"


def is_on(settings: Mapping[str, str], key: str) -> bool:
    """Whether a setting is ``true``; one that is not given is not.

    >>> is_on({"a": "TRUE", "b": "false"}, "a")
    True
    """
    return settings.get(key, "false").lower() == "true"


def to_long(value: Any) -> int:
    return _to_integer(value, MIN_LONG_VALUE, MAX_LONG_VALUE)


def to_int(value: Any) -> int:
    return _to_integer(value, -(1 << 31), (1 << 31) - 1)


def _to_integer(value: Any, least: int, greatest: int) -> int:
    if isinstance(value, (bool, float)) or "_" in str(value):
        raise ValueError(f"not a whole number: {value!r}")
    try:
        number = int(value)
    except ValueError:
        raise ValueError(f"not a whole number: {value!r}") from None
    if not least <= number <= greatest:
        raise ValueError(f"out of range {least} to {greatest}: {value!r}")
    return number


def to_double(value: Any) -> float:
    if isinstance(value, bool):
        raise ValueError(f"not a number: {value!r}")
    return float(value)


def to_bytes(value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, str) and value.startswith(_BINARY_TAG):
        return base64.b64decode(value[len(_BINARY_TAG) :].lstrip("|-> \n"))
    raise ValueError(f"not a byte array: {value!r}")


def to_duration(value: Any) -> Duration:
    if isinstance(value, Duration):
        return value
    if isinstance(value, (Time, datetime.timedelta)):
        return Duration.of_millis(to_millis(value))
    text = str(value).strip()
    if iso := _ISO.fullmatch(text):
        days, hours, minutes, seconds = (int(group or 0) for group in iso.groups()[:4])
        nanos = int((iso.group(5) or "").ljust(9, "0"))
        if any(iso.groups()):
            return _span((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000_000 + nanos, text)
    return _span(_scaled(text, _NANOS, "a span of time"), text)


def _span(nanos: int, text: str) -> Duration:
    if nanos // 1_000_000 > MAX_LONG_VALUE:
        raise ValueError(f"longer than {MAX_LONG_VALUE} ms: {text!r}")
    return Duration.of_nanos(nanos)


def to_bytes_count(value: Any) -> int:
    size = _scaled(str(value), _BYTES, "a size")
    if size > MAX_LONG_VALUE:
        raise ValueError(f"more than {MAX_LONG_VALUE} bytes: {value!r}")
    return size


def _scaled(text: str, units: dict[str, int], meaning: str) -> int:
    match = _NUMBER_AND_UNIT.fullmatch(text)
    if match is None or match.group(2).lower() not in units:
        raise ValueError(f"not {meaning}: {text!r}")
    return int(match.group(1)) * units[match.group(2).lower()]


def to_map(value: Any) -> dict[str, str]:
    if isinstance(value, dict):
        return {str(key): to_text(part) for key, part in value.items()}
    result = {}
    for entry in filter(None, _ENTRY.findall(str(value))):
        key, colon, part = entry.partition(":")
        if not colon:
            raise ValueError(f"not a map of key:value pairs: {value!r}")
        result[_unquoted(key.strip())] = _unquoted(part.strip()).replace("''", "'")
    return result


def _quoted(text: str) -> str:
    """A key or value of a map, quoted if need be."""
    plain = text == text.strip() and not _SPECIAL.search(text)
    return text if plain else "'" + text.replace("'", "''") + "'"


_SPECIAL = re.compile(r"""[,'"]""")
_ENTRY = re.compile(r"""(?:'[^']*'|"[^"]*"|[^,])+""")
"""a part of a list; a quoted comma does not end it"""


def split_list(value: str) -> list[str]:
    """The elements of ``a;b``, ``[a, b]`` or lines with ``- ``; quotes round elements are dropped."""
    text = value.strip()
    if text.startswith("[") and text.endswith("]"):
        parts = text[1:-1].split(",") if text[1:-1].strip() else []
    elif text.startswith("- "):
        parts = [line.strip()[1:] for line in text.splitlines()]
    else:
        return value.split(";") if value else []
    return [_unquoted(part.strip()) for part in parts]


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"" else text


@dataclass(frozen=True)
class ListOf(Generic[T]):
    """Converts lists whose elements ``convert`` converts."""

    convert: Callable[[Any], T]

    def __call__(self, value: Any) -> list[T]:
        return [self.convert(part) for part in (split_list(value) if isinstance(value, str) else value)]
