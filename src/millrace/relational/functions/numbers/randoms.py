"""RAND, RAND_INTEGER, UUID: another value for every row.

With a seed that is written in the query, two calls with the same seed give the same numbers. A seed of each row gives
the number that Java's ``Random`` begins with, as in Flink.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.functions.columns import by_row
from millrace.relational.functions.registry import Column, Surroundings, scalar
from millrace.relational.functions.signatures import DOUBLE_TYPE, INT, INT_TYPE, takes
from millrace.relational.rex import Call, Literal
from millrace.relational.types import CharType


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
        """From 0 on, below 1."""
        high = self._next(26) << 27
        return (high + self._next(27)) / (1 << 53)

    def below(self, bound: int) -> int:
        """From 0 on, below the bound."""
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
    """From 0 on, below the last argument.

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
