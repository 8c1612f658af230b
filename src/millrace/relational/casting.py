"""Implicit casts: which types go into which, and the common type of several."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.relational import types as t
from millrace.relational.rex import Call, Literal, Rex
from millrace.relational.types import DataType

_INTEGRAL_DIGITS = {t.TinyIntType: 3, t.SmallIntType: 5, t.IntType: 10, t.BigIntType: 19}
_TEXT = (t.CharType, t.VarCharType)
_BYTES = (t.BinaryType, t.VarBinaryType)
_TIMES = (t.DateType, t.TimestampType, t.LocalZonedTimestampType)


def cast_to(expression: Rex, wanted: DataType) -> Rex:
    """The expression, cast where its type is another one (nullability aside)."""
    found = expression.type
    if found.is_same(wanted):
        return expression
    nullable = wanted.with_nullable(found.is_nullable)
    if isinstance(expression, Literal) and expression.value is None:
        return Literal(nullable.nullable(), None)
    return Call(nullable, "CAST", (expression,))


def explicit_cast(expression: Rex, target: DataType, attempt: bool = False) -> Call:
    """CAST(expression AS target) as written in a query; with ``attempt`` TRY_CAST.

    :raises SignatureError: there is no such cast. The message says what else to do.
    """
    from millrace.relational.functions.cast_values import caster, may_be_null, why_not
    from millrace.relational.functions.registry import SignatureError

    source = expression.type
    if caster(source, target) is None:
        raise SignatureError(f"{source.sql()} cannot be CAST to {target.sql()}: {why_not(source, target)}")
    nullable = attempt or source.is_nullable or may_be_null(source, target)
    return Call(target.with_nullable(nullable), "TRY_CAST" if attempt else "CAST", (expression,))


def is_number(data_type: DataType) -> bool:
    return isinstance(data_type, t.NumericType)


def is_text(data_type: DataType) -> bool:
    return isinstance(data_type, _TEXT)


def is_bytes(data_type: DataType) -> bool:
    return isinstance(data_type, _BYTES)


def as_decimal(data_type: DataType) -> t.DecimalType:
    """The DECIMAL that holds every value of an exact type."""
    if isinstance(data_type, t.DecimalType):
        return data_type
    return t.DecimalType(_INTEGRAL_DIGITS[type(data_type)], 0, data_type.is_nullable)  # type: ignore[index]


def common_type(types: Sequence[DataType]) -> DataType | None:
    """The type that all of these are cast to without being asked, e.g. for the branches of a CASE or a UNION; None if
    there is none. It is nullable if one of them is."""
    found: DataType = t.NullType()
    for each in types:
        both = _common(found, each)
        if both is None:
            return None
        found = both
    return found.with_nullable(any(each.is_nullable for each in types) or not types)


def _common(left: DataType, right: DataType) -> DataType | None:
    if left.is_same(right) or isinstance(right, t.NullType):
        return left
    if isinstance(left, t.NullType):
        return right
    if is_number(left) and is_number(right):
        return _common_number(left, right)
    if (is_text(left) and is_text(right)) or (is_bytes(left) and is_bytes(right)):
        return _common_sized(left, right)
    if isinstance(left, _TIMES) and isinstance(right, _TIMES):
        return _common_time(left, right)
    if type(left) is type(right):
        return _common_parts(left, right)
    return None


def _common_number(left: DataType, right: DataType) -> DataType:
    if isinstance(left, t.IntegralType) and isinstance(right, t.IntegralType):
        return left if left.bits >= right.bits else right
    if {type(left), type(right)} <= {t.FloatType, *_INTEGRAL_DIGITS}:
        return t.FloatType()
    if isinstance(left, (t.FloatType, t.DoubleType)) or isinstance(right, (t.FloatType, t.DoubleType)):
        return t.DoubleType()
    a, b = as_decimal(left), as_decimal(right)
    scale = max(a.scale, b.scale)
    digits = max(a.precision - a.scale, b.precision - b.scale)
    return t.DecimalType(min(38, digits + scale), min(scale, max(0, 38 - digits)))


def _common_sized(left: DataType, right: DataType) -> DataType:
    length = max(left.length, right.length)  # type: ignore[attr-defined]
    fixed = type(left) is type(right) and isinstance(left, (t.CharType, t.BinaryType)) and left.length == length
    if fixed and right.length == length:  # type: ignore[attr-defined]
        return left
    return t.VarCharType(length) if is_text(left) else t.VarBinaryType(length)


def _common_time(left: DataType, right: DataType) -> DataType:
    precision = max(getattr(left, "precision", 0), getattr(right, "precision", 0))
    if isinstance(left, t.LocalZonedTimestampType) or isinstance(right, t.LocalZonedTimestampType):
        return t.LocalZonedTimestampType(precision)
    return t.TimestampType(precision)


def _common_parts(left: DataType, right: DataType) -> DataType | None:
    if isinstance(left, (t.TimeType,)) and isinstance(right, t.TimeType):
        return t.TimeType(max(left.precision, right.precision))
    if isinstance(left, t.DayTimeIntervalType):
        return t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution.DAY_TO_SECOND)
    if isinstance(left, t.YearMonthIntervalType):
        return t.YearMonthIntervalType(t.YearMonthIntervalType.YearMonthResolution.YEAR_TO_MONTH)
    if isinstance(left, t.ArrayType) and isinstance(right, t.ArrayType):
        element = common_type([left.element_type, right.element_type])
        return None if element is None else t.ArrayType(element)
    if isinstance(left, t.MultisetType) and isinstance(right, t.MultisetType):
        element = common_type([left.element_type, right.element_type])
        return None if element is None else t.MultisetType(element)
    if isinstance(left, t.MapType) and isinstance(right, t.MapType):
        key = common_type([left.key_type, right.key_type])
        value = common_type([left.value_type, right.value_type])
        return None if key is None or value is None else t.MapType(key, value)
    if isinstance(left, t.RowType) and isinstance(right, t.RowType) and len(left) == len(right):
        parts = [common_type(pair) for pair in zip(left.field_types(), right.field_types())]
        if all(part is not None for part in parts):
            return t.RowType([t.RowField(name, part) for name, part in zip(left.names, parts) if part is not None])
    return None
