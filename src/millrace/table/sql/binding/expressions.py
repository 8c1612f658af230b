"""Names, constants, and what is more than a function of its operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from millrace.relational.casting import explicit_cast, fits, is_text
from millrace.relational.functions.logic.comparison import comparable_type
from millrace.relational.functions.registry import SignatureError
from millrace.relational.rex import Literal, Rex
from millrace.relational.types import BooleanType, NullType
from millrace.table.sql import nodes
from millrace.table.sql.binding import literals
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.calls import bind_call, built_in
from millrace.table.sql.binding.dispatch import ExpressionBinder as Handler
from millrace.table.sql.binding.dispatch import bind, bind_all, bind_condition, binds
from millrace.table.sql.binding.names import access, field_name, resolve
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.binding.subqueries import bind_exists, bind_in_query

_NEGATED = {f"IS {what}": f"IS NOT {what}" for what in ("NULL", "TRUE", "FALSE", "UNKNOWN")}


@binds(nodes.Column)
def _column(tree: nodes.Column, block: Block) -> Rex:
    if isinstance(tree.this, nodes.Star):
        fail(tree, "* can only stand alone in a SELECT list, or in COUNT(*)")
    return resolve(tree, [part.name for part in nodes.column_parts(tree)], block)


@binds(nodes.Dot)
def _dot(tree: nodes.Dot, block: Block) -> Rex:
    if isinstance(tree.expression, nodes.Call):
        return bind_call(tree, block)
    if isinstance(tree.expression, nodes.Star):
        fail(tree, ".* can only stand in a SELECT list")
    parts = _dotted(tree)
    if parts is not None:
        return resolve(tree, parts, block)
    row = bind(tree.this, block)
    return access(tree, row, [field_name(tree, row.type)])


def _dotted(tree: nodes.Node) -> list[str] | None:
    """The names of ``a.b.c.d.e``; None where the front is no name."""
    if isinstance(tree, nodes.Column):
        return [part.name for part in nodes.column_parts(tree)]
    if isinstance(tree, nodes.Dot) and isinstance(tree.expression, nodes.Identifier):
        front = _dotted(tree.this)
        return None if front is None else [*front, tree.expression.name]
    return None


@binds(nodes.Literal)
def _literal(tree: nodes.Literal, block: Block) -> Rex:
    return literals.text(tree.this) if tree.is_string else literals.number(tree, tree.this)


@binds(nodes.Neg)
def _negate(tree: nodes.Neg, block: Block) -> Rex:
    if isinstance(tree.this, nodes.Literal) and not tree.this.is_string:
        return literals.number(tree, "-" + tree.this.this)
    if isinstance(tree.this, nodes.IntervalLiteral):
        positive = bind(tree.this, block)
        assert isinstance(positive, Literal)
        return Literal(positive.type, -positive.value)
    return built_in(tree, "-", [bind(tree.this, block)])


@binds(nodes.Not)
def _not(tree: nodes.Not, block: Block) -> Rex:
    inner = tree.this
    while isinstance(inner, nodes.Paren):
        inner = inner.this
    if isinstance(inner, nodes.In) and inner.query is not None:
        return bind_in_query(inner, _operands(inner, block), block, negated=True)
    if isinstance(inner, nodes.Exists):
        return bind_exists(inner, block, negated=True)
    if isinstance(inner, nodes.BuiltIn) and inner.this in _NEGATED:
        return built_in(inner, _NEGATED[inner.this], bind_all(inner.expressions, block))
    return built_in(tree, "NOT", [bind(tree.this, block)])


@binds(nodes.Between)
def _between(tree: nodes.Between, block: Block) -> Rex:
    value, low, high = bind_all((tree.this, tree.low, tree.high), block)

    def within(a: Rex, b: Rex) -> Rex:
        return built_in(tree, "AND", [built_in(tree, ">=", [value, a]), built_in(tree, "<=", [value, b])])

    if tree.symmetric:
        return built_in(tree, "OR", [within(low, high), within(high, low)])
    return within(low, high)


@binds(nodes.In)
def _in(tree: nodes.In, block: Block) -> Rex:
    if tree.query is not None:
        return bind_in_query(tree, _operands(tree, block), block, negated=False)
    if isinstance(tree.this, nodes.Tuple):
        return _rows_in(tree, bind_all(tree.this.expressions, block), block)
    value = bind(tree.this, block)
    items = bind_all(tree.expressions, block)
    if comparable_type([value.type, *(item.type for item in items)]) is None:
        kinds = ", ".join(str(item.type) for item in items)
        fail(tree, f"IN cannot compare {value.type} with {kinds}: CAST one of them")
    return built_in(tree, "IN", [value, *items])


def _rows_in(tree: nodes.In, values: Sequence[Rex], block: Block) -> Rex:
    found: Rex | None = None
    for item in tree.expressions:
        parts = bind_all(item.expressions, block) if isinstance(item, nodes.Tuple) else [bind(item, block)]
        if len(parts) != len(values):
            fail(item, f"a row of {len(values)} values is compared with one of {len(parts)}")
        equal = all_equal(tree, values, parts)
        found = equal if found is None else built_in(tree, "OR", [found, equal])
    assert found is not None
    return found


def all_equal(tree: nodes.Node, left: Sequence[Rex], right: Sequence[Rex]) -> Rex:
    """Whether rows that are written out have equal values; NULL is unknown."""
    equal = [built_in(tree, "=", pair) for pair in zip(left, right)]
    return equal[0] if len(equal) == 1 else built_in(tree, "AND", equal)


def _operands(tree: nodes.In, block: Block) -> list[Rex]:
    left = tree.this
    return bind_all(left.expressions if isinstance(left, nodes.Tuple) else [left], block)


@binds(nodes.Case)
def _case(tree: nodes.Case, block: Block) -> Rex:
    subject = None if tree.this is None else bind(tree.this, block)
    args: list[Rex] = []
    for branch in tree.ifs:
        if subject is None:
            args.append(bind_condition(branch.this, block.named("WHEN")))
        else:
            args.append(built_in(branch, "=", [subject, bind(branch.this, block)]))
        args.append(bind(branch.true, block))
    default = tree.default
    args.append(Literal(NullType(), None) if default is None else bind(default, block))
    return built_in(tree, "CASE", args)


@binds(nodes.Cast, nodes.TryCast)
def _cast(tree: nodes.Cast, block: Block) -> Rex:
    value, wanted = bind(tree.this, block), tree.to.data_type
    if isinstance(value, Literal) and value.value is None:
        return Literal(wanted.nullable(), None)
    try:
        # It stays also where the type is the same, since it ends a time attribute.
        found = explicit_cast(value, wanted, isinstance(tree, nodes.TryCast))
    except SignatureError as error:
        fail(tree, str(error))
    if not is_text(value.type) or found.function != "CAST":
        return found
    if isinstance(value, Literal) and not fits(value, wanted, null=True):
        fail(tree, f"CAST failed: cannot read {value.value!r} as {wanted.sql()}. TRY_CAST gives NULL instead")
    if isinstance(tree.this, nodes.Column):  # for the error about a value of it
        return replace(found, options=(("column", nodes.name_of(tree.this)),))
    return found


_PLAIN: dict[type[nodes.Node], Handler] = {
    nodes.HexString: lambda tree, block: literals.binary(tree, tree.this),
    nodes.Null: lambda tree, block: Literal(NullType(), None),
    nodes.Boolean: lambda tree, block: Literal(BooleanType(False), bool(tree.this)),
    nodes.TypedLiteral: lambda tree, block: literals.typed(tree, tree.kind, tree.this),
    nodes.IntervalLiteral: lambda tree, block: literals.interval(tree.data_type, tree.value),
    nodes.Paren: lambda tree, block: bind(tree.this, block),
    nodes.Tuple: lambda tree, block: built_in(tree, "ROW", bind_all(tree.expressions, block)),
}
for _kind, _handler in _PLAIN.items():
    binds(_kind)(_handler)
