"""Converts single values between their Python form and Arrow."""

from __future__ import annotations

from datetime import timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.precision import canonical, fit
from millrace.relational.type_table import ByFamily, Family, arrow_type, family_of, parts_of
from millrace.relational.types import DataType


def to_arrow_scalar(value: Any, data_type: DataType) -> pa.Scalar:
    """A value in the Python form of its type as an Arrow scalar."""
    return to_arrow([value], data_type)[0]


def to_arrow(values: list[Any], data_type: DataType) -> pa.Array:
    """Values in the Python form of their type as an Arrow column, cut to the digits that the type has.

    :raises pa.ArrowInvalid: a value does not fit into the type.
    """
    # Times are cut faster as a column than one by one.
    convert = None if family_of(data_type) in _CUT else converter(data_type)
    column = pa.array(values if convert is None else list(map(convert, values)), arrow_type(data_type))
    return canonical(column, data_type)


def to_python(column: pa.Array, data_type: DataType) -> list[Any]:
    """An Arrow column as values in the Python form of the type."""
    values = plain_values(column)
    convert = back_converter(data_type)
    return values if convert is None else list(map(convert, values))


def plain_values(column: pa.Array) -> list[Any]:
    """What ``to_pylist`` gives. It makes an object of Arrow for each date and time on the way, which takes twenty times
    as long as numpy takes; for numbers three times."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        found = _in_python(column.to_numpy(zero_copy_only=False).astype("datetime64[us]"))
        if kind.tz is None:
            return found
        return [None if each is None else each.replace(tzinfo=timezone.utc) for each in found]
    if pa.types.is_date32(kind):
        return _in_python(column.to_numpy(zero_copy_only=False).astype("datetime64[D]"))
    if pa.types.is_duration(kind):
        return column.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]
    if not column.null_count and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return column.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]
    return column.to_pylist()  # type: ignore[no-any-return]


def _in_python(times: Any) -> list[Any]:
    """Dates and times as Python has them.

    :raises OverflowError: one is before the year 1 or after 9999; numpy would give a bare number.
    """
    for beyond in (times < np.datetime64("0001-01-01"), times >= np.datetime64("10000-01-01")):
        if beyond.any():
            raise OverflowError(
                f"Python has no date or time for {times[beyond][0]}: it knows the years 1 to 9999. CAST it to STRING"
            )
    found: list[Any] = times.tolist()
    return found


def to_internal(value: Any, data_type: DataType) -> Any:
    """A value in the form that Arrow takes for the type."""
    convert = converter(data_type)
    return value if convert is None else convert(value)


def converter(data_type: DataType) -> Any:
    """The function from the Python form to what Arrow takes; None where they are the same."""
    make = _CONVERTERS.get(family_of(data_type))
    return make and make(data_type)


def back_converter(data_type: DataType) -> Any:
    """The function from what Arrow gives to the Python form; None where they are the same."""
    make = _BACK_CONVERTERS.get(family_of(data_type))
    return make and make(data_type)


def _user_converter(data_type: t.UserDefinedType) -> Any:
    inner = converter(data_type.sql_type())
    return data_type.to_sql_type if inner is None else lambda value: inner(data_type.to_sql_type(value))


def _raw_converter(data_type: t.RawType) -> Any:
    from millrace.util.by_value import pickled_by_value

    return lambda value: None if value is None else pickled_by_value(value)


def _list_converter(data_type: DataType) -> Any:
    each = converter(*parts_of(data_type))
    if each is None:
        return lambda value: None if value is None else list(value)
    return lambda value: None if value is None else [each(part) for part in value]


def _map_converter(data_type: DataType) -> Any:
    key, item = (converter(part) or _same for part in parts_of(data_type))
    return lambda value: None if value is None else [(key(k), item(v)) for k, v in _pairs(value)]


def _user_back(data_type: t.UserDefinedType) -> Any:
    inner = back_converter(data_type.sql_type()) or _same
    return lambda value: data_type.from_sql_type(inner(value))


def _raw_back(data_type: t.RawType) -> Any:
    import pickle

    return lambda value: None if value is None else pickle.loads(value)


def _row_back(data_type: t.RowType) -> Any:
    names = data_type.field_names()
    parts = [back_converter(each) or _same for each in data_type.field_types()]
    return lambda value: (
        None if value is None else _named(names, [part(value[name]) for part, name in zip(parts, names)])
    )


def _list_back(data_type: DataType) -> Any:
    each = back_converter(*parts_of(data_type))
    return None if each is None else lambda value: None if value is None else [each(part) for part in value]


def _map_back(data_type: DataType) -> Any:
    key, item = (back_converter(part) or _same for part in parts_of(data_type))
    return lambda value: None if value is None else {key(k): item(v) for k, v in value}


def _fit(value: Any, data_type: t.DecimalType) -> Any:
    """Rounded to the digits of the type; Arrow would refuse more. NULL for what has too many before the point."""
    return fit(value, data_type.precision, data_type.scale) if isinstance(value, Decimal) else value


def _time_converter(data_type: Any) -> Any:
    """Cuts times to the digits of their type."""
    if data_type.precision >= 6:
        return None
    step = 10 ** (6 - data_type.precision)

    def convert(value: Any) -> Any:
        rest = getattr(value, "microsecond", 0) % step
        return value.replace(microsecond=value.microsecond - rest) if rest else value

    return convert


def _same(value: Any) -> Any:
    return value


def _pairs(value: Any) -> Any:
    return value.items() if hasattr(value, "items") else value


def _named(names: list[str], values: list[Any]) -> Row:
    row = Row(*values)
    row.set_field_names(names)
    return row


def _row_converter(data_type: t.RowType) -> Any:
    names = data_type.field_names()
    parts = [converter(each) or _same for each in data_type.field_types()]

    def convert(value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, Row):
            fields: Any = value.get_fields_by_names(names)
        elif isinstance(value, dict):
            fields = [value.get(name) for name in names]
        elif isinstance(value, (tuple, list)):
            fields = value
        else:
            fields = [getattr(value, name) for name in names]
        if len(fields) != len(names):
            raise ValueError(f"a row of {len(names)} fields ({', '.join(names)}) cannot be made of {value!r}")
        return {name: part(field) for name, part, field in zip(names, parts, fields)}

    return convert


_CUT = (Family.TIME, Family.TIMESTAMP, Family.INSTANT)
_CONVERTERS: ByFamily = {
    **dict.fromkeys(_CUT, _time_converter),
    Family.USER: _user_converter,
    Family.RAW: _raw_converter,
    Family.DECIMAL: lambda kind: lambda value: _fit(value, kind),
    Family.ROW: _row_converter,
    Family.ARRAY: _list_converter,
    Family.MAP: _map_converter,
}
_BACK_CONVERTERS: ByFamily = {
    Family.USER: _user_back,
    Family.RAW: _raw_back,
    Family.ROW: _row_back,
    Family.ARRAY: _list_back,
    Family.MAP: _map_back,
}
