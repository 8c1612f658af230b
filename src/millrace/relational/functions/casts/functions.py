"""CAST and TRY_CAST: what there is, on columns and in Spark. And TYPEOF."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from millrace.relational.arrow import arrow_type
from millrace.relational.functions.casts.columns import kernel
from millrace.relational.functions.casts.spark import spark_cast
from millrace.relational.functions.casts.values import caster
from millrace.relational.functions.columns import by_row
from millrace.relational.functions.registry import Column, Signature, SignatureError, Surroundings, scalar
from millrace.relational.functions.signatures import ANY, BOOLEAN, STRING, takes
from millrace.relational.parsing import CastError
from millrace.relational.rex import Call, Rex


def _infer(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    raise SignatureError("it takes a value and a type: casting.explicit_cast makes it")


def _compute(call: Call, args: Sequence[Column], around: Surroundings, attempt: bool) -> Column:
    source, target = call.args[0].type, call.type
    column = args[0]
    fast = kernel(source, target, around.zone)
    found = None if fast is None else fast(column)
    if found is not None:
        return found
    convert = caster(source, target, around.zone)
    if convert is None:
        raise NotImplementedError(f"{source.sql()} cannot be CAST to {target.sql()}")
    if attempt:
        return by_row(call, args, _attempt(convert))
    try:
        return by_row(call, args, _explained(convert, call.option("column")))
    except CastError as error:
        error.row = _failing_row(column, convert)
        raise


def _attempt(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def attempt(value: Any) -> Any:
        try:
            return convert(value)
        except (CastError, OverflowError):
            return None

    return attempt


def _failing_row(column: Column, convert: Callable[[Any], Any]) -> int | None:
    """The first row whose value cannot be converted; None of a constant."""
    if isinstance(column, pa.Scalar):
        return None
    for row, value in enumerate(column.to_pylist()):
        try:
            if value is not None:
                convert(value)
        except (CastError, OverflowError):
            return row
    return None


def _explained(convert: Callable[[Any], Any], name: str | None) -> Callable[[Any], Any]:
    """:param name: of the column whose values it converts, if it is one."""
    column = "" if name is None else f" of column '{name}'"

    def explained(value: Any) -> Any:
        try:
            return convert(value)
        except (CastError, OverflowError) as error:
            raise CastError(f"CAST{column} failed: {error}. TRY_CAST gives NULL instead") from None

    return explained


@scalar("CAST", _infer, spark=lambda call, args: spark_cast(call, args[0], False), syntax="CAST(value AS type)")
def _cast(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return _compute(call, args, around, False)


@scalar("TRY_CAST", _infer, spark=lambda call, args: spark_cast(call, args[0], True), syntax="TRY_CAST(value AS type)")
def _try_cast(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return _compute(call, args, around, True)


def _spark_typeof(call: Call, args: Sequence[str]) -> str | None:
    return f"'{_type_text(call)}'"


def _type_text(call: Call) -> str:
    return str(call.args[0].type)


@scalar("TYPEOF", takes(ANY, BOOLEAN, optional=1, result=STRING, nullable=True), spark=_spark_typeof)
def _typeof(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return pa.scalar(_type_text(call), arrow_type(call.type))
