"""Binds calls: of built-in functions, of the user's functions, and of aggregate functions with their clauses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

from millrace.relational.functions.aggregates.registry import aggregate_call, find_aggregate
from millrace.relational.functions.aggregates.registry import aggregate_names as _registered
from millrace.relational.functions.registry import SignatureError, call, cast_to, common_type, find_scalar, scalar_names
from millrace.relational.nodes import ROWTIME, Field, Schema
from millrace.relational.rex import AggCall, Call, Literal, OuterRef, Ref, Rex, SortKey, UdfCall
from millrace.relational.types import BigIntType, DataType, DecimalType, DoubleType, IntegralType, NullType
from millrace.table.functions.udf import (
    UserDefinedAggregateFunctionWrapper,
    UserDefinedFunctionWrapper,
    UserDefinedScalarFunctionWrapper,
    UserDefinedTableFunctionWrapper,
)
from millrace.table.sql import nodes
from millrace.table.sql.binding.scope import (
    AGGREGATE,
    SCALAR,
    TABLE,
    TABLE_AGGREGATE,
    Block,
    UserFunction,
    bind,
    bind_all,
    bind_condition,
    binds,
    by_program,
    constant,
    fail,
)
from millrace.util.names import did_you_mean
from millrace.util.record import Record

# Names of aggregate and window functions

RANKINGS = ("ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE", "LAG", "LEAD")
"""Functions that only OVER has."""
GROUPINGS = ("GROUPING", "GROUPING_ID", "GROUP_ID")
GROUP_WINDOWS = ("TUMBLE", "HOP", "SESSION")
WINDOW_PROPERTIES = ("START", "END", "ROWTIME", "PROCTIME")
JSON_AGGREGATES = (nodes.JsonObjectAgg, nodes.JsonArrayAgg)


def aggregate_names() -> list[str]:
    """Names of the built-in aggregate functions."""
    return [*_registered(), *GROUPINGS]


def is_aggregate(name: str) -> bool:
    return find_aggregate(name.upper()) is not None or name.upper() in GROUPINGS


def is_ranking(name: str) -> bool:
    return name.upper() in RANKINGS


def window_property(name: str) -> tuple[str, str] | None:
    """TUMBLE_START -> (TUMBLE, START); None for any other name."""
    kind, _, what = name.upper().partition("_")
    return (kind, what) if kind in GROUP_WINDOWS and what in WINDOW_PROPERTIES else None


def core(tree: nodes.Node) -> nodes.Node:
    """The call inside of FILTER, WITHIN GROUP and IGNORE NULLS."""
    while isinstance(tree, (nodes.Filter, nodes.WithinGroup, nodes.IgnoreNulls, nodes.RespectNulls)):
        tree = tree.this
    return tree


def call_name(tree: nodes.Node) -> str:
    """The name of a plain call in upper case, empty for anything else."""
    return tree.this.upper() if type(tree) is nodes.Call else ""


# The user's functions


def user_function(name: str, wrapper: UserDefinedFunctionWrapper, system: bool = False) -> UserFunction:
    """A function made by ``udf`` and its like, as SQL calls it."""
    arguments = None if wrapper.input_types is None else tuple(wrapper.input_types)
    kind, result = SCALAR, None
    columns: Schema = ()
    if isinstance(wrapper, UserDefinedTableFunctionWrapper):
        kind = TABLE
        columns = tuple(Field(field.name, field.data_type) for field in wrapper.row_type)
    elif isinstance(wrapper, UserDefinedAggregateFunctionWrapper):
        kind, result = TABLE_AGGREGATE if wrapper.is_table_aggregate else AGGREGATE, wrapper.result_type
    else:
        assert isinstance(wrapper, UserDefinedScalarFunctionWrapper)
        result = wrapper.result_type
    return UserFunction(
        name,
        kind,
        wrapper,
        result,
        columns,
        arguments,
        wrapper.vectorized,
        wrapper.asynchronous,
        wrapper.deterministic,
        system,
    )


# Scalar functions

_WORD_OPTIONS = {"TRIM": "side", "IS JSON": "kind"}
"""Functions with a fixed word that is not a unit of time, and the option that it becomes."""
_WATERMARK = "CURRENT_WATERMARK"
_TYPED_BY_FIRST = ("+", "-", "COALESCE", "IFNULL", "MAX", "MIN")
"""Functions whose result is an event time attribute, as in Flink, if their first argument is one."""
_TABLE_FUNCTIONS = ("TUMBLE", "HOP", "CUMULATE", "SESSION", "UNNEST")


def built_in(tree: nodes.Node, name: str, args: Sequence[Rex], options: dict[str, Any] | None = None) -> Rex:
    """A typed call of a built-in function or operator.

    :raises QueryProblem: it does not take these arguments.
    """
    try:
        return call(name, args, options)
    except SignatureError as error:
        found = find_scalar(name)
        fail(tree, f"{error}; usage: {found.syntax}" if found is not None and found.syntax else str(error))
    except KeyError:
        fail(tree, f"{name} is not supported")


@binds(nodes.DefinedCall)
def bind_defined_call(tree: nodes.DefinedCall, block: Block) -> Rex:
    """``equals(a, b)`` of the Table API."""
    user = find_user_function(tree, block)
    return bind(tree.made, block) if user is None else _user_call(tree, user, tree.expressions, block)


@binds(nodes.Call, nodes.GivenCall)
def bind_call(tree: nodes.Node, block: Block) -> Rex:
    """``f(a, b)`` or ``db.f(a, b)``."""
    path, arguments = path_of(tree), call_arguments(tree)
    user = find_user_function(tree, block)
    if user is not None:
        return _user_call(tree, user, arguments, block)
    if len(path) > 1:
        fail(tree, f"there is no function {'.'.join(path)}{did_you_mean(path[-1], _known(block))}")
    name = path[-1].upper()
    refuse_misplaced(tree, name, block)
    if find_scalar(name) is None:
        fail(tree, f"unknown function {path[-1]}(){did_you_mean(path[-1], _known(block))}")
    args, options = bound_arguments(name, arguments, block)
    check_time_argument(tree, name, arguments, block)
    return built_in(tree, name, args, options)


def check_time_argument(tree: nodes.Node, name: str, arguments: Sequence[nodes.Node], block: Block) -> None:
    """Refuse CURRENT_WATERMARK of what is no event time attribute; batch mode has none."""
    if name == _WATERMARK and len(arguments) == 1 and block.environment.resolver.streaming:
        if not _is_event_time(arguments[0], block):
            fail(
                tree,
                f"{name} takes an event time attribute: a column with a WATERMARK that no cast, no other computation "
                "and no regular join has changed",
            )


def _is_event_time(tree: nodes.Node, block: Block) -> bool:
    """Whether it is an event time attribute, or a function that has its type from one."""
    if isinstance(tree, nodes.Call) and tree.this.upper() in _TYPED_BY_FIRST and tree.expressions:
        return _is_event_time(tree.expressions[0], block)
    if not isinstance(tree, nodes.Column):
        return False
    found = bind(tree, replace(block, intercept=None))
    return isinstance(found, OuterRef) or (isinstance(found, Ref) and block.columns[found.index].time == ROWTIME)


def path_of(tree: nodes.Node) -> tuple[str, ...]:
    """The names in front of the brackets of a call."""
    assert isinstance(tree, (nodes.Call, nodes.Dot))
    return nodes.call_path(tree)


def call_arguments(tree: nodes.Node) -> list[nodes.Node]:
    """The arguments of a call, with or without names in front of the function's."""
    call = plain(tree)
    assert isinstance(call, nodes.Call)
    return list(call.expressions)


def plain(call: nodes.Node) -> nodes.Node:
    """A call without the names in front of its function's."""
    return call.expression if isinstance(call, nodes.Dot) else call


def find_user_function(tree: nodes.Node, block: Block) -> UserFunction | None:
    """The user's function that a call means: a built-in one of the same name goes first, unless the user's is a
    temporary system function. None also of what is no call."""
    if isinstance(tree, nodes.GivenCall):
        return user_function(tree.this, tree.function)
    if isinstance(tree, nodes.BuiltIn) or not isinstance(plain(tree), nodes.Call):
        return None
    path = path_of(tree)
    user = block.environment.resolver.function(path)
    if user is None or len(path) > 1 or user.system:
        return user
    name = path[0].upper()
    if isinstance(tree, nodes.DefinedCall):
        return None
    return None if find_scalar(name) is not None or is_aggregate(name) or is_ranking(name) else user


def taken_by_user(tree: nodes.BuiltIn, block: Block) -> Rex | None:
    """The call of a temporary system function that has the name of an operator of the Table API (``minus``): such
    operators are calls by name. Those of SQL have no such name."""
    user = block.environment.resolver.function((tree.shown,)) if tree.shown else None
    if user is None or not user.system or user.kind != SCALAR:
        return None
    return _user_call(tree, user, tree.expressions, block)


def bound_arguments(name: str, arguments: Sequence[nodes.Node], block: Block) -> tuple[list[Rex], dict[str, Any]]:
    """Arguments, and the words among them as options."""
    args: list[Rex] = []
    options: dict[str, Any] = {}
    for each in arguments:
        if isinstance(each, nodes.Var):
            options[_WORD_OPTIONS.get(name, "unit")] = each.name.upper()
        elif isinstance(each, nodes.Kwarg):
            fail(each, f"{name} takes its arguments by position, not by name")
        elif isinstance(each, (nodes.Star, nodes.Distinct)):
            fail(each, f"{'*' if isinstance(each, nodes.Star) else 'DISTINCT'} can only stand in an aggregate function")
        else:
            args.append(bind(each, block))
    # TRIM(BOTH 'x' FROM s) has the string last, all other forms of TRIM have it first.
    return (args[::-1] if name == "TRIM" and options else args), options


def _user_call(tree: nodes.Node, user: UserFunction, arguments: Sequence[nodes.Node], block: Block) -> Rex:
    if user.kind == TABLE:
        instead = (
            "use join_lateral or flat_map"
            if by_program(tree)
            else f"call it as LATERAL TABLE({user.name}(...)) in FROM"
        )
        fail(tree, f"{user.name} is a table function: {instead}")
    if user.kind != SCALAR:
        fail_as_aggregate(tree, user.name, block)
    args, options = bound_arguments(user.name, arguments, block)
    args = [_unrounded(arg) for arg in args]
    if options:
        fail(tree, f"{user.name} takes expressions only")
    assert user.result is not None
    return UdfCall(
        user.result,
        user.wrapper,
        user.name,
        tuple(cast_arguments(tree, user, args)),
        user.vectorized,
        user.asynchronous,
        user.deterministic,
    )


def _unrounded(arg: Rex) -> Rex:
    """A DECIMAL constant as it was before it was cast to another DECIMAL: Flink hands it to Python functions so."""
    inner = arg
    while isinstance(inner, Call) and inner.function == "CAST" and isinstance(inner.type, DecimalType):
        inner = inner.args[0]
    return inner if isinstance(inner, Literal) and isinstance(inner.type, DecimalType) else arg


def cast_arguments(tree: nodes.Node, user: UserFunction, args: Sequence[Rex]) -> list[Rex]:
    """The arguments of a user's function in the types that it declares."""
    if user.arguments is None:
        return list(args)
    if len(args) != len(user.arguments):
        wanted = ", ".join(map(str, user.arguments))
        fail(tree, f"{user.name} takes {len(user.arguments)} arguments ({wanted}), not {len(args)}")
    return [cast_to(arg, wanted) for arg, wanted in zip(args, user.arguments)]


def refuse_misplaced(tree: nodes.Node, name: str, block: Block) -> None:
    """Refuse a function that only groups, windows or FROM have."""
    if find_scalar(name) is not None:
        return
    if is_ranking(name):
        fail(tree, f"{name} needs an OVER clause")
    if is_aggregate(name):
        fail_as_aggregate(tree, name, block)
    window = window_property(name)
    if window is not None:
        fail(tree, f"{name} gives a bound of the window in GROUP BY, and there is no GROUP BY {window[0]}(...) here")
    if name in _TABLE_FUNCTIONS:
        fail(tree, f"{name} is not allowed in {block.place}: it stands in GROUP BY, or in FROM as TABLE({name}(...))")


def fail_as_aggregate(tree: nodes.Node, name: str, block: Block) -> NoReturn:
    """Refuse an aggregate where there are no groups."""
    hint = ": filter groups with HAVING" if block.place == "WHERE" else ""
    if by_program(tree):
        hint = ": aggregates stand in select, after group_by or alone, and in aggregate or flat_aggregate"
    fail(tree, f"aggregate function {name} is not allowed in {block.place}{hint}")


def _known(block: Block) -> list[str]:
    return [*scalar_names(), *aggregate_names(), *block.environment.resolver.function_names()]


@binds(nodes.JsonValue, nodes.JsonQuery, nodes.JsonExists, nodes.JsonObject, nodes.JsonArray, *JSON_AGGREGATES)
def bind_json(tree: Any, block: Block) -> Rex:
    """The JSON functions with clauses of their own: JSON_VALUE, JSON_QUERY, JSON_EXISTS, JSON_OBJECT, JSON_ARRAY."""
    if isinstance(tree, JSON_AGGREGATES):
        name = "JSON_OBJECTAGG" if isinstance(tree, nodes.JsonObjectAgg) else "JSON_ARRAYAGG"
        fail_as_aggregate(tree, name, block)
    if isinstance(tree, nodes.JsonObject):
        entries = [part for entry in tree.expressions for part in (entry.this, entry.expression)]
        return built_in(tree, "JSON_OBJECT", [bind(each, block) for each in entries], _given(tree, "on_null"))
    if isinstance(tree, nodes.JsonArray):
        return built_in(tree, "JSON_ARRAY", [bind(each, block) for each in tree.expressions], _given(tree, "on_null"))
    args = [bind(tree.this, block), bind(tree.path, block)]
    if isinstance(tree, nodes.JsonExists):
        return built_in(tree, "JSON_EXISTS", args, _given(tree, "on_error"))
    if isinstance(tree, nodes.JsonQuery):
        return built_in(tree, "JSON_QUERY", args, _given(tree, "returning", "wrapper", "on_empty", "on_error"))
    options = _given(tree, "returning", "on_empty", "on_error")
    for clause in ("empty", "error"):
        default = getattr(tree, f"{clause}_default")
        if default is not None:
            options[f"default_on_{clause}"] = len(args)
            args.append(bind(default, block))
    return built_in(tree, "JSON_VALUE", args, options)


def _given(tree: Any, *names: str) -> dict[str, Any]:
    given = {name: value for name in names if (value := getattr(tree, name)) is not None}
    if "returning" in given:
        given["returning"] = given["returning"].data_type
    return given


# Aggregate functions

_COUNTED = {
    "ROW_NUMBER": BigIntType(False),
    "RANK": BigIntType(False),
    "DENSE_RANK": BigIntType(False),
    "PERCENT_RANK": DoubleType(False),
    "CUME_DIST": DoubleType(False),
    "NTILE": BigIntType(False),
}


class AggregateSyntax(Record):
    """An aggregate call before it is bound, as the query's text has it."""

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
