"""Calls of built-in functions and of the user's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

from millrace.relational.casting import cast_to
from millrace.relational.functions.registry import SignatureError, call, find_scalar, scalar_names
from millrace.relational.nodes import ROWTIME
from millrace.relational.rex import Call, Literal, OuterRef, Ref, Rex, UdfCall
from millrace.relational.types import DecimalType
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.dispatch import bind, binds
from millrace.table.sql.binding.function_names import (
    JSON_AGGREGATES,
    aggregate_names,
    is_aggregate,
    is_ranking,
    window_property,
)
from millrace.table.sql.binding.problems import by_program, fail
from millrace.table.sql.binding.resolver import SCALAR, TABLE, UserFunction
from millrace.table.sql.binding.user_functions import user_function
from millrace.table.sql.text.errors import did_you_mean

_WORD_OPTIONS = {"TRIM": "side", "IS JSON": "kind"}
"""Functions with a fixed word that is not a unit of time, and the option that it becomes."""
_WATERMARK = "CURRENT_WATERMARK"
_TYPED_BY_FIRST = ("+", "-", "COALESCE", "IFNULL", "MAX", "MIN")
"""whose result Flink takes for an event time attribute where the first argument is one"""
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
