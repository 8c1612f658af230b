"""Binds expressions other than plain calls: constants, operators, subqueries, and expressions that only the Table
API has."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import NoReturn

from millrace.relational import types as t
from millrace.relational.functions.cast_values import explicit_cast, fits
from millrace.relational.functions.registry import SignatureError, cast_to, common_type, comparable_type, is_text
from millrace.relational.nodes import Field, Project, Rel
from millrace.relational.rex import Call, Literal, Ref, Rex, Subquery
from millrace.relational.types import BooleanType, DayTimeIntervalType, NullType
from millrace.table.sql import nodes
from millrace.table.sql.binding.calls import (
    bind_call,
    bound_arguments,
    built_in,
    check_time_argument,
    refuse_misplaced,
    taken_by_user,
)
from millrace.table.sql.binding.scope import (
    Block,
    Environment,
    access,
    bind,
    bind_all,
    bind_condition,
    bind_rel,
    binds,
    binds_query,
    constant,
    fail,
    field_name,
    fold,
    reported,
    resolve,
)
from millrace.table.sql.binding.scope import ExpressionBinder as Handler
from millrace.table.sql.grammar.parser import parse_expression
from millrace.table.sql.program_text import shown
from millrace.table.values.data_types import literal_type

# Spans of time


def milliseconds(tree: nodes.Node, block: Block) -> int:
    """The length of ``INTERVAL '10' MINUTE``."""
    found = span_of(constant(bind(tree, block), block.zone))
    if found is None:
        fail(tree, "a constant span of time is needed here, such as INTERVAL '10' MINUTE")
    return found


def span_of(expression: Rex) -> int | None:
    """The milliseconds of a constant DAY-TIME interval; None for anything else."""
    if not isinstance(expression, Literal) or not isinstance(expression.type, DayTimeIntervalType):
        return None
    if expression.value is None:
        return None
    return int(expression.value // datetime.timedelta(milliseconds=1))


# Constants

_INT, _BIGINT = 2**31, 2**63


def number(tree: nodes.Node, text: str) -> Literal:
    """A number as written: INT, or BIGINT, or DECIMAL if it is too large; DECIMAL with a point, DOUBLE with an E."""
    if "e" in text.lower():
        return Literal(t.DoubleType(False), float(text))
    value = Decimal(text)
    if value == value.to_integral_value() and not text.partition(".")[2]:
        whole = int(value)
        if -_INT <= whole < _INT:
            return Literal(t.IntType(False), whole)
        if -_BIGINT <= whole < _BIGINT:
            return Literal(t.BigIntType(False), whole)
    digits, scale = _size(text)
    if digits > t.DecimalType.MAX_PRECISION:
        fail(tree, f"the number {text} has {digits} digits: a DECIMAL has at most {t.DecimalType.MAX_PRECISION}")
    return Literal(t.DecimalType(digits, scale, False), value)


def _size(text: str) -> tuple[int, int]:
    """Digits as written, with zeros in front, and those after the point."""
    whole, _, fraction = text.lstrip("+-").partition(".")
    return len(whole) + len(fraction), len(fraction)


def text(value: str) -> Literal:
    """A string: CHAR of its length."""
    return Literal(t.CharType(len(value), False), value)


def binary(tree: nodes.Node, digits: str) -> Literal:
    """``x'1F'``: BINARY of its length."""
    try:
        value = bytes.fromhex(digits)
    except ValueError:
        fail(tree, f"x'{digits}' is not an even number of hexadecimal digits")
    return Literal(t.BinaryType(len(value), False), value)


def typed(tree: nodes.Node, kind: str, written: str) -> Literal:
    """``DATE '2024-05-06'``, ``TIME '10:20:30'``, ``TIMESTAMP '2024-05-06 10:20:30.123'``; the last two have as many
    digits after the second as are written."""
    try:
        if kind == "DATE":
            return Literal(t.DateType(False), datetime.date.fromisoformat(written.strip()))
        whole, _, fraction = written.strip().partition(".")
        precision, micro = min(9, len(fraction)), int((fraction + "000000")[:6] or 0)
        if kind == "TIME":
            time = datetime.datetime.strptime(whole, "%H:%M:%S").time().replace(microsecond=micro)
            return Literal(t.TimeType(precision, False), time)
        moment = datetime.datetime.strptime(whole.replace("T", " "), "%Y-%m-%d %H:%M:%S")
        return Literal(t.TimestampType(precision, False), moment.replace(microsecond=micro))
    except ValueError:
        shapes = {"DATE": "2024-05-06", "TIME": "10:20:30[.123]", "TIMESTAMP": "2024-05-06 10:20:30[.123]"}
        fail(tree, f"{kind} '{written}' is no {kind}: write it as {kind} '{shapes[kind]}'")


def interval(data_type: t.DataType, value: int) -> Literal:
    """An INTERVAL of microseconds, or of months."""
    plain = data_type.not_null()
    return Literal(
        plain, value if isinstance(plain, t.YearMonthIntervalType) else datetime.timedelta(microseconds=value)
    )


# Subqueries


@binds(nodes.Exists)
def _exists(tree: nodes.Exists, block: Block) -> Rex:
    return bind_exists(tree, block, negated=False)


def bind_exists(tree: nodes.Exists, block: Block, negated: bool) -> Rex:
    """``[NOT] EXISTS (SELECT ...)``."""
    plan = bind_rel(tree.this, block.environment, block)
    return Subquery(BooleanType(False), "EXISTS", plan, negated=negated)


@binds(nodes.Subquery)
def bind_scalar(tree: nodes.Subquery, block: Block) -> Rex:
    """A query that gives one value: one column, at most one row; NULL of no row."""
    plan = bind_rel(tree, block.environment, block)
    if len(plan.schema) != 1:
        fail(tree, f"a subquery inside an expression must have one column, and this has {len(plan.schema)}")
    return Subquery(plan.schema[0].type.nullable(), "SCALAR", plan)


def bind_in_query(tree: nodes.In, operands: Sequence[Rex], block: Block, negated: bool) -> Rex:
    """``x [NOT] IN (SELECT ...)``, ``(x, y) IN (SELECT ...)``."""
    assert tree.query is not None
    plan = bind_rel(tree.query, block.environment, block)
    if len(plan.schema) != len(operands):
        fail(tree, f"IN compares {len(operands)} values with a query of {len(plan.schema)} columns")
    return _in_query(tree, operands, plan, negated)


def _in_query(tree: nodes.Node, operands: Sequence[Rex], plan: Rel, negated: bool) -> Rex:
    return _compared(tree, "IN", operands, plan, negated)


def _compared(tree: nodes.Node, kind: str, operands: Sequence[Rex], plan: Rel, negated: bool = False) -> Rex:
    """Operands and the columns of a query in the types that they are compared in."""
    wanted = [common_type([each.type, column.type]) for each, column in zip(operands, plan.schema)]
    for found, each, column in zip(wanted, operands, plan.schema):
        if found is None:
            fail(
                tree, f"{kind} cannot compare {each.type} with {column.type} (column '{column.name}'): CAST one of them"
            )
    types = [each for each in wanted if each is not None]
    columns = [cast_to(Ref(column.type, at), kind) for at, (column, kind) in enumerate(zip(plan.schema, types))]
    if any(not isinstance(each, Ref) for each in columns):
        names = [Field(old.name, new.type) for old, new in zip(plan.schema, columns)]
        plan = Project(plan, tuple(columns), tuple(names))
    cast = tuple(cast_to(each, kind) for each, kind in zip(operands, types))
    nullable = any(each.type.is_nullable for each in (*cast, *columns))
    return Subquery(BooleanType(nullable), kind, plan, cast, negated)


def bind_quantified(tree: nodes.BuiltIn, right: nodes.All | nodes.Any, block: Block) -> Rex:
    """``x > ALL (SELECT ...)`` and the like; ``= ANY`` and ``<> ALL`` are IN and NOT IN."""
    operand = bind(tree.expressions[0], block)
    sign, word = tree.this, "ALL" if isinstance(right, nodes.All) else "ANY"
    assert right.query is not None
    plan = bind_rel(right.query, block.environment, block)
    if len(plan.schema) != 1:
        fail(tree, f"the subquery must have one column, and this has {len(plan.schema)}")
    if (sign, word) in (("=", "ANY"), ("<>", "ALL")):
        return _in_query(tree, [operand], plan, negated=word == "ALL")
    return _compared(tree, f"{sign} {word}", [operand], plan)


# Names and special forms

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
    return text(tree.this) if tree.is_string else number(tree, tree.this)


@binds(nodes.Neg)
def _negate(tree: nodes.Neg, block: Block) -> Rex:
    if isinstance(tree.this, nodes.Literal) and not tree.this.is_string:
        return number(tree, "-" + tree.this.this)
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
def _in_list(tree: nodes.In, block: Block) -> Rex:
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
    nodes.HexString: lambda tree, block: binary(tree, tree.this),
    nodes.Null: lambda tree, block: Literal(NullType(), None),
    nodes.Boolean: lambda tree, block: Literal(BooleanType(False), bool(tree.this)),
    nodes.TypedLiteral: lambda tree, block: typed(tree, tree.kind, tree.this),
    nodes.IntervalLiteral: lambda tree, block: interval(tree.data_type, tree.value),
    nodes.Paren: lambda tree, block: bind(tree.this, block),
    nodes.Tuple: lambda tree, block: built_in(tree, "ROW", bind_all(tree.expressions, block)),
}
for _kind, _handler in _PLAIN.items():
    binds(_kind)(_handler)


# Operators


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


# The Table API


@binds(nodes.Constant)
def _constant(tree: nodes.Constant, block: Block) -> Rex:
    value = tree.value
    if tree.type is not None:
        return Literal(tree.type.with_nullable(value is None or tree.type.is_nullable), value)
    try:
        return Literal(literal_type(value), value)
    except TypeError as error:
        fail(tree, str(error))


@binds(nodes.Position)
def _position(tree: nodes.Position, block: Block) -> Rex:
    return block.ref(tree.index)


@binds(nodes.WholeRow)
def _whole_row(tree: nodes.WholeRow, block: Block) -> Rex:
    parts = tuple(bind_all(tree.expressions, block))
    fields = [t.RowField(shown(each), part.type) for each, part in zip(tree.expressions, parts)]
    return Call(t.RowType(fields, False), "ROW", parts)


@binds(nodes.SqlText)
def _sql(tree: nodes.SqlText, block: Block) -> Rex:
    parsed = parse_expression(tree.text)
    with reported(parsed):
        return bind(parsed, block)


@binds_query(nodes.ResolvedQuery)
def _query(tree: nodes.ResolvedQuery, environment: Environment, outer: Block | None) -> Rel:
    return tree.plan


_PLACES: dict[type[nodes.Node], str] = {
    nodes.WindowProperty: "windows stand in select after group_by",
    nodes.Columns: "it stands alone in select",
    nodes.Range: "it stands in with_columns",
    nodes.Ordered: "asc and desc stand in order_by",
    nodes.Distinct: "it follows an aggregate in select",
}


@binds(*_PLACES)
def _misplaced(tree: nodes.Node, block: Block) -> NoReturn:
    fail(tree, f"this cannot stand inside an expression here: {_PLACES[type(tree)]}")


@binds(nodes.Alias)
def _alias(tree: nodes.Alias, block: Block) -> Rex:
    return bind(tree.this, block)
