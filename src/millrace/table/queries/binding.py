"""Unbound expressions against the columns of a table: names become positions, every part gets its type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from millrace.relational import types as t
from millrace.relational.casting import cast_to, common_type, explicit_cast, is_text
from millrace.relational.functions.aggregates.registry import aggregate_call, find_aggregate
from millrace.relational.functions.registry import SignatureError, call, find_scalar, scalar_names
from millrace.relational.nodes import Schema
from millrace.relational.rex import AggCall, Call, FieldAccess, Literal, Ref, Rex, Subquery, UdfCall
from millrace.relational.types import DataType
from millrace.table.queries import unbound as u
from millrace.table.queries.expression_text import text
from millrace.table.queries.problems import did_you_mean, problem
from millrace.table.udf import (
    UserDefinedAggregateFunctionWrapper,
    UserDefinedFunctionWrapper,
    UserDefinedScalarFunctionWrapper,
    UserDefinedTableFunctionWrapper,
)
from millrace.table.values.literal_types import literal_type

if TYPE_CHECKING:
    from millrace.table.table_environment import TableEnvironment


class Binder:
    """Binds expressions to columns.

    :param environment: where functions are looked up by name and SQL is read; None: neither is possible.
    """

    def __init__(self, schema: Schema, environment: TableEnvironment | None = None) -> None:
        self.schema = schema
        self.environment = environment

    # -- names --------------------------------------------------------------------------------------------------

    def index(self, name: str) -> int:
        """The position of a column.

        :raises TableException: there is none, or several.
        """
        found = [index for index, column in enumerate(self.schema) if column.name == name]
        if len(found) == 1:
            return found[0]
        names = [column.name for column in self.schema]
        if found:
            raise problem(f"column '{name}' is there {len(found)} times: rename some with rename_columns or alias")
        raise problem(f"no column '{name}'{did_you_mean(name, names) or '; the columns are ' + ', '.join(names)}")

    def ref(self, index: int) -> Ref:
        return Ref(self.schema[index].type, index)

    # -- expressions --------------------------------------------------------------------------------------------

    def bind(self, node: u.Node) -> Rex:
        """:raises TableException: a column or function is unknown, or does not take these types."""
        handler = getattr(self, f"_{type(node).__name__.lower()}", None)
        if handler is None:
            raise problem(f"{text(node)} cannot stand inside an expression here{_HINTS.get(type(node), '')}")
        found = handler(node)
        assert isinstance(found, Rex)
        return found

    def condition(self, node: u.Node) -> Rex:
        """An expression that must be a BOOLEAN."""
        found = self.bind(node)
        if isinstance(found.type, t.NullType):
            return Literal(t.BooleanType(), None)
        if not isinstance(found.type, t.BooleanType):
            raise problem(f"a condition is a BOOLEAN, and {text(node)} is {found.type}")
        return found

    def _column(self, node: u.Column) -> Rex:
        return self.ref(self.index(node.name))

    def _bound(self, node: u.Bound) -> Rex:
        return self.ref(node.index)

    def _literal(self, node: u.Literal) -> Rex:
        if node.type is None:
            try:
                return Literal(literal_type(node.value), node.value)
            except TypeError as error:
                raise problem(str(error)) from None
        wanted = node.type.with_nullable(node.value is None or node.type.is_nullable)
        return Literal(wanted, node.value)

    def _alias(self, node: u.Alias) -> Rex:
        return self.bind(node.child)

    def _cast(self, node: u.Cast) -> Rex:
        value = self.bind(node.child)
        if isinstance(value, Literal) and value.value is None:
            return Literal(node.type.nullable(), None)
        try:
            return explicit_cast(value, node.type, node.safe)
        except SignatureError as error:
            raise problem(f"{text(node)}: {error}") from None

    def _apply(self, node: u.Apply) -> Rex:
        args = [self.bind(arg) for arg in node.args]
        if node.function == "NOT" and isinstance(args[0], Subquery):
            return replace(args[0], negated=not args[0].negated)
        if node.function == "IN":
            args = self._comparable(node, args)
        if node.function == "+" and any(is_text(arg.type) for arg in args):
            return self._call(node, "||", [arg if is_text(arg.type) else cast_to(arg, t.string()) for arg in args], {})
        return self._call(node, node.function, args, dict(node.options))

    def _comparable(self, node: u.Node, args: list[Rex]) -> list[Rex]:
        wanted = common_type([arg.type for arg in args])
        if wanted is None:
            raise problem(f"{text(node)} compares {', '.join(str(arg.type) for arg in args)}: cast some of them")
        return [cast_to(arg, wanted) for arg in args]

    def _call(self, node: u.Node, name: str, args: Sequence[Rex], options: dict[str, Any]) -> Rex:
        try:
            return call(name, args, options)
        except SignatureError as error:
            raise problem(f"{text(node)}: {error}") from None
        except KeyError:
            raise problem(f"function {name} is not supported{did_you_mean(name, scalar_names())}") from None

    def _get(self, node: u.Get) -> Rex:
        row = self.bind(node.child)
        if not isinstance(row.type, t.RowType):
            raise problem(f"{text(node)}: only a ROW has fields, and this is {row.type}")
        names = row.type.names
        key = node.key
        if isinstance(key, int):
            if not 0 <= key < len(names):
                raise problem(f"{text(node)}: the row has {len(names)} fields, counted from 0")
            key = names[key]
        if key not in names:
            raise problem(f"{text(node)}: no field '{key}'{did_you_mean(key, names)}; it has {', '.join(names)}")
        return field_of(row, key)

    def _intable(self, node: u.InTable) -> Rex:
        plan = node.table._plan
        if len(plan.schema) != 1:
            raise problem(f"{text(node)} needs a table of one column, and this one has {len(plan.schema)}")
        value = self.bind(node.child)
        return Subquery(t.BooleanType(), "IN", plan, (value,))

    def _sql(self, node: u.Sql) -> Rex:
        if self.environment is None:
            raise problem(f"SQL text needs a table environment: {node.text}")
        return self.environment._bind_sql_expression(node.text, self.schema)

    def _wholerow(self, node: u.WholeRow) -> Rex:
        parts = tuple(self.bind(arg) for arg in node.args)
        fields = [t.RowField(text(arg), part.type) for arg, part in zip(node.args, parts)]
        return Call(t.RowType(fields, False), "ROW", parts)

    def _named(self, node: u.Named) -> Rex:
        return self.bind(node.child)

    # -- functions of the user ----------------------------------------------------------------------------------

    def _usercall(self, node: u.UserCall) -> Rex:
        function = node.function
        if not isinstance(function, UserDefinedScalarFunctionWrapper):
            what = "a table function: use join_lateral or flat_map"
            if isinstance(function, UserDefinedAggregateFunctionWrapper):
                what = "an aggregate function: use it in select after group_by, or in aggregate or flat_aggregate"
            raise problem(f"{text(node)} is {what}")
        return UdfCall(
            function.result_type,
            function,
            function.name,
            tuple(self.arguments(function, node)),
            function.vectorized,
            function.asynchronous,
            function.deterministic,
        )

    def arguments(self, function: UserDefinedFunctionWrapper, node: u.UserCall) -> list[Rex]:
        """The arguments of a user's function, in the types that it declares."""
        args = [self.bind(arg) for arg in node.args]
        wanted = function.input_types
        if wanted is None:
            return args
        if len(args) != len(wanted):
            types = ", ".join(map(str, wanted))
            raise problem(f"{function.name} takes {len(wanted)} arguments ({types}), not {len(args)}")
        return [cast_to(arg, each) for arg, each in zip(args, wanted)]

    def _namedcall(self, node: u.NamedCall) -> Rex:
        found = self.look_up(node)
        return self.bind(found)

    def look_up(self, node: u.NamedCall) -> u.Node:
        """The call of what a name means: a function of the user, a built-in scalar or aggregate function."""
        name = node.name.upper()
        user = None if self.environment is None else self.environment._find_function(node.name)
        built_in = find_scalar(name) is not None or is_aggregate(name)
        if user is not None and (user[1] or not built_in):
            return u.UserCall(user[0], node.args)
        if find_scalar(name) is not None:
            return u.Apply(name, node.args, shown=node.name)
        if is_aggregate(name):
            return u.Aggregation(name, node.args, shown=node.name)
        known = [*scalar_names(), *([] if self.environment is None else self.environment.list_functions())]
        raise problem(f"no function '{node.name}'{did_you_mean(node.name, known)}")

    # -- aggregates ---------------------------------------------------------------------------------------------

    def aggregate(self, node: u.Node, may_be_empty: bool = False) -> AggCall:
        """An aggregate over rows.

        :param may_be_empty: there may be no rows, as in an aggregate without keys.
        """
        distinct = isinstance(node, u.Distinct)
        inner = node.child if isinstance(node, u.Distinct) else node
        if isinstance(inner, u.NamedCall):
            inner = self.look_up(inner)
        if isinstance(inner, u.UserCall) and isinstance(inner.function, UserDefinedAggregateFunctionWrapper):
            args = tuple(self.arguments(inner.function, inner))
            function = inner.function
            return AggCall(function.name, args, function.result_type, distinct, udf=function)
        if not isinstance(inner, u.Aggregation):
            raise problem(f"{text(node)} is no aggregate")
        return self._built_in_aggregate(inner, distinct, may_be_empty)

    def _built_in_aggregate(self, node: u.Aggregation, distinct: bool, may_be_empty: bool) -> AggCall:
        args = [self.bind(arg) for arg in node.args]
        options = dict(node.options)
        try:
            return aggregate_call(node.function, args, options, distinct, may_be_empty=may_be_empty)
        except SignatureError as error:
            raise problem(f"{text(node)}: {error}") from None
        except KeyError:
            raise problem(f"aggregate {node.function} is not supported") from None


_HINTS: dict[type[u.Node], str] = {
    u.Aggregation: ": aggregates stand in select, after group_by or alone",
    u.Distinct: ": it follows an aggregate in select",
    u.OverCall: ": over stands in the select of over_window",
    u.WindowProperty: ": windows stand in select after group_by",
    u.Flatten: ": flatten stands alone in select",
    u.Columns: ": it stands alone in select",
    u.Ordered: ": asc and desc stand in order_by",
    u.Range: ": it stands in with_columns",
}


def is_aggregate(name: str) -> bool:
    """Whether a built-in aggregate function has this name."""
    return find_aggregate(name) is not None


def field_of(row: Rex, name: str) -> FieldAccess:
    """A field of a row: it may be NULL if the row may."""
    assert isinstance(row.type, t.RowType)
    found: DataType = row.type.field_types()[row.type.names.index(name)]
    return FieldAccess(found.nullable() if row.type.is_nullable else found, row, name)


def contains_aggregate(node: u.Node, binder: Binder) -> bool:
    """Whether the expression aggregates rows; aggregates over an over window do not count."""
    if isinstance(node, u.OverCall):
        return False
    return is_aggregate_call(node, binder) or any(contains_aggregate(child, binder) for child in node.children)


def is_aggregate_call(node: u.Node, binder: Binder) -> bool:
    """Whether the node itself is an aggregate."""
    if isinstance(node, u.NamedCall):
        node = binder.look_up(node)
    if isinstance(node, u.UserCall):
        return isinstance(node.function, UserDefinedAggregateFunctionWrapper)
    return isinstance(node, (u.Aggregation, u.Distinct))


def table_function(node: u.Node, binder: Binder) -> tuple[u.UserCall, tuple[str, ...]]:
    """A call of a table function and the names of its columns.

    :raises TableException: something else.
    """
    names: tuple[str, ...] = ()
    if isinstance(node, u.Alias):
        names, node = node.names, node.child
    if isinstance(node, u.NamedCall):
        node = binder.look_up(node)
    if not isinstance(node, u.UserCall) or not isinstance(node.function, UserDefinedTableFunctionWrapper):
        raise problem(f"{text(node)} is no table function: make one with udtf()")
    return node, names or node.function._alias_names
