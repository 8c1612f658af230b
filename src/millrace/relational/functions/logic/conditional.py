"""CASE, IF, COALESCE, IFNULL, NULLIF, GREATEST, LEAST.

CASE, IF and COALESCE compute a branch only for the rows that take it, if computing it for all of them fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import types as t
from millrace.relational.arrow import arrow_type
from millrace.relational.casting import common_type, is_bytes, is_number, is_text, widest_first
from millrace.relational.functions.columns import by_row
from millrace.relational.functions.evaluate import Evaluator, scatter
from millrace.relational.functions.logic.comparison import compare, compared, reading_text
from millrace.relational.functions.registry import Column, Signature, SignatureError, Surroundings, scalar
from millrace.relational.functions.signatures import same_type, signature
from millrace.relational.rex import Call, Rex
from millrace.relational.types import DataType

_FLOATS = (t.FloatType, t.DoubleType)
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
    """The result is the first value as it is, or NULL."""
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
