"""AND, OR, NOT, IS TRUE, ...: logic with TRUE, FALSE and UNKNOWN (NULL)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.functions.evaluate import Evaluator, scatter
from millrace.relational.functions.registry import Column, Surroundings, scalar
from millrace.relational.functions.signatures import BOOLEAN, BOOLEAN_TYPE, takes
from millrace.relational.rex import Call

_ONE = takes(BOOLEAN, result=BOOLEAN_TYPE)
_MANY = takes(BOOLEAN, result=BOOLEAN_TYPE, variadic=True)
_TEST = takes(BOOLEAN, result=BOOLEAN_TYPE, nullable=False)


def _by_need(call: Call, evaluator: Evaluator) -> Column:
    """From left to right, only where the arguments before do not decide the result."""
    kernel, decided = (pc.and_kleene, False) if call.function == "AND" else (pc.or_kleene, True)
    found = evaluator.column(call.args[0])
    for arg in call.args[1:]:
        open_rows = pc.fill_null(pc.not_equal(found, pa.scalar(decided)), True).to_numpy(zero_copy_only=False)
        todo, done = np.flatnonzero(open_rows), np.flatnonzero(~open_rows)
        pieces = [kernel(found.take(pa.array(todo)), evaluator.some_rows(todo, arg)), found.take(pa.array(done))]
        found = scatter(pieces, [todo, done], evaluator.length, pa.bool_())
    return found


@scalar("AND", _MANY, spark=lambda call, args: f"({' AND '.join(args)})", by_need=_by_need)
def _and(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return reduce(pc.and_kleene, args)


@scalar("OR", _MANY, spark=lambda call, args: f"({' OR '.join(args)})", by_need=_by_need)
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
