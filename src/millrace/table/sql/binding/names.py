"""Names of columns, with qualifiers and fields of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from millrace.relational.rex import FieldAccess, OuterRef, Ref, Rex, rewrite
from millrace.relational.types import DataType, RowType
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.binding.scopes import Scope
from millrace.table.sql.text.errors import did_you_mean


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
