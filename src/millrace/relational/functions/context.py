"""Functions whose value does not depend on a row: the time (CURRENT_TIMESTAMP, PROCTIME, watermarks), random numbers
and UUIDs, and the current database."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational import types as t
from millrace.relational.functions.registry import (
    DOUBLE_TYPE,
    INT,
    INT_TYPE,
    STRING,
    Column,
    Signature,
    SignatureError,
    Surroundings,
    by_row,
    scalar,
    takes,
)
from millrace.relational.functions.time_values import DAY, SECOND, STAMPS
from millrace.relational.rex import Call, Literal, Rex
from millrace.relational.time_zones import local_of, micros_of, zone_of
from millrace.relational.type_table import arrow_type
from millrace.relational.types import CharType, DataType

# The time

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


# Random numbers


def _generator(seed: Column | None, around: Surroundings) -> Any:
    """Numbers for one batch. The batch's time keeps a seed from giving the same ones in every batch."""
    if seed is None:
        return np.random.default_rng()
    return np.random.default_rng([abs(seed.as_py()), int(seed.as_py() < 0), abs(around.now)])


def _spark_rand(call: Call, args: Sequence[str]) -> str | None:
    # Spark takes a seed of NULL for 0.
    known = all(isinstance(arg, Literal) and arg.value is not None for arg in call.args)
    return f"rand({', '.join(args)})" if known else None


class _JavaRandom:
    """The numbers of ``java.util.Random``: a linear congruence of 48 bits."""

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ _FACTOR) & _MASK

    def _next(self, bits: int) -> int:
        self._state = (self._state * _FACTOR + 0xB) & _MASK
        return self._state >> (48 - bits)

    def double(self) -> float:
        """The next random DOUBLE, at least 0 and less than 1."""
        high = self._next(26) << 27
        return (high + self._next(27)) / (1 << 53)

    def below(self, bound: int) -> int:
        """The next random whole number, at least 0 and less than ``bound``."""
        drawn = self._next(31)
        if bound & (bound - 1) == 0:
            return bound * drawn >> 31
        # Numbers of a last range that is not whole are drawn again.
        while drawn - drawn % bound + bound - 1 >= 1 << 31:
            drawn = self._next(31)
        return drawn % bound


_FACTOR = 0x5DEECE66D
_MASK = (1 << 48) - 1


@scalar("RAND", takes(INT, optional=1, result=DOUBLE_TYPE), spark=_spark_rand, deterministic=False)
def _rand(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    if args and not (isinstance(args[0], pa.Scalar) and args[0].is_valid):
        return by_row(call, args, lambda seed: _JavaRandom(seed).double())
    return pa.array(_generator(args[0] if args else None, around).random(around.length))


@scalar("RAND_INTEGER", takes(INT, INT, optional=1, result=INT_TYPE), deterministic=False)
def _rand_integer(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """RAND_INTEGER: a random whole number, at least 0 and less than the last argument.

    :raises ValueError: this is not positive.
    """
    *seed, bound = args
    if all(isinstance(arg, pa.Scalar) and arg.is_valid for arg in args) and bound.as_py() > 0:
        generator = _generator(seed[0] if seed else None, around)
        return pa.array(generator.integers(bound.as_py(), size=around.length, dtype=np.int32))
    return by_row(call, args, _one_integer)


def _one_integer(*args: int) -> int:
    *seed, bound = args
    if bound <= 0:
        raise ValueError(f"the bound of RAND_INTEGER must be positive, not {bound}")
    return _JavaRandom(seed[0]).below(bound) if seed else int(np.random.default_rng().integers(bound))


@scalar("UUID", takes(result=CharType(36), nullable=False), spark="uuid()", deterministic=False)
def _uuid(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return pa.array([str(uuid.uuid4()) for _ in range(around.length)], pa.string())


# The session


@scalar("CURRENT_DATABASE", takes(result=STRING, nullable=False), dynamic=True)
def _current_database(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return pa.scalar(around.database, pa.string())
