"""Points in InfluxDB's line protocol: ``measurement,tag=value field=1i,other="x" 1700000000000000``."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from typing import Any

_KEY = str.maketrans({",": "\\,", "=": "\\=", " ": "\\ "})
_NAME = str.maketrans({",": "\\,", " ": "\\ "})
_TEXT = str.maketrans({"\\": "\\\\", '"': '\\"'})
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_MICROSECOND = dt.timedelta(microseconds=1)


def line(measurement: str, tags: Mapping[str, str | None], fields: Mapping[str, Any], time: dt.datetime) -> str:
    """A point. Tags and fields that are None are left out.

    :raises ValueError: it has no field, or a value that InfluxDB does not have.
    """
    named = "".join(
        f",{_key(name)}={_key(_plain(value, name))}" for name, value in sorted(tags.items()) if value not in (None, "")
    )
    values = ",".join(f"{_key(name)}={_value(value, name)}" for name, value in fields.items() if value is not None)
    if not values:
        raise ValueError(f"a point of '{measurement}' at {time} has no field: all its values are NULL")
    return f"{_plain(measurement, 'measurement').translate(_NAME)}{named} {values} {microseconds(time)}"


def microseconds(time: dt.datetime) -> int:
    """Since 1970; a time without a zone is taken for UTC."""
    return ((time if time.tzinfo else time.replace(tzinfo=dt.timezone.utc)) - _EPOCH) // _MICROSECOND


def _key(text: str) -> str:
    return text.translate(_KEY)


def _plain(text: str | None, name: str) -> str:
    found = str(text)
    if "\n" in found or found.endswith("\\"):
        raise ValueError(
            f"'{name}': names and tags of InfluxDB have no line breaks and no backslash at the end: {found!r}"
        )
    return found


def _value(value: Any, name: str) -> str:
    convert = _VALUES.get(type(value))
    if convert is None:
        raise ValueError(f"field '{name}': InfluxDB has no values like {value!r}")
    try:
        return convert(value)
    except ValueError as error:
        raise ValueError(f"field '{name}': {error}") from None


def _float(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError(f"InfluxDB has no {value}")
    return repr(value)


def _whole(value: int) -> str:
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"InfluxDB has no whole number as large as {value}")
    return f"{value}i"


_VALUES: Mapping[type, Callable[[Any], str]] = {
    bool: lambda value: "true" if value else "false",
    int: _whole,
    float: _float,
    str: lambda value: f'"{value.translate(_TEXT)}"',
}
