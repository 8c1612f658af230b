"""Equality of expressions."""

from __future__ import annotations

from millrace.relational import types as t
from millrace.relational.rex import AggCall, Ref, UdfCall
from millrace.table.udf import udf

BIGINT = t.BigIntType()
COLUMN = Ref(BIGINT, 0)


def test_functions_of_one_name_are_different() -> None:
    """All lambdas are called <lambda>."""
    one, two = (udf(lambda value, by=by: value + by, result_type="BIGINT") for by in (1, 2))
    assert one.name == two.name == "<lambda>"
    calls = [UdfCall(BIGINT, function, function.name, (COLUMN,)) for function in (one, two, one)]
    assert calls[0] != calls[1]
    assert calls[0] == calls[2]
    assert len(set(calls)) == 2
    aggregates = [AggCall("<lambda>", (COLUMN,), BIGINT, udf=function) for function in (one, two, one)]
    assert len(set(aggregates)) == 2
