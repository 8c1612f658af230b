"""Operators, and the functions that the Table API calls."""

from __future__ import annotations

from collections.abc import Callable

from millrace.relational import types as t
from millrace.relational.casting import cast_to, is_text
from millrace.relational.rex import Call, Literal, Rex
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.calls import (
    bound_arguments,
    built_in,
    check_time_argument,
    refuse_misplaced,
    taken_by_user,
)
from millrace.table.sql.binding.constants import constant, fold
from millrace.table.sql.binding.dispatch import bind_all, binds
from millrace.table.sql.binding.expressions import all_equal
from millrace.table.sql.binding.names import access
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.binding.subqueries import bind_quantified


@binds(nodes.BuiltIn)
def _built_in(tree: nodes.BuiltIn, block: Block) -> Rex:
    taken = taken_by_user(tree, block)
    if taken is not None:
        return taken
    special = _SPECIAL.get(tree.this)
    if special is not None:
        return special(tree, block)
    refuse_misplaced(tree, tree.this, block)
    args, options = bound_arguments(tree.this, tree.expressions, block)
    check_time_argument(tree, tree.this, tree.expressions, block)
    if tree.this == "ROW":
        # The Table API counts the fields of row(..) from f0, SQL those of ROW(..) from EXPR$0.
        options = {**(options or {}), "names": tuple(f"f{at}" for at in range(len(args)))}
    return built_in(tree, tree.this, args, options)


def _chain(tree: nodes.BuiltIn, block: Block) -> Rex:
    """``a AND b AND c`` as one call: conditions that programs write have hundreds of parts."""
    parts: list[nodes.Node] = []
    left: nodes.Node = tree
    while isinstance(left, nodes.BuiltIn) and left.this == tree.this:
        left, *right = left.expressions
        parts += reversed(right)
    return built_in(tree, tree.this, bind_all([left, *reversed(parts)], block))


def _comparison(tree: nodes.BuiltIn, block: Block) -> Rex:
    right = tree.expressions[1]
    if isinstance(right, (nodes.All, nodes.Any)):
        return _quantified(tree, right, block)
    sides = bind_all(tree.expressions, block)
    if tree.this != "=" or not all(isinstance(side, Call) and side.function == "ROW" for side in sides):
        return built_in(tree, tree.this, sides)
    one, other = (side.children for side in sides)
    if len(one) != len(other):
        fail(tree, f"a row of {len(one)} values is compared with one of {len(other)}")
    return all_equal(tree, one, other)


def _quantified(tree: nodes.BuiltIn, right: nodes.All | nodes.Any, block: Block) -> Rex:
    """A comparison with all, or any, of some values: with all of them it is TRUE if each comparison is."""
    if right.query is not None:
        return bind_quantified(tree, right, block)
    value, *items = bind_all([tree.expressions[0], *right.expressions], block)
    compared = [built_in(tree, tree.this, [value, item]) for item in items]
    if len(compared) == 1:
        return compared[0]
    return built_in(tree, "AND" if isinstance(right, nodes.All) else "OR", compared)


def _plus(tree: nodes.BuiltIn, block: Block) -> Rex:
    """``+``, with which programs also join texts."""
    args = bind_all(tree.expressions, block)
    if tree.shown and any(is_text(arg.type) for arg in args):
        return built_in(tree, "||", [arg if is_text(arg.type) else cast_to(arg, t.string()) for arg in args])
    return built_in(tree, "+", args)


def _item(tree: nodes.BuiltIn, block: Block) -> Rex:
    """``array[1]``, ``map['key']``, and ``row['field']`` or ``row[1]``, whose type depends on which field it is."""
    held, key = bind_all(tree.expressions, block)
    if not isinstance(held.type, t.RowType):
        return built_in(tree, "ITEM", [held, key])
    chosen = constant(key, block.zone)
    field = chosen.value if isinstance(chosen, Literal) else None
    if isinstance(field, int) and isinstance(chosen.type, t.IntegralType):
        if not 1 <= field <= len(held.type.names):
            fail(tree, f"the row has {len(held.type.names)} fields, counted from 1: there is no {field}")
        field = held.type.names[field - 1]
    if not isinstance(field, str):
        fail(tree, "which field of a row is meant must be constant: row['name'], or row[1] for the first one")
    return access(tree, held, [field])


def _matching(tree: nodes.BuiltIn, block: Block) -> Rex:
    """LIKE and SIMILAR TO: a wrong pattern or escape that is written in the query is an error of the query."""
    args, options = bound_arguments(tree.this, tree.expressions, block)
    found = built_in(tree, tree.this, args, options)
    if all(isinstance(each, Literal) for each in args[1:]):
        try:
            fold(built_in(tree, tree.this, [Literal(t.CharType(1, False), ""), *args[1:]], options), block.zone)
        except ValueError as error:
            fail(tree, str(error))
    return found


_SPECIAL: dict[str, Callable[[nodes.BuiltIn, Block], Rex]] = {
    "AND": _chain,
    "OR": _chain,
    "+": _plus,
    "ITEM": _item,
    "LIKE": _matching,
    "SIMILAR TO": _matching,
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">="), _comparison),
}
