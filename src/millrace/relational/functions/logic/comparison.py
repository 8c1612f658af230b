"""Comparisons: ``=``, ``<``, BETWEEN, IN, IS NULL, IS DISTINCT FROM.

Text and bytes compare byte by byte, whatever their declared lengths. NaN equals nothing, itself included. A text beside
a time, a number or a BOOLEAN is read as one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import types as t
from millrace.relational.casting import as_decimal, common_type, is_bytes, is_text, widest_first
from millrace.relational.functions.columns import by_row, is_null_constant, null
from millrace.relational.functions.registry import Column, Signature, SignatureError, Surroundings, scalar
from millrace.relational.functions.signatures import ANY, BOOLEAN_TYPE, signature, takes
from millrace.relational.rex import Call, Literal, Rex
from millrace.relational.types import DataType

_TIMES = (t.DateType, t.TimeType, t.TimestampType, t.LocalZonedTimestampType)
_READ_FROM_TEXT: tuple[tuple[type[DataType], ...], ...] = (_TIMES, (t.NumericType,), (t.BooleanType,))
_FLOATS = (t.FloatType, t.DoubleType)
_WITHOUT_ORDER = (t.ArrayType, t.MapType, t.MultisetType, t.RowType, t.RawType, t.VariantType, t.BitmapType)
_KERNELS: dict[str, Callable[[Any, Any], Any]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _all_are(types: Sequence[DataType], family: tuple[type[DataType], ...]) -> bool:
    return all(isinstance(each, family) for each in types)


def comparable_type(types: Sequence[DataType]) -> DataType | None:
    """The one type that values are cast to in order to be looked for among each other; None if there is none."""
    found = compared(types)
    return None if found is None else common_type(found)


def compared(types: Sequence[DataType]) -> list[DataType] | None:
    """What values of these types are cast to in order to be compared; None if they cannot be."""
    others = [each for each in types if not is_text(each)]
    if others and len(others) < len(types) and any(_all_are(others, family) for family in _READ_FROM_TEXT):
        read_as = common_type(others)
        if read_as is not None:
            types = [read_as.with_nullable(each.is_nullable) if is_text(each) else each for each in types]
    if all(is_text(each) for each in types) or all(is_bytes(each) for each in types):
        return list(types)
    if all(isinstance(each, (t.IntegralType, t.DecimalType)) for each in types):
        # Decimals of different scales compare exactly as they are: their common type may lack digits.
        if any(isinstance(each, t.DecimalType) for each in types):
            return [as_decimal(each) for each in types]
    common = common_type(types)
    return None if common is None else [common.with_nullable(each.is_nullable) for each in types]


def _infer(count: int, ordered: bool, nullable: bool | None = None) -> Callable[..., Signature]:
    def infer(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
        if len(args) != count:
            raise SignatureError(f"it takes {count} values")
        given = [arg.type for arg in args]
        types = compared(given)
        if ordered and all(isinstance(each, _FLOATS) for each in given):
            # As in Flink: FLOAT = DOUBLE compares with the digits of the first one, < and > with those of DOUBLE.
            types = [widest_first(given)[0].with_nullable(each.is_nullable) for each in given]
        if types is None:
            raise SignatureError("it takes values of comparable types: CAST one to the type of the other")
        if ordered and any(isinstance(each, _WITHOUT_ORDER) for each in types):
            raise SignatureError("it takes values that have an order")
        return reading_text(args, types, BOOLEAN_TYPE, nullable)

    return infer


def reading_text(
    args: Sequence[Rex], types: Sequence[DataType], result: DataType, nullable: bool | None = None
) -> Signature:
    """The signature of what compares: a text among the data that cannot be read as the other value is NULL."""
    wanted = [
        each.nullable() if is_text(arg.type) and not is_text(each) and not isinstance(arg, Literal) else each
        for arg, each in zip(args, types)
    ]
    return replace(signature(wanted, result, nullable), reads_text=True)


def compare(sign: str, call: Call, left: Column, right: Column) -> Column:
    """One comparison of values that were cast to comparable types."""
    if _has_kernel(call):
        return _KERNELS[sign](left, right)
    found = _PYTHON[sign]
    ways = [_alike(arg.type) for arg in call.args]
    if any(ways):
        one, other = (way or (lambda value: value) for way in ways)
        return by_row(call, [left, right], lambda a, b: found(one(a), other(b)))
    return by_row(call, [left, right], found)


def _alike(kind: DataType) -> Callable[[Any], Any] | None:
    """What a value is compared by, where that is not the value itself: the entries of a map have no order."""
    if isinstance(kind, (t.MapType, t.MultisetType)):
        keys = _alike(kind.key_type if isinstance(kind, t.MapType) else kind.element_type)
        values = _alike(kind.value_type) if isinstance(kind, t.MapType) else None
        return lambda value: value and sorted(((_by(keys, a), _by(values, b)) for a, b in value), key=repr)
    if isinstance(kind, t.ArrayType):
        element = _alike(kind.element_type)
        return element and (lambda value: value and [_by(element, each) for each in value])
    if isinstance(kind, t.RowType):
        fields = {field.name: _alike(field.data_type) for field in kind.fields}
        if any(fields.values()):
            return lambda value: value and {name: _by(fields[name], each) for name, each in value.items()}
    return None


def _by(way: Callable[[Any], Any] | None, value: Any) -> Any:
    return way(value) if way else value


def _has_kernel(call: Call) -> bool:
    types = [arg.type for arg in call.args]
    if any(isinstance(each, (*_WITHOUT_ORDER, t.NullType)) for each in types):
        return False
    decimals = [each for each in types if isinstance(each, t.DecimalType)]
    whole = max((each.precision - each.scale for each in decimals), default=0)
    return whole + max((each.scale for each in decimals), default=0) <= t.DecimalType.MAX_PRECISION


def _spark(sign: str) -> Callable[[Call, Sequence[str]], str | None]:
    def text(call: Call, args: Sequence[str]) -> str | None:
        if not _has_kernel(call):
            return _wide_decimals(sign, call, args)
        left, right = args
        plain = f"({left} {sign} {right})"
        if not isinstance(call.args[0].type, _FLOATS):
            return plain
        # For Spark NaN equals NaN and is greater than all other numbers.
        with_nan = "TRUE" if sign == "<>" else "FALSE"
        missing = f"({left} IS NULL OR {right} IS NULL)"
        return f"CASE WHEN {missing} THEN NULL WHEN isnan({left}) OR isnan({right}) THEN {with_nan} ELSE {plain} END"

    return text


def _wide_decimals(sign: str, call: Call, args: Sequence[str]) -> str | None:
    """DECIMALs that have no common type: the one with fewer digits after the point is brought to those of the other one
    where it fits. Where it does not it is further from zero than the other one can be."""
    kinds = [arg.type for arg in call.args]
    if not all(isinstance(each, t.DecimalType) for each in kinds):
        return None
    scales = [each.scale for each in kinds if isinstance(each, t.DecimalType)]
    coarse = 0 if scales[0] < scales[1] else 1
    most, scale = t.DecimalType.MAX_PRECISION, max(scales)
    value, other = args[coarse], args[1 - coarse]
    limit = f"CAST('1{'0' * (most - scale)}' AS DECIMAL({most}, {min(scales)}))"
    near = f"({value} > -{limit} AND {value} < {limit}) OR {other} IS NULL"
    sides = [f"CAST({each} AS DECIMAL({most}, {scale}))" for each in (value, other)]
    sizes = [value, "0"]
    if coarse:
        sides.reverse()
        sizes.reverse()
    return f"CASE WHEN {near} THEN {sides[0]} {sign} {sides[1]} ELSE {sizes[0]} {sign} {sizes[1]} END"


def _register(sign: str, aliases: tuple[str, ...] = ()) -> None:
    @scalar(sign, _infer(2, sign not in ("=", "<>")), spark=_spark(sign), aliases=aliases)
    def _compare(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
        return compare(sign, call, *args)


_register("=", ("==",))
_register("<>", ("!=",))
for _sign in ("<", "<=", ">", ">="):
    _register(_sign)


@scalar("IS NULL", takes(ANY, result=BOOLEAN_TYPE, nullable=False), spark="({0} IS NULL)")
def _is_null(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return pc.is_null(args[0])


@scalar("IS NOT NULL", takes(ANY, result=BOOLEAN_TYPE, nullable=False), spark="({0} IS NOT NULL)")
def _is_not_null(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return pc.is_valid(args[0])


def _distinct(call: Call, args: Sequence[Column]) -> Column:
    left, right = args
    some_null = pc.or_(pc.is_null(left), pc.is_null(right))
    one_null = pc.xor(pc.is_null(left), pc.is_null(right))
    return pc.if_else(some_null, one_null, compare("<>", call, left, right))


def _spark_distinct(call: Call, args: Sequence[str]) -> str | None:
    different = _spark("<>")(call, args)
    left, right = args
    if different is None:
        return None
    return (
        f"CASE WHEN {left} IS NULL OR {right} IS NULL THEN ({left} IS NULL) <> ({right} IS NULL) ELSE {different} END"
    )


@scalar("IS DISTINCT FROM", _infer(2, False, nullable=False), spark=_spark_distinct)
def _is_distinct(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return _distinct(call, args)


def _spark_not_distinct(call: Call, args: Sequence[str]) -> str | None:
    different = _spark_distinct(call, args)
    return None if different is None else f"(NOT {different})"


@scalar("IS NOT DISTINCT FROM", _infer(2, False, nullable=False), spark=_spark_not_distinct)
def _is_not_distinct(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return pc.invert(_distinct(call, args))


def _spark_between(call: Call, args: Sequence[str]) -> str | None:
    value, low, high = args
    if _spark(">=")(call, args[:2]) is None or isinstance(call.args[0].type, _FLOATS):
        return None
    plain = f"({value} BETWEEN {low} AND {high})"
    return f"({plain} OR ({value} BETWEEN {high} AND {low}))" if call.option("symmetric") else plain


@scalar(
    "BETWEEN",
    _infer(3, True),
    spark=_spark_between,
    syntax="value BETWEEN [SYMMETRIC] low AND high, with the option symmetric=True",
)
def _between(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    value, low, high = args
    inside = pc.and_kleene(compare(">=", call, value, low), compare("<=", call, value, high))
    if not call.option("symmetric"):
        return inside
    turned = pc.and_kleene(compare(">=", call, value, high), compare("<=", call, value, low))
    return pc.or_kleene(inside, turned)


def _infer_in(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    if len(args) < 2:
        raise SignatureError("it takes a value and what to look for it in")
    common = comparable_type([arg.type for arg in args])
    if common is None:
        raise SignatureError("it takes values of comparable types: CAST one to the type of the other")
    return reading_text(args, [common.with_nullable(arg.type.is_nullable) for arg in args], BOOLEAN_TYPE)


def _spark_in(call: Call, args: Sequence[str]) -> str | None:
    if not _has_kernel(call) or isinstance(call.args[0].type, _FLOATS):
        return None
    return f"({args[0]} IN ({', '.join(args[1:])}))"


@scalar("IN", _infer_in, spark=_spark_in, syntax="value IN (value, ...)")
def _in(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    value, *choices = args
    constants = all(isinstance(choice, pa.Scalar) for choice in choices)
    same = all(choice.type == value.type for choice in choices)
    if not constants or not same or not _has_kernel(call) or isinstance(call.args[0].type, _FLOATS):
        return reduce(pc.or_kleene, [compare("=", call, value, choice) for choice in choices])
    if is_null_constant(value):
        return null(call)
    known = pa.array([choice.as_py() for choice in choices if choice.is_valid], value.type)
    found = pc.is_in(value, value_set=known)
    otherwise = pa.scalar(False) if all(choice.is_valid for choice in choices) else pa.scalar(None, pa.bool_())
    return pc.if_else(pc.is_valid(value), pc.if_else(found, pa.scalar(True), otherwise), pa.scalar(None, pa.bool_()))
