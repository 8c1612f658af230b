"""``DataTypes``, which makes data types; and data types derived from SQL text, from Python values (constants in
expressions, elements without a schema), and from the types of DataStreams and back."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from millrace.common import typeinfo as ti
from millrace.common.typeinfo import BasicType, TypeInformation
from millrace.relational import types as t
from millrace.relational.type_table import Family, family_of, parts_of
from millrace.relational.types import DataType, Resolution

# DataTypes

_Unit = Resolution.IntervalUnit
_YEAR_MONTH = {each.name: each for each in t.YearMonthIntervalType.YearMonthResolution}
_DAY_TIME = {each.name: each for each in t.DayTimeIntervalType.DayTimeResolution}


class DataTypes:
    """Makes data types: ``DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())])``.

    Types are nullable unless ``nullable`` is False or ``not_null()`` is called.

        >>> DataTypes.ROW([DataTypes.FIELD("name", DataTypes.STRING()), DataTypes.FIELD("amount", DataTypes.INT())])
        RowType(RowField(name, VarCharType(2147483647, true), ...),RowField(amount, IntType(true), ...))
    """

    @staticmethod
    def of(text: str) -> DataType:
        """The type that a SQL text names: ``DataTypes.of("ARRAY<BIGINT NOT NULL>")``. Our addition."""
        return data_type_of(text)

    @staticmethod
    def NULL() -> t.NullType:
        """The type of a bare NULL."""
        return t.NullType()

    @staticmethod
    def CHAR(length: int, nullable: bool = True) -> t.CharType:
        """Text of exactly ``length`` characters."""
        return t.CharType(length, nullable)

    @staticmethod
    def VARCHAR(length: int, nullable: bool = True) -> t.VarCharType:
        """Text of at most ``length`` characters."""
        return t.VarCharType(length, nullable)

    @staticmethod
    def STRING(nullable: bool = True) -> t.VarCharType:
        """Text of any length.

        >>> str(DataTypes.STRING().not_null())
        'STRING NOT NULL'
        """
        return t.VarCharType(t.MAX_LENGTH, nullable)

    @staticmethod
    def BOOLEAN(nullable: bool = True) -> t.BooleanType:
        """TRUE and FALSE."""
        return t.BooleanType(nullable)

    @staticmethod
    def BINARY(length: int, nullable: bool = True) -> t.BinaryType:
        """Bytes, exactly ``length`` of them."""
        return t.BinaryType(length, nullable)

    @staticmethod
    def VARBINARY(length: int, nullable: bool = True) -> t.VarBinaryType:
        """Bytes, at most ``length`` of them."""
        return t.VarBinaryType(length, nullable)

    @staticmethod
    def BYTES(nullable: bool = True) -> t.VarBinaryType:
        """Any number of bytes."""
        return t.VarBinaryType(t.MAX_LENGTH, nullable)

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> t.DecimalType:
        """Exact numbers with ``precision`` digits, ``scale`` of them behind the point.

        >>> str(DataTypes.DECIMAL(10, 2))
        'DECIMAL(10, 2)'
        """
        return t.DecimalType(precision, scale, nullable)

    @staticmethod
    def TINYINT(nullable: bool = True) -> t.TinyIntType:
        """Whole numbers of 8 bits."""
        return t.TinyIntType(nullable)

    @staticmethod
    def SMALLINT(nullable: bool = True) -> t.SmallIntType:
        """Whole numbers of 16 bits."""
        return t.SmallIntType(nullable)

    @staticmethod
    def INT(nullable: bool = True) -> t.IntType:
        """Whole numbers of 32 bits.

        >>> str(DataTypes.INT())
        'INT'
        """
        return t.IntType(nullable)

    @staticmethod
    def BIGINT(nullable: bool = True) -> t.BigIntType:
        """Whole numbers of 64 bits."""
        return t.BigIntType(nullable)

    @staticmethod
    def FLOAT(nullable: bool = True) -> t.FloatType:
        """Floating-point numbers of 32 bits.

        >>> str(DataTypes.FLOAT())
        'FLOAT'
        """
        return t.FloatType(nullable)

    @staticmethod
    def DOUBLE(nullable: bool = True) -> t.DoubleType:
        """Floating-point numbers of 64 bits."""
        return t.DoubleType(nullable)

    @staticmethod
    def DATE(nullable: bool = True) -> t.DateType:
        """Days.

        >>> str(DataTypes.DATE())
        'DATE'
        """
        return t.DateType(nullable)

    @staticmethod
    def TIME(precision: int = 0, nullable: bool = True) -> t.TimeType:
        """Times of day with ``precision`` digits of a second."""
        return t.TimeType(precision, nullable)

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> t.TimestampType:
        """Dates with times, without a zone, with ``precision`` digits of a second."""
        return t.TimestampType(precision, nullable)

    @staticmethod
    def TIMESTAMP_WITH_LOCAL_TIME_ZONE(precision: int = 6, nullable: bool = True) -> t.LocalZonedTimestampType:
        """Points in time, shown in the session's zone, with ``precision`` digits of a second.

        >>> str(DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(3))
        'TIMESTAMP_LTZ(3)'
        """
        return t.LocalZonedTimestampType(precision, nullable)

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6, nullable: bool = True) -> t.LocalZonedTimestampType:
        """Points in time, shown in the session's zone; the short name of ``TIMESTAMP_WITH_LOCAL_TIME_ZONE``."""
        return t.LocalZonedTimestampType(precision, nullable)

    @staticmethod
    def ARRAY(element_type: DataType, nullable: bool = True) -> t.ArrayType:
        """Arrays of values of one type."""
        return t.ArrayType(element_type, nullable)

    @staticmethod
    def LIST_VIEW(element_type: DataType) -> t.ListViewType:
        """A list in the accumulator of an aggregate function, stored entry by entry in state."""
        return t.ListViewType(element_type)

    @staticmethod
    def MAP(key_type: DataType, value_type: DataType, nullable: bool = True) -> t.MapType:
        """Maps of keys to values.

        >>> str(DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()))
        'MAP<STRING, INT>'
        """
        return t.MapType(key_type, value_type, nullable)

    @staticmethod
    def MAP_VIEW(key_type: DataType, value_type: DataType) -> t.MapViewType:
        """A map in the accumulator of an aggregate function, stored entry by entry in state."""
        return t.MapViewType(key_type, value_type)

    @staticmethod
    def MULTISET(element_type: DataType, nullable: bool = True) -> t.MultisetType:
        """Values, each with how often it occurs."""
        return t.MultisetType(element_type, nullable)

    @staticmethod
    def ROW(row_fields: Sequence[t.RowField | DataType] = [], nullable: bool = True) -> t.RowType:
        """Fields; bare types are called f0, f1, ...

        >>> str(DataTypes.ROW([DataTypes.FIELD("n", DataTypes.INT())]))
        'ROW<`n` INT>'
        """
        fields = [
            each if isinstance(each, t.RowField) else t.RowField(f"f{index}", each)
            for index, each in enumerate(row_fields)
        ]
        return t.RowType(fields, nullable)

    @staticmethod
    def FIELD(name: str, data_type: DataType, description: str | None = None) -> t.RowField:
        """A field of a row.

        >>> DataTypes.FIELD("n", DataTypes.INT()).name
        'n'
        """
        return t.RowField(name, data_type, description)

    @staticmethod
    def SECOND(precision: int = 6) -> Resolution:
        """Seconds in an interval, with so many digits behind the point."""
        return Resolution(_Unit.SECOND, precision)

    @staticmethod
    def MINUTE() -> Resolution:
        """Minutes in an interval."""
        return Resolution(_Unit.MINUTE)

    @staticmethod
    def HOUR() -> Resolution:
        """Hours in an interval."""
        return Resolution(_Unit.HOUR)

    @staticmethod
    def DAY(precision: int = 2) -> Resolution:
        """Days in an interval, with so many digits."""
        return Resolution(_Unit.DAY, precision)

    @staticmethod
    def MONTH() -> Resolution:
        """Months in an interval."""
        return Resolution(_Unit.MONTH)

    @staticmethod
    def YEAR(precision: int = 2) -> Resolution:
        """Years in an interval, with so many digits."""
        return Resolution(_Unit.YEAR, precision)

    @staticmethod
    def INTERVAL(
        upper_resolution: Resolution, lower_resolution: Resolution | None = None
    ) -> t.DayTimeIntervalType | t.YearMonthIntervalType:
        """An interval from one unit to another.

        :raises ValueError: there is no interval of these units.
        """
        ends = [upper_resolution] if lower_resolution is None else [upper_resolution, lower_resolution]
        name = "_TO_".join(end.unit.name for end in ends)
        precisions = {end.unit: end.precision for end in ends}
        if name in _YEAR_MONTH:
            return t.YearMonthIntervalType(_YEAR_MONTH[name], precisions.get(_Unit.YEAR, 2))
        if name in _DAY_TIME:
            days, seconds = precisions.get(_Unit.DAY, 2), precisions.get(_Unit.SECOND, 6)
            return t.DayTimeIntervalType(_DAY_TIME[name], days, seconds)
        raise ValueError(f"there is no interval {name.replace('_', ' ')}")


# From SQL text


def data_type_of(given: DataType | str) -> DataType:
    """The data type, read if it is text: ``ROW<a INT NOT NULL, b ARRAY<STRING>>``. ``str(type)`` writes such text.

    :raises SqlParseError: no data type looks like that.
    """
    if isinstance(given, DataType):
        return given
    from millrace.table.sql.grammar.parser import parse_type  # the grammar is loaded only when it is needed

    return parse_type(given)


# From Python values

_INT, _BIGINT = 2**31, 2**63
_SECONDS = t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution.SECOND, 2, 6, False)


def literal_type(value: Any) -> DataType:
    """The type of a constant: 12 is INT, "abc" CHAR(3). Never nullable but for None.

    :raises TypeError: no type has such values.
    """
    if value is None:
        return t.NullType()
    if isinstance(value, bool):
        return t.BooleanType(False)
    if isinstance(value, int):
        return _whole(value)
    if isinstance(value, Decimal):
        return decimal_type(value)
    if isinstance(value, (bytes, bytearray)):
        return t.BinaryType(len(value), False)
    if isinstance(value, str):
        return t.CharType(len(value), False)
    if isinstance(value, datetime.datetime):
        digits = fraction_digits(value.microsecond)
        return t.TimestampType(digits, False) if value.tzinfo is None else t.LocalZonedTimestampType(digits, False)
    if isinstance(value, datetime.time):
        return t.TimeType(fraction_digits(value.microsecond), False)
    found = _PLAIN.get(type(value))
    if found is None:
        raise TypeError(f"no data type has values like {value!r} ({type(value).__name__})")
    return found


_PLAIN: dict[type, DataType] = {
    float: t.DoubleType(False),
    datetime.date: t.DateType(False),
    datetime.timedelta: _SECONDS,
}


def _whole(value: int) -> DataType:
    if -_INT <= value < _INT:
        return t.IntType(False)
    if -_BIGINT <= value < _BIGINT:
        return t.BigIntType(False)
    return decimal_type(Decimal(value))


def decimal_type(value: Decimal) -> t.DecimalType:
    """The smallest DECIMAL that has this value."""
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise TypeError(f"no DECIMAL has the value {value}")
    scale = max(0, -exponent)
    return t.DecimalType(max(len(digits) + max(0, exponent), scale, 1), scale, False)


def fraction_digits(microsecond: int) -> int:
    """How many digits after the second a time has: 0, 3 or 6."""
    if microsecond == 0:
        return 0
    return 3 if microsecond % 1000 == 0 else 6


# From DataStreams

_BASIC: dict[BasicType, DataType] = {
    BasicType.STRING: t.string(),
    BasicType.BYTE: t.TinyIntType(),
    BasicType.BOOLEAN: t.BooleanType(),
    BasicType.SHORT: t.SmallIntType(),
    BasicType.INT: t.IntType(),
    BasicType.LONG: t.BigIntType(),
    BasicType.FLOAT: t.FloatType(),
    BasicType.DOUBLE: t.DoubleType(),
    BasicType.CHAR: t.CharType(1),
    BasicType.BIG_INT: t.DecimalType(38, 0),
    BasicType.BIG_DEC: t.DecimalType(38, 18),
    BasicType.INSTANT: t.LocalZonedTimestampType(6),
}


def data_type_of_info(info: TypeInformation) -> DataType:
    """The data type of values of a stream; anything without one is RAW, a pickled object."""
    if isinstance(info, ti.BasicTypeInfo):
        return _BASIC[info._basic_type]
    if isinstance(info, ti.ExternalTypeInfo):
        return data_type_of_info(info._type_info)
    if isinstance(info, ti.RowTypeInfo):
        return _row(info.get_field_names(), info.get_field_types())
    if isinstance(info, ti.TupleTypeInfo):
        kinds = info.get_field_types()
        return t.RowType([t.RowField(f"f{index}", type_outside_rows(kind)) for index, kind in enumerate(kinds)])
    if isinstance(info, ti.PrimitiveArrayTypeInfo) and info._element_type == ti.BasicTypeInfo.BYTE_TYPE_INFO():
        return t.VarBinaryType(t.MAX_LENGTH)
    if isinstance(info, (ti.BasicArrayTypeInfo, ti.ObjectArrayTypeInfo)):
        return t.ArrayType(data_type_of_info(info._element_type))
    if isinstance(info, ti.PrimitiveArrayTypeInfo):
        return t.ArrayType(type_outside_rows(info._element_type))
    if isinstance(info, ti.ListTypeInfo):
        return t.ArrayType(type_outside_rows(info.elem_type))
    if isinstance(info, ti.MapTypeInfo):
        return t.MapType(type_outside_rows(info._key_type_info), type_outside_rows(info._value_type_info))
    if isinstance(info, ti.DateTypeInfo):
        return t.DateType()
    if isinstance(info, ti.TimeTypeInfo):
        return t.TimeType(0)
    if isinstance(info, ti.TimestampTypeInfo):
        return t.TimestampType(3)
    if isinstance(info, ti.LocalTimeTypeInfo):
        kinds_ = ti.LocalTimeTypeInfo.TimeType
        found = {kinds_.LOCAL_DATE: t.DateType(), kinds_.LOCAL_TIME: t.TimeType(0)}
        return found.get(info._time_type, t.TimestampType(6))
    return t.RawType()


def type_outside_rows(info: TypeInformation) -> DataType:
    """The data type of values that are no fields of rows. Numbers and booleans are never NULL there, as in Flink."""
    primitive = isinstance(info, ti.BasicTypeInfo) and info._basic_type in ti.PRIMITIVES
    found = data_type_of_info(info)
    return found.not_null() if primitive else found


def _row(names: list[str], kinds: list[TypeInformation]) -> t.RowType:
    return t.RowType([t.RowField(name, data_type_of_info(kind)) for name, kind in zip(names, kinds)])


def info_of_data_type(data_type: DataType) -> TypeInformation:
    """The type of a table's values in a stream; what streams have no type for is any object."""
    if isinstance(data_type, t.MapType):  # streams have no multisets
        return ti.Types.MAP(*map(info_of_data_type, parts_of(data_type)))
    make = _INFOS.get(family_of(data_type))
    return ti.Types.PICKLED_BYTE_ARRAY() if make is None else make(data_type)


_WHOLE = {8: ti.Types.BYTE(), 16: ti.Types.SHORT(), 32: ti.Types.INT(), 64: ti.Types.LONG()}
_INFOS: dict[Family, Callable[[Any], TypeInformation]] = {
    Family.TEXT: lambda kind: ti.Types.STRING(),
    Family.BOOLEAN: lambda kind: ti.Types.BOOLEAN(),
    Family.INTEGER: lambda kind: _WHOLE[kind.bits],
    Family.APPROXIMATE: lambda kind: ti.Types.FLOAT() if isinstance(kind, t.FloatType) else ti.Types.DOUBLE(),
    Family.DECIMAL: lambda kind: ti.Types.BIG_DEC(),
    Family.DATE: lambda kind: ti.Types.SQL_DATE(),
    Family.TIME: lambda kind: ti.Types.SQL_TIME(),
    **dict.fromkeys((Family.TIMESTAMP, Family.INSTANT), lambda kind: ti.Types.SQL_TIMESTAMP()),
    Family.ROW: lambda kind: ti.Types.ROW_NAMED(kind.field_names(), list(map(info_of_data_type, kind.field_types()))),
    Family.ARRAY: lambda kind: ti.Types.LIST(info_of_data_type(kind.element_type)),
}


def _to_java_data_type(data_type: DataType) -> DataType:
    """The type itself: there is no Java behind it. Programs import this from PyFlink, private as it is there."""
    return data_type


def _from_java_data_type(data_type: DataType) -> DataType:
    """The reverse of ``_to_java_data_type``."""
    return data_type
