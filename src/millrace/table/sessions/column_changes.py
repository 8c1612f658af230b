"""Columns added, replaced, dropped, renamed."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.relational.nodes import Rel
from millrace.relational.rex import Rex
from millrace.table.queries import unbound as u
from millrace.table.queries.binding import Binder
from millrace.table.queries.expression_text import text
from millrace.table.queries.problems import problem
from millrace.table.queries.projection import chosen, expand, named, project, renamed, select


def added(plan: Rel, fields: Sequence[u.Node], binder: Binder) -> Rel:
    """New columns behind those that are there."""
    return select(plan, [u.Column("*"), *fields], binder)


def replaced_or_added(plan: Rel, fields: Sequence[u.Node], binder: Binder) -> Rel:
    """Columns in place of those with the same name, or behind."""
    columns: dict[str, Rex] = {name: binder.ref(index) for index, name in enumerate(plan.names)}
    items = expand(fields, binder)
    for item, name in zip(items, named(items)):
        columns[name] = binder.bind(item.node)
    return project(plan, list(columns.values()), list(columns))


def dropped(plan: Rel, fields: Sequence[u.Node], binder: Binder) -> Rel:
    """All columns but these."""
    kept = chosen(u.Columns(tuple(fields), True), binder)
    return project(plan, [binder.ref(index) for index in kept], [plan.names[index] for index in kept])


def with_new_names(plan: Rel, fields: Sequence[u.Node], binder: Binder) -> Rel:
    """``col("a").alias("b")`` renames a column."""
    names = list(plan.names)
    for node in fields:
        if not isinstance(node, u.Alias) or not isinstance(node.child, u.Column) or len(node.names) != 1:
            raise problem(f"rename_columns takes col('old').alias('new'), not {text(node)}")
        names[binder.index(node.child.name)] = node.names[0]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise problem(f"two columns would be called {', '.join(twice)}")
    return renamed(plan, names)
