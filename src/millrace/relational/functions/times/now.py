"""What time it is: CURRENT_TIMESTAMP and its like, PROCTIME, and watermarks.

In batch all rows of a query have the time at which it was started, in streaming each batch of rows has its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from millrace.relational import types as t
from millrace.relational.arrow import arrow_type
from millrace.relational.functions.registry import Column, Signature, SignatureError, Surroundings, scalar
from millrace.relational.functions.signatures import takes
from millrace.relational.functions.times.numbers import DAY, SECOND, STAMPS
from millrace.relational.functions.times.zones import local_of, micros_of
from millrace.relational.rex import Call, Rex
from millrace.relational.types import DataType
from millrace.relational.zones import zone_of

_LTZ = t.LocalZonedTimestampType(3, False)


def _local_micros(around: Surroundings) -> int:
    return micros_of(local_of(around.now, zone_of(around.zone)))


def _register(name: str, result: DataType, value: Callable[[Surroundings], int], *aliases: str) -> None:
    @scalar(name, takes(result=result, nullable=False), aliases=aliases, dynamic=True, syntax=name)
    def compute(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
        return _scalar(value(around), call.type)


def _scalar(number: int, data_type: DataType) -> pa.Scalar:
    wanted = arrow_type(data_type)
    return pa.scalar(number, pa.int32() if wanted.bit_width == 32 else pa.int64()).cast(wanted)


def _milliseconds(micros: int) -> int:
    return micros // 1000 * 1000


_register("CURRENT_DATE", t.DateType(), lambda around: _local_micros(around) // DAY)
_register("LOCALTIME", t.TimeType(0), lambda around: _local_micros(around) % DAY // SECOND * SECOND, "CURRENT_TIME")
_register("LOCALTIMESTAMP", t.TimestampType(3), lambda around: _milliseconds(_local_micros(around)))
_register("CURRENT_TIMESTAMP", _LTZ, lambda around: _milliseconds(around.now), "NOW")
_register("PROCTIME", _LTZ, lambda around: _milliseconds(around.now))


@scalar("CURRENT_ROW_TIMESTAMP", takes(result=_LTZ, nullable=False), deterministic=False)
def current_row_timestamp(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return _scalar(_milliseconds(time.time_ns() // 1000), call.type)


def _infer_watermark(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    if len(args) != 1 or not isinstance(args[0].type, STAMPS):
        raise SignatureError("it takes (event time attribute)")
    return Signature((args[0].type,), type(args[0].type)(3))


@scalar("CURRENT_WATERMARK", _infer_watermark, deterministic=False, syntax="CURRENT_WATERMARK(rowtime)")
def current_watermark(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """NULL before the first watermark, and in batch. As a TIMESTAMP it shows UTC, as watermarks do."""
    if around.watermark is None:
        return pa.scalar(None, arrow_type(call.type))
    return _scalar(around.watermark * 1000, call.type)


@scalar("SOURCE_WATERMARK", takes(result=_LTZ))
def source_watermark(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    raise ValueError("SOURCE_WATERMARK() can only stand in WATERMARK FOR column AS SOURCE_WATERMARK()")
