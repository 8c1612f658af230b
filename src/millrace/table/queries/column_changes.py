"""Columns added, replaced, dropped, renamed."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.relational.nodes import Rel
from millrace.relational.rex import Rex
from millrace.table.queries.projection import chosen, expand, named, project, renamed, select
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.dispatch import bind
from millrace.table.sql.binding.names import column_at
from millrace.table.sql.writing.programs import shown
from millrace.table.values.problems import problem


def added(plan: Rel, fields: Sequence[nodes.Node], block: Block) -> Rel:
    """New columns behind those that are there."""
    return select(plan, [nodes.Star(), *fields], block)


def replaced_or_added(plan: Rel, fields: Sequence[nodes.Node], block: Block) -> Rel:
    """Columns in place of those with the same name, or behind."""
    columns: dict[str, Rex] = {name: block.ref(index) for index, name in enumerate(plan.names)}
    items = expand(fields, block)
    for item, name in zip(items, named(items)):
        columns[name] = bind(item.node, block)
    return project(plan, list(columns.values()), list(columns))


def dropped(plan: Rel, fields: Sequence[nodes.Node], block: Block) -> Rel:
    """All columns but these."""
    kept = chosen(nodes.Columns(tuple(fields), True), block)
    return project(plan, [block.ref(index) for index in kept], [plan.names[index] for index in kept])


def with_new_names(plan: Rel, fields: Sequence[nodes.Node], block: Block) -> Rel:
    """``col("a").alias("b")`` renames a column."""
    names = list(plan.names)
    for node in fields:
        if not isinstance(node, nodes.Alias) or not isinstance(node.this, nodes.Column) or node.others:
            raise problem(f"rename_columns takes col('old').alias('new'), not {shown(node)}")
        names[column_at(node.this.name, block)] = node.alias.this
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise problem(f"two columns would be called {', '.join(twice)}")
    return renamed(plan, names)
