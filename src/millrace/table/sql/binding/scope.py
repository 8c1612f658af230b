"""The surroundings in which parts of a query are bound: the columns that a name can mean, the session's tables and
functions (``Resolver``), and the query block; and the registry of binders by kind of node. The other modules
register their binders here, so they need not import each other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Any, NoReturn, Protocol, TypeAlias

from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import Surroundings, find_scalar, shallow
from millrace.relational.nodes import PROCTIME, Field, Rel, Schema
from millrace.relational.nodes.rel import has_subquery
from millrace.relational.rex import Call, FieldAccess, Literal, OuterRef, Ref, Rex, deep_calls, rewrite, walk
from millrace.relational.rules.subqueries import unnest
from millrace.relational.types import AtomicType, BooleanType, DataType, NullType, RowType
from millrace.relational.values import to_python
from millrace.table.sql import nodes
from millrace.table.sql.program_text import shown
from millrace.table.sql.text import Name, Path, SqlValidationError, position_of
from millrace.util.exceptions import TableException
from millrace.util.names import did_you_mean, entered
from millrace.util.record import Record
from millrace.util.tracebacks import user_origin

# Scopes


class Relation(Record):
    """One item of a FROM clause: its columns lie from ``offset`` on among those of the whole clause."""

    name: str | None
    """alias, or name of the table; None for an unnamed subquery"""
    columns: Schema
    offset: int = 0
    path: tuple[str, ...] = ()
    """the full name of a table without alias: catalog, database, table"""

    def answers(self, qualifier: tuple[str, ...]) -> bool:
        """Whether these names in front of a column's mean this relation."""
        if len(qualifier) == 1:
            return qualifier[0] == self.name
        return len(qualifier) <= len(self.path) and self.path[-len(qualifier) :] == qualifier

    def find(self, name: str) -> list[Rex]:
        return [self.ref(at) for at, column in enumerate(self.columns) if column.name == name]

    def ref(self, at: int) -> Ref:
        return Ref(self.columns[at].type, self.offset + at)


class Scope(Record):
    """All columns of a FROM clause."""

    relations: tuple[Relation, ...] = ()
    merged: tuple[tuple[str, Rex], ...] = ()
    """columns of USING and NATURAL: one name for a column of either side"""

    @property
    def fields(self) -> Schema:
        return tuple(column for relation in self.relations for column in relation.columns)

    def find(self, name: str) -> list[Rex]:
        """What an unqualified name can mean: more than one means that it is ambiguous."""
        for merged, expression in self.merged:
            if merged == name:
                return [expression]
        return [found for relation in self.relations for found in relation.find(name)]

    def relations_named(self, qualifier: tuple[str, ...]) -> list[Relation]:
        return [relation for relation in self.relations if relation.answers(qualifier)]

    def star(self) -> list[tuple[str, Rex]]:
        """The columns of ``*``: merged ones once, in front."""
        names = {name for name, _ in self.merged}
        rest = [
            (column.name, relation.ref(at))
            for relation in self.relations
            for at, column in enumerate(relation.columns)
            if column.name not in names
        ]
        return [*((name, expression) for name, expression in self.merged), *rest]

    def over(self, columns: Schema) -> Scope:
        """This scope after a rule or an outer join has changed the types or time attributes of its columns to
        ``columns``."""
        relations = tuple(
            replace(each, columns=_renamed(each.columns, columns[each.offset : each.offset + len(each.columns)]))
            for each in self.relations
        )

        def part(each: Rex) -> Rex | None:
            return replace(each, type=columns[each.index].type) if isinstance(each, Ref) else None

        return Scope(relations, tuple((name, rewrite(each, part)) for name, each in self.merged))

    def names(self) -> list[str]:
        """Every name that a column can be called by, for suggestions."""
        plain = [column.name for column in self.fields]
        full = [f"{each.name}.{column.name}" for each in self.relations if each.name for column in each.columns]
        return plain + full


def _renamed(names: Schema, columns: Schema) -> Schema:
    return tuple(
        column if column.name == name.name else replace(column, name=name.name) for name, column in zip(names, columns)
    )


def scope_of(name: str | None, columns: Schema, path: tuple[str, ...] = ()) -> Scope:
    """A scope with one relation."""
    return Scope((Relation(name, columns, 0, path),))


def beside(left: Scope, right: Scope) -> Scope:
    """The columns of two joined inputs, the right ones after the left ones."""
    width = len(left.fields)
    moved = tuple(replace(each, offset=each.offset + width) for each in right.relations)
    return Scope(left.relations + moved, left.merged)


def field_of(name: str, expression: Rex, columns: Schema) -> Field:
    """The column that a projection makes of an expression: a plain reference keeps its time attribute, PROCTIME() is
    one."""
    if isinstance(expression, Ref):
        return Field(name, expression.type, columns[expression.index].time)
    is_now = isinstance(expression, Call) and expression.function == "PROCTIME"
    return Field(name, expression.type, PROCTIME if is_now else None)


# Resolver

SCALAR, TABLE, AGGREGATE, TABLE_AGGREGATE = "SCALAR", "TABLE", "AGGREGATE", "TABLE_AGGREGATE"
"""Kinds of a user's function."""


class TableInfo(Record):
    """A table or view that a query reads."""

    path: tuple[str, str, str]
    plan: Rel
    """a ``Scan`` of physical and metadata columns, a ``StreamScan``, or the plan of a view"""
    columns: tuple[str, ...] = ()
    """names of all columns in the order of the DDL, computed ones included; empty: the columns of ``plan``"""
    computed: Mapping[str, nodes.Node] = field(default_factory=dict)
    """computed columns: expressions over the columns of ``plan``"""
    watermark: tuple[str, nodes.Node] | None = None
    """WATERMARK FOR column AS expression, over all columns"""
    primary_key: tuple[str, ...] = ()
    lookup: Callable[[Sequence[int]], Any] | None = None
    """makes a ``LookupTableSource`` for these key columns (positions in ``plan``); None: cannot be looked up"""


class SinkInfo(Record):
    """A table that a query writes."""

    path: tuple[str, str, str]
    columns: Schema
    """the columns that are written, in the order of the sink: physical ones, then metadata that is not VIRTUAL"""
    sink: Any
    """a ``TableSink``"""
    partition_keys: tuple[str, ...] = ()
    not_written: tuple[str, ...] = ()
    """computed and virtual columns: they cannot be named in an INSERT"""
    declared: tuple[str, ...] = ()
    """the columns that are written as the table declares them, which an INSERT goes by; empty: in the order of the
    sink"""

    @property
    def names(self) -> tuple[str, ...]:
        """What an INSERT without names of columns fills, in its order."""
        return self.declared or tuple(column.name for column in self.columns)


class UserFunction(Record):
    """A function of the user, as plans call it."""

    name: str
    kind: str
    wrapper: Any
    """what ``UdfCall.function``, ``Correlate.udf`` and ``AggCall.udf`` carry"""
    result: DataType | None = None
    """result type of a scalar or aggregate function"""
    columns: Schema = ()
    """columns of the rows that a table function gives"""
    arguments: tuple[DataType, ...] | None = None
    """types that the arguments are cast to; None: the arguments are passed as they are"""
    vectorized: bool = False
    asynchronous: bool = False
    deterministic: bool = True
    system: bool = False
    """a temporary system function: it takes the place of a built-in one with its name"""


class Resolver(Protocol):
    """The session, as far as the binding of queries sees it."""

    @property
    def zone(self) -> str:
        """The time zone of the session."""

    @property
    def streaming(self) -> bool:
        """Whether queries run as streams."""

    @property
    def matches_as_standard(self) -> bool:
        """Whether MATCH_RECOGNIZE always means what the SQL standard says."""

    def table(self, path: tuple[str, ...], options: Mapping[str, str]) -> TableInfo | None:
        """The table or view of one to three names (in the current catalog and database where these are left out), its
        options overridden by an OPTIONS hint. None: there is none."""

    def file(self, path: str, format: str | None) -> TableInfo:
        """Files as a table, whose columns are found out. ``format``: None: by the ending of the path."""

    def sink(self, path: tuple[str, ...], options: Mapping[str, str]) -> SinkInfo | None:
        """The table that an INSERT writes."""

    def function(self, path: tuple[str, ...]) -> UserFunction | None:
        """The user's function with this name (any case) of one to three parts."""

    def table_names(self) -> Iterable[str]:
        """Names of the tables and views of the current database, for suggestions."""

    def function_names(self) -> Iterable[str]:
        """Names of the user's functions, for suggestions."""


# Blocks

Intercept = Callable[[nodes.Node], "Rex | None"]


class Environment(Record):
    """The session and the names that WITH clauses around a query give."""

    resolver: Resolver
    ctes: Mapping[str, Rel] = field(default_factory=dict)

    def with_cte(self, name: str, plan: Rel) -> Environment:
        return replace(self, ctes={**self.ctes, name: plan})


class Block(Record):
    """The surroundings in which an expression is bound: what its names mean, and which functions it may call."""

    environment: Environment
    scope: Scope
    outer: Block | None = None
    """the query around a subquery"""
    place: str = "an expression"
    """the clause, for errors"""
    intercept: Intercept | None = None
    """looks at every part first and may bind it in its own way: aggregates, OVER"""
    expose: Callable[[Rex, nodes.Node], Rex] | None = None
    """turns a column of a grouped query into the column that it is after grouping, for subqueries in that query"""

    @staticmethod
    def of(columns: Schema, resolver: Resolver) -> Block:
        """Expressions over the columns of one table."""
        return Block(Environment(resolver), scope_of(None, columns))

    @property
    def columns(self) -> Schema:
        """All columns that names can mean."""
        return self.scope.fields

    @property
    def zone(self) -> str:
        """The time zone of the session."""
        return self.environment.resolver.zone

    def ref(self, index: int) -> Ref:
        """A column by its place."""
        return Ref(self.columns[index].type, index)

    def over(self, columns: Schema) -> Block:
        """This block over the columns of another table, without names of relations."""
        return replace(self, scope=scope_of(None, columns))

    def at(self, place: str) -> Block:
        """This block in another clause (``place``), where aggregates and OVER are not allowed."""
        return replace(self, place=place, intercept=None)

    def named(self, place: str) -> Block:
        """This block with another name of its clause in errors."""
        return replace(self, place=place)


# Refusing a query

_TOO_DEEP = "operators, brackets, queries or calls are nested too deeply: compute a part in a subquery or a view before"


def fail(where: nodes.Node | Name | Path | None, message: str) -> NoReturn:
    """Refuse a query because of this part of it: the error shows where it stands, in SQL or in the user's program."""
    if isinstance(where, (Name, Path)):
        raise SqlValidationError(message, where.position)
    if where is None or not by_program(where):
        raise SqlValidationError.at(where, message)
    part = shown(where)
    if f"'{part}'" not in message:
        message = f"{part}: {message}"
    raise TableException(f"{user_origin()}: {message}")


def by_program(tree: nodes.Node) -> bool:
    """Whether a program made this part: it has no place in a text."""
    return position_of(tree) is None


@contextmanager
def reported(tree: nodes.Node) -> Iterator[None]:
    """What a rule refuses (it knows of no text) is reported at this part of a query."""
    try:
        with deep_calls():
            yield
    except NotImplementedError as error:
        raise SqlValidationError.at(tree, str(error)) from error
    except RecursionError:
        # Without a look at its parts, which would go as deep once more.
        if tree.position is None:
            raise TableException(f"{user_origin()}: {_TOO_DEEP}") from None
        raise SqlValidationError(_TOO_DEEP, tree.position) from None


# Who binds what

ExpressionBinder: TypeAlias = "Callable[[Any, Block], Rex]"
QueryBinder: TypeAlias = "Callable[[Any, Environment, Block | None], Rel]"

_expressions: dict[type[nodes.Node], ExpressionBinder] = {}
_queries: dict[type[nodes.Node], QueryBinder] = {}


LEVELS = 32
"""The number of levels after which nested expressions are made shallow, while their parts are bound."""
_nesting = threading.local()


def binds(*kinds: type[nodes.Node]) -> Callable[[ExpressionBinder], ExpressionBinder]:
    """Register the decorated function for these nodes inside of expressions."""
    return entered(_expressions, *kinds)


def binds_query(*kinds: type[nodes.Node]) -> Callable[[QueryBinder], QueryBinder]:
    """Register the decorated function for these kinds of query."""
    return entered(_queries, *kinds)


def bind(tree: nodes.Node, block: Block) -> Rex:
    """An expression with its types.

    :raises SqlValidationError: a name is unknown or an argument has the wrong type.
    """
    if block.intercept is not None:
        found = block.intercept(tree)
        if found is not None:
            return found
    handler = _expressions.get(type(tree))
    if handler is None:
        fail(tree, f"{type(tree).__name__} is not allowed in {block.place}")
    level = getattr(_nesting, "level", 0) + 1
    _nesting.level = level
    try:
        if level > 1:
            found = handler(tree, block)
            return shallow(found) if level % LEVELS == 0 else found
        with deep_calls():
            return shallow(handler(tree, block))
    finally:
        _nesting.level = level - 1


def bind_all(trees: Sequence[nodes.Node], block: Block) -> list[Rex]:
    return [bind(each, block) for each in trees]


def unnested(node: Rel) -> Rel:
    """A filter or projection of a query without subqueries in its expressions.

    :raises NotImplementedError: a correlation that cannot be taken out.
    """
    return unnest(node) if has_subquery(node) else node


def bind_condition(tree: nodes.Node, block: Block) -> Rex:
    """An expression that must be a BOOLEAN."""
    found = bind(tree, block)
    if isinstance(found.type, NullType):
        return Literal(BooleanType(), None)
    if not isinstance(found.type, BooleanType):
        fail(tree, f"{block.place} needs a BOOLEAN, and this is {found.type}")
    return found


def bind_rel(tree: nodes.Node, environment: Environment, outer: Block | None = None) -> Rel:
    """The plan of a query.

    :param outer: the query that this one is a subquery of.
    """
    handler = _queries.get(type(tree))
    if handler is None:
        fail(tree, f"{type(tree).__name__} is no query")
    return handler(tree, environment, outer)


# Constants, computed when a query is planned


def fold(expression: Rex, zone: str) -> Rex:
    """Compute a call whose parts are all constants into a literal; return everything else unchanged. Values of
    constructed types are not folded: their Python form is mutable, so it may not be part of a plan.

    :param zone: of the session.
    """
    if isinstance(expression, Literal) or not all(_constant(part) for part in walk(expression)):
        return expression
    if not isinstance(expression.type, AtomicType):
        return expression
    column = Evaluator([], Surroundings(1, zone)).column(expression)
    return Literal(expression.type, to_python(column, expression.type)[0])


def constant(expression: Rex, zone: str) -> Rex:
    """Fold an expression whose value the query needs at planning time, see ``fold``. A call that cannot be computed
    is returned unchanged; the caller refuses it as no constant."""
    try:
        return fold(expression, zone)
    except (ValueError, ArithmeticError):
        return expression


def _constant(part: Rex) -> bool:
    if isinstance(part, Literal):
        return True
    function = find_scalar(part.function) if isinstance(part, Call) else None
    return function is not None and function.deterministic and not function.dynamic


# Names of columns


def resolve(tree: nodes.Node, parts: Sequence[str], block: Block) -> Rex:
    """What ``a``, ``t.a``, ``db.t.a`` or ``a.field`` means: a column of this query, or else of one around it."""
    depth = 0
    at: Block | None = block
    while at is not None:
        found = _find(tree, parts, at.scope)
        if found is not None:
            column, rest = found
            if depth:
                column = _from_outside(column if at.expose is None else at.expose(column, tree), depth)
            return access(tree, column, rest)
        depth, at = depth + 1, at.outer
    return _unknown(tree, parts, block)


def access(tree: nodes.Node, row: Rex, names: Sequence[str]) -> Rex:
    """Fields inside of a row value."""
    for name in names:
        if not isinstance(row.type, RowType):
            fail(tree, f"'{name}' is no field: a field can only be read from a ROW, and this is {row.type}")
        fields = dict(zip(row.type.names, row.type.field_types()))
        if name not in fields:
            known = ", ".join(row.type.names)
            fail(tree, f"the row has no field '{name}', only {known}{did_you_mean(name, fields)}")
        field_type = fields[name]
        row = FieldAccess(field_type.with_nullable(field_type.is_nullable or row.type.is_nullable), row, name)
    return row


def column_at(name: str, block: Block) -> int:
    """The place of the column that a program names."""
    found = resolve(nodes.Column.named(name), [name], block)
    assert isinstance(found, Ref)
    return found.index


def field_name(tree: nodes.Dot, row: DataType) -> str:
    """The name of the field that ``row.field`` means; programs may also give its number."""
    field = tree.expression
    if not isinstance(field, nodes.Literal) or not isinstance(row, RowType):
        return nodes.name_of(field)
    if not int(field.this) < len(row.names):
        fail(tree, f"the row has {len(row.names)} fields, counted from 0")
    return str(row.names[int(field.this)])


def _find(tree: nodes.Node, parts: Sequence[str], scope: Scope) -> tuple[Rex, Sequence[str]] | None:
    for length in range(min(3, len(parts) - 1), 0, -1):
        for relation in scope.relations_named(tuple(parts[:length])):
            found = relation.find(parts[length])
            if found:
                return _only(tree, parts[: length + 1], found), parts[length + 1 :]
    found = scope.find(parts[0])
    return (_only(tree, parts[:1], found), parts[1:]) if found else None


def _only(tree: nodes.Node, parts: Sequence[str], found: list[Rex]) -> Rex:
    if len(found) > 1:
        name = ".".join(parts)
        fail(tree, f"column '{name}' is ambiguous: {len(found)} columns have this name; put the table's name in front")
    return found[0]


def _from_outside(column: Rex, depth: int) -> Rex:
    def outside(part: Rex) -> Rex | None:
        if isinstance(part, Ref):
            return OuterRef(part.type, part.index, depth)
        return replace(part, depth=part.depth + depth) if isinstance(part, OuterRef) else None

    return rewrite(column, outside)


def _unknown(tree: nodes.Node, parts: Sequence[str], block: Block) -> NoReturn:
    name = ".".join(parts)
    relations = [each.name for each in block.scope.relations if each.name]
    if len(parts) > 1 and block.scope.relations_named((parts[0],)):
        relation = block.scope.relations_named((parts[0],))[0]
        known = [column.name for column in relation.columns]
        fail(tree, f"table '{parts[0]}' has no column '{parts[1]}'{did_you_mean(parts[1], known)}{_list(known)}")
    if len(parts) > 1 and not block.scope.find(parts[0]):
        fail(tree, f"there is no table or column '{parts[0]}' for '{name}' here{did_you_mean(parts[0], relations)}")
    known = [column.name for column in block.scope.fields]
    fail(tree, f"unknown column '{name}'{did_you_mean(name, block.scope.names())}{_list(known)}")


def _list(known: Sequence[str]) -> str:
    if not known:
        return "; there are no columns here"
    shown = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
    return f" (columns: {shown})"
