"""Checks and converts values returned by user code, so that downstream operators get values of the declared type.

Flink encodes every value by its declared type and decodes it again in the next operator: a tuple comes out as a
``Row``, an int as a float, a wrong value fails. Here nothing is encoded, so the values are checked and converted.

Each type has two ways. ``batch`` looks at all values at once with C loops, returns the very same list when all of
them are right already, and gives up (``_Irregular``) on whatever is unusual. ``one`` converts a single value,
whatever it takes, and knows what to say about a wrong one.
"""

from __future__ import annotations

import datetime
import decimal
import operator
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice, repeat
from typing import Any

from millrace.common.time import Instant
from millrace.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from millrace.common.types import Row, RowKind, row_of

__all__ = ["TypeMismatchError", "coercer"]

Values = list[Any]


class TypeMismatchError(TypeError):
    """A value that does not fit the declared type.

    ``value`` and ``expected`` are the wrong part and its type; ``path`` says where in the element it is (``"f1"``,
    ``"f1[2]"``, ``""`` for the element itself), ``index`` where in the batch that element is.

        >>> list(env.from_collection([1]).map(lambda n: "text", Types.INT()).execute_and_collect())
        Traceback (most recent call last):
            ...
        millrace.spark.jobs.java_error.JobFailedError: ... TypeMismatchError: expected Integer, got str 'text'
    """

    def __init__(self, value: Any, expected: TypeInformation, index: int, path: str, reason: str = "") -> None:
        self.value = value
        self.expected = expected
        self.index = index
        self.path = path
        self.reason = reason
        shown = _shown(value)
        got = "None" if value is None else f"{type(value).__name__} {shown}"
        where = f" (field {path})" if path else ""
        super().__init__(f"expected {expected}, got {got}{reason and ': ' + reason}{where}")

    def __reduce__(self) -> tuple[Any, ...]:
        return TypeMismatchError, (self.value, self.expected, self.index, self.path, self.reason)


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        # The user's own __repr__, or an int with more digits than Python likes to write.
        return "(without a text form)"
    return text if len(text) <= 80 else f"{text[:77]}..."


def coercer(type_info: TypeInformation) -> Callable[[Values], Values] | None:
    """A function that converts a batch of values to ``type_info``; None when every value is right as it is.

    It returns the same list when nothing had to be changed and raises ``TypeMismatchError`` for a value that does not
    fit.
    Build it once per stream: it is not cached.
    """
    coercion = _coercion(type_info)
    if coercion is None:
        return None
    batch, one = coercion.batch, coercion.one

    def coerce(values: Values) -> Values:
        if not values:
            return values
        try:
            return batch(values)
        except _Irregular:
            pass
        result = []
        for index, value in enumerate(values):
            try:
                result.append(one(value))
            except _Mismatch as mismatch:
                path = "".join(reversed(mismatch.steps)).lstrip(".")
                raise TypeMismatchError(mismatch.value, mismatch.expected, index, path, mismatch.reason) from None
        return result

    return coerce


class _Irregular(Exception):
    """Raised by ``batch``: the batch must be converted value by value."""


class _Mismatch(Exception):
    """A wrong value; ``steps`` is the path to it, from the inside out."""

    def __init__(self, value: Any, expected: TypeInformation, reason: str = "") -> None:
        self.value = value
        self.expected = expected
        self.reason = reason
        self.steps: list[str] = []


class _Coercion(ABC):
    """Checks and converts the values of one type."""

    def __init__(self, expected: TypeInformation) -> None:
        self.expected = expected

    @abstractmethod
    def batch(self, values: Values) -> Values:
        """Convert all values at once; returns the same list if they were right. Raises ``_Irregular`` where single
        values must be looked at."""

    def nullable_batch(self, values: Values) -> Values:
        """Convert values inside of other values, where None is allowed; otherwise as ``batch``."""
        try:
            return self.batch(values)
        except _Irregular:
            present = [value for value in values if value is not None]
            if len(present) == len(values):
                raise
        converted = self.batch(present) if present else present
        if converted is present:
            return values
        rest = iter(converted)
        return [None if value is None else next(rest) for value in values]

    @abstractmethod
    def one(self, value: Any) -> Any:
        """Convert one value; raises ``_Mismatch`` if it is wrong, also for None."""


def _nested(coercion: _Coercion | None, value: Any, step: str) -> Any:
    """Convert one value inside another one, where None is allowed."""
    if value is None or coercion is None:
        return value
    try:
        return coercion.one(value)
    except _Mismatch as mismatch:
        mismatch.steps.append(step)
        raise


# ---- values without parts


class _Exact(_Coercion):
    """Values that are right if they have exactly one class (and pass ``check``)."""

    def __init__(
        self,
        expected: TypeInformation,
        exact: type,
        convert: Callable[[Any], Any],
        check: Callable[[Sequence[Any]], Any] | None = None,
    ) -> None:
        super().__init__(expected)
        self._right = {exact}
        self._convert = convert
        self._check = check

    def batch(self, values: Values) -> Values:
        if set(map(type, values)) != self._right:
            raise _Irregular
        if self._check is not None:
            try:
                self._check(values)
            except (OverflowError, ValueError):
                raise _Irregular from None
        return values

    def one(self, value: Any) -> Any:
        try:
            return self._convert(value)
        except (TypeError, ValueError, OverflowError, decimal.InvalidOperation) as error:
            reason = str(error) if isinstance(error, OverflowError) else ""
            raise _Mismatch(value, self.expected, reason) from None


class _Floating(_Coercion):
    """Floats of 64 or 32 bits; ints become floats."""

    def __init__(self, expected: TypeInformation, single: bool) -> None:
        super().__init__(expected)
        self._single = single

    def batch(self, values: Values) -> Values:
        types = set(map(type, values))
        if types == {float}:
            if not self._single:
                return values
            rounded = array("f", values).tolist()
            return values if rounded == values else rounded
        if types <= {float, int}:
            try:
                return array("f" if self._single else "d", values).tolist()
            except OverflowError:
                raise _Irregular from None
        raise _Irregular

    def one(self, value: Any) -> float:
        if isinstance(value, (str, bytes, bytearray)) or not hasattr(value, "__float__"):
            if not hasattr(value, "__index__"):
                raise _Mismatch(value, self.expected)
        try:
            number = float(value)
        except (OverflowError, ValueError, TypeError) as error:
            raise _Mismatch(value, self.expected, str(error)) from None
        return array("f", [number])[0] if self._single else number


def _integer(bits: int) -> Callable[[Any], int]:
    least, greatest = -(1 << bits - 1), (1 << bits - 1) - 1

    def convert(value: Any) -> int:
        number = operator.index(value)
        if not least <= number <= greatest:
            raise OverflowError(f"out of range {least} to {greatest}")
        return int(number)

    return convert


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return str.__str__(value)


def _character(value: Any) -> str:
    text = _string(value)
    if len(text) != 1:
        raise OverflowError(f"{len(text)} characters instead of one")
    return text


def _all_characters(values: Sequence[str]) -> None:
    if set(map(len, values)) - {1}:
        raise ValueError


def _decimal(value: Any) -> decimal.Decimal:
    if isinstance(value, bool) or not isinstance(value, (decimal.Decimal, int, float)):
        raise TypeError
    number = decimal.Decimal(str(value)) if isinstance(value, float) else decimal.Decimal(value)
    if not number.is_finite():
        raise OverflowError("not a finite number")
    return number


def _all_finite(values: Sequence[decimal.Decimal]) -> None:
    if not all(map(decimal.Decimal.is_finite, values)):
        raise ValueError


def _date(value: Any) -> datetime.date:
    if not isinstance(value, datetime.date):
        raise TypeError
    return datetime.date(value.year, value.month, value.day)


def _time_to(resolution_micros: int) -> Callable[[Any], datetime.time]:
    def convert(value: Any) -> datetime.time:
        if not isinstance(value, datetime.time):
            raise TypeError
        micros = value.microsecond - value.microsecond % resolution_micros
        return datetime.time(value.hour, value.minute, value.second, micros)

    return convert


def _timestamp_to(resolution_micros: int) -> Callable[[Any], datetime.datetime]:
    def convert(value: Any) -> datetime.datetime:
        if not isinstance(value, datetime.datetime):
            raise TypeError
        micros = value.microsecond - value.microsecond % resolution_micros
        return datetime.datetime.combine(value.date(), datetime.time(value.hour, value.minute, value.second, micros))

    return convert


_micros = operator.attrgetter("microsecond")
_zone = operator.attrgetter("tzinfo")


def _all_in_millis(values: Sequence[Any]) -> None:
    if any(map(operator.mod, map(_micros, values), repeat(1000))):
        raise ValueError
    _all_naive(values)


def _all_naive(values: Sequence[Any]) -> None:
    if set(map(_zone, values)) - {None}:
        raise ValueError


def _instant(value: Any) -> Instant:
    if not isinstance(value, Instant):
        raise TypeError
    return value


def _bytes(value: Any) -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError
    return bytes(value)


def _boolean(value: Any) -> bool:
    if type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    return operator.index(value) != 0


# ---- values with parts


class _Fields:
    """The columns of tuples and rows."""

    def __init__(self, coercions: Sequence[_Coercion | None], steps: Sequence[str]) -> None:
        self.count = len(coercions)
        self._coercions = coercions
        self._steps = steps
        self._checked = [
            (position, operator.itemgetter(position), coercion)
            for position, coercion in enumerate(coercions)
            if coercion is not None
        ]

    def batch(self, records: Sequence[Any]) -> list[Sequence[Any]] | None:
        """The columns if any of them changed, None if all are right."""
        changed: dict[int, Values] = {}
        for position, getter, coercion in self._checked:
            column = list(map(getter, records))
            converted = coercion.nullable_batch(column)
            if converted is not column:
                changed[position] = converted
        if not changed:
            return None
        return [
            changed[position] if position in changed else list(map(operator.itemgetter(position), records))
            for position in range(self.count)
        ]

    def one(self, values: Sequence[Any]) -> Values:
        return [
            _nested(coercion, value, "." + step)
            for coercion, value, step in zip(self._coercions, values, self._steps, strict=True)
        ]


def _same_length(records: Sequence[Any], count: int) -> None:
    if set(map(len, records)) != {count}:
        raise _Irregular


class _Tuple(_Coercion):
    def __init__(self, expected: TupleTypeInfo) -> None:
        super().__init__(expected)
        types = expected.get_field_types()
        self._fields = _Fields(list(map(_coercion, types)), [f"f{position}" for position in range(len(types))])

    def batch(self, values: Values) -> Values:
        types = set(map(type, values))
        if types == {list}:
            records = list(map(tuple, values))
        elif types == {tuple}:
            records = values
        else:
            raise _Irregular
        _same_length(records, self._fields.count)
        columns = self._fields.batch(records)
        return records if columns is None else list(zip(*columns, strict=True))

    def one(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, (tuple, list, Row)):
            raise _Mismatch(value, self.expected)
        if len(value) != self._fields.count:
            raise _Mismatch(value, self.expected, f"{len(value)} fields instead of {self._fields.count}")
        return tuple(self._fields.one(list(value)))


_row_values = operator.attrgetter("_values")
_row_names = operator.attrgetter("_fields")
_row_kind = operator.attrgetter("_row_kind")


class _Row(_Coercion):
    def __init__(self, expected: RowTypeInfo) -> None:
        super().__init__(expected)
        self._names = expected.get_field_names()
        self._by_position = expected._field_names is None
        self._fields = _Fields(list(map(_coercion, expected.get_field_types())), self._names)

    def batch(self, values: Values) -> Values:
        types = set(map(type, values))
        if types == {Row}:
            return self._rows(values)
        if types == {tuple}:
            _same_length(values, self._fields.count)
            columns = self._fields.batch(values)
            records: Iterator[Values] = map(list, values if columns is None else zip(*columns, strict=True))
            return list(map(row_of, records, repeat(self._names)))
        if types == {dict}:
            records = ([value.get(name) for name in self._names] for value in values)
            return self._rows(list(map(row_of, records, repeat(self._names))))
        raise _Irregular

    def _rows(self, rows: Values) -> Values:
        records = list(map(_row_values, rows))
        _same_length(records, self._fields.count)
        # Rows of one stream share one list of names, so there are few distinct ones to compare.
        names = {id(fields): fields for fields in map(_row_names, rows)}.values()
        named = all(fields == self._names for fields in names)
        if not named and any(fields is not None and fields != self._names for fields in names):
            raise _Irregular
        columns = self._fields.batch(records)
        if named and columns is None:
            return rows
        if columns is not None:
            records = list(map(list, zip(*columns, strict=True)))
        return list(map(row_of, records, repeat(self._names), map(_row_kind, rows)))

    def one(self, value: Any) -> Row:
        kind = RowKind.INSERT
        if isinstance(value, Row):
            kind = value.get_row_kind()
            values = list(value) if self._by_position or value._fields is None else self._by_name(value)
        elif isinstance(value, (tuple, list)):
            values = list(value)
        elif isinstance(value, Mapping):
            values = [value.get(name) for name in self._names]
        elif hasattr(value, "__dict__") and not isinstance(value, type) and self._names:
            values = self._by_attribute(value)
        else:
            raise _Mismatch(value, self.expected)
        if len(values) != self._fields.count:
            raise _Mismatch(value, self.expected, f"{len(values)} fields instead of {self._fields.count}")
        return row_of(self._fields.one(values), self._names, kind)

    def _by_name(self, row: Row) -> Values:
        try:
            return [row[name] for name in self._names]
        except ValueError as error:
            raise _Mismatch(row, self.expected, str(error)) from None

    def _by_attribute(self, value: Any) -> Values:
        try:
            return [getattr(value, name) for name in self._names]
        except AttributeError as error:
            raise _Mismatch(value, self.expected, f"no attribute {error.name!r}") from None


class _List(_Coercion):
    def __init__(self, expected: TypeInformation, element_type: TypeInformation, nullable_elements: bool) -> None:
        super().__init__(expected)
        self._element_type = element_type
        self._element = _coercion(element_type)
        self._nullable_elements = nullable_elements

    def batch(self, values: Values) -> Values:
        if set(map(type, values)) != {list}:
            raise _Irregular
        flat = list(chain.from_iterable(values))
        if not flat:
            return values
        if self._element is None:
            return values
        converted = self._element.nullable_batch(flat) if self._nullable_elements else self._element.batch(flat)
        if converted is flat:
            return values
        elements = iter(converted)
        return [list(islice(elements, len(value))) for value in values]

    def one(self, value: Any) -> Values:
        if hasattr(value, "tolist") and hasattr(value, "__len__"):
            value = value.tolist()
        if not isinstance(value, (list, tuple)):
            raise _Mismatch(value, self.expected)
        if not self._nullable_elements and None in value:
            mismatch = _Mismatch(None, self._element_type)
            mismatch.steps.append(f"[{value.index(None)}]")
            raise mismatch
        return [_nested(self._element, element, f"[{position}]") for position, element in enumerate(value)]


class _Map(_Coercion):
    def __init__(self, expected: MapTypeInfo) -> None:
        super().__init__(expected)
        self._key = _coercion(expected._key_type_info)
        self._value = _coercion(expected._value_type_info)

    def batch(self, values: Values) -> Values:
        if set(map(type, values)) != {dict}:
            raise _Irregular
        if self._key is not None:
            keys = list(chain.from_iterable(values))
            if keys and self._key.batch(keys) is not keys:
                raise _Irregular
        if self._value is not None:
            elements = list(chain.from_iterable(map(dict.values, values)))
            if elements and self._value.nullable_batch(elements) is not elements:
                raise _Irregular
        return values

    def one(self, value: Any) -> dict[Any, Any]:
        if not isinstance(value, Mapping):
            raise _Mismatch(value, self.expected)
        result = {}
        for key, element in value.items():
            step = f"[{key!r}]"
            if self._key is not None:
                try:
                    key = self._key.one(key)
                except _Mismatch as mismatch:
                    mismatch.steps.append(step)
                    raise
            result[key] = _nested(self._value, element, step)
        return result


# ---- from types to coercions


_BASIC: dict[BasicType, Callable[[TypeInformation], _Coercion]] = {
    BasicType.STRING: lambda t: _Exact(t, str, _string),
    BasicType.CHAR: lambda t: _Exact(t, str, _character, _all_characters),
    BasicType.BOOLEAN: lambda t: _Exact(t, bool, _boolean),
    # array refuses what does not fit into its C type: the fastest range check that there is.
    BasicType.BYTE: lambda t: _Exact(t, int, _integer(8), lambda values: array("b", values)),
    BasicType.SHORT: lambda t: _Exact(t, int, _integer(16), lambda values: array("h", values)),
    BasicType.INT: lambda t: _Exact(t, int, _integer(32), lambda values: array("i", values)),
    BasicType.LONG: lambda t: _Exact(t, int, _integer(64), lambda values: array("q", values)),
    BasicType.BIG_INT: lambda t: _Exact(t, int, lambda value: int(operator.index(value))),
    BasicType.FLOAT: lambda t: _Floating(t, single=True),
    BasicType.DOUBLE: lambda t: _Floating(t, single=False),
    BasicType.BIG_DEC: lambda t: _Exact(t, decimal.Decimal, _decimal, _all_finite),
    BasicType.INSTANT: lambda t: _Exact(t, Instant, _instant),
}


def _coercion(type_info: TypeInformation) -> _Coercion | None:
    if isinstance(type_info, BasicTypeInfo):
        return _BASIC[type_info._basic_type](type_info)
    if isinstance(type_info, TupleTypeInfo):
        return _Tuple(type_info)
    if isinstance(type_info, RowTypeInfo):
        return _Row(type_info)
    if isinstance(type_info, PrimitiveArrayTypeInfo):
        if type_info._element_type == BasicTypeInfo.BYTE_TYPE_INFO():
            return _Exact(type_info, bytes, _bytes)
        return _List(type_info, type_info._element_type, nullable_elements=False)
    if isinstance(type_info, (BasicArrayTypeInfo, ObjectArrayTypeInfo)):
        return _List(type_info, type_info._element_type, nullable_elements=True)
    if isinstance(type_info, ListTypeInfo):
        return _List(type_info, type_info.elem_type, nullable_elements=True)
    if isinstance(type_info, MapTypeInfo):
        return _Map(type_info)
    if isinstance(type_info, ExternalTypeInfo):
        return _coercion(type_info._type_info)
    return _temporal(type_info)


def _temporal(type_info: TypeInformation) -> _Coercion | None:
    if isinstance(type_info, DateTypeInfo):
        return _Exact(type_info, datetime.date, _date)
    if isinstance(type_info, TimeTypeInfo):
        return _Exact(type_info, datetime.time, _time_to(1000), _all_in_millis)
    if isinstance(type_info, TimestampTypeInfo):
        return _Exact(type_info, datetime.datetime, _timestamp_to(1000), _all_in_millis)
    if isinstance(type_info, LocalTimeTypeInfo):
        if type_info._time_type is LocalTimeTypeInfo.TimeType.LOCAL_DATE:
            return _Exact(type_info, datetime.date, _date)
        if type_info._time_type is LocalTimeTypeInfo.TimeType.LOCAL_TIME:
            return _Exact(type_info, datetime.time, _time_to(1), _all_naive)
        return _Exact(type_info, datetime.datetime, _timestamp_to(1), _all_naive)
    return None
