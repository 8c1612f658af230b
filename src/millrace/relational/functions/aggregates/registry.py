"""Built-in aggregate functions: one description an aggregate, by its name in plans.

A description says how a call is typed and how its value comes about: by *folding* numbers that can be added up, merged
and taken back, or by *keeping* the values themselves (``aggregate_parts``). What must be kept may depend on whether
rows can be taken back: MAX of insertions alone is one number, else it is a value out of many that may go again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millrace.relational.casting import cast_to
from millrace.relational.functions import aggregates
from millrace.relational.functions.aggregates.parts import Accumulation
from millrace.relational.functions.aggregates.spark_texts import Spark
from millrace.relational.functions.registry import Infer, Signature, SignatureError
from millrace.relational.rex import AggCall, Rex, SortKey
from millrace.util.modules import import_modules
from millrace.util.record import Record

Plan = Callable[[AggCall, bool], Accumulation]
"""(the typed call, whether rows may be taken back) -> how it is computed"""


class Aggregate(Record):
    """An aggregate function."""

    name: str
    infer: Infer
    plan: Plan
    spark: Spark | None = None
    """None: batch mode collects the values and lets ``plan`` make the result"""
    aliases: tuple[str, ...] = ()
    ignores_duplicates: bool = False
    """DISTINCT makes no difference"""


_aggregates: dict[str, Aggregate] = {}


def aggregate(
    name: str,
    infer: Infer,
    *,
    spark: Spark | str | None = None,
    aliases: Sequence[str] = (),
    ignores_duplicates: bool = False,
) -> Callable[[Plan], Plan]:
    """Register the decorated function as the plan of an aggregate.

    :param spark: how Spark computes the same; a text is the name of a function of all arguments.
    """
    written: Spark | None = _named(spark) if isinstance(spark, str) else spark

    def register(plan: Plan) -> Plan:
        described = Aggregate(name, infer, plan, written, tuple(aliases), ignores_duplicates)
        for each in (name, *aliases):
            if each in _aggregates:
                raise ValueError(f"aggregate {each} is registered twice")
            _aggregates[each] = described
        return plan

    return register


def _named(function: str) -> Spark:
    return lambda call, texts: texts.of_args(function)


def find_aggregate(name: str) -> Aggregate | None:
    """The aggregate with this name (upper case), None without."""
    import_modules(aggregates)
    return _aggregates.get(name)


def aggregate_names() -> list[str]:
    """Names and aliases of all aggregates."""
    import_modules(aggregates)
    return sorted(_aggregates)


def infer_aggregate(
    name: str, args: Sequence[Rex], options: dict[str, Any] | None = None, distinct: bool = False
) -> Signature:
    """How a call is typed. The result is nullable if an argument is; where a group may have no rows (no GROUP BY, or a
    FILTER) it is for the caller to make it nullable, but for counts.

    :raises SignatureError: the aggregate does not take these arguments.
    :raises KeyError: there is no such aggregate.
    """
    found = find_aggregate(name)
    if found is None:
        raise KeyError(name)
    if distinct and not args:
        raise SignatureError("DISTINCT needs an argument")
    return found.infer(args, options or {})


def aggregate_call(
    name: str,
    args: Sequence[Rex],
    options: dict[str, Any] | None = None,
    distinct: bool = False,
    filter: Rex | None = None,
    order: tuple[SortKey, ...] = (),
    may_be_empty: bool = False,
) -> AggCall:
    """A typed call: the arguments are cast to what the aggregate takes. Errors as ``infer_aggregate``.

    :param may_be_empty: a group may have no rows: the result is nullable but for counts.
    """
    signature = infer_aggregate(name, args, options, distinct)
    found = find_aggregate(name)
    assert found is not None
    cast = tuple(cast_to(arg, wanted) for arg, wanted in zip(args, signature.args, strict=True))
    result = signature.result
    if (may_be_empty or filter is not None) and found.name not in NEVER_NULL:
        result = result.nullable()
    return AggCall(
        found.name,
        cast,
        result,
        distinct and not found.ignores_duplicates,
        filter,
        order,
        tuple(sorted((options or {}).items())),
    )


NEVER_NULL = frozenset({"COUNT", "$SUM0", "COLLECT", "JSON_OBJECTAGG", "JSON_ARRAYAGG"})
"""aggregates that have a value for no rows, too"""


def accumulation(call: AggCall, retracts: bool) -> Accumulation:
    """How a call of a built-in aggregate is computed.

    :param retracts: whether rows may be taken back.
    """
    found = find_aggregate(call.function)
    if found is None:
        raise NotImplementedError(f"aggregate {call.function} is not built in")
    return found.plan(call, retracts)
