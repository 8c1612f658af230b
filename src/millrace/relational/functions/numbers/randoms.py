"""RAND, RAND_INTEGER, UUID: another value for every row.

With a seed that is written in the query, two calls with the same seed give the same numbers.
"""

from __future__ import annotations

import random
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
    return f"rand({', '.join(args)})" if all(isinstance(arg, Literal) for arg in call.args) else None


@scalar("RAND", takes(INT, optional=1, result=DOUBLE_TYPE), spark=_spark_rand, deterministic=False)
def _rand(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    if args and not (isinstance(args[0], pa.Scalar) and args[0].is_valid):
        return by_row(call, args, lambda seed: random.Random(seed).random())
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
    return random.Random(*seed).randrange(bound)


@scalar("UUID", takes(result=CharType(36), nullable=False), spark="uuid()", deterministic=False)
def _uuid(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return pa.array([str(uuid.uuid4()) for _ in range(around.length)], pa.string())
