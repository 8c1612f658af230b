"""Columns of a select: what stands for several columns is expanded, every column gets its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millrace.relational import types as t
from millrace.relational.nodes import Field, Project, Rel, Schema
from millrace.relational.rex import Ref, Rex
from millrace.relational.rules.subqueries import unnest
from millrace.table.queries import unbound as u
from millrace.table.queries.binding import Binder, field_of
from millrace.table.queries.expression_text import text
from millrace.table.queries.problems import problem


@dataclass(frozen=True)
class Item:
    """One column of a select. ``name`` None: it was given none."""

    node: u.Node
    name: str | None


def expand(fields: Sequence[u.Node], binder: Binder) -> list[Item]:
    """One item a column."""
    found: list[Item] = []
    for node in fields:
        if isinstance(node, u.Column) and node.name == "*":
            found += [Item(u.Bound(index, column.name), column.name) for index, column in enumerate(binder.schema)]
        elif isinstance(node, u.Columns):
            found += [Item(u.Bound(at, binder.schema[at].name), binder.schema[at].name) for at in chosen(node, binder)]
        elif isinstance(node, u.Flatten):
            found += _flattened(node.child, binder)
        else:
            found.append(Item(node, _name(node)))
    return found


def chosen(node: u.Columns, binder: Binder) -> list[int]:
    """The positions that ``with_columns`` or ``without_columns`` stand for."""
    found: list[int] = []
    for item in node.items:
        if isinstance(item, u.Columns):
            found += chosen(item, binder)
        elif isinstance(item, u.Column) and item.name == "*":
            found += range(len(binder.schema))
        elif isinstance(item, u.Range):
            found += range(_place(item.start, binder), _place(item.end, binder) + 1)
        elif isinstance(item, u.Column):
            found.append(binder.index(item.name))
        elif isinstance(item, u.Literal):
            found.append(_place(item.value, binder))
        else:
            raise problem(f"{text(node)}: {text(item)} is no column: give names, positions from 1, or range_")
    if not node.without:
        return found
    left = [index for index in range(len(binder.schema)) if index not in found]
    if not left:
        raise problem(f"{text(node)} leaves no column")
    return left


def _place(key: object, binder: Binder) -> int:
    if isinstance(key, str):
        return binder.index(key)
    if not isinstance(key, int) or not 1 <= key <= len(binder.schema):
        raise problem(f"there is no column {key}: positions are from 1 to {len(binder.schema)}")
    return key - 1


def _flattened(child: u.Node, binder: Binder) -> list[Item]:
    found = binder.bind(child)
    if not isinstance(found.type, t.RowType):
        return [Item(child, _name(child))]
    base = _name(child)
    return [Item(u.Get(child, name), None if base is None else f"{base}${name}") for name in found.type.names]


def _name(node: u.Node) -> str | None:
    """The name that a column has by itself; Flink's names for parts and casts."""
    if isinstance(node, u.Alias):
        if len(node.names) > 1:
            raise problem(f"{text(node)}: several names are for a function that makes several columns")
        return node.names[0]
    if isinstance(node, u.Column):
        return node.name
    if isinstance(node, u.Bound):
        return node.shown or None
    if isinstance(node, u.Get):
        base = _name(node.child)
        suffix = f"_{node.key}" if isinstance(node.key, int) else node.key
        return None if base is None else f"{base}${suffix}"
    if isinstance(node, u.Cast) and not node.safe:
        base = _name(node.child)
        return None if base is None else f"{base}-{node.type}"
    return None


def named(items: Sequence[Item]) -> list[str]:
    """The names of all columns: ``_c0``, ``_c1``, ... by position where none was given.

    :raises TableException: a name is there twice.
    """
    names: list[str] = []
    for index, item in enumerate(items):
        name = f"_c{index}" if item.name is None else item.name
        if name in names:
            raise problem(f"two columns are called '{name}': name one of them with alias")
        names.append(name)
    return names


def project(plan: Rel, expressions: Sequence[Rex], names: Sequence[str]) -> Rel:
    """Compute columns; plain references keep their time attribute. Nothing is added where nothing changes."""
    columns = tuple(field_for(name, rex, plan.schema) for name, rex in zip(names, expressions))
    same = all(isinstance(rex, Ref) and rex.index == index for index, rex in enumerate(expressions))
    if same and columns == plan.schema:
        return plan
    return unnest(Project(plan, tuple(expressions), columns))


def field_for(name: str, rex: Rex, schema: Schema) -> Field:
    time = schema[rex.index].time if isinstance(rex, Ref) else None
    return Field(name, rex.type, time)


def select(plan: Rel, fields: Sequence[u.Node], binder: Binder) -> Rel:
    """A select without aggregates."""
    items = expand(fields, binder)
    if not items:
        raise problem("select needs a column")
    return project(plan, [binder.bind(item.node) for item in items], named(items))


def renamed(plan: Rel, names: Sequence[str]) -> Rel:
    """The same columns under other names."""
    return project(plan, [Ref(column.type, index) for index, column in enumerate(plan.schema)], names)


def mapped(plan: Rel, node: u.Node, binder: Binder) -> Rel:
    """The result of one scalar function as all columns: the fields of a row, or one column."""
    names: tuple[str, ...] = ()
    if isinstance(node, u.Alias):
        names, node = node.names, node.child
    value = binder.bind(node)
    parts: list[Rex] = [value]
    own = ["f0"]
    if isinstance(value.type, t.RowType):
        own = value.type.names
        parts = [field_of(value, name) for name in own]
    if names and len(names) != len(parts):
        raise problem(f"{text(node)} makes {len(parts)} columns, and alias gives {len(names)} names")
    return project(plan, parts, names or own)
