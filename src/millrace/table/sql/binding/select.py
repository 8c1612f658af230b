"""Binds SELECT, VALUES and set operations, WITH before a query, and ORDER BY, OFFSET and FETCH behind it.

``bind_query`` binds a query as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from millrace.relational.functions.registry import cast_to, common_type
from millrace.relational.nodes import (
    Aggregate,
    Field,
    Filter,
    IntervalJoin,
    Join,
    Project,
    Rel,
    Schema,
    SetOp,
    Sort,
    Values,
    WindowJoin,
)
from millrace.relational.rex import Literal, Ref, Rex, SortKey, Subquery, substitute, walk
from millrace.relational.rules.join_rules import join_conditions
from millrace.relational.rules.window_rules import window_aggregate
from millrace.relational.types import RowType
from millrace.table.sql import nodes
from millrace.table.sql.binding.calls import sort_key
from millrace.table.sql.binding.from_clause import (
    NOTHING,
    From,
    Source,
    bind_relation,
    check_names,
    is_lateral,
    query_hints,
    renamed,
)
from millrace.table.sql.binding.grouped import Grouped, Overs, bind_keys, has_aggregate
from millrace.table.sql.binding.joins import bind_from
from millrace.table.sql.binding.scope import (
    Block,
    Environment,
    Resolver,
    Scope,
    access,
    bind,
    bind_all,
    bind_condition,
    bind_rel,
    binds_query,
    fail,
    field_of,
    fold,
    reported,
    resolve,
    scope_of,
    unnested,
)
from millrace.util.record import Record

# The items of a SELECT list


class Item(Record):
    """A column of the result."""

    name: str
    tree: nodes.Node
    expression: Rex | None = None
    """bound already, over the columns of FROM: a column of a *"""


def select_items(tree: nodes.Select, block: Block) -> list[Item]:
    """The columns of a SELECT list in their order."""
    items: list[Item] = []
    for written in tree.expressions:
        items += _select_items(written, len(items), block)
    return items


def _select_items(written: nodes.Node, position: int, block: Block) -> Iterator[Item]:
    if isinstance(written, nodes.Star):
        columns = block.scope.star()
        if not columns:
            fail(written, "SELECT * needs a FROM")
        yield from (Item(name, written, column) for name, column in columns)
    elif isinstance(written, (nodes.Column, nodes.Dot)) and _ends_with_star(written):
        yield from _qualified(written, block)
    elif isinstance(written, nodes.Alias):
        yield Item(written.alias.name, written.this)
    else:
        yield Item(_name(written) or f"EXPR${position}", written)


def _ends_with_star(written: nodes.Column | nodes.Dot) -> bool:
    last = written.this if isinstance(written, nodes.Column) else written.expression
    return isinstance(last, nodes.Star)


def _qualified(written: nodes.Column | nodes.Dot, block: Block) -> Iterator[Item]:
    """``t.*``, or ``row.*`` for the fields of a row."""
    if isinstance(written, nodes.Dot):
        yield from _row_fields(written, bind(written.this, block))
        return
    names = tuple(part.name for part in nodes.column_parts(written))[:-1]
    for relation in block.scope.relations_named(names):
        for at, column in enumerate(relation.columns):
            yield Item(column.name, written, relation.ref(at))
        return
    yield from _row_fields(written, resolve(written, names, block))


def _row_fields(written: nodes.Node, row: Rex) -> Iterator[Item]:
    if not isinstance(row.type, RowType):
        fail(written, f".* needs a table or a ROW, and this is {row.type}")
    for name in row.type.names:
        yield Item(name, written, access(written, row, [name]))


def _name(written: nodes.Node) -> str:
    if isinstance(written, nodes.Column):
        return written.name
    if isinstance(written, nodes.Dot) and isinstance(written.expression, nodes.Identifier):
        return written.expression.name
    return ""


# WITH, ORDER BY, OFFSET, FETCH


def with_ctes(tree: nodes.Query, environment: Environment, outer: Block | None) -> Environment:
    """The environment with the queries that a WITH names; each sees those before it."""
    clause = tree.with_
    if clause is None:
        return environment
    if clause.recursive:
        fail(clause, "WITH RECURSIVE is not supported: Flink SQL has no recursive queries either")
    for cte in clause.expressions:
        alias = cte.alias
        plan = bind_rel(cte.this, environment, outer)
        names = [each.name for each in alias.columns or []]
        if names and len(names) != len(plan.schema):
            fail(alias, f"WITH {alias.name}: {len(names)} names for {len(plan.schema)} columns")
        environment = environment.with_cte(alias.name, renamed(plan, names or plan.names))
    return environment


def ordered_and_limited(tree: nodes.Query, plan: Rel, environment: Environment, outer: Block | None) -> Rel:
    """A query with its ORDER BY over the columns of its result."""
    order = tree.order
    items = [] if order is None else order.expressions
    block = Block(environment, scope_of(None, plan.schema), outer, "ORDER BY")
    return sort(tree, plan, [sort_key(item, _key(item.this, plan, block)) for item in items])


def _key(tree: nodes.Node, plan: Rel, block: Block) -> Rex:
    position = ordinal(tree, len(plan.schema))
    return bind(tree, block) if position is None else Ref(plan.schema[position].type, position)


def ordinal(tree: nodes.Node, columns: int) -> int | None:
    """The column that ORDER BY 2 means, counted from 0; None for anything but a whole number."""
    if not isinstance(tree, nodes.Literal) or tree.is_string or not tree.this.isdigit():
        return None
    position = int(tree.this)
    if not 1 <= position <= columns:
        fail(tree, f"ORDER BY {position}: the query has {columns} columns")
    return position - 1


def sort(tree: nodes.Query, plan: Rel, keys: Sequence[SortKey]) -> Rel:
    """Sort the plan by these keys and cut it by OFFSET and FETCH, if the query has any of these."""
    offset = _number(tree.offset, "OFFSET")
    fetch = _number(tree.limit, "LIMIT")
    if not keys and not offset and fetch is None:
        return plan
    return Sort(plan, tuple(keys), offset or 0, fetch)


def _number(clause: nodes.Limit | nodes.Offset | None, name: str) -> int | None:
    if clause is None:
        return None
    value = clause.expression
    if not isinstance(value, nodes.Literal) or value.is_string or not value.this.isdigit():
        fail(clause, f"{name} takes a whole number that is written in the query")
    return int(value.this)


# SELECT


class _Stage(Record):
    """How the expressions of a SELECT list are bound, and what they are computed over."""

    block: Block
    column: Callable[[Rex, nodes.Node], Rex]
    """a column of * as the list sees it"""
    settle: Callable[[Rex], Rex]
    """final places, after ``plan``"""
    plan: Callable[[], Rel]


@binds_query(nodes.Select)
def bind_select(tree: nodes.Select, environment: Environment, outer: Block | None) -> Rel:
    """A SELECT with all its clauses."""
    environment = with_ctes(tree, environment, outer)
    source = _where(tree, _from(tree, environment, outer), environment, outer)
    block = Block(environment, source.scope, outer, "the SELECT list")
    items = select_items(tree, block)
    overs = Overs(tree.windows or [])
    stage = _grouped(tree, source, block, items, overs) or _plain(source, block, overs)
    outputs = [_output(item, stage) for item in items]
    having = None if tree.having is None else bind_condition(tree.having.this, stage.block.named("HAVING"))
    qualify = None
    if tree.qualify is not None:
        qualify = bind_condition(_spelled_out(tree.qualify.this, items), stage.block.named("QUALIFY"))
    order = [_order_key(tree, item, items, outputs, stage) for item in _order_items(tree)]
    plan = stage.plan()
    if having is not None:
        plan = unnested(Filter(plan, stage.settle(having)))
    plan = overs.plan(plan, stage.settle)
    settled = _settler(stage, overs)
    if qualify is not None:
        plan = unnested(Filter(plan, settled(qualify)))
    names = [item.name for item in items]
    return _result(tree, plan, names, [settled(each) for each in outputs], _settled(order, settled))


def _from(tree: nodes.Select, environment: Environment, outer: Block | None) -> Source:
    clause = tree.from_
    if clause is None:
        return NOTHING
    where = None if tree.where is None else tree.where.this
    at = From(environment, outer, hints=query_hints(tree), where=where)
    if tree.joins or is_lateral(clause.this, at):
        source = bind_from(clause.this, tree.joins or [], at)
    else:
        source = bind_relation(clause.this, at)
    check_names(tree, [relation.name for relation in source.scope.relations if relation.name])
    return source


def _where(tree: nodes.Select, source: Source, environment: Environment, outer: Block | None) -> Source:
    clause = tree.where
    if clause is None:
        return source
    condition = bind_condition(clause.this, Block(environment, source.scope, outer, "WHERE"))
    filtered: Rel = Filter(source.plan, condition)
    if isinstance(source.plan, (Join, IntervalJoin, WindowJoin)):
        # Joins with commas have their conditions here: they make the join one of intervals or windows, if they do.
        filtered = join_conditions(filtered)
    plan = unnested(filtered)
    return Source(plan, source.scope.over(plan.schema))


def _grouped(tree: nodes.Select, source: Source, block: Block, items: Sequence[Item], overs: Overs) -> _Stage | None:
    group = tree.group
    parts: list[nodes.Node | None] = [item.tree for item in items if item.expression is None]
    parts += [tree.having, tree.qualify, *_order_items(tree)]
    if group is None and not any(has_aggregate(each, block) for each in parts):
        if tree.having is not None:
            fail(tree.having, "HAVING needs GROUP BY or an aggregate function: use WHERE")
        return None
    keys = bind_keys(group, block.at("GROUP BY"), [item.name for item in items])
    grouped = Grouped(source.plan, block, keys, overs, query_hints(tree))
    return _Stage(grouped.block, grouped.column, grouped.settle, grouped.plan)


def _plain(source: Source, block: Block, overs: Overs) -> _Stage:
    def intercept(tree: nodes.Node) -> Rex | None:
        return overs.add(tree, stage.block) if isinstance(tree, nodes.Window) else None

    stage = _Stage(
        replace(block, intercept=intercept), lambda column, _: column, lambda each: each, lambda: source.plan
    )
    return stage


def _output(item: Item, stage: _Stage) -> Rex:
    if item.expression is not None:
        return stage.column(item.expression, item.tree)
    return bind(item.tree, stage.block)


def _order_items(tree: nodes.Select) -> list[nodes.Ordered]:
    order = tree.order
    return [] if order is None else list(order.expressions)


def _order_key(
    tree: nodes.Select, ordered: nodes.Ordered, items: Sequence[Item], outputs: Sequence[Rex], stage: _Stage
) -> SortKey:
    """An item of ORDER BY: a position, a name of the SELECT list, or an expression over what that is computed of."""
    written = ordered.this
    position = ordinal(written, len(items))
    if position is None and isinstance(written, nodes.Column) and len(nodes.column_parts(written)) == 1:
        position = next((at for at, item in enumerate(items) if item.name == written.name), None)
    if position is None:
        found = bind(_spelled_out(written, items), stage.block.named("ORDER BY"))
    else:
        found = outputs[position]
    if tree.distinct is not None and found not in outputs:
        fail(written, "with SELECT DISTINCT, ORDER BY can only have expressions of the SELECT list")
    return sort_key(ordered, found)


def _spelled_out(written: nodes.Node, items: Sequence[Item]) -> nodes.Node:
    """An expression of ORDER BY or QUALIFY with what the names of the SELECT list stand for."""
    named = {item.name: item.tree for item in items if item.expression is None}

    def spell(part: nodes.Node) -> nodes.Node:
        is_name = isinstance(part, nodes.Column) and len(nodes.column_parts(part)) == 1
        found = named.get(nodes.name_of(part)) if is_name else None
        if found is not None:
            return found
        return part if isinstance(part, nodes.Query) else part.rebuilt(spell)

    return spell(written)


def _settler(stage: _Stage, overs: Overs) -> Callable[[Rex], Rex]:
    return lambda expression: overs.settle(stage.settle(expression))


def _settled(keys: Sequence[SortKey], settle: Callable[[Rex], Rex]) -> list[SortKey]:
    return [replace(key, expression=settle(key.expression)) for key in keys]


def _result(
    tree: nodes.Select, plan: Rel, names: Sequence[str], outputs: Sequence[Rex], order: Sequence[SortKey]
) -> Rel:
    """The projection of the SELECT list, DISTINCT, and the order, which may need columns that are not shown."""
    hidden = [key.expression for key in order if key.expression not in outputs]
    expressions = [*outputs, *dict.fromkeys(hidden)]
    plan = projected(plan, expressions, [*names, *(f"$o{at}" for at in range(len(expressions) - len(names)))])
    if tree.distinct is not None:
        columns = tuple(Field(column.name, column.type) for column in plan.schema)
        plan = window_aggregate(Aggregate(plan, tuple(range(len(columns))), (), columns))
    keys = [replace(key, expression=_column_of(expressions.index(key.expression), plan.schema)) for key in order]
    plan = sort(tree, plan, keys)
    if hidden:
        shown = plan.schema[: len(names)]
        plan = Project(plan, tuple(_column_of(at, shown) for at in range(len(names))), shown)
    return plan


def _column_of(at: int, columns: Schema) -> Ref:
    return Ref(columns[at].type, at)


def projected(plan: Rel, expressions: Sequence[Rex], names: Sequence[str]) -> Rel:
    """A projection; none where it would change nothing."""
    columns = tuple(field_of(name, each, plan.schema) for name, each in zip(names, expressions))
    if columns == plan.schema and all(
        isinstance(each, Ref) and each.index == at for at, each in enumerate(expressions)
    ):
        return plan
    if isinstance(plan, Project) and _only_moves(plan) and not any(map(_has_subquery, expressions)):
        expressions = [substitute(each, plan.expressions) for each in expressions]
        plan = plan.input
    return unnested(Project(plan, tuple(expressions), columns))


def _only_moves(plan: Project) -> bool:
    return all(isinstance(each, Ref) for each in plan.expressions)


def _has_subquery(expression: Rex) -> bool:
    return any(isinstance(part, Subquery) for part in walk(expression))


# UNION, INTERSECT, EXCEPT

_KINDS: dict[type[nodes.Node], str] = {nodes.Union: "UNION", nodes.Intersect: "INTERSECT", nodes.Except: "EXCEPT"}


@binds_query(nodes.Subquery)
def bind_brackets(tree: nodes.Subquery, environment: Environment, outer: Block | None) -> Rel:
    """A query in brackets."""
    environment = with_ctes(tree, environment, outer)
    return ordered_and_limited(tree, bind_rel(tree.this, environment, outer), environment, outer)


@binds_query(nodes.Union, nodes.Intersect, nodes.Except)
def bind_set_operation(tree: nodes.SetOperation, environment: Environment, outer: Block | None) -> Rel:
    """A set operation: branches are cast to common types, names are those of the first."""
    environment = with_ctes(tree, environment, outer)
    kind, keep = _KINDS[type(tree)], not tree.distinct
    branches: list[Rel] = []
    for part in (tree.this, tree.expression):
        branch = bind_rel(part, environment, outer)
        same = isinstance(branch, SetOp) and (branch.kind, branch.all) == (kind, keep) and kind == "UNION"
        branches += branch.inputs if same else (branch,)
    columns = _columns(tree, kind, keep, branches)
    plan = SetOp(kind, keep, tuple(_cast(branch, columns) for branch in branches), columns)
    return ordered_and_limited(tree, plan, environment, outer)


def _columns(tree: nodes.SetOperation, kind: str, keep: bool, branches: list[Rel]) -> Schema:
    first = branches[0].schema
    for branch in branches[1:]:
        if len(branch.schema) != len(first):
            fail(
                tree.expression,
                f"{kind} needs queries with equally many columns: {len(first)} and {len(branch.schema)}",
            )
    return tuple(_set_column(tree, kind, keep, at, branches) for at in range(len(first)))


def _set_column(tree: nodes.SetOperation, kind: str, keep: bool, at: int, branches: list[Rel]) -> Field:
    columns = [branch.schema[at] for branch in branches]
    common = common_type([column.type for column in columns])
    if common is None:
        types = ", ".join(str(column.type) for column in columns)
        fail(
            tree.expression, f"column {at + 1} ('{columns[0].name}') of {kind} has types without a common one: {types}"
        )
    # Only UNION ALL hands rows on as they come; the others keep a row until they know whether it is in the result.
    times = {column.time for column in columns}
    return Field(columns[0].name, common, times.pop() if kind == "UNION" and keep and len(times) == 1 else None)


def _cast(branch: Rel, columns: Schema) -> Rel:
    expressions = tuple(
        cast_to(Ref(old.type, at), new.type) for at, (old, new) in enumerate(zip(branch.schema, columns))
    )
    if all(isinstance(each, Ref) for each in expressions):
        return branch
    fields = tuple(field_of(new.name, each, branch.schema) for new, each in zip(columns, expressions))
    return Project(branch, expressions, fields)


# VALUES


@binds_query(nodes.Values)
def bind_values(tree: nodes.Values, environment: Environment, outer: Block | None) -> Rel:
    """Rows of constants; where one is computed, a projection for each row."""
    environment = with_ctes(tree, environment, outer)
    block = Block(environment, Scope(), outer, "VALUES")
    rows = [bind_all(_row_items(row), block) for row in tree.expressions]
    return ordered_and_limited(tree, values_plan(tree, rows, block.zone), environment, outer)


def _row_items(row: nodes.Node) -> Sequence[nodes.Node]:
    return row.expressions if isinstance(row, nodes.Tuple) else [row]


def values_plan(tree: nodes.Values, rows: Sequence[Sequence[Rex]], zone: str) -> Rel:
    """Bound rows in their common types."""
    width = len(rows[0])
    for written, row in zip(tree.expressions, rows):
        if len(row) != width:
            fail(written, f"the rows of VALUES have different lengths: {width} and {len(row)}")
    columns = tuple(_values_column(tree, at, [row[at] for row in rows]) for at in range(width))
    cast = [[fold(cast_to(each, column.type), zone) for each, column in zip(row, columns)] for row in rows]
    if all(isinstance(each, Literal) for row in cast for each in row):
        return Values(columns, tuple(tuple(each.value for each in row if isinstance(each, Literal)) for row in cast))
    branches = tuple(Project(NOTHING.plan, tuple(row), _values_fields(row, columns)) for row in cast)
    return branches[0] if len(branches) == 1 else SetOp("UNION", True, branches, columns)


def _values_column(tree: nodes.Values, at: int, items: Sequence[Rex]) -> Field:
    common = common_type([each.type for each in items])
    if common is None:
        types = ", ".join(dict.fromkeys(str(each.type) for each in items))
        fail(tree, f"column {at + 1} of VALUES has types without a common one: {types}")
    return Field(f"EXPR${at}", common)


def _values_fields(row: Sequence[Rex], columns: Schema) -> Schema:
    return tuple(Field(column.name, each.type) for each, column in zip(row, columns))


# Whole queries


def bind_query(tree: nodes.Node, resolver: Resolver) -> Rel:
    """The plan of a query. Columns with the same name get a number: ``a``, ``a0``.

    :raises SqlValidationError: names or types are wrong, or it needs what is not supported.
    """
    with reported(tree):
        plan = bind_rel(tree, Environment(resolver))
    return renamed(plan, unique_names(plan.names))


def unique_names(names: Sequence[str]) -> list[str]:
    """Names of which no two are equal: a number is appended where one comes again."""
    taken = set(names)
    seen: Counter[str] = Counter()
    unique = []
    for name in names:
        new = name
        if seen[name]:
            at = 0
            while (new := f"{name}{at}") in taken:
                at += 1
            taken.add(new)
        seen[name] += 1
        unique.append(new)
    return unique
