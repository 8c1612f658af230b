"""CAST, TRY_CAST and TYPEOF: of whole columns by Arrow kernels where these do exactly what single values do, as Spark
SQL text where Spark gives the same, else value by value (``cast_values``). And columns as texts and back for
connectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import types as t
from millrace.relational.functions.cast_values import caster
from millrace.relational.functions.registry import (
    ANY,
    BOOLEAN,
    STRING,
    Column,
    Signature,
    SignatureError,
    Surroundings,
    as_decimal,
    by_row,
    is_bytes,
    is_text,
    scalar,
    takes,
)
from millrace.relational.functions.text_values import CastError
from millrace.relational.rex import Call, Rex
from millrace.relational.time_zones import local_times, standard_name
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType, string
from millrace.relational.values import plain_values

# Columns, by Arrow kernels

Kernel: TypeAlias = "Callable[[Any], Column | None]"

_FLOATS = (t.FloatType, t.DoubleType)
_TIMESTAMPS = (t.TimestampType, t.LocalZonedTimestampType)


def kernel(source: DataType, target: DataType, zone: str) -> Kernel | None:
    """The kernel for a pair of types, None if there is none."""
    if source.is_same(target):
        return lambda column: column
    if isinstance(source, t.VariantType) or isinstance(target, t.VariantType):
        return None
    wanted = arrow_type(target)
    if isinstance(source, t.NullType):
        return lambda column: column.cast(wanted)
    if is_text(target):
        return _kernel_to_text(source, target, zone)
    if is_text(source):
        return _from_text(target, wanted)
    if is_bytes(source) and isinstance(target, t.VarBinaryType) and source.length <= target.length:  # type: ignore[attr-defined]
        return lambda column: column
    if isinstance(source, t.IntegralType):
        return _from_whole(source, target, wanted)
    if isinstance(source, t.DecimalType) and isinstance(target, t.DecimalType):
        wider = target.scale >= source.scale and target.precision - target.scale >= source.precision - source.scale
        return (lambda column: column.cast(wanted)) if wider else None
    if isinstance(source, _FLOATS):
        return _from_float(target, wanted)
    return _time(source, target, wanted, zone)


def _kernel_to_text(source: DataType, target: DataType, zone: str) -> Kernel | None:
    length: int = target.length  # type: ignore[attr-defined]
    if is_text(source):
        if isinstance(target, t.VarCharType) and source.length <= length:  # type: ignore[attr-defined]
            return lambda column: column
        if isinstance(target, t.VarCharType):
            return lambda column: pc.utf8_slice_codeunits(column, 0, length)
        return lambda column: pc.utf8_rpad(pc.utf8_slice_codeunits(column, 0, length), length)
    if length < t.MAX_LENGTH:
        return None
    if isinstance(source, (t.IntegralType, t.DateType)) and not isinstance(source, t.YearMonthIntervalType):
        return lambda column: column.cast(pa.string())
    if isinstance(source, t.BooleanType):
        return lambda column: pc.if_else(column, pa.scalar("TRUE"), pa.scalar("FALSE"))
    if isinstance(source, _TIMESTAMPS) and source.precision <= 6:
        # Counted from the end: years before 0 and after 9999 have five digits and more.
        end = source.precision - 6 if source.precision else -len(".000000")
        local = _local(source, zone)
        return lambda column: pc.utf8_slice_codeunits(local(column).cast(pa.string()), 0, end or None)
    return None


def _local(source: DataType, zone: str) -> Callable[[Any], Any]:
    """Date and time in the zone of the session."""
    if isinstance(source, t.LocalZonedTimestampType):
        return lambda column: local_times(column, zone)
    return lambda column: column


def _from_text(target: DataType, wanted: pa.DataType) -> Kernel | None:
    if isinstance(target, t.VarBinaryType) and target.length == t.MAX_LENGTH:
        return lambda column: column.cast(wanted)
    if isinstance(target, t.IntegralType):
        return _plainly_written("[^0-9-]", wanted)
    if isinstance(target, _FLOATS):
        return _plainly_written("[^0-9.-]", wanted)
    return None


def _plainly_written(strange: str, wanted: pa.DataType) -> Kernel:
    """Arrow reads numbers that have no other characters as we do; what it refuses is looked at one by one."""

    def read(column: Any) -> Column | None:
        if isinstance(column, pa.Scalar) or pc.any(pc.match_substring_regex(column, strange)).as_py():
            return None
        try:
            return column.cast(wanted)
        except pa.ArrowInvalid:
            return None

    return read


def _from_whole(source: t.IntegralType, target: DataType, wanted: pa.DataType) -> Kernel | None:
    if isinstance(target, (t.IntegralType, *_FLOATS)):
        return lambda column: pc.cast(column, wanted, safe=False)
    if isinstance(target, t.DecimalType) and target.precision - target.scale >= as_decimal(source).precision:
        return lambda column: column.cast(wanted)
    if isinstance(target, t.BooleanType):
        return lambda column: pc.not_equal(column, pa.scalar(0, column.type))
    return None


def _from_float(target: DataType, wanted: pa.DataType) -> Kernel | None:
    if isinstance(target, _FLOATS):
        return lambda column: pc.cast(column, wanted, safe=False)
    if not isinstance(target, (t.IntType, t.BigIntType)):
        return None
    smallest, largest = -(2 ** (target.bits - 1)), 2 ** (target.bits - 1) - 1

    def saturate(column: Any) -> Column | None:
        if isinstance(column, pa.Scalar):
            return None
        values = column.cast(pa.float64()).fill_null(0).to_numpy(zero_copy_only=False)
        inside = (values > smallest) & (values < largest)
        whole = np.where(inside, values, 0).astype(np.int64)
        whole = np.where(values >= largest, largest, np.where(values <= smallest, smallest, whole))
        return pa.array(whole.astype(wanted.to_pandas_dtype()), wanted, mask=pc.is_null(column).to_numpy(False))

    return saturate


def _time(source: DataType, target: DataType, wanted: pa.DataType, zone: str) -> Kernel | None:
    if isinstance(source, (t.DateType, *_TIMESTAMPS)) and isinstance(target, _TIMESTAMPS):
        return _timestamp(source, target, wanted, zone)
    if isinstance(source, _TIMESTAMPS) and isinstance(target, t.DateType):
        local = _local(source, zone)
        return lambda column: pc.cast(local(column), wanted, safe=False)
    if isinstance(source, t.TimeType) and isinstance(target, t.TimeType):
        return (lambda column: column) if _digits(target) >= _digits(source) else None
    return None


def _digits(data_type: DataType) -> int:
    """Digits after the second that columns of the type have."""
    return min(6, getattr(data_type, "precision", 0))


def _timestamp(source: DataType, target: DataType, wanted: pa.DataType, zone: str) -> Kernel:
    zoned = isinstance(target, t.LocalZonedTimestampType)
    same = isinstance(source, t.LocalZonedTimestampType) == zoned
    local = _local(source, zone)
    coarser = _digits(target) < _digits(source)

    def convert(column: Any) -> Column | None:
        moved = column if same else local(column).cast(pa.timestamp("us"))
        if zoned and not same:
            try:
                moved = pc.assume_timezone(moved, standard_name(zone), ambiguous="earliest").cast(wanted)
            except pa.ArrowInvalid:
                return None  # a time that the zone skips
        if coarser:
            moved = pc.floor_temporal(moved, 10 ** (6 - _digits(target)), unit="microsecond")
        return moved.cast(wanted)

    return convert


# As Spark SQL

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
        return _spark_to_text(source, target, value)
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
    """SQL text that cuts a timestamp to the digits of its type; None if Spark has no exact way."""
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


def _spark_to_text(source: DataType, target: DataType, value: str) -> str | None:
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


# The functions


def _infer(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    raise SignatureError("it takes a value and a type: calls.explicit_cast makes it")


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


# Columns as texts and back


def column_texts(column: pa.Array, kind: DataType, zone: str = "UTC") -> list[str | None]:
    """The text of each value.

    :raises ValueError: values of this type have none.
    """
    found: list[str | None] = _cast_column(column, kind, string(), zone).to_pylist()
    return found


def column_of_texts(texts: list[str | None], kind: DataType, zone: str = "UTC") -> pa.Array:
    """The values that texts mean.

    :raises ValueError: a text is no value of the type, or there are none.
    """
    return _cast_column(pa.array(texts, pa.string()), string(), kind, zone)


def _cast_column(column: pa.Array, source: DataType, target: DataType, zone: str) -> pa.Array:
    fast = kernel(source, target, zone)
    found = None if fast is None else fast(column)
    if found is not None:
        return found
    convert = caster(source, target, zone)
    if convert is None:
        raise ValueError(f"{source} cannot become {target}")
    return pa.array([None if value is None else convert(value) for value in plain_values(column)], arrow_type(target))
