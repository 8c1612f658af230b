"""Values of rows as JSON, as Flink's gateway writes them."""

from __future__ import annotations

import base64
import datetime
import math
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from millrace.relational.type_table import ByFamily, Family, conversion, parts_of
from millrace.relational.types import DataType

Value = Callable[[Any], Any]


def row_values(types: Sequence[DataType]) -> Callable[[Sequence[Any]], list[Any]]:
    """A function that gives the fields of a row."""
    values = [_nullable(each) for each in types]
    return lambda row: [value(field) for value, field in zip(values, row)]


def _nullable(data_type: DataType) -> Value:
    return conversion(data_type, _VALUES)


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _moment(value: datetime.datetime) -> str:
    if value.tzinfo is not None:
        value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return _seconds(value.isoformat("T"))


def _seconds(text: str) -> str:
    """Fractions without zeros at the end, as Java shows them: none, three or six digits."""
    return text.removesuffix("000") if "." in text else text


def _instant(value: datetime.datetime) -> str:
    return f"{_moment(value)}Z"


def _millis(value: datetime.timedelta) -> int:
    return value // datetime.timedelta(milliseconds=1)


def _array(data_type: DataType) -> Value:
    each = _nullable(parts_of(data_type)[0])
    return lambda values: [each(value) for value in values]


def _map(data_type: DataType) -> Value:
    key, item = (_nullable(each) for each in parts_of(data_type))
    return lambda values: {_name(key(name)): item(value) for name, value in values.items()}


def _name(value: Any) -> str:
    """Names in JSON are texts: what is none is written as JSON in one."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _row(data_type: Any) -> Value:
    fields = row_values(parts_of(data_type))
    names = [str(name) for name in data_type.names]

    def row(value: Any) -> dict[str, Any]:
        items = list(value.values()) if isinstance(value, dict) else list(value)
        return dict(zip(names, fields(items)))

    return row


_VALUES: ByFamily = {
    Family.INTEGER: lambda kind: int,
    Family.MONTHS: lambda kind: int,
    Family.TEXT: lambda kind: str,
    # All digits, as a number.
    Family.DECIMAL: lambda kind: lambda value: msgspec.Raw(format(value, "f").encode()),
    Family.APPROXIMATE: lambda kind: _number,
    Family.BYTES: lambda kind: lambda value: base64.b64encode(bytes(value)).decode(),
    Family.DATE: lambda kind: lambda value: value.isoformat(),
    Family.TIME: lambda kind: lambda value: _seconds(value.isoformat()),
    Family.TIMESTAMP: lambda kind: _moment,
    Family.INSTANT: lambda kind: _instant,
    Family.SPAN: lambda kind: _millis,
    Family.ARRAY: _array,
    Family.MAP: _map,
    Family.ROW: _row,
    Family.RAW: lambda kind: str,
    Family.USER: lambda kind: str,
}
