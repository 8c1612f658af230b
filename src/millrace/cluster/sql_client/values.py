"""Values of Python from the JSON of a gateway's rows. Numbers come as int or Decimal, so that no digit is lost."""

from __future__ import annotations

import base64
import datetime
import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from millrace.common.types import row_of
from millrace.relational.type_table import ByFamily, Family, conversion, family_of, parts_of
from millrace.relational.types import DataType

Value = Callable[[Any], Any]

_AS_TEXT = (
    *(Family.TEXT, Family.BYTES, Family.DATE, Family.TIME, Family.TIMESTAMP, Family.INSTANT),
    *(Family.RAW, Family.USER),
)
"""families whose values are texts in JSON"""
_FRACTION = re.compile(r"\.(\d+)")


def parsed(text: str | bytes) -> Any:
    """JSON with all digits of its numbers."""
    return json.loads(text, parse_float=Decimal)


def row_reader(types: Sequence[DataType]) -> Callable[[Sequence[Any]], list[Any]]:
    """A function that reads the fields of a row."""
    values = [_nullable(each) for each in types]
    return lambda fields: [value(field) for value, field in zip(values, fields)]


def _nullable(data_type: DataType) -> Value:
    return conversion(data_type, _VALUES)


def _microseconds(text: str) -> str:
    """A time with six digits of its second: Python has no more, and before 3.11 reads nothing but three or six."""
    return _FRACTION.sub(lambda found: f".{found[1][:6]:0<6}", text)


def _time(text: str) -> datetime.time:
    return datetime.time.fromisoformat(_microseconds(text))


def _moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(_microseconds(text))


def _instant(text: str) -> datetime.datetime:
    return _moment(text.removesuffix("Z")).replace(tzinfo=datetime.timezone.utc)


def _millis(value: int) -> datetime.timedelta:
    return datetime.timedelta(milliseconds=int(value))


def _array(data_type: DataType) -> Value:
    each = _nullable(parts_of(data_type)[0])
    return lambda values: [each(value) for value in values]


def _map(data_type: DataType) -> Value:
    kinds = parts_of(data_type)
    key, item = _key(kinds[0]), _nullable(kinds[1])
    return lambda values: {key(name): item(value) for name, value in values.items()}


def _key(data_type: DataType) -> Value:
    """Names in JSON are texts: what is none is written as JSON in one."""
    value = _nullable(data_type)
    if family_of(data_type) in _AS_TEXT:
        return value
    return lambda name: _hashable(value(parsed(name)))


def _hashable(value: Any) -> Any:
    return tuple(_hashable(each) for each in value) if isinstance(value, list) else value


def _row(data_type: Any) -> Value:
    read, names = row_reader(parts_of(data_type)), list(data_type.names)

    def row(value: Any) -> Any:
        fields = [value.get(name) for name in names] if isinstance(value, dict) else value
        return row_of(read(fields), names)

    return row


_VALUES: ByFamily = {
    Family.INTEGER: lambda kind: int,
    Family.MONTHS: lambda kind: int,
    Family.APPROXIMATE: lambda kind: float,
    Family.DECIMAL: lambda kind: Decimal,
    Family.BYTES: lambda kind: base64.b64decode,
    Family.DATE: lambda kind: datetime.date.fromisoformat,
    Family.TIME: lambda kind: _time,
    Family.TIMESTAMP: lambda kind: _moment,
    Family.INSTANT: lambda kind: _instant,
    Family.SPAN: lambda kind: _millis,
    Family.ARRAY: _array,
    Family.MAP: _map,
    Family.ROW: _row,
}
