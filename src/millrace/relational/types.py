"""Data types of tables. Public through ``millrace.table.types``.

Types are values: equal when class, parameters and nullability are equal, never changed (``RowType.add`` builds a type
that nothing has used yet). ``str()`` gives the SQL text.
"""

from __future__ import annotations

import calendar
import copy
import enum
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar

from millrace.relational import sql_values

_T = TypeVar("_T", bound="DataType")

MAX_LENGTH = 2**31 - 1
"""Length of STRING and BYTES."""


class DataType:
    """Base of all types.

    >>> str(DataTypes.INT().not_null()), DataTypes.INT() == DataTypes.INT().not_null()
    ('INT NOT NULL', False)
    """

    _sql_form: ClassVar[tuple[Callable[[Any], Any], Callable[[Any], Any]] | None] = None
    """the conversions of ``to_sql_type`` and ``from_sql_type``; None: values are unchanged"""

    def __init__(self, nullable: bool = True) -> None:
        self._nullable = nullable

    @property
    def is_nullable(self) -> bool:
        """Whether NULL is among the values."""
        return self._nullable

    def nullable(self: _T) -> _T:
        """This type, with NULL among its values."""
        return self._with_nullable(True)

    def not_null(self: _T) -> _T:
        """This type without NULL."""
        return self._with_nullable(False)

    def with_nullable(self: _T, nullable: bool) -> _T:
        """This type, with or without NULL among its values."""
        return self._with_nullable(nullable)

    def _with_nullable(self: _T, nullable: bool) -> _T:
        if self._nullable == nullable:
            return self
        changed = copy.copy(self)
        changed._nullable = nullable
        return changed

    def bridged_to(self: _T, conversion_cls: str) -> _T:
        """Accepted for programs of PyFlink: there is no JVM class to bridge to."""
        return self

    @classmethod
    def type_name(cls) -> str:
        """The name of the type, without parameters."""
        return cls.__name__.removesuffix("Type").upper()

    def need_conversion(self) -> bool:
        """Whether ``to_sql_type`` and ``from_sql_type`` change values."""
        return self._sql_form is not None

    def to_sql_type(self, obj: Any) -> Any:
        """Convert to SQL's number: a date to days, a time or timestamp to microseconds since 1970; other values are
        unchanged."""
        return obj if obj is None or self._sql_form is None else self._sql_form[0](obj)

    def from_sql_type(self, obj: Any) -> Any:
        """The value of what ``to_sql_type`` gives."""
        return obj if obj is None or self._sql_form is None else self._sql_form[1](obj)

    def parameters(self) -> tuple[Any, ...]:
        """What distinguishes two types of this class, nullability aside."""
        return ()

    def sql(self) -> str:
        """The SQL text without NOT NULL.

        >>> DataTypes.INT().not_null().sql()
        'INT'
        """
        return self.type_name()

    def is_same(self, other: DataType) -> bool:
        """Equal up to nullability (of the outermost level)."""
        return type(self) is type(other) and self.parameters() == other.parameters()

    def __str__(self) -> str:
        return self.sql() if self._nullable else f"{self.sql()} NOT NULL"

    def __repr__(self) -> str:
        parts = [*map(repr, self.parameters()), str(self._nullable).lower()]
        return f"{type(self).__name__}({', '.join(parts)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DataType) and self.is_same(other) and self._nullable == other._nullable

    def __hash__(self) -> int:
        return hash((type(self), self.parameters(), self._nullable))


class AtomicType(DataType):
    """A type without parts.

    >>> isinstance(IntType(), AtomicType), isinstance(ArrayType(IntType()), AtomicType)
    (True, False)
    """


class NullType(AtomicType):
    """The type of a bare NULL.

    >>> str(NullType())
    'NULL'
    """

    def __init__(self) -> None:
        super().__init__(True)


class NumericType(AtomicType):
    """Numbers.

    >>> isinstance(DoubleType(), NumericType)
    True
    """


class IntegralType(NumericType):
    """Whole numbers of a fixed width; arithmetic wraps around as in Java.

    >>> isinstance(BigIntType(), IntegralType)
    True
    """

    bits: int


class FractionalType(NumericType):
    """Numbers with a fraction.

    >>> isinstance(DecimalType(10, 2), FractionalType)
    True
    """


class TinyIntType(IntegralType):
    """Whole numbers of 8 bits.

    >>> str(TinyIntType())
    'TINYINT'
    """

    bits = 8


class SmallIntType(IntegralType):
    """Whole numbers of 16 bits.

    >>> str(SmallIntType())
    'SMALLINT'
    """

    bits = 16


class IntType(IntegralType):
    """Whole numbers of 32 bits.

    >>> str(IntType())
    'INT'
    """

    bits = 32


class BigIntType(IntegralType):
    """Whole numbers of 64 bits.

    >>> str(BigIntType())
    'BIGINT'
    """

    bits = 64


class FloatType(FractionalType):
    """4 bytes.

    >>> str(FloatType())
    'FLOAT'
    """


class DoubleType(FractionalType):
    """8 bytes.

    >>> str(DoubleType())
    'DOUBLE'
    """


class DecimalType(FractionalType):
    """Exact numbers of ``precision`` digits, ``scale`` of them after the point.

        >>> str(DecimalType(10, 2))
        'DECIMAL(10, 2)'

    :raises ValueError: a precision outside 1 to 38, or a scale outside 0 to the precision.
    """

    MAX_PRECISION = 38

    def __init__(self, precision: int = 10, scale: int = 0, nullable: bool = True) -> None:
        super().__init__(nullable)
        if not 1 <= precision <= self.MAX_PRECISION:
            raise ValueError(f"the precision of a DECIMAL is from 1 to 38, not {precision}")
        if not 0 <= scale <= precision:
            raise ValueError(f"the scale of a DECIMAL({precision}, ..) is from 0 to {precision}, not {scale}")
        self.precision = precision
        self.scale = scale

    def parameters(self) -> tuple[Any, ...]:
        return self.precision, self.scale

    def sql(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


class _Sized(AtomicType):
    """Text or bytes of a length."""

    unbounded = ""

    def __init__(self, length: int = 1, nullable: bool = True) -> None:
        super().__init__(nullable)
        if length < 0 or length > MAX_LENGTH:
            raise ValueError(f"the length of a {self.type_name()} is from 1 to {MAX_LENGTH}, not {length}")
        self.length = length

    def parameters(self) -> tuple[Any, ...]:
        return (self.length,)

    def sql(self) -> str:
        if self.unbounded and self.length == MAX_LENGTH:
            return self.unbounded
        return f"{self.type_name()}({self.length})"


class CharType(_Sized):
    """Text of exactly ``length`` characters, padded with blanks.

    >>> str(CharType(3))
    'CHAR(3)'
    """


class VarCharType(_Sized):
    """Text of at most ``length`` characters; STRING is the longest.

    >>> str(VarCharType(5)), str(VarCharType(2**31 - 1))
    ('VARCHAR(5)', 'STRING')
    """

    unbounded = "STRING"


class BinaryType(_Sized):
    """Exactly ``length`` bytes.

    >>> str(BinaryType(3))
    'BINARY(3)'
    """


class VarBinaryType(_Sized):
    """At most ``length`` bytes; BYTES is the longest.

    >>> str(VarBinaryType(5))
    'VARBINARY(5)'
    """

    unbounded = "BYTES"


class BooleanType(AtomicType):
    """TRUE, FALSE, and UNKNOWN for NULL.

    >>> str(BooleanType())
    'BOOLEAN'
    """


class DateType(AtomicType):
    """A day: ``datetime.date``.

    >>> str(DateType())
    'DATE'
    """

    _sql_form = (sql_values.date_to_sql, sql_values.date_from_sql)


class _Precise(AtomicType):
    """A time with ``precision`` digits after the second."""

    default_precision = 6
    most = 9

    def __init__(self, precision: int | None = None, nullable: bool = True) -> None:
        super().__init__(nullable)
        precision = self.default_precision if precision is None else precision
        if not 0 <= precision <= self.most:
            raise ValueError(f"the precision of {self.type_name()} is from 0 to {self.most}, not {precision}")
        self.precision = precision

    def parameters(self) -> tuple[Any, ...]:
        return (self.precision,)

    def sql(self) -> str:
        return f"{self.type_name()}({self.precision})"


class TimeType(_Precise):
    """A time of day: ``datetime.time``.

    >>> str(TimeType(0))
    'TIME(0)'
    """

    default_precision = 0
    _sql_form = (sql_values.time_to_sql, sql_values.time_from_sql)


class TimestampType(_Precise):
    """A date and time without zone: ``datetime.datetime`` without tzinfo, with microsecond precision.

    >>> str(TimestampType(3))
    'TIMESTAMP(3)'
    """

    _sql_form = (sql_values.timestamp_to_sql, sql_values.timestamp_from_sql)


class LocalZonedTimestampType(_Precise):
    """An instant, shown in the zone of the session, with microsecond precision.

        >>> str(LocalZonedTimestampType(3))
        'TIMESTAMP_LTZ(3)'

    :cvar EPOCH_ORDINAL: the machine's zone at the epoch in microseconds, which ``to_sql_type`` adds, as in PyFlink.
    """

    EPOCH_ORDINAL = calendar.timegm(time.localtime(0)) * 1_000_000
    _sql_form = (sql_values.timestamp_to_sql, sql_values.timestamp_from_sql)

    def to_sql_type(self, obj: Any) -> Any:
        """The microseconds since 1970 and ``EPOCH_ORDINAL``."""
        return None if obj is None else super().to_sql_type(obj) + self.EPOCH_ORDINAL

    def from_sql_type(self, obj: Any) -> Any:
        """The value of what ``to_sql_type`` gives."""
        return None if obj is None else super().from_sql_type(obj - self.EPOCH_ORDINAL)

    @classmethod
    def type_name(cls) -> str:
        """The name of the type, without parameters."""
        return "TIMESTAMP_LTZ"


class ZonedTimestampType(_Precise):
    """A date and time with its own zone: can be named, not computed with, as in Flink.

    >>> str(ZonedTimestampType(3))
    'TIMESTAMP(3) WITH TIME ZONE'
    """

    _sql_form = (sql_values.zoned_to_sql, sql_values.zoned_from_sql)

    def sql(self) -> str:
        return f"TIMESTAMP({self.precision}) WITH TIME ZONE"


class Resolution:
    """A unit of an interval: what ``DataTypes.DAY()`` and its like give.

    >>> DataTypes.SECOND(3).precision
    3
    """

    class IntervalUnit(enum.Enum):
        SECOND = 0
        MINUTE = 1
        HOUR = 2
        DAY = 3
        MONTH = 4
        YEAR = 5

    def __init__(self, unit: IntervalUnit, precision: int = -1) -> None:
        self._unit = unit
        self._precision = precision

    @property
    def unit(self) -> IntervalUnit:
        """The unit."""
        return self._unit

    @property
    def precision(self) -> int:
        """How many digits it has; -1: as usual."""
        return self._precision

    def __str__(self) -> str:
        return f"{self._unit.name}({self._precision})" if self._precision >= 0 else self._unit.name


class YearMonthIntervalType(AtomicType):
    """A number of months. In Python an ``int``.

    >>> str(DataTypes.INTERVAL(DataTypes.YEAR(), DataTypes.MONTH()))
    'INTERVAL YEAR(2) TO MONTH'
    """

    class YearMonthResolution(enum.Enum):
        YEAR = 1
        MONTH = 2
        YEAR_TO_MONTH = 3

    def __init__(self, resolution: YearMonthResolution, precision: int = 2, nullable: bool = True) -> None:
        super().__init__(nullable)
        self._resolution = resolution
        self._precision = precision

    @property
    def resolution(self) -> YearMonthResolution:
        """From which unit to which the interval goes."""
        return self._resolution

    @property
    def precision(self) -> int:
        """How many digits years have."""
        return self._precision

    def parameters(self) -> tuple[Any, ...]:
        return self._resolution, self._precision

    def __repr__(self) -> str:  # as PyFlink's, without the units
        return f"{type(self).__name__}({str(self._nullable).lower()})"

    def sql(self) -> str:
        unit = self._resolution.name.replace("_", " ")
        return "INTERVAL MONTH" if unit == "MONTH" else "INTERVAL " + unit.replace("YEAR", f"YEAR({self._precision})")


class DayTimeIntervalType(AtomicType):
    """A span of time with microsecond precision: ``datetime.timedelta``.

    >>> str(DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.SECOND(3)))
    'INTERVAL DAY(2) TO SECOND(3)'
    """

    _sql_form = (sql_values.interval_to_sql, sql_values.interval_from_sql)

    class DayTimeResolution(enum.Enum):
        DAY = 1
        DAY_TO_HOUR = 2
        DAY_TO_MINUTE = 3
        DAY_TO_SECOND = 4
        HOUR = 5
        HOUR_TO_MINUTE = 6
        HOUR_TO_SECOND = 7
        MINUTE = 8
        MINUTE_TO_SECOND = 9
        SECOND = 10

    def __init__(
        self,
        resolution: DayTimeResolution,
        day_precision: int = 2,
        fractional_precision: int = 6,
        nullable: bool = True,
    ) -> None:
        super().__init__(nullable)
        self._resolution = resolution
        self._day_precision = day_precision
        self._fractional_precision = fractional_precision

    @property
    def resolution(self) -> DayTimeResolution:
        """From which unit to which the interval goes."""
        return self._resolution

    @property
    def day_precision(self) -> int:
        """How many digits days have."""
        return self._day_precision

    @property
    def fractional_precision(self) -> int:
        """How many digits seconds have behind the point."""
        return self._fractional_precision

    def parameters(self) -> tuple[Any, ...]:
        return self._resolution, self._day_precision, self._fractional_precision

    def __repr__(self) -> str:  # as PyFlink's, without the units
        return f"{type(self).__name__}({str(self._nullable).lower()})"

    def sql(self) -> str:
        unit = self._resolution.name.replace("_", " ")
        if unit.startswith("DAY"):
            unit = unit.replace("DAY", f"DAY({self._day_precision})", 1)
        if unit.endswith("SECOND"):
            unit += f"({self._fractional_precision})"
        return f"INTERVAL {unit}"


class ArrayType(DataType):
    """A list of values of one type.

    >>> str(ArrayType(IntType()))
    'ARRAY<INT>'
    """

    def __init__(self, element_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.element_type = element_type

    def parameters(self) -> tuple[Any, ...]:
        return (self.element_type,)

    def sql(self) -> str:
        return f"ARRAY<{self.element_type}>"


class ListViewType(DataType):
    """A list in the accumulator of an aggregate function, stored in state entry by entry.

    >>> str(DataTypes.LIST_VIEW(DataTypes.INT()))
    'LIST_VIEW<INT> NOT NULL'
    """

    def __init__(self, element_type: DataType) -> None:
        super().__init__(False)
        self._element_type = element_type

    @property
    def element_type(self) -> DataType:
        """The type of the elements."""
        return self._element_type

    def parameters(self) -> tuple[Any, ...]:
        return (self._element_type,)

    def __repr__(self) -> str:
        return f"ListViewType({self._element_type!r})"

    def sql(self) -> str:
        return f"LIST_VIEW<{self._element_type}>"


class MapType(DataType):
    """A ``dict`` of keys of one type to values of one type.

    >>> str(MapType(VarCharType(5), IntType()))
    'MAP<VARCHAR(5), INT>'
    """

    def __init__(self, key_type: DataType, value_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.key_type = key_type
        self.value_type = value_type

    def parameters(self) -> tuple[Any, ...]:
        return self.key_type, self.value_type

    def sql(self) -> str:
        return f"MAP<{self.key_type}, {self.value_type}>"


class MapViewType(DataType):
    """A dict in the accumulator of an aggregate function, stored in state entry by entry.

    >>> str(DataTypes.MAP_VIEW(DataTypes.STRING(), DataTypes.INT()))
    'MAP_VIEW<STRING, INT> NOT NULL'
    """

    def __init__(self, key_type: DataType, value_type: DataType) -> None:
        super().__init__(False)
        self._key_type = key_type
        self._value_type = value_type

    @property
    def key_type(self) -> DataType:
        """The type of the keys."""
        return self._key_type

    @property
    def value_type(self) -> DataType:
        """The type of the values."""
        return self._value_type

    def parameters(self) -> tuple[Any, ...]:
        return self._key_type, self._value_type

    def __repr__(self) -> str:
        return f"MapViewType({', '.join(map(repr, self.parameters()))})"

    def sql(self) -> str:
        return f"MAP_VIEW<{self._key_type}, {self._value_type}>"


class MultisetType(DataType):
    """Values with how often each occurs: a ``dict`` of value to count.

    >>> str(MultisetType(IntType()))
    'MULTISET<INT>'
    """

    def __init__(self, element_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.element_type = element_type

    def parameters(self) -> tuple[Any, ...]:
        return (self.element_type,)

    def sql(self) -> str:
        return f"MULTISET<{self.element_type}>"


class RowField:
    """A field of a row type.

    >>> RowField("n", IntType()).name
    'n'
    """

    def __init__(self, name: str, data_type: DataType, description: str | None = None) -> None:
        self.name = name
        self.data_type = data_type
        self.description = description

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowField) and (self.name, self.data_type) == (other.name, other.data_type)

    def __hash__(self) -> int:
        return hash((self.name, self.data_type))

    def __repr__(self) -> str:
        return f"RowField({self.name}, {self.data_type!r}, {self.description or '...'})"

    def __str__(self) -> str:
        quoted = self.name.replace("`", "``")
        return f"`{quoted}` {self.data_type}"


class RowType(DataType):
    """Named fields: values are ``Row``.

    >>> str(RowType([RowField("n", IntType()), RowField("name", VarCharType(9))]))
    'ROW<`n` INT, `name` VARCHAR(9)>'
    """

    _in_use = False
    """has a hash been asked for? Sets and caches may hold the type by it, so its fields stay from then on"""

    def __init__(self, fields: Sequence[RowField] | None = None, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.fields = list(fields or ())

    def __hash__(self) -> int:
        self._in_use = True
        return super().__hash__()

    def __getstate__(self) -> dict[str, Any]:
        """The state of a copy, which is not in use."""
        return {name: value for name, value in self.__dict__.items() if name != "_in_use"}

    @property
    def names(self) -> list[str]:
        """The names of the fields."""
        return [field.name for field in self.fields]

    def add(self, field: RowField | str, data_type: DataType | None = None) -> RowType:
        """Add a field to this type while it is being built, and return the type.

        A difference to PyFlink: a type that is in use already (as the type of a column, of a function's result or of
        a stream; exactly: its hash was asked for) has its fields for good. Types made of it, as by ``not_null()``, do
        not get the field.

        >>> str(RowType().add("n", IntType()).add("name", VarCharType(9)))
        'ROW<`n` INT, `name` VARCHAR(9)>'

        :raises ValueError: a name without a type, or the type is in use.
        """
        if self._in_use:
            raise ValueError(f"{self} is in use, so it gets no more fields: make a new one, RowType([*fields, field])")
        if isinstance(field, str):
            if data_type is None:
                raise ValueError(f"field {field!r} needs a data type")
            field = RowField(field, data_type)
        self.fields = [*self.fields, field]
        return self

    def field_names(self) -> list[str]:
        """The names of the fields."""
        return self.names

    def field_types(self) -> list[DataType]:
        """The types of the fields."""
        return [field.data_type for field in self.fields]

    def parameters(self) -> tuple[Any, ...]:
        return tuple(self.fields)

    def sql(self) -> str:
        return f"ROW<{', '.join(map(str, self.fields))}>"

    def __iter__(self) -> Iterator[RowField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __repr__(self) -> str:
        return f"RowType({','.join(map(repr, self.fields))})"

    def __getitem__(self, key: str | int | slice) -> RowField | RowType:
        """The field of that name or place; of a slice a ROW.

        :raises KeyError: there is no such name.
        :raises IndexError: there is no such place.
        :raises TypeError: it is none of these.
        """
        if isinstance(key, str):
            for field in self.fields:
                if field.name == key:
                    return field
            raise KeyError(f"no RowField named {key}")
        if isinstance(key, slice):
            return RowType(self.fields[key])
        if isinstance(key, int):
            return self.fields[key]
        raise TypeError(f"RowType keys should be strings, integers or slices, not {key!r}")


class RawType(DataType):
    """Any Python object, stored as a pickle.

    >>> str(RawType())
    "RAW('[B', '...')"
    """

    def sql(self) -> str:
        return "RAW('[B', '...')"


class VariantType(AtomicType):
    """A value that brings its own type, as JSON does."""


class BitmapType(AtomicType):
    """A set of 32 bit numbers, compressed."""


class DescriptorType(AtomicType):
    """Names of columns, as an argument of a table function."""


class UserDefinedType(DataType):
    """A class of the user with a representation in SQL types. Subclass it.

    >>> class Point(UserDefinedType):
    ...     @classmethod
    ...     def sql_type(cls):
    ...         return DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT())])
    ...     def serialize(self, obj):
    ...         return Row(obj.x)
    ...     def deserialize(self, datum):
    ...         return datum[0]
    """

    @classmethod
    def type_name(cls) -> str:
        """The name of the type."""
        return cls.__name__

    @classmethod
    def sql_type(cls) -> DataType:
        """The type of what ``serialize`` gives."""
        raise NotImplementedError(f"{cls.__name__} must implement sql_type()")

    @classmethod
    def module(cls) -> str:
        """The module that has the class."""
        return cls.__module__

    @classmethod
    def java_udt(cls) -> str:
        """Accepted for programs of PyFlink."""
        return ""

    def need_conversion(self) -> bool:
        return True

    def serialize(self, obj: Any) -> Any:
        """A value as a value of ``sql_type()``."""
        raise NotImplementedError(f"{type(self).__name__} must implement serialize()")

    def deserialize(self, datum: Any) -> Any:
        """A value from a value of ``sql_type()``."""
        raise NotImplementedError(f"{type(self).__name__} must implement deserialize()")

    def to_sql_type(self, obj: Any) -> Any:
        return None if obj is None else self.serialize(obj)

    def from_sql_type(self, obj: Any) -> Any:
        return None if obj is None else self.deserialize(obj)


def string() -> VarCharType:
    """STRING."""
    return VarCharType(MAX_LENGTH)
