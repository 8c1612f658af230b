"""Columns of a select: what stands for several columns is expanded, every column gets its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millrace.relational import types as t
from millrace.relational.nodes import Field, Project, Rel, Schema
from millrace.relational.rex import Ref, Rex
from millrace.relational.rules.subqueries import unnest
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.dispatch import bind
from millrace.table.sql.binding.names import access, column_at
from millrace.table.sql.writing.programs import shown
from millrace.table.values.problems import problem


@dataclass(frozen=True)
class Item:
    """One column of a select. ``name`` None: it was given none."""

    node: nodes.Node
    name: str | None


def expand(fields: Sequence[nodes.Node], block: Block) -> list[Item]:
    """One item a column."""
    found: list[Item] = []
    for node in fields:
        if isinstance(node, nodes.Star):
            found += [_column(at, block) for at in range(len(block.columns))]
        elif isinstance(node, nodes.Columns):
            found += [_column(at, block) for at in chosen(node, block)]
        elif isinstance(node, nodes.Dot) and isinstance(node.expression, nodes.Star):
            found += _flattened(node.this, block)
        else:
            found.append(Item(node, _name(node)))
    return found


def _column(at: int, block: Block) -> Item:
    name = block.columns[at].name
    return Item(nodes.Position(at, name), name)


def chosen(node: nodes.Columns, block: Block) -> list[int]:
    """The positions that ``with_columns`` or ``without_columns`` stand for."""
    found: list[int] = []
    for item in node.expressions:
        if isinstance(item, nodes.Columns):
            found += chosen(item, block)
        elif isinstance(item, nodes.Star):
            found += range(len(block.columns))
        elif isinstance(item, nodes.Range):
            found += range(_place(item.start, block), _place(item.end, block) + 1)
        elif isinstance(item, nodes.Column):
            found.append(column_at(item.name, block))
        elif isinstance(item, nodes.Constant):
            found.append(_place(item.value, block))
        else:
            raise problem(f"{shown(node)}: {shown(item)} is no column: give names, positions from 1, or range_")
    if not node.without:
        return found
    left = [index for index in range(len(block.columns)) if index not in found]
    if not left:
        raise problem(f"{shown(node)} leaves no column")
    return left


def _place(key: object, block: Block) -> int:
    if isinstance(key, str):
        return column_at(key, block)
    if not isinstance(key, int) or not 1 <= key <= len(block.columns):
        raise problem(f"there is no column {key}: positions are from 1 to {len(block.columns)}")
    return key - 1


def _flattened(child: nodes.Node, block: Block) -> list[Item]:
    found = bind(child, block)
    if not isinstance(found.type, t.RowType):
        return [Item(child, _name(child))]
    base = _name(child)
    fields = [(nodes.Dot(child, nodes.Identifier(name)), name) for name in found.type.names]
    return [Item(field, None if base is None else f"{base}${name}") for field, name in fields]


def _name(node: nodes.Node) -> str | None:
    """The name that a column has by itself; Flink's names for parts and casts."""
    if isinstance(node, nodes.Alias):
        if len(node.names) > 1:
            raise problem(f"{shown(node)}: several names are for a function that makes several columns")
        return node.names[0]
    if isinstance(node, nodes.Column):
        return node.name
    if isinstance(node, nodes.Position):
        return node.shown or None
    if isinstance(node, nodes.Dot):
        base = _name(node.this)
        before = "_" if isinstance(node.expression, nodes.Literal) else ""
        return None if base is None else f"{base}${before}{nodes.name_of(node.expression)}"
    if isinstance(node, nodes.Cast):
        base = _name(node.this)
        return None if base is None else f"{base}-{node.to.data_type}"
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


def select(plan: Rel, fields: Sequence[nodes.Node], block: Block) -> Rel:
    """A select without aggregates."""
    items = expand(fields, block)
    if not items:
        raise problem("select needs a column")
    return project(plan, [bind(item.node, block) for item in items], named(items))


def renamed(plan: Rel, names: Sequence[str]) -> Rel:
    """The same columns under other names."""
    return project(plan, [Ref(column.type, index) for index, column in enumerate(plan.schema)], names)


def mapped(plan: Rel, node: nodes.Node, block: Block) -> Rel:
    """The result of one scalar function as all columns: the fields of a row, or one column."""
    names: tuple[str, ...] = ()
    if isinstance(node, nodes.Alias):
        names, node = node.names, node.this
    value = bind(node, block)
    parts: list[Rex] = [value]
    own = ["f0"]
    if isinstance(value.type, t.RowType):
        own = value.type.names
        parts = [access(node, value, [name]) for name in own]
    if names and len(names) != len(parts):
        raise problem(f"{shown(node)} makes {len(parts)} columns, and alias gives {len(names)} names")
    return project(plan, parts, names or own)
