"""CAST and TRY_CAST as Spark SQL text, for the pairs of types where Spark gives the same."""

from __future__ import annotations

from millrace.relational import types as t
from millrace.relational.casting import is_text
from millrace.relational.rex import Call
from millrace.relational.types import DataType

_FLOATS = (t.FloatType, t.DoubleType)
_TIMESTAMPS = (t.TimestampType, t.LocalZonedTimestampType)
_NAMES: dict[type[DataType], str] = {
    t.BooleanType: "BOOLEAN",
    t.TinyIntType: "TINYINT",
    t.SmallIntType: "SMALLINT",
    t.IntType: "INT",
    t.BigIntType: "BIGINT",
    t.FloatType: "FLOAT",
    t.DoubleType: "DOUBLE",
    t.DateType: "DATE",
    t.TimestampType: "TIMESTAMP_NTZ",
    t.LocalZonedTimestampType: "TIMESTAMP_LTZ",
    t.VarBinaryType: "BINARY",
}
_PLAIN_SCALE = 6
"""Spark writes DECIMALs of a larger scale with an exponent"""


def spark_cast(call: Call, value: str, attempt: bool) -> str | None:
    """The text; None if Spark does not do the same."""
    source, target = call.args[0].type, call.type
    if source.is_same(target):
        return value
    if is_text(target):
        return _to_text(source, target, value)
    if isinstance(target, t.DecimalType):
        return _to_decimal(source, target, value, attempt)
    if type(source) is type(target) and isinstance(source, _TIMESTAMPS):
        return _cut(target, value) if _coarser(source, target) else value
    return f"CAST({value} AS {_NAMES[type(target)]})" if _same_in_spark(source, target) else None


def _same_in_spark(source: DataType, target: DataType) -> bool:
    if type(target) not in _NAMES:
        return False
    if isinstance(source, t.NullType):
        return True
    if is_text(source):
        return isinstance(target, t.VarBinaryType) and target.length == t.MAX_LENGTH
    if isinstance(source, t.IntegralType):
        return isinstance(target, (t.IntegralType, *_FLOATS, t.BooleanType))
    if isinstance(source, t.BooleanType):
        return isinstance(target, (t.IntegralType, *_FLOATS))
    if isinstance(source, (*_FLOATS, t.DecimalType)):
        return isinstance(target, (t.IntegralType, *_FLOATS, t.BooleanType))
    if isinstance(source, t.DateType):
        return isinstance(target, _TIMESTAMPS)
    if isinstance(source, _TIMESTAMPS):
        if isinstance(target, _TIMESTAMPS):
            return not _coarser(source, target)
        return isinstance(target, t.DateType)
    return False


def _coarser(source: DataType, target: DataType) -> bool:
    return bool(min(6, target.precision) < min(6, source.precision))  # type: ignore[attr-defined]


def _cut(target: DataType, value: str) -> str | None:
    """Without the digits that a timestamp's type does not have."""
    precision: int = target.precision  # type: ignore[attr-defined]
    if isinstance(target, t.TimestampType):
        return f"CAST(substring(CAST({value} AS STRING), 1, {20 + precision if precision else 19}) AS TIMESTAMP_NTZ)"
    units = {0: "SECOND", 3: "MILLISECOND"}
    return f"date_trunc('{units[precision]}', {value})" if precision in units else None


def _to_decimal(source: DataType, target: t.DecimalType, value: str, attempt: bool) -> str | None:
    cast = f"CAST({value} AS {target.sql()})"
    if isinstance(source, (t.IntegralType, t.DecimalType, t.NullType, t.BooleanType)):
        return cast
    if not isinstance(source, t.DoubleType):
        return None
    if attempt:
        return cast
    strange = f"isnan({value}) OR abs({value}) = DOUBLE('Infinity')"
    message = "CAST failed: cannot make a DECIMAL of NaN or Infinity. TRY_CAST gives NULL instead"
    return f"CASE WHEN {strange} THEN raise_error('{message}') ELSE {cast} END"


def _to_text(source: DataType, target: DataType, value: str) -> str | None:
    text = _text(source, value)
    length: int = target.length  # type: ignore[attr-defined]
    if text is None or length == t.MAX_LENGTH:
        return text
    if isinstance(target, t.CharType):
        return f"rpad({text}, {length}, ' ')"
    if is_text(source) and source.length <= length:  # type: ignore[attr-defined]
        return text
    return f"substring({text}, 1, {length})"


def _text(source: DataType, value: str) -> str | None:
    if is_text(source):
        return value
    text = f"CAST({value} AS STRING)"
    if isinstance(source, t.BooleanType):
        return f"upper({text})"
    if isinstance(source, _TIMESTAMPS):
        precision = min(6, source.precision)
        if not precision:
            return f"substring({text}, 1, 19)"
        padded = f"rpad(IF(locate('.', {text}) = 0, concat({text}, '.'), {text}), {20 + precision}, '0')"
        return padded if source.precision <= 6 else f"rpad({padded}, {20 + source.precision}, '0')"
    plain = isinstance(source, t.DecimalType) and source.scale <= _PLAIN_SCALE
    return text if plain or isinstance(source, (t.IntegralType, *_FLOATS, t.DateType, t.NullType)) else None
