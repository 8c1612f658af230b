"""Calls of aggregate functions with their clauses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from millrace.relational.casting import cast_to, common_type
from millrace.relational.functions.aggregates.registry import aggregate_call
from millrace.relational.functions.registry import SignatureError
from millrace.relational.rex import AggCall, Literal, Rex, SortKey
from millrace.relational.types import BigIntType, DataType, DoubleType, IntegralType, NullType
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.calls import call_arguments, cast_arguments, find_user_function, path_of, plain
from millrace.table.sql.binding.constants import constant
from millrace.table.sql.binding.dispatch import bind, bind_all, bind_condition
from millrace.table.sql.binding.function_names import JSON_AGGREGATES, aggregate_names, is_aggregate, is_ranking
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.binding.resolver import AGGREGATE
from millrace.table.sql.text.errors import did_you_mean
from millrace.util.record import Record

_COUNTED = {
    "ROW_NUMBER": BigIntType(False),
    "RANK": BigIntType(False),
    "DENSE_RANK": BigIntType(False),
    "PERCENT_RANK": DoubleType(False),
    "CUME_DIST": DoubleType(False),
    "NTILE": BigIntType(False),
}


class AggregateSyntax(Record):
    """An aggregate as it is written."""

    call: nodes.Node
    nulls: str | None = None
    """IGNORE or RESPECT"""
    order: Sequence[nodes.Ordered] = ()
    filter: nodes.Node | None = None


def take_apart(tree: nodes.Node) -> AggregateSyntax:
    """A call and the clauses round it."""
    found = AggregateSyntax(tree)
    while True:
        call = found.call
        if isinstance(call, nodes.Filter):
            found = replace(found, call=call.this, filter=call.expression.this)
        elif isinstance(call, nodes.WithinGroup):
            found = replace(found, call=call.this, order=call.expression.expressions)
        elif isinstance(call, (nodes.IgnoreNulls, nodes.RespectNulls)):
            found = replace(found, call=call.this, nulls="IGNORE" if isinstance(call, nodes.IgnoreNulls) else "RESPECT")
        else:
            return found


def is_aggregate_call(tree: nodes.Node, block: Block) -> bool:
    """Whether this is a call of an aggregate, built in or the user's."""
    call = take_apart(tree).call
    if isinstance(call, JSON_AGGREGATES):
        return True
    if not isinstance(plain(call), nodes.Call):
        return False
    user = find_user_function(call, block)
    if user is not None:
        return user.kind == AGGREGATE
    path = path_of(call)
    return len(path) == 1 and is_aggregate(path[0])


def bind_aggregate(tree: nodes.Node, block: Block, may_be_empty: bool = False) -> AggCall:
    """An aggregate over the columns of ``block``.

    :param may_be_empty: groups may have no rows: the result may be NULL.
    """
    syntax = take_apart(tree)
    arguments = block.named("the argument of an aggregate function")
    filter_ = None if syntax.filter is None else bind_condition(syntax.filter, block.named("FILTER"))
    order = sort_keys(syntax.order, arguments)
    if isinstance(syntax.call, JSON_AGGREGATES):
        return _json(syntax.call, arguments, filter_, order)
    name = path_of(syntax.call)[-1].upper()
    trees, distinct = _distinct(call_arguments(syntax.call))
    user = find_user_function(syntax.call, block)
    args = [] if _counts_rows(name, trees, distinct) else bind_all(trees, arguments)
    if user is not None:
        cast = tuple(cast_arguments(tree, user, args))
        assert user.result is not None
        return AggCall(user.name, cast, user.result, distinct, filter_, order, (), user.wrapper)
    options = {} if syntax.nulls is None else {"nulls": syntax.nulls}
    return _built_in(syntax.call, name, args, options, distinct, filter_, order, may_be_empty)


def _built_in(
    tree: nodes.Node,
    name: str,
    args: Sequence[Rex],
    options: dict[str, Any],
    distinct: bool,
    filter_: Rex | None,
    order: tuple[SortKey, ...],
    may_be_empty: bool,
) -> AggCall:
    try:
        return aggregate_call(name, args, options, distinct, filter_, order, may_be_empty)
    except SignatureError as error:
        given = ", ".join(str(arg.type) for arg in args)
        fail(tree, f"{name} does not take ({given}): {error}")
    except KeyError:
        fail(tree, f"there is no aggregate function {name}{did_you_mean(name, aggregate_names())}")


def _json(
    call: nodes.JsonObjectAgg | nodes.JsonArrayAgg, block: Block, filter_: Rex | None, order: tuple[SortKey, ...]
) -> AggCall:
    options = {"on_null": call.on_null}
    if isinstance(call, nodes.JsonObjectAgg):
        args = bind_all([call.this.this, call.this.expression], block)
        return _built_in(call, "JSON_OBJECTAGG", args, options, False, filter_, order, False)
    return _built_in(call, "JSON_ARRAYAGG", [bind(call.this, block)], options, False, filter_, order, False)


def _distinct(arguments: Sequence[nodes.Node]) -> tuple[list[nodes.Node], bool]:
    if len(arguments) == 1 and isinstance(arguments[0], nodes.Distinct):
        return list(arguments[0].expressions), True
    return list(arguments), False


def _counts_rows(name: str, arguments: Sequence[nodes.Node], distinct: bool) -> bool:
    """COUNT(*), and COUNT of a constant that is not NULL: of distinct constants there is one at most."""
    if name != "COUNT" or len(arguments) != 1:
        return False
    return isinstance(arguments[0], nodes.Star) or (isinstance(arguments[0], nodes.Literal) and not distinct)


def sort_keys(items: Sequence[nodes.Ordered], block: Block) -> tuple[SortKey, ...]:
    """The keys of an ORDER BY inside of an aggregate or an OVER clause."""
    return tuple(sort_key(item, bind(item.this, block)) for item in items)


def sort_key(item: nodes.Ordered, expression: Rex) -> SortKey:
    """A key with its direction: without NULLS FIRST or LAST, NULL is the smallest value."""
    descending = bool(item.desc)
    nulls_first = item.nulls_first
    return SortKey(expression, descending, not descending if nulls_first is None else bool(nulls_first))


def bind_over_function(tree: nodes.Node, block: Block, may_be_empty: bool = False) -> AggCall:
    """What stands in front of OVER: an aggregate or a ranking function."""
    syntax = take_apart(tree)
    call = syntax.call
    name = path_of(call)[-1].upper() if isinstance(plain(call), nodes.Call) else ""
    if is_ranking(name) and find_user_function(call, block) is None:
        return _ranking(call, name, syntax, block)
    if not is_aggregate_call(tree, block):
        fail(tree, f"{name or type(call).__name__}() cannot have an OVER clause: it is no aggregate function")
    return bind_aggregate(tree, block, may_be_empty)


def _ranking(tree: nodes.Node, name: str, syntax: AggregateSyntax, block: Block) -> AggCall:
    bound = bind_all(call_arguments(tree), block.named(f"an argument of {name}"))
    args = tuple(constant(each, block.zone) for each in bound)
    if isinstance(tree, nodes.BuiltIn) and len(args) == 3:
        args = _with_common_default(tree, args)
    options = () if syntax.nulls is None else (("nulls", syntax.nulls),)
    return AggCall(name, args, _ranking_type(tree, name, args), options=options)


def _with_common_default(tree: nodes.Node, args: Sequence[Rex]) -> tuple[Rex, ...]:
    """LAG and LEAD of the Table API: value and default in the type that they have in common; SQL keeps the value's."""
    value, offset, default = args
    wanted = common_type([value.type, default.type])
    if wanted is None:
        fail(tree, f"the value is {value.type}, and its default {default.type}")
    return cast_to(value, wanted), offset, cast_to(default, wanted)


def _ranking_type(tree: nodes.Node, name: str, args: Sequence[Rex]) -> DataType:
    if name in ("LAG", "LEAD"):
        return _shifted_type(tree, name, args)
    wanted = 1 if name == "NTILE" else 0
    if len(args) != wanted:
        fail(tree, f"{name} takes {wanted or 'no'} argument{'s' if not wanted else ''}, not {len(args)}")
    if name == "NTILE" and not _buckets(args[0]):
        fail(tree, "the argument of NTILE must be a number of buckets, 1 or more, that is written in the query")
    return _COUNTED[name]


def _buckets(arg: Rex) -> bool:
    return isinstance(arg, Literal) and isinstance(arg.type, IntegralType) and arg.value is not None and arg.value >= 1


def _is_number(arg: Rex) -> bool:
    return not isinstance(arg, Literal) or arg.value is not None


def _shifted_type(tree: nodes.Node, name: str, args: Sequence[Rex]) -> DataType:
    if not 1 <= len(args) <= 3:
        fail(tree, f"{name} takes 1 to 3 arguments: {name}(expression [, offset] [, default])")
    if len(args) > 1 and not (isinstance(args[1].type, IntegralType) and _is_number(args[1])):
        fail(tree, f"the offset of {name} must be a whole number")
    default = args[2].type if len(args) > 2 else NullType()
    return args[0].type.with_nullable(args[0].type.is_nullable or default.is_nullable)
