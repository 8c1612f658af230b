"""``DataTypes``: makes data types."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.relational import types as t
from millrace.relational.types import DataType, Resolution
from millrace.table.values.type_text import data_type_of

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
        """Text of so many characters."""
        return t.CharType(length, nullable)

    @staticmethod
    def VARCHAR(length: int, nullable: bool = True) -> t.VarCharType:
        """Text of so many characters at most."""
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
        """So many bytes."""
        return t.BinaryType(length, nullable)

    @staticmethod
    def VARBINARY(length: int, nullable: bool = True) -> t.VarBinaryType:
        """So many bytes at most."""
        return t.VarBinaryType(length, nullable)

    @staticmethod
    def BYTES(nullable: bool = True) -> t.VarBinaryType:
        """Any number of bytes."""
        return t.VarBinaryType(t.MAX_LENGTH, nullable)

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> t.DecimalType:
        """Exact numbers: so many digits, of which so many behind the point.

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
        """Times of day, with so many digits of seconds."""
        return t.TimeType(precision, nullable)

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> t.TimestampType:
        """Dates with times, without a zone, with so many digits of seconds."""
        return t.TimestampType(precision, nullable)

    @staticmethod
    def TIMESTAMP_WITH_LOCAL_TIME_ZONE(precision: int = 6, nullable: bool = True) -> t.LocalZonedTimestampType:
        """Moments, shown in the session's zone, with so many digits of seconds.

            >>> str(DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(3))
            'TIMESTAMP_LTZ(3)'
        """
        return t.LocalZonedTimestampType(precision, nullable)

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6, nullable: bool = True) -> t.LocalZonedTimestampType:
        """The same under its shorter name."""
        return t.LocalZonedTimestampType(precision, nullable)

    @staticmethod
    def ARRAY(element_type: DataType, nullable: bool = True) -> t.ArrayType:
        """Arrays of values of one type."""
        return t.ArrayType(element_type, nullable)

    @staticmethod
    def LIST_VIEW(element_type: DataType) -> t.ListViewType:
        """A list in the accumulator of an aggregate function, kept in state."""
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
        """A map in the accumulator of an aggregate function, kept in state."""
        return t.MapViewType(key_type, value_type)

    @staticmethod
    def MULTISET(element_type: DataType, nullable: bool = True) -> t.MultisetType:
        """Values with how often each is there."""
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
