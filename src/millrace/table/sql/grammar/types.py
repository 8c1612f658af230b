"""Reads data types, and units of intervals: INTERVAL '1 02:03' DAY TO MINUTE, and (end - begin) DAY."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

from millrace.relational import types
from millrace.relational.types import DataType, YearMonthIntervalType
from millrace.table.sql import nodes
from millrace.table.sql.nodes import IntervalLiteral, TypeName
from millrace.table.sql.text import Cursor, Kind, SqlError
from millrace.util.names import did_you_mean

_PLAIN: dict[str, Callable[[], DataType]] = {
    "BOOLEAN": types.BooleanType,
    "TINYINT": types.TinyIntType,
    "SMALLINT": types.SmallIntType,
    "INT": types.IntType,
    "INTEGER": types.IntType,
    "BIGINT": types.BigIntType,
    "FLOAT": types.FloatType,
    "STRING": types.string,
    "BYTES": lambda: types.VarBinaryType(types.MAX_LENGTH),
    "DATE": types.DateType,
    "NULL": types.NullType,
    "VARIANT": types.VariantType,
    "BITMAP": types.BitmapType,
    "DESCRIPTOR": types.DescriptorType,
}

_OTHERS = {
    **dict.fromkeys(("TEXT", "CLOB", "UUID", "JSON", "LONGTEXT", "NVARCHAR", "VARCHAR2", "STR"), "STRING"),
    **dict.fromkeys(("BLOB", "BYTEA", "LONGVARBINARY"), "BYTES"),
    **dict.fromkeys(("LONG", "INT8", "INT64", "BIGSERIAL", "UBIGINT"), "BIGINT"),
    **dict.fromkeys(("INT4", "INT32", "SERIAL", "MEDIUMINT"), "INT"),
    **dict.fromkeys(("INT2", "INT16", "SHORT"), "SMALLINT"),
    **dict.fromkeys(("BYTE", "INT1"), "TINYINT"),
    **dict.fromkeys(("FLOAT4", "FLOAT32", "REAL"), "FLOAT"),
    **dict.fromkeys(("FLOAT8", "FLOAT64"), "DOUBLE"),
    **dict.fromkeys(("BOOL", "BIT"), "BOOLEAN"),
    **dict.fromkeys(("NUMBER", "MONEY"), "DECIMAL(p, s)"),
    **dict.fromkeys(("DATETIME", "DATETIME2", "TIMESTAMP_NTZ"), "TIMESTAMP(3)"),
    **dict.fromkeys(("TIMESTAMPTZ",), "TIMESTAMP_LTZ(3)"),
}
"""types of other databases and languages -> the nearest one"""

_YEAR_MONTH = {member.name: member for member in types.YearMonthIntervalType.YearMonthResolution}
_DAY_TIME = {member.name: member for member in types.DayTimeIntervalType.DayTimeResolution}


def type_name(cursor: Cursor) -> TypeName:
    """A data type as the node of a cast."""
    begin = cursor.index
    return cursor.put(TypeName(data_type=data_type(cursor)), begin)


def data_type(cursor: Cursor) -> DataType:
    """A data type with its NOT NULL.

    :raises SqlParseError: an unknown type, or a length, precision or scale that the type does not have.
    """
    begin = cursor.index
    try:
        found = _base(cursor)
    except SqlError:
        raise
    except ValueError as error:
        cursor.fail(str(error), begin)
    while True:
        if cursor.take("NOT", "NULL"):
            found = found.not_null()
        elif not cursor.at("NULL", "ON") and cursor.take("NULL"):  # of JSON_VALUE(... RETURNING INT NULL ON EMPTY)
            found = found.nullable()
        elif cursor.take("ARRAY"):
            found = types.ArrayType(found)
        elif cursor.take("MULTISET"):
            found = types.MultisetType(found)
        else:
            return found


def _base(cursor: Cursor) -> DataType:
    token = cursor.token
    reader = _READERS.get(token.word)
    if token.word in _PLAIN:
        cursor.advance()
        return _PLAIN[token.word]()
    if reader is not None:
        cursor.advance()
        return reader(cursor)
    if token.kind in (Kind.WORD, Kind.QUOTED):
        begin = cursor.index
        names = ".".join(cursor.path("a data type")) if cursor.is_name() else cursor.advance().text
        here = _OTHERS.get(names.upper())
        meant = f": here it is {here}" if here is not None else did_you_mean(names, [*_PLAIN, *_READERS])
        cursor.fail(f"unknown data type '{names}'{meant}", begin)
    return cursor.fail_expecting("a data type")


def _numbers(cursor: Cursor, most: int = 1) -> tuple[int, ...]:
    """The numbers in brackets after a type: none, or up to ``most``."""
    if not cursor.at("("):
        return ()
    begin = cursor.index
    numbers = cursor.in_brackets(cursor.integer)
    if len(numbers) > most:
        cursor.fail(f"expected {most} number{'s' * (most > 1)} at most", begin)
    return numbers


def _length(cursor: Cursor, default: int) -> int:
    """The length in brackets after a type. Only constants can be of length 0."""
    begin = cursor.index
    found = (_numbers(cursor) or [default])[0]
    if found < 1:
        cursor.fail(f"a length is from 1 to {types.MAX_LENGTH}, not {found}", begin)
    return found


def _precision(cursor: Cursor) -> int | None:
    return next(iter(_numbers(cursor)), None)


def _char(cursor: Cursor) -> DataType:
    return _varchar(cursor) if cursor.take("VARYING") else types.CharType(_length(cursor, 1))


def _varchar(cursor: Cursor) -> DataType:
    return types.VarCharType(_length(cursor, types.MAX_LENGTH))


def _binary(cursor: Cursor) -> DataType:
    return _varbinary(cursor) if cursor.take("VARYING") else types.BinaryType(_length(cursor, 1))


def _varbinary(cursor: Cursor) -> DataType:
    return types.VarBinaryType(_length(cursor, types.MAX_LENGTH))


def _double(cursor: Cursor) -> DataType:
    cursor.take("PRECISION")
    return types.DoubleType()


def _decimal(cursor: Cursor) -> DataType:
    precision, scale = ([*_numbers(cursor, 2), None, None])[:2]
    return types.DecimalType(10 if precision is None else precision, scale or 0)


def _time(cursor: Cursor) -> DataType:
    found = types.TimeType(_precision(cursor))
    cursor.take("WITHOUT", "TIME", "ZONE")
    return found


def _timestamp(cursor: Cursor) -> DataType:
    precision = _precision(cursor)
    if cursor.take("WITH", "LOCAL", "TIME", "ZONE"):
        return types.LocalZonedTimestampType(precision)
    if cursor.take("WITH", "TIME", "ZONE"):
        return types.ZonedTimestampType(precision)
    cursor.take("WITHOUT", "TIME", "ZONE")
    return types.TimestampType(precision)


def _interval(cursor: Cursor) -> DataType:
    return interval_type(cursor)[0]


def interval_type(cursor: Cursor) -> tuple[DataType, str]:
    """``DAY(2) TO SECOND(3)``: the type, and its units without numbers."""
    begin = cursor.index
    first = _unit(cursor, "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
    numbers = _numbers(cursor, 2 if first == "SECOND" else 1)
    # SECOND(3) has three digits after the point, as in the types of Flink.
    unit, fraction = first, numbers[-1:] if first == "SECOND" else []
    if cursor.take("TO"):
        last = _unit(cursor, "MONTH", "HOUR", "MINUTE", "SECOND")
        unit = f"{first} TO {last}"
        fraction = _numbers(cursor) if last == "SECOND" else []
    member = {"QUARTER": "MONTH", "WEEK": "DAY"}.get(unit, unit).replace(" ", "_")
    if member in _YEAR_MONTH:
        return types.YearMonthIntervalType(_YEAR_MONTH[member], (numbers or [2])[0]), unit
    if member not in _DAY_TIME:
        cursor.fail(f"there is no interval {unit}", begin)
    days = numbers[0] if first == "DAY" and numbers else 2
    return types.DayTimeIntervalType(_DAY_TIME[member], days, (fraction or [6])[0]), unit


def _unit(cursor: Cursor, *units: str) -> str:
    """One of these units, in the singular; MINUTES is MINUTE."""
    if cursor.token.word.removesuffix("S") in units:
        return cursor.advance().word.removesuffix("S")
    return cursor.expect_any(*units)


def _array(cursor: Cursor) -> DataType:
    return types.ArrayType(_inside(cursor))


def _multiset(cursor: Cursor) -> DataType:
    return types.MultisetType(_inside(cursor))


def _inside(cursor: Cursor) -> DataType:
    cursor.expect("<")
    found = data_type(cursor)
    cursor.expect(">")
    return found


def _map(cursor: Cursor) -> DataType:
    cursor.expect("<")
    key = data_type(cursor)
    cursor.expect(",")
    value = data_type(cursor)
    cursor.expect(">")
    return types.MapType(key, value)


def _row(cursor: Cursor) -> DataType:
    if cursor.take("<>") or cursor.take("(", ")"):
        return types.RowType([])
    closing = ")" if cursor.at("(") else ">"
    cursor.expect("(" if closing == ")" else "<")
    fields = cursor.listed(lambda: _field(cursor))
    cursor.expect(closing)
    return types.RowType(fields)


def _field(cursor: Cursor) -> types.RowField:
    name = cursor.name("a name of a field")
    found = data_type(cursor)
    return types.RowField(name, found, cursor.string() if cursor.token.kind is Kind.STRING else None)


def _raw(cursor: Cursor) -> DataType:
    cursor.expect("(")
    cursor.string("the name of a class in single quotes")
    if cursor.take(","):
        cursor.string("the snapshot of a serializer in single quotes")
    cursor.expect(")")
    return types.RawType()


def _structured(cursor: Cursor) -> DataType:
    """The class has no meaning here: its fields make a row."""
    cursor.expect("<")
    cursor.string("the name of a class in single quotes")
    fields = [_field(cursor) for _ in iter(lambda: cursor.take(","), False)]
    cursor.expect(">")
    return types.RowType(fields)


_READERS: dict[str, Callable[[Cursor], DataType]] = {
    "CHAR": _char,
    "CHARACTER": _char,
    "VARCHAR": _varchar,
    "BINARY": _binary,
    "VARBINARY": _varbinary,
    "DOUBLE": _double,
    "DECIMAL": _decimal,
    "DEC": _decimal,
    "NUMERIC": _decimal,
    "TIME": _time,
    "TIMESTAMP": _timestamp,
    "TIMESTAMP_LTZ": lambda cursor: types.LocalZonedTimestampType(_precision(cursor)),
    "INTERVAL": _interval,
    "ARRAY": _array,
    "MULTISET": _multiset,
    "MAP": _map,
    "ROW": _row,
    "RAW": _raw,
    "STRUCTURED": _structured,
}


# Intervals

_MICROSECONDS = {
    "WEEK": 7 * 86_400_000_000,
    "DAY": 86_400_000_000,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
}
_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_TIMES = ("DAY", "HOUR", "MINUTE", "SECOND")
INTERVAL_UNITS = ("YEAR", "MONTH", *_TIMES)
"""What an interval between two times begins with. The other units may be names."""
_BEFORE = {"MONTH": "-", "HOUR": " ", "MINUTE": ":", "SECOND": ":"}
"""What stands before a unit that is not the first."""


def interval(cursor: Cursor) -> IntervalLiteral:
    """What follows the word INTERVAL, which has been read.

    :raises SqlParseError: a text that does not fit its units.
    """
    begin = cursor.index - 1
    negative = cursor.take("-")
    if not negative:
        cursor.take("+")
    at = cursor.index
    if cursor.token.kind is Kind.NUMBER:
        cursor.fail(f"the number of an interval is written in quotes: INTERVAL '{cursor.token.text}' ..")
    text = cursor.string("the value of an interval in single quotes")
    literal = cursor.put(nodes.Literal.string(text), at)
    data_type, unit = interval_type(cursor)
    units = _units(unit)
    values = _parse(text, units)
    if values is None:
        cursor.fail(f"the text '{text}' is no interval {unit}: it looks like '{_example(units)}'", at)
    scale = _MONTHS if isinstance(data_type, YearMonthIntervalType) else _MICROSECONDS
    total = int(sum(number * scale[name] for number, name in zip(values, units)))
    value = -total if negative else total
    found = IntervalLiteral(this=literal, unit=unit, data_type=data_type, value=value, negative=negative)
    return cursor.put(found, begin)


def time_between(cursor: Cursor, difference: nodes.BuiltIn) -> nodes.Cast:
    """``(end - begin) unit``, of which the units have not been read: a cast of the time that has passed, for years and
    months of the months that have passed in full."""
    begin = cursor.index
    data_type, _ = interval_type(cursor)
    wanted = cursor.put(nodes.TypeName(data_type=data_type), begin)
    if not isinstance(data_type, YearMonthIntervalType):
        return nodes.Cast(this=difference, to=wanted)
    months = nodes.Call("TIMESTAMPDIFF", (nodes.Var("MONTH"), *reversed(difference.expressions)))
    in_months = YearMonthIntervalType(YearMonthIntervalType.YearMonthResolution.MONTH)
    whole = nodes.Cast(this=months, to=nodes.TypeName(data_type=in_months))
    return nodes.Cast(this=whole, to=wanted)


def _units(unit: str) -> tuple[str, ...]:
    """All units from the first to the last."""
    first, _, last = unit.partition(" TO ")
    if not last or first == "YEAR":
        return (first, last) if last else (first,)
    return _TIMES[_TIMES.index(first) : _TIMES.index(last) + 1]


def _parse(text: str, units: tuple[str, ...]) -> list[Decimal] | None:
    """A number for every unit; None if the text does not fit."""
    pattern = r"\s*([+-]?)\s*" + "".join(
        (re.escape(_BEFORE[unit]) if position else "") + (r"(\d+(?:\.\d{1,9})?)" if unit == "SECOND" else r"(\d+)")
        for position, unit in enumerate(units)
    )
    match = re.fullmatch(pattern + r"\s*", text)
    if match is None:
        return None
    sign, *numbers = match.groups()
    return [-Decimal(number) if sign == "-" else Decimal(number) for number in numbers]


def _example(units: tuple[str, ...]) -> str:
    samples = {"SECOND": "05.5" if len(units) > 1 else "5.5"}
    return "".join((_BEFORE[unit] if position else "") + samples.get(unit, "1") for position, unit in enumerate(units))
