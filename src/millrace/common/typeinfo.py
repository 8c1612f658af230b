"""The types of a stream's elements, and ``Types``, the factory that programs use."""

from __future__ import annotations

import calendar
import datetime
import decimal
import enum
import time
import typing
from collections.abc import Sequence
from types import UnionType
from typing import Any

from millrace.common.time import Instant
from millrace.common.types import Row, RowKind

__all__ = ["TypeInformation", "Types", "infer_type", "type_from_hint"]

_EPOCH_ORDINAL = datetime.date(1970, 1, 1).toordinal()


class TypeInformation:
    """Describes the values of a stream or a state. Immutable and hashable; equal types describe the same values.

    >>> isinstance(Types.INT(), TypeInformation), str(Types.LIST(Types.INT()))
    (True, 'ListTypeInfo<Integer>')
    """

    __slots__ = ()

    def _key(self) -> Any:
        """What makes two types of one class equal."""
        return ()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._key() == self._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def get_java_type_info(self) -> TypeInformation:
        """The type itself, for programs of PyFlink: there is no Java behind it."""
        return self

    def need_conversion(self) -> bool:
        """Whether ``to_internal_type`` and ``from_internal_type`` change values."""
        return False

    def to_internal_type(self, obj: Any) -> Any:
        """The plain form of a value: dates as days, times and timestamps as microseconds, rows as tuples."""
        return obj

    def from_internal_type(self, obj: Any) -> Any:
        """The value of a plain form."""
        return obj


class BasicType(enum.Enum):
    """The kinds of ``BasicTypeInfo``, by the name that Flink prints."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


class BasicTypeInfo(TypeInformation):
    """Numbers, strings, booleans and instants."""

    __slots__ = ("_basic_type",)

    def __init__(self, basic_type: BasicType) -> None:
        self._basic_type = basic_type

    def _key(self) -> Any:
        return self._basic_type

    def __repr__(self) -> str:
        return self._basic_type.value

    @staticmethod
    def STRING_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BOOLEAN_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def BYTE_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def SHORT_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT_TYPE_INFO() -> BasicTypeInfo:
        return InstantTypeInfo(BasicType.INSTANT)


class InstantTypeInfo(BasicTypeInfo):
    """``Instant`` values; the plain form is microseconds since the epoch."""

    __slots__ = ()

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Instant) -> int:
        return obj.to_epoch_milli() * 1000

    def from_internal_type(self, obj: int) -> Instant:
        return Instant.of_epoch_milli(obj // 1000)


class SqlTimeTypeInfo(TypeInformation):
    """Factory of the types of ``datetime`` values."""

    __slots__ = ()

    @staticmethod
    def DATE() -> DateTypeInfo:
        return DateTypeInfo()

    @staticmethod
    def TIME() -> TimeTypeInfo:
        return TimeTypeInfo()

    @staticmethod
    def TIMESTAMP() -> TimestampTypeInfo:
        return TimestampTypeInfo()


class _ArrayTypeInfo(TypeInformation):
    __slots__ = ("_element_type",)

    def __init__(self, element_type: TypeInformation) -> None:
        self._element_type = element_type

    def _key(self) -> Any:
        return self._element_type

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self._element_type}>"


class PrimitiveArrayTypeInfo(_ArrayTypeInfo):
    """Lists of numbers or booleans without None; of bytes: ``bytes``. ``TypeError`` for other elements."""

    __slots__ = ()

    def __init__(self, element_type: TypeInformation) -> None:
        _check_element(element_type, PRIMITIVES, "primitive")
        super().__init__(element_type)


class BasicArrayTypeInfo(_ArrayTypeInfo):
    """Lists of numbers, booleans or strings, with None allowed. ``TypeError`` for other elements."""

    __slots__ = ()

    def __init__(self, element_type: TypeInformation) -> None:
        _check_element(element_type, PRIMITIVES | {BasicType.STRING}, "basic")
        super().__init__(element_type)


class ObjectArrayTypeInfo(_ArrayTypeInfo):
    """Lists of any type, with None allowed."""

    __slots__ = ()


PRIMITIVES = frozenset(
    {
        BasicType.BOOLEAN,
        BasicType.BYTE,
        BasicType.SHORT,
        BasicType.INT,
        BasicType.LONG,
        BasicType.FLOAT,
        BasicType.DOUBLE,
        BasicType.CHAR,
    }
)


def _check_element(element_type: TypeInformation, allowed: frozenset[BasicType], array: str) -> None:
    if not isinstance(element_type, BasicTypeInfo) or element_type._basic_type not in allowed:
        raise TypeError(f"{element_type} is not an element type of {array} arrays")


class PickledBytesTypeInfo(TypeInformation):
    """Any Python value, carried by pickle. The type of a stream whose type was not declared."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "PickledByteArrayTypeInfo"


def _check_types(field_types: Sequence[TypeInformation]) -> tuple[TypeInformation, ...]:
    for position, field_type in enumerate(field_types):
        if not isinstance(field_type, TypeInformation):
            raise TypeError(f"field {position} needs a TypeInformation, got {field_type!r}")
    return tuple(field_types)


class RowTypeInfo(TypeInformation):
    """Rows with typed fields, named or not.

    As in Flink, equality looks at the field types only, not at the names. Raises ``ValueError`` when the names are
    not as many as the types, or not unique.
    """

    __slots__ = ("_field_types", "_field_names")

    def __init__(self, field_types: Sequence[TypeInformation], field_names: Sequence[str] | None = None) -> None:
        self._field_types = _check_types(field_types)
        self._field_names = tuple(field_names) if field_names else None
        if self._field_names is not None:
            if len(self._field_names) != len(self._field_types):
                raise ValueError(f"{len(self._field_types)} field types, but {len(self._field_names)} field names")
            if len(set(self._field_names)) != len(self._field_names):
                raise ValueError(f"field names are not unique: {', '.join(self._field_names)}")

    def get_field_names(self) -> list[str]:
        """The names; ``f0``, ``f1``... when none were given."""
        return list(self._field_names or (f"f{position}" for position in range(len(self._field_types))))

    def get_field_index(self, field_name: str) -> int:
        """Position of a field; -1 for types without names, ``ValueError`` for an unknown name."""
        return -1 if self._field_names is None else self._field_names.index(field_name)

    def get_field_types(self) -> list[TypeInformation]:
        return list(self._field_types)

    def _key(self) -> Any:
        return self._field_types

    def __repr__(self) -> str:
        if self._field_names is None:
            return f"RowTypeInfo({', '.join(map(str, self._field_types))})"
        fields = (
            f"{name}: {field_type}" for name, field_type in zip(self._field_names, self._field_types, strict=True)
        )
        return f"RowTypeInfo({', '.join(fields)})"

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> tuple[Any, ...] | None:
        """The number of the row kind, then the plain fields; ``ValueError`` for what has no fields."""
        if obj is None:
            return None
        kind, names = RowKind.INSERT, self.get_field_names()
        if isinstance(obj, Row):
            kind, values = obj.get_row_kind(), obj.get_fields_by_names(names)
        elif isinstance(obj, (tuple, list)):
            values = list(obj)
        elif isinstance(obj, dict):
            values = [obj.get(name) for name in names]
        elif hasattr(obj, "__dict__"):
            values = [vars(obj).get(name) for name in names]
        else:
            raise ValueError(f"{obj!r} is no value of {self}")
        return kind.value, *(_to_internal(t, v) for t, v in zip(self._field_types, values, strict=False))

    def from_internal_type(self, obj: Any) -> Any:
        """The fields as a tuple."""
        if obj is None or isinstance(obj, (tuple, list)):
            return obj
        return tuple(_from_internal(t, v) for t, v in zip(self._field_types, obj, strict=False))


class TupleTypeInfo(TypeInformation):
    """Tuples with typed fields."""

    __slots__ = ("_field_types",)

    def __init__(self, field_types: Sequence[TypeInformation]) -> None:
        self._field_types = _check_types(field_types)

    def get_field_types(self) -> list[TypeInformation]:
        return list(self._field_types)

    def _key(self) -> Any:
        return self._field_types

    def __repr__(self) -> str:
        return f"TupleTypeInfo({', '.join(map(str, self._field_types))})"

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> tuple[Any, ...] | None:
        if obj is None:
            return None
        if not isinstance(obj, (tuple, list, Row)):
            raise ValueError(f"{obj!r} is no value of {self}")
        return tuple(_to_internal(t, v) for t, v in zip(self._field_types, obj, strict=False))

    def from_internal_type(self, obj: Any) -> Any:
        if obj is None or isinstance(obj, (tuple, list)):
            return obj
        return tuple(_from_internal(t, v) for t, v in zip(self._field_types, obj, strict=False))


def _to_internal(type_info: TypeInformation, value: Any) -> Any:
    return None if value is None else type_info.to_internal_type(value)


def _from_internal(type_info: TypeInformation, value: Any) -> Any:
    return None if value is None else type_info.from_internal_type(value)


class DateTypeInfo(TypeInformation):
    """``datetime.date`` values; the plain form is days since the epoch."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "DateTypeInfo"

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, d: datetime.date | None) -> int | None:
        return None if d is None else d.toordinal() - _EPOCH_ORDINAL

    def from_internal_type(self, v: int | None) -> datetime.date | None:
        return None if v is None else datetime.date.fromordinal(v + _EPOCH_ORDINAL)


class TimeTypeInfo(TypeInformation):
    """``datetime.time`` values; the plain form is microseconds since midnight (UTC when there is an offset)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "TimeTypeInfo"

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, t: datetime.time | None) -> int | None:
        if t is None:
            return None
        since_midnight = datetime.timedelta(0, t.second, t.microsecond, 0, t.minute, t.hour)
        return (since_midnight - (t.utcoffset() or datetime.timedelta())) // datetime.timedelta(microseconds=1)

    def from_internal_type(self, t: int | None) -> datetime.time | None:
        if t is None:
            return None
        return (datetime.datetime.min + datetime.timedelta(microseconds=t % 86_400_000_000)).time()


class TimestampTypeInfo(TypeInformation):
    """``datetime.datetime`` values; the plain form is microseconds since the epoch (naive values: local time)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "TimestampTypeInfo"

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, dt: datetime.datetime | None) -> int | None:
        if dt is None:
            return None
        seconds = calendar.timegm(dt.utctimetuple()) if dt.tzinfo else int(time.mktime(dt.timetuple()))
        return seconds * 1_000_000 + dt.microsecond

    def from_internal_type(self, ts: int | None) -> datetime.datetime | None:
        if ts is None:
            return None
        seconds, micros = divmod(ts, 1_000_000)
        return datetime.datetime.fromtimestamp(seconds).replace(microsecond=micros)


class ListTypeInfo(TypeInformation):
    """Lists of one type, with None allowed."""

    __slots__ = ("elem_type",)

    def __init__(self, element_type: TypeInformation) -> None:
        self.elem_type = element_type

    def _key(self) -> Any:
        return self.elem_type

    def __repr__(self) -> str:
        return f"ListTypeInfo<{self.elem_type}>"


class MapTypeInfo(TypeInformation):
    """Dicts with keys of one type and values of one type, None allowed as value."""

    __slots__ = ("_key_type_info", "_value_type_info")

    def __init__(self, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        self._key_type_info = key_type_info
        self._value_type_info = value_type_info

    def _key(self) -> Any:
        return self._key_type_info, self._value_type_info

    def __repr__(self) -> str:
        return f"MapTypeInfo<{self._key_type_info}, {self._value_type_info}>"


class LocalTimeTypeInfo(TypeInformation):
    """``datetime`` values as SQL's DATE, TIME and TIMESTAMP give them, exact to the microsecond."""

    class TimeType(enum.Enum):
        LOCAL_DATE = 0
        LOCAL_TIME = 1
        LOCAL_DATE_TIME = 2

    __slots__ = ("_time_type",)

    def __init__(self, time_type: TimeType) -> None:
        self._time_type = time_type

    def _key(self) -> Any:
        return self._time_type

    def __repr__(self) -> str:
        return f"LocalTimeTypeInfo<{self._time_type.name}>"


class ExternalTypeInfo(TypeInformation):
    """A type that came from a table: the same values as the type inside."""

    __slots__ = ("_type_info",)

    def __init__(self, type_info: TypeInformation) -> None:
        self._type_info = type_info

    def _key(self) -> Any:
        return self._type_info

    def __repr__(self) -> str:
        return f"ExternalTypeInfo<{self._type_info}>"


class Types:
    """Factory of all types.

    >>> Types.ROW_NAMED(["name", "amount"], [Types.STRING(), Types.INT()])
    RowTypeInfo(name: String, amount: Integer)
    """

    @staticmethod
    def STRING() -> TypeInformation:
        """``str``."""
        return BasicTypeInfo.STRING_TYPE_INFO()

    @staticmethod
    def BYTE() -> TypeInformation:
        """An int from -128 to 127."""
        return BasicTypeInfo.BYTE_TYPE_INFO()

    @staticmethod
    def BOOLEAN() -> TypeInformation:
        """``bool``.

        >>> Types.BOOLEAN()
        Boolean
        """
        return BasicTypeInfo.BOOLEAN_TYPE_INFO()

    @staticmethod
    def SHORT() -> TypeInformation:
        """An int of 16 bits."""
        return BasicTypeInfo.SHORT_TYPE_INFO()

    @staticmethod
    def INT() -> TypeInformation:
        """An int of 32 bits."""
        return BasicTypeInfo.INT_TYPE_INFO()

    @staticmethod
    def LONG() -> TypeInformation:
        """An int of 64 bits."""
        return BasicTypeInfo.LONG_TYPE_INFO()

    @staticmethod
    def FLOAT() -> TypeInformation:
        """A float rounded to 32 bits.

        >>> Types.FLOAT()
        Float
        """
        return BasicTypeInfo.FLOAT_TYPE_INFO()

    @staticmethod
    def DOUBLE() -> TypeInformation:
        """A Python float."""
        return BasicTypeInfo.DOUBLE_TYPE_INFO()

    @staticmethod
    def CHAR() -> TypeInformation:
        """A str of one character."""
        return BasicTypeInfo.CHAR_TYPE_INFO()

    @staticmethod
    def BIG_INT() -> TypeInformation:
        """An int of any size."""
        return BasicTypeInfo.BIG_INT_TYPE_INFO()

    @staticmethod
    def BIG_DEC() -> TypeInformation:
        """A ``decimal.Decimal``.

        >>> import decimal
        >>> list(env.from_collection([decimal.Decimal("1.50")], Types.BIG_DEC()).execute_and_collect())
        [Decimal('1.50')]
        """
        return BasicTypeInfo.BIG_DEC_TYPE_INFO()

    @staticmethod
    def INSTANT() -> TypeInformation:
        """An ``Instant``."""
        return BasicTypeInfo.INSTANT_TYPE_INFO()

    @staticmethod
    def SQL_DATE() -> TypeInformation:
        """A ``datetime.date``."""
        return SqlTimeTypeInfo.DATE()

    @staticmethod
    def SQL_TIME() -> TypeInformation:
        """A ``datetime.time``, exact to the millisecond."""
        return SqlTimeTypeInfo.TIME()

    @staticmethod
    def SQL_TIMESTAMP() -> TypeInformation:
        """A ``datetime.datetime`` without time zone, exact to the millisecond.

        >>> from datetime import datetime
        >>> moments = env.from_collection([datetime(2026, 3, 5, 10, 30)], Types.SQL_TIMESTAMP())
        >>> next(moments.execute_and_collect()).isoformat()
        '2026-03-05T10:30:00'
        """
        return SqlTimeTypeInfo.TIMESTAMP()

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> TypeInformation:
        """Any Python value."""
        return PickledBytesTypeInfo()

    @staticmethod
    def ROW(field_types: Sequence[TypeInformation]) -> RowTypeInfo:
        """Rows whose fields are called ``f0``, ``f1``..."""
        return RowTypeInfo(field_types)

    @staticmethod
    def ROW_NAMED(field_names: Sequence[str], field_types: Sequence[TypeInformation]) -> RowTypeInfo:
        """``Row`` with these names and types of fields."""
        return RowTypeInfo(field_types, field_names)

    @staticmethod
    def TUPLE(field_types: Sequence[TypeInformation]) -> TupleTypeInfo:
        """``tuple`` with these types of fields."""
        return TupleTypeInfo(field_types)

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation) -> PrimitiveArrayTypeInfo:
        """A list of numbers or booleans without None; for ``BYTE()``: ``bytes``."""
        return PrimitiveArrayTypeInfo(element_type)

    @staticmethod
    def BASIC_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """A list of numbers, booleans or strings."""
        return BasicArrayTypeInfo(element_type)

    @staticmethod
    def OBJECT_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """A list of any type."""
        return ObjectArrayTypeInfo(element_type)

    @staticmethod
    def MAP(key_type_info: TypeInformation, value_type_info: TypeInformation) -> TypeInformation:
        """A dict.

        >>> Types.MAP(Types.STRING(), Types.INT())
        MapTypeInfo<String, Integer>
        """
        return MapTypeInfo(key_type_info, value_type_info)

    @staticmethod
    def LIST(element_type_info: TypeInformation) -> TypeInformation:
        """``list`` of elements of this type."""
        return ListTypeInfo(element_type_info)


def infer_type(value: Any) -> TypeInformation:
    """The type of a sample value; ``PICKLED_BYTE_ARRAY`` for what has no type of its own, also in lists and dicts.

    >>> infer_type(1.5)
    Double
    """
    if type(value) is tuple:
        return Types.TUPLE([infer_type(part) for part in value])
    if type(value) is list:
        return Types.LIST(_common_type(value))
    if type(value) is dict:
        return Types.MAP(_common_type(list(value)), _common_type(list(value.values())))
    if isinstance(value, Row):
        return RowTypeInfo([infer_type(part) for part in value], value._fields)
    if isinstance(value, (datetime.datetime, datetime.time)) and value.tzinfo is not None:
        # SQL's types have no zone: the value would lose its own.
        return Types.PICKLED_BYTE_ARRAY()
    return _BY_CLASS.get(type(value), Types.PICKLED_BYTE_ARRAY())


def type_from_hint(annotation: Any) -> TypeInformation | None:
    """The type that an annotation such as ``tuple[str, int]`` declares; None when it says too little.

    ``X | None`` is understood inside tuples, lists and dicts only: a stream of a declared type has no None. Strings are
    not resolved: pass what ``typing.get_type_hints`` gives.

        >>> type_from_hint(list[int])
        ListTypeInfo<Long>
    """
    if isinstance(annotation, TypeInformation):
        return annotation
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is tuple and Ellipsis not in arguments:
        # On Python 3.10 typing.Tuple[()] has one argument, the empty tuple.
        return Types.TUPLE([_part_from_hint(part) for part in arguments if part != ()])
    if origin is list:
        return Types.LIST(_part_from_hint(arguments[0]))
    if origin is dict:
        return Types.MAP(_part_from_hint(arguments[0]), _part_from_hint(arguments[1]))
    return _BY_CLASS.get(annotation) if isinstance(annotation, type) else None


def _part_from_hint(annotation: Any) -> TypeInformation:
    if typing.get_origin(annotation) in (typing.Union, UnionType):
        present = [part for part in typing.get_args(annotation) if part is not type(None)]
        annotation = present[0] if len(present) == 1 else None
    return type_from_hint(annotation) or Types.PICKLED_BYTE_ARRAY()


def _common_type(values: list[Any]) -> TypeInformation:
    # By text, because rows with other names are equal types.
    found = {str(type_info): type_info for type_info in (infer_type(value) for value in values if value is not None)}
    return found.popitem()[1] if len(found) == 1 else Types.PICKLED_BYTE_ARRAY()


_BY_CLASS: dict[type, TypeInformation] = {
    int: Types.LONG(),
    float: Types.DOUBLE(),
    str: Types.STRING(),
    bool: Types.BOOLEAN(),
    bytes: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    decimal.Decimal: Types.BIG_DEC(),
    Instant: Types.INSTANT(),
    datetime.date: Types.SQL_DATE(),
    datetime.time: Types.SQL_TIME(),
    datetime.datetime: Types.SQL_TIMESTAMP(),
}


def _from_java_type(j_type_info: TypeInformation) -> TypeInformation:
    """The reverse of ``get_java_type_info``, private in PyFlink, too."""
    return j_type_info
