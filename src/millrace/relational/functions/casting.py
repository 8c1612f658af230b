"""Implicit casts: which type may be cast to which without being asked, and the common type of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millrace.relational import types as t
from millrace.relational.rex import Call, Literal, Rex
from millrace.relational.type_table import Family, family_of, row_of
from millrace.relational.types import DataType


class SignatureError(Exception):
    """A function does not take these arguments. The message says what it takes; the front ends add the position."""


_TIMES = (Family.DATE, Family.TIMESTAMP, Family.INSTANT)
_NUMBERS = (Family.INTEGER, Family.APPROXIMATE, Family.DECIMAL)


def cast_to(expression: Rex, wanted: DataType) -> Rex:
    """The expression, cast where its type is another one (nullability aside)."""
    found = expression.type
    if found.is_same(wanted):
        return expression
    nullable = wanted.with_nullable(found.is_nullable)
    if isinstance(expression, Literal) and expression.value is None:
        return Literal(nullable.nullable(), None)
    return Call(nullable, "CAST", (expression,))


def read_as(expression: Rex, wanted: DataType) -> Rex:
    """Cast an operand of a comparison, see ``cast_to``. Text that is no value of the type gives NULL: one such value in
    the data must not end a job.

    :raises SignatureError: a constant text is no value of the type.
    """

    if not is_text(expression.type) or is_text(wanted):
        return cast_to(expression, wanted)
    if not isinstance(expression, Literal):
        return Call(wanted.nullable(), "TRY_CAST", (expression,))
    if expression.value is not None and not fits(expression, wanted):
        raise SignatureError(
            f"{expression.value!r} cannot be read as {wanted.sql()}: compare with a value of that type, or CAST the "
            "other side to STRING"
        )
    return cast_to(expression, wanted)


def fits(constant: Literal, target: DataType, null: bool = False) -> bool:
    """Whether a CAST of a constant that is not NULL gives a value of the type.

    :param null: or NULL, as of a DECIMAL with too many digits.
    """
    from millrace.relational.functions.cast_values import caster

    convert = caster(constant.type, target)
    try:
        return convert is not None and (convert(constant.value) is not None or null)
    except (ValueError, ArithmeticError):
        return False


def explicit_cast(expression: Rex, target: DataType, attempt: bool = False) -> Call:
    """CAST(expression AS target) as written in a query; with ``attempt`` TRY_CAST.

    :raises SignatureError: there is no such cast. The message says what else to do.
    """
    from millrace.relational.functions.cast_values import caster, may_be_null, why_not

    source = expression.type
    if caster(source, target) is None:
        raise SignatureError(f"{source.sql()} cannot be CAST to {target.sql()}: {why_not(source, target)}")
    nullable = attempt or source.is_nullable or (may_be_null(source, target) and not _holds(expression, target))
    return Call(target.with_nullable(nullable), "TRY_CAST" if attempt else "CAST", (expression,))


def _holds(expression: Rex, target: DataType) -> bool:
    """Whether this is a constant that a DECIMAL has digits enough for."""
    if not isinstance(expression, Literal) or expression.value is None:
        return False
    return isinstance(target, t.DecimalType) and fits(expression, target)


def is_number(data_type: DataType) -> bool:
    return family_of(data_type) in _NUMBERS


def is_text(data_type: DataType) -> bool:
    return family_of(data_type) is Family.TEXT


def is_bytes(data_type: DataType) -> bool:
    return family_of(data_type) is Family.BYTES


def as_decimal(data_type: DataType) -> t.DecimalType:
    """The DECIMAL that holds every value of an exact type."""
    if isinstance(data_type, t.DecimalType):
        return data_type
    return t.DecimalType(row_of(data_type).digits, 0, data_type.is_nullable)


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


def widest_first(types: Sequence[DataType]) -> list[DataType]:
    """Sort types so that DOUBLE comes before FLOAT: the common type of these two is the one that comes first."""
    return sorted(types, key=lambda each: not isinstance(each, t.DoubleType))


def _common(left: DataType, right: DataType) -> DataType | None:
    if left.is_same(right) or isinstance(right, t.NullType):
        return left
    if isinstance(left, t.NullType):
        return right
    if is_number(left) and is_number(right):
        return _common_number(left, right)
    if (is_text(left) and is_text(right)) or (is_bytes(left) and is_bytes(right)):
        return _common_sized(left, right)
    if family_of(left) in _TIMES and family_of(right) in _TIMES:
        return _common_time(left, right)
    if type(left) is type(right):
        return _common_parts(left, right)
    return None


def _common_number(left: DataType, right: DataType) -> DataType:
    if isinstance(left, t.IntegralType) and isinstance(right, t.IntegralType):
        return left if left.bits >= right.bits else right
    families = [family_of(left), family_of(right)]
    if families == [Family.APPROXIMATE, Family.APPROXIMATE]:
        return left  # as in Flink: FLOAT with DOUBLE is FLOAT, DOUBLE with FLOAT is DOUBLE
    if Family.APPROXIMATE in families:
        double = Family.DECIMAL in families or t.DoubleType in (type(left), type(right))
        return t.DoubleType() if double else t.FloatType()
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
    combine = _COMBINED.get(type(left))
    return combine and combine(left, right)


def _common_rows(left: t.RowType, right: t.RowType) -> DataType | None:
    parts = [common_type(pair) for pair in zip(left.field_types(), right.field_types())]
    if len(left) != len(right) or None in parts:
        return None
    return t.RowType([t.RowField(name, part) for name, part in zip(left.names, parts) if part is not None])


def _common_elements(left: t.ArrayType | t.MultisetType, right: t.ArrayType | t.MultisetType) -> DataType | None:
    element = common_type([left.element_type, right.element_type])
    return None if element is None else type(left)(element)


def _common_maps(left: t.MapType, right: t.MapType) -> DataType | None:
    key, value = common_type([left.key_type, right.key_type]), common_type([left.value_type, right.value_type])
    return None if key is None or value is None else t.MapType(key, value)


_COMBINED: dict[type[DataType], Callable[[Any, Any], DataType | None]] = {
    t.TimeType: lambda left, right: t.TimeType(max(left.precision, right.precision)),
    t.DayTimeIntervalType: lambda left, right: t.DayTimeIntervalType(
        t.DayTimeIntervalType.DayTimeResolution.DAY_TO_SECOND
    ),
    t.YearMonthIntervalType: lambda left, right: t.YearMonthIntervalType(
        t.YearMonthIntervalType.YearMonthResolution.YEAR_TO_MONTH
    ),
    t.ArrayType: _common_elements,
    t.MapType: _common_maps,
    t.MultisetType: _common_elements,
    t.RowType: _common_rows,
}
