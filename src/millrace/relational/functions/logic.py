"""Comparisons, conditions and logic with three values: ``=``, ``<``, BETWEEN, IN, IS NULL, IS DISTINCT FROM; AND, OR,
NOT, IS TRUE; CASE, IF, COALESCE, IFNULL, NULLIF, GREATEST, LEAST.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import types as t
from millrace.relational.functions.cast_values import fits
from millrace.relational.functions.evaluate import Evaluator, scatter
from millrace.relational.functions.registry import (
    ANY,
    BOOLEAN,
    BOOLEAN_TYPE,
    Column,
    Signature,
    SignatureError,
    Surroundings,
    by_row,
    cast_to,
    common_type,
    comparable_type,
    compared,
    is_bytes,
    is_null_constant,
    is_number,
    is_text,
    null,
    same_type,
    scalar,
    signature,
    takes,
    widest_first,
)
from millrace.relational.rex import STEPS, Call, Literal, Rex, deep, deep_calls
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType

# Flat lists of steps


def _infer_steps(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    raise SignatureError("it is made of calls, and not called itself")


def _steps_by_need(call: Call, evaluator: Evaluator) -> Column:
    with deep_calls():
        return evaluator.value(deep(call))


@scalar(STEPS, _infer_steps, by_need=_steps_by_need)
def _steps(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    value, *others = args
    for step in call.option("steps"):
        value = Evaluator([value, *others], around).value(step)
    return value


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


def _infer_comparison(count: int, ordered: bool, nullable: bool | None = None) -> Callable[..., Signature]:
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
    return replace(signature(wanted, result, nullable), cast=read_as)


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
    @scalar(sign, _infer_comparison(2, sign not in ("=", "<>")), spark=_spark(sign), aliases=aliases)
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


@scalar("IS DISTINCT FROM", _infer_comparison(2, False, nullable=False), spark=_spark_distinct)
def _is_distinct(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return _distinct(call, args)


def _spark_not_distinct(call: Call, args: Sequence[str]) -> str | None:
    different = _spark_distinct(call, args)
    return None if different is None else f"(NOT {different})"


@scalar("IS NOT DISTINCT FROM", _infer_comparison(2, False, nullable=False), spark=_spark_not_distinct)
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
    _infer_comparison(3, True),
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


# Logic with three values

_ONE = takes(BOOLEAN, result=BOOLEAN_TYPE)
_MANY = takes(BOOLEAN, result=BOOLEAN_TYPE, variadic=True)
_TEST = takes(BOOLEAN, result=BOOLEAN_TYPE, nullable=False)


def _junction_by_need(call: Call, evaluator: Evaluator) -> Column:
    """Compute AND or OR from left to right, each argument only for rows that the ones before have not decided."""
    kernel, decided = (pc.and_kleene, False) if call.function == "AND" else (pc.or_kleene, True)
    found = evaluator.column(call.args[0])
    for arg in call.args[1:]:
        open_rows = pc.fill_null(pc.not_equal(found, pa.scalar(decided)), True).to_numpy(zero_copy_only=False)
        todo, done = np.flatnonzero(open_rows), np.flatnonzero(~open_rows)
        pieces = [kernel(found.take(pa.array(todo)), evaluator.some_rows(todo, arg)), found.take(pa.array(done))]
        found = scatter(pieces, [todo, done], evaluator.length, pa.bool_())
    return found


@scalar("AND", _MANY, spark=lambda call, args: f"({' AND '.join(args)})", by_need=_junction_by_need)
def _and(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return reduce(pc.and_kleene, args)


@scalar("OR", _MANY, spark=lambda call, args: f"({' OR '.join(args)})", by_need=_junction_by_need)
def _or(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return reduce(pc.or_kleene, args)


@scalar("NOT", _ONE, spark="(NOT {0})")
def _not(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return pc.invert(args[0])


def _register_test(name: str, test: Callable[[Column], Column]) -> None:
    @scalar(name, _TEST, spark=f"({{0}} {name})")
    def _compute(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
        return test(args[0])


def _known(value: Column, unknown: bool) -> Column:
    return pc.coalesce(value, pa.scalar(unknown))


_register_test("IS TRUE", lambda value: _known(value, False))
_register_test("IS NOT TRUE", lambda value: pc.invert(_known(value, False)))
_register_test("IS FALSE", lambda value: pc.invert(_known(value, True)))
_register_test("IS NOT FALSE", lambda value: _known(value, True))
_register_test("IS UNKNOWN", pc.is_null)
_register_test("IS NOT UNKNOWN", pc.is_valid)


# Conditions

_NOT_IN_SPARK = (*_FLOATS, t.ArrayType, t.MapType, t.MultisetType, t.RowType, t.RawType, t.VariantType, t.BitmapType)
"""what Spark compares otherwise, or not at all"""


def _infer_case(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    """Conditions and results in turn, at the end what is given otherwise (NULL without)."""
    if len(args) < 2:
        raise SignatureError("it takes (condition, result [, condition, result]... [, otherwise])")
    conditions = [arg.type for arg in args[:-1:2]]
    if len(args) % 2 == 0:
        conditions = [arg.type for arg in args[::2]]
    if not all(isinstance(each, (t.BooleanType, t.NullType)) for each in conditions):
        raise SignatureError("its conditions must be BOOLEAN")
    results = _results(list(args))
    common = common_type([each.type for each in results])
    if common is None:
        raise SignatureError("its results must have a common type: CAST them to one")
    nullable = len(args) % 2 == 0 or any(each.type.is_nullable for each in results)
    types: list[DataType] = []
    for position, arg in enumerate(args):
        condition = position % 2 == 0 and position != len(args) - 1
        wanted: DataType = t.BooleanType() if condition else common
        types.append(wanted.with_nullable(arg.type.is_nullable))
    return signature(types, common, nullable)


def _results(args: list[Any]) -> list[Any]:
    otherwise = [args[-1]] if len(args) % 2 else []
    return args[1::2] + otherwise


def _spark_case(call: Call, args: Sequence[str]) -> str:
    branches = [f"WHEN {condition} THEN {result}" for condition, result in zip(args[::2], args[1::2])]
    otherwise = [f"ELSE {args[-1]}"] if len(args) % 2 else []
    return f"CASE {' '.join([*branches, *otherwise])} END"


def _case_by_need(call: Call, evaluator: Evaluator) -> Column:
    left = np.arange(evaluator.length)
    pieces, rows = [], []
    for condition, result in zip(call.args[::2], call.args[1::2]):
        hit = evaluator.some_rows(left, condition).fill_null(False).to_numpy(zero_copy_only=False)
        rows.append(left[hit])
        pieces.append(evaluator.some_rows(left[hit], result))
        left = left[~hit]
    rows.append(left)
    wanted = arrow_type(call.type)
    pieces.append(evaluator.some_rows(left, call.args[-1]) if len(call.args) % 2 else pa.nulls(len(left), wanted))
    return scatter(pieces, rows, evaluator.length, wanted)


@scalar("CASE", _infer_case, spark=_spark_case, syntax="CASE WHEN condition THEN result ... END", by_need=_case_by_need)
def _case(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    found = args[-1] if len(args) % 2 else pa.scalar(None, arrow_type(call.type))
    for condition, result in reversed(list(zip(args[::2], args[1::2]))):
        found = pc.if_else(pc.fill_null(condition, False), result, found)
    return found


def _infer_if(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    if len(args) != 3:
        raise SignatureError("it takes (condition, value, otherwise)")
    found = _infer_case(args, options)
    # As in Flink: also where only the condition may be NULL, though it never makes the result NULL.
    return Signature(found.args, found.result.with_nullable(any(each.is_nullable for each in found.args)))


scalar("IF", _infer_if, spark=_spark_case, by_need=_case_by_need)(_case)


def _coalesce_by_need(call: Call, evaluator: Evaluator) -> Column:
    found = evaluator.column(call.args[0])
    for arg in call.args[1:]:
        missing = pc.is_null(found).to_numpy(zero_copy_only=False)
        todo, done = np.flatnonzero(missing), np.flatnonzero(~missing)
        pieces = [evaluator.some_rows(todo, arg), found.take(pa.array(done))]
        found = scatter(pieces, [todo, done], evaluator.length, arrow_type(call.type))
    return found


def _infer_coalesce(least: int, most: int | None) -> Callable[..., Signature]:
    typed = same_type(least=least, most=most, order=widest_first)

    def infer(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
        return typed(args, options) if not args else _nullable(typed(args, options), args)

    return infer


def _nullable(found: Signature, args: Sequence[Rex]) -> Signature:
    return Signature(found.args, found.result.with_nullable(all(arg.type.is_nullable for arg in args)))


def _first_known(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return reduce(lambda found, other: pc.if_else(pc.is_valid(found), found, other), args)


scalar("COALESCE", _infer_coalesce(1, None), spark="coalesce({args})", by_need=_coalesce_by_need)(_first_known)
scalar("IFNULL", _infer_coalesce(2, 2), spark="coalesce({args})", by_need=_coalesce_by_need)(_first_known)


def _infer_nullif(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    """NULLIF has the type of its first argument, nullable."""
    types = compared([arg.type for arg in args]) if len(args) == 2 else None
    if types is None:
        raise SignatureError("it takes two values of comparable types")
    found = args[0].type
    # A number is compared as another kind of number, and comes back as it was; a text that was read as one does not.
    return reading_text(args, types, found if is_number(found) else types[0], nullable=True)


def _spark_nullif(call: Call, args: Sequence[str]) -> str | None:
    plain = call.args[0].type.is_same(call.type) and not isinstance(call.type, _NOT_IN_SPARK)
    return f"nullif({args[0]}, {args[1]})" if plain else None


@scalar("NULLIF", _infer_nullif, spark=_spark_nullif)
def _nullif(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    equal = compare("=", Call(t.BooleanType(), "=", call.args), *args)
    wanted = arrow_type(call.type)
    return pc.if_else(pc.fill_null(equal, False), pa.scalar(None, wanted), args[0].cast(wanted))


def _java_order(value: float) -> tuple[bool, float, float]:
    """NaN above all, 0.0 above -0.0."""
    return value != value, value, math.copysign(1, value)


def _register_extreme(name: str, choose: Callable[..., Any], kernel: Callable[..., Column]) -> None:
    def spark(call: Call, args: Sequence[str]) -> str | None:
        if isinstance(call.type, _FLOATS):
            return None
        missing = " OR ".join(f"{arg} IS NULL" for arg in args)
        return f"IF({missing}, NULL, {name}({', '.join(args)}))" if len(args) > 1 else args[0]

    @scalar(name, same_type(least=1, order=widest_first), spark=spark)
    def _extreme(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
        if len(args) == 1:
            return args[0]
        if isinstance(call.type, _FLOATS):
            return by_row(call, args, lambda *row: choose(row, key=_java_order))
        if is_text(call.type) or is_bytes(call.type) or isinstance(call.type, t.BooleanType):
            return by_row(call, args, choose)
        return kernel(*args, skip_nulls=False)


_register_extreme("GREATEST", max, pc.max_element_wise)
_register_extreme("LEAST", min, pc.min_element_wise)


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
