"""SELECT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from millrace.relational.nodes import Aggregate, Field, Filter, Project, Rel, Schema
from millrace.relational.rex import Ref, Rex, SortKey, Subquery, substitute, walk
from millrace.relational.rules.join_conditions import join_conditions
from millrace.relational.rules.subqueries import unnest
from millrace.relational.rules.window_aggregate import window_aggregate
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block, Environment
from millrace.table.sql.binding.dispatch import bind, bind_condition, binds_query
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.binding.queries.aggregates import sort_key
from millrace.table.sql.binding.queries.grouped import Grouped, has_aggregate
from millrace.table.sql.binding.queries.grouping import bind_keys
from millrace.table.sql.binding.queries.over import Overs
from millrace.table.sql.binding.queries.stars import Item, select_items
from millrace.table.sql.binding.queries.tail import ordinal, sort, with_ctes
from millrace.table.sql.binding.relations.from_clause import NOTHING, From, Source
from millrace.table.sql.binding.relations.hints import check_names, query_hints
from millrace.table.sql.binding.relations.joins import bind_from
from millrace.table.sql.binding.scopes import field_of
from millrace.util.record import Record


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
        plan = unnest(Filter(plan, stage.settle(having)))
    plan = overs.plan(plan, stage.settle)
    settled = _settler(stage, overs)
    if qualify is not None:
        plan = unnest(Filter(plan, settled(qualify)))
    names = [item.name for item in items]
    return _result(tree, plan, names, [settled(each) for each in outputs], _settled(order, settled))


def _from(tree: nodes.Select, environment: Environment, outer: Block | None) -> Source:
    clause = tree.from_
    if clause is None:
        return NOTHING
    where = None if tree.where is None else tree.where.this
    at = From(environment, outer, hints=query_hints(tree), where=where)
    source = bind_from(clause.this, tree.joins or [], at)
    check_names(tree, [relation.name for relation in source.scope.relations if relation.name])
    return source


def _where(tree: nodes.Select, source: Source, environment: Environment, outer: Block | None) -> Source:
    clause = tree.where
    if clause is None:
        return source
    condition = bind_condition(clause.this, Block(environment, source.scope, outer, "WHERE"))
    # Joins with commas have their conditions here: they make the join one of intervals or windows, if they do.
    plan = unnest(join_conditions(Filter(source.plan, condition)))
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
    return unnest(Project(plan, tuple(expressions), columns))


def _only_moves(plan: Project) -> bool:
    return all(isinstance(each, Ref) for each in plan.expressions)


def _has_subquery(expression: Rex) -> bool:
    return any(isinstance(part, Subquery) for part in walk(expression))
